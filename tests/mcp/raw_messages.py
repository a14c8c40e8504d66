"""Messages that no SDK sends: raw_messages.py KFORGE. Malformed, huge, deep, duplicated; wrong hosts, origins, tokens and headers."""

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tempfile

KFORGE = os.path.abspath(sys.argv[1])
HELLO = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}}
VERSION, CAPABILITIES = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"
ENVELOPE = {"_meta": {VERSION: "2026-07-28", CAPABILITIES: {}}}


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


class Stdio:
    def __init__(self, folder):
        self.process = subprocess.Popen([KFORGE, "mcp", "--root", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def ask(self, message):
        text = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(text + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        expect(self.process.wait(10) == 0, "status 0 at the end of input")
        expect(self.process.stdout.read() == b"", "nothing more on stdout")


def code(answer):
    return answer["error"]["code"]


def on_stdio(folder):
    server = Stdio(folder)
    for text, wanted in [(b"{", -32700), (b"\xff\xfe", -32700), (b"[]", -32600), (b"[1]", -32600), (b"7", -32600), (b'"x"', -32600), (b"{}", -32600),
                         (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600), (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
                         (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600), (b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', -32600),
                         (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600), (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', -32602),
                         (b"[" * 1000000, -32600), (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"[" * 100 + b"]" * 100 + b"}}", -32600),
                         (b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * (17 << 20) + b'"}', -32600)]:
        answer = server.ask(text)
        expect(code(answer) == wanted and answer["jsonrpc"] == "2.0", (text[:60], answer))
    server.process.stdin.write(b"\n  \r\n")   # nothing is no message
    expect(server.ask(HELLO)["result"]["protocolVersion"] == "2025-06-18", "a known revision is kept")
    server.process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n{"jsonrpc":"2.0","method":"notifications/none"}\n'
                               b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}\n{"jsonrpc":"2.0","id":9,"result":{}}\n')
    expect(server.ask({"jsonrpc": "2.0", "id": "text", "method": "ping"}) == {"jsonrpc": "2.0", "id": "text", "result": {}}, "ids keep their type")
    expect(code(server.ask({"jsonrpc": "2.0", "id": 2, "method": "no/method"})) == -32601, "unknown methods")
    expect(code(server.ask({"jsonrpc": "2.0", "id": 2, "method": "server/discover", "params": ENVELOPE})) == -32600, "eras do not mix")
    expect(code(server.ask({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "none"}})) == -32602, "unknown tools")
    expect(code(server.ask({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "gpu_sheet", "arguments": 5}})) == -32602, "arguments are an object")
    expect(code(server.ask({"jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": {"uri": "kforge://verdict/none"}})) == -32002, "unknown resources")
    wrong = server.ask({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "gpu_sheet", "arguments": {"gpu": 5}}})
    expect(wrong["result"]["isError"], wrong)
    # Many at once: each is answered, under its own id.
    for i in range(40):
        server.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 100 + i, "method": "tools/call", "params": {"name": "gpu_sheet", "arguments": {"gpu": "h200"}}}).encode() + b"\n")
    server.process.stdin.flush()
    answers = [json.loads(server.process.stdout.readline()) for _ in range(40)]
    expect(sorted(a["id"] for a in answers) == list(range(100, 140)) and all("result" in a for a in answers), "concurrent calls")
    server.close()

    server = Stdio(folder)
    expect(server.ask(dict(HELLO, params=dict(HELLO["params"], protocolVersion="1999-01-01")))["result"]["protocolVersion"] == "2025-11-25", "an unknown revision is answered with ours")
    server.close()

    server = Stdio(folder)
    future = {"_meta": {VERSION: "2099-01-01", CAPABILITIES: {}}}
    answer = server.ask({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": future})
    expect(code(answer) == -32022 and "2026-07-28" in answer["error"]["data"]["supported"], answer)
    expect(code(server.ask({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": {VERSION: "2026-07-28"}}})) == -32602, "half an envelope")
    answer = server.ask({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": ENVELOPE})["result"]
    expect(answer["resultType"] == "complete" and "2026-07-28" in answer["supportedVersions"], answer)
    expect(code(server.ask(HELLO)) == -32022, "no handshake after an envelope")
    expect(code(server.ask({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})) == -32602, "each request has its envelope")
    server.close()


class Http:
    def __init__(self, folder, token=""):
        environment = dict(os.environ, KFORGE_MCP_TOKEN=token)
        self.process = subprocess.Popen([KFORGE, "mcp", "--root", folder, "--http", "--port", "0"], stderr=subprocess.PIPE, text=True, env=environment)
        self.port = int(re.search(r":(\d+)/mcp", self.process.stderr.readline()).group(1))

    def ask(self, message, method="POST", path="/mcp", drop=(), **headers):
        given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Host": f"127.0.0.1:{self.port}"}
        given.update({name.replace("_", "-"): value for name, value in headers.items()})
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.putrequest(method, path, skip_host=True)
        for name, value in given.items():
            if name not in drop:
                connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders()
        try:
            connection.send(body)
        except OSError:
            pass   # an answer may come before the body has been sent
        response = connection.getresponse()
        text = response.read()
        connection.close()
        return response.status, dict(response.getheaders()), text

    def close(self):
        self.process.terminate()
        expect(self.process.wait(10) == 0, "status 0 by SIGTERM")


def on_http(folder):
    server = Http(folder)
    ask = server.ask
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "127.0.0.1:x", ""):
        expect(ask(HELLO, Host=host)[0] in (400, 403), "host " + host)
    for origin in ("http://evil.example", "null", "https://127.0.0.1.evil.example", "http://localhost@evil.example"):
        expect(ask(HELLO, Origin=origin)[0] == 403, "origin " + origin)
    expect(ask(HELLO, Origin="http://localhost:3000")[0] == 200, "an origin of this machine")
    expect(ask(HELLO, path="/")[0] == 404, "another path")
    expect(ask(HELLO, method="GET")[0] == 405, "no stream to listen to")
    expect(ask(HELLO, Content_Type="text/plain")[0] == 415, "what a page may send without asking")
    expect(ask(HELLO, Accept="application/json")[0] == 406, "streams must be accepted")
    expect(ask(b"{")[0] == 400, "no JSON")
    expect(ask(b"[]")[0] == 400, "a batch")
    expect(ask(b" " * (17 << 20))[0] == 413, "17 MiB")
    expect(ask(HELLO, MCP_Protocol_Version="1999-01-01")[0] == 400, "an unknown revision")
    ping = {"jsonrpc": "2.0", "id": 5, "method": "ping"}
    expect(ask(ping)[0] == 400, "a session is needed")
    expect(ask(ping, Mcp_Session_Id="none")[0] == 404, "an unknown session")
    status, headers, _ = ask(HELLO)
    session = headers["Mcp-Session-Id"]
    expect(status == 200 and len(session) == 32, headers)
    expect(ask(ping, Mcp_Session_Id=session)[0] == 200, "a session")
    expect(ask({"jsonrpc": "2.0", "method": "notifications/initialized"}, Mcp_Session_Id=session)[0] == 202, "a notification")
    expect(ask(b"", method="DELETE", Mcp_Session_Id=session)[0] == 204, "the end of a session")
    expect(ask(ping, Mcp_Session_Id=session)[0] == 404, "an ended session")
    for _ in range(70):
        expect(ask(HELLO)[0] == 200, "sessions beyond the most: the oldest goes")

    modern = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/list"}
    tools = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": ENVELOPE}
    status, headers, text = ask(tools, **modern)
    expect(status == 200 and "Mcp-Session-Id" not in headers and json.loads(text)["result"]["ttlMs"] > 0, text[:200])
    for wrong in ({"Mcp_Method": "ping"}, {"MCP_Protocol_Version": "2025-11-25"}):
        status, _, text = ask(tools, **dict(modern, **wrong))
        expect(status == 400 and code(json.loads(text)) == -32020, (wrong, text))
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": dict(ENVELOPE, name="gpu_sheet")}
    expect(ask(call, MCP_Protocol_Version="2026-07-28", Mcp_Method="tools/call", Mcp_Name="other")[0] == 400, "another name")
    expect(ask(call, MCP_Protocol_Version="2026-07-28", Mcp_Method="tools/call", Mcp_Name="gpu_sheet")[0] == 200, "the name")
    expect(ask(call, MCP_Protocol_Version="2026-07-28", Mcp_Method="tools/call", Mcp_Name="=?base64?Z3B1X3NoZWV0?=")[0] == 200, "the name, encoded")
    none = {"jsonrpc": "2.0", "id": 1, "method": "no/method", "params": ENVELOPE}
    expect(ask(none, MCP_Protocol_Version="2026-07-28", Mcp_Method="no/method")[0] == 404, "an unknown method")
    # Half a request, then silence, does not keep others waiting.
    half = socket.create_connection(("127.0.0.1", server.port))
    half.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{")
    expect(ask(tools, **modern)[0] == 200, "others are served")
    half.close()
    server.close()

    server = Http(folder, token="secret-of-this-test")
    expect(server.ask(HELLO)[0] == 401, "no token")
    for token in ("Bearer ", "Bearer secret-of-this-tesx", "Bearer secret-of-this-test2", "secret-of-this-test"):
        expect(server.ask(HELLO, Authorization=token)[0] == 401, token)
    expect(server.ask(HELLO, Authorization="Bearer secret-of-this-test")[0] == 200, "the token")
    server.close()


with tempfile.TemporaryDirectory(prefix="kforge-mcp-raw") as empty:
    on_stdio(empty)
    on_http(empty)
print("all answered as they should be")
