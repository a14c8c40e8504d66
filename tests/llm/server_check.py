"""A real server, llama.cpp's (the wheel xllamacpp), with a tiny model of random weights that is written here, answers through the provider `llamacpp`, streaming included.

What such a model says is noise, so that no kernel comes of it: the run must take its answers, say that they hold no kernel, count its tokens, and end as it should.

  python3 server_check.py KFORGE TASK     exit 0: it works; 77: the wheels are not installed (pip install -r requirements.txt)
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

try:
    import gguf
    import numpy
    import xllamacpp
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

WIDTH, HEADS, INNER, LAYERS, CONTEXT = 32, 2, 64, 1, 65536


def write_model(path):
    """A llama of random weights whose tokens are bytes."""
    random = numpy.random.default_rng(7)
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)] + [chr(c) for c in range(33, 127)] + ["\u2581"]
    types = [2, 3, 3] + [6] * 256 + [1] * (len(tokens) - 259)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types(types)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)

    def tensor(name, *shape):
        writer.add_tensor(name, (random.standard_normal(shape) * 0.1).astype(numpy.float32))

    tensor("token_embd.weight", len(tokens), WIDTH)
    tensor("output.weight", len(tokens), WIDTH)
    writer.add_tensor("output_norm.weight", numpy.ones(WIDTH, numpy.float32))
    for layer in range(LAYERS):
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", numpy.ones(WIDTH, numpy.float32))
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensor(f"blk.{layer}.{name}.weight", WIDTH, WIDTH)
        tensor(f"blk.{layer}.ffn_gate.weight", INNER, WIDTH)
        tensor(f"blk.{layer}.ffn_up.weight", INNER, WIDTH)
        tensor(f"blk.{layer}.ffn_down.weight", WIDTH, INNER)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def start_server(model):
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model)
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    parameters.n_predict = 64
    parameters.cpuparams.n_threads = 1
    parameters.warmup = False
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    return xllamacpp.Server(parameters)


def main():
    kforge, task = sys.argv[1], sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "tiny.gguf"
        write_model(model)
        server = start_server(model)
        url = server.listening_address.rstrip("/") + "/v1"
        with urllib.request.urlopen(url + "/models", timeout=30) as answer:
            print("server:", json.load(answer)["data"][0]["id"])
        command = [kforge, "optimize", task, "--llm", "llamacpp:", "--llm-url", url, "--proposers", "model", "--candidates", "2", "--prompt-tokens", "2000", "--answer-tokens", "300",
                   "--budget-seconds", "240", "--store", folder + "/store", "--json"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=400, env=os.environ)
        print("exit code", ended.returncode, ended.stderr[-600:])
        steps = subprocess.run([kforge, "runs", "last", "--steps", "--store", folder + "/store"], capture_output=True, text=True, check=True).stdout
        print(steps)
        record = subprocess.run([kforge, "runs", "last", "--messages", "-", "--store", folder + "/store"], capture_output=True, text=True, check=True).stdout.splitlines()
        answers = [json.loads(line)["answer"] for line in record[1:]]
        assert answers and all(one["text"] for one in answers), record
        assert all(one["usage"]["told"] and one["usage"]["output"] > 0 for one in answers), "the server told its tokens"
        assert "answered" in steps and ("fenced code block" in steps or "cut off" in steps), "noise is no kernel, and that is said"
        assert ended.returncode in (0, 1), ended.stderr
        del server


main()
