"""Our requests against the parameter types of Anthropic's and OpenAI's official SDKs, and their clients against the streams that our readers are tested with.

  python3 sdk_check.py PROTOCOL_DUMP STREAMS     exit 0: they agree; 77: the SDKs are not installed (pip install -r requirements.txt)
"""
import http.server
import json
import pathlib
import subprocess
import sys
import threading
import typing

# The SDKs' types say Iterable, which pydantic validates lazily: as lists everything is looked at.
typing.Iterable = typing.List

try:
    import anthropic
    import openai
    import pydantic
    from anthropic.types.message_create_params import MessageCreateParamsStreaming
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TYPES = {"anthropic": MessageCreateParamsStreaming, "openai-chat": CompletionCreateParamsStreaming, "openai": ResponseCreateParamsStreaming}


def check_requests(dump):
    lines = subprocess.run([dump, "requests"], check=True, capture_output=True, text=True).stdout.splitlines()
    assert len(lines) >= 15, lines
    for line in lines:
        sample = json.loads(line)
        kind = TYPES[sample["protocol"]]
        known = set(typing.get_type_hints(kind, include_extras=True))
        unknown = set(sample["body"]) - known
        assert not unknown, f"{sample['protocol']} {sample['what']}: the SDK knows no {unknown}"
        taken = pydantic.TypeAdapter(kind).validate_python(sample["body"])
        for key in ("messages", "input", "tools", "system"):
            if key in sample["body"]:
                assert taken[key] is not None and (isinstance(taken[key], str) or len(taken[key]) == len(sample["body"][key])), (sample["what"], key)
        print(f"valid: {sample['protocol']} {sample['what']}")
        sample["body"]["messages" if "messages" in sample["body"] else "input"][0]["role"] = "nobody"
        try:
            pydantic.TypeAdapter(kind).validate_python(sample["body"])
        except pydantic.ValidationError:
            continue
        raise AssertionError("a wrong request passes, so that this check proves nothing")


class Streams(http.server.BaseHTTPRequestHandler):
    body = b""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write(Streams.body)

    def log_message(self, *_):
        pass


def anthropics(url):
    client = anthropic.Anthropic(api_key="none", base_url=url)
    with client.messages.stream(model="claude-opus-4-6", max_tokens=64, messages=[{"role": "user", "content": "x"}]) as stream:
        final = stream.get_final_message()
    text = "".join(block.text for block in final.content if block.type == "text")
    calls = [(block.id, block.name, block.input) for block in final.content if block.type == "tool_use"]
    usage = final.usage
    return text, calls, usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens, usage.output_tokens


def openai_chat(url):
    client = openai.OpenAI(api_key="none", base_url=url)
    text, calls, usage = "", {}, None
    for chunk in client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": "x"}], stream=True):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for call in choice.delta.tool_calls or []:
                one = calls.setdefault(call.index, ["", "", ""])
                one[0] = call.id or one[0]
                one[1] = call.function.name or one[1]
                one[2] += call.function.arguments or ""
    return text, [(i, n, json.loads(a)) for i, n, a in calls.values()], usage.prompt_tokens, usage.completion_tokens


def openai_responses(url):
    client = openai.OpenAI(api_key="none", base_url=url)
    final = None
    for event in client.responses.create(model="gpt-5", input="x", stream=True):
        if event.type == "response.completed":
            final = event.response
    calls = [(item.call_id, item.name, json.loads(item.arguments)) for item in final.output if item.type == "function_call"]
    return final.output_text, calls, final.usage.input_tokens, final.usage.output_tokens


def check_streams(dump, folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Streams)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    for protocol, client in (("anthropic", anthropics), ("openai-chat", openai_chat), ("openai", openai_responses)):
        file = folder / f"{protocol}.sse"
        Streams.body = file.read_bytes()
        theirs = client(url)
        answer = json.loads(subprocess.run([dump, "read", protocol, file], check=True, capture_output=True, text=True).stdout)
        ours = (answer["text"], [(c["id"], c["name"], json.loads(c["arguments"])) for c in answer["calls"]], answer["usage"]["input"], answer["usage"]["output"])
        assert list(theirs) == list(ours), f"{protocol}:\n  theirs {theirs}\n  ours   {ours}"
        print(f"same: {protocol} {ours}")
    server.shutdown()


def main():
    dump, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    print(f"anthropic {anthropic.__version__}, openai {openai.__version__}")
    check_requests(dump)
    check_streams(dump, folder)


main()
