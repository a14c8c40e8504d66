"""kforge eval --llm: eval_test.py KFORGE PROJECT. Rates, tokens and money of a suite whose model is a program."""

import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading

KFORGE, PROJECT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
EXAMPLES = os.path.join(PROJECT, "examples")


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


with tempfile.TemporaryDirectory(prefix="kforge-eval") as folder:
    suite = os.path.join(folder, "suite.txt")
    with open(suite, "w") as file:
        file.write(f"# three tasks\n{EXAMPLES}/saxpy/task.toml\n{EXAMPLES}/transpose/task.toml  # answered wrongly\n{folder}/none/task.toml\n")
    model = f"command:python3 {os.path.dirname(os.path.abspath(__file__))}/model.py {EXAMPLES}"
    done = subprocess.run([KFORGE, "eval", suite, "--llm", model, "--proposers", "model", "--candidates", "2", "--budget-seconds", "120", "--json", "--store", os.path.join(folder, "store")],
                          capture_output=True, text=True, timeout=550, cwd=folder)
    report = json.loads(done.stdout)
    rows = {row["task"]: row for row in report["tasks"]}
    expect(done.returncode == 1, "not every task has a right kernel")
    expect(rows["saxpy"]["correct"] and rows["saxpy"]["speedup"] > 2 and rows["saxpy"]["answers"] >= 1, rows["saxpy"])
    expect(rows["saxpy"]["input_tokens"] > 100 and rows["saxpy"]["output_tokens"] > 100, rows["saxpy"])
    expect(rows["transpose"]["speedup"] in (None, 1.0) and rows["transpose"]["answers"] >= 1, rows["transpose"])
    expect(rows["none"]["outcome"] == "failed" and "none/task.toml" in rows["none"]["why"], rows["none"])
    expect(abs(report["fast_p"]["2"] - 1 / 3) < 1e-9, report["fast_p"])
    expect(report["tokens"] == sum(row["input_tokens"] + row["output_tokens"] for row in report["tasks"]), report)


class Server(http.server.BaseHTTPRequestHandler):
    """Chat Completions, streamed: always saxpy's good kernel, always the same usage."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        answer = "```cuda\n" + open(f"{EXAMPLES}/saxpy/good.cu").read() + "```"
        usage = {"prompt_tokens": 10_000, "completion_tokens": 500, "prompt_tokens_details": {"cached_tokens": 4_000}}
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in ({"model": "forge-1", "choices": [{"delta": {"content": answer}}]}, {"model": "forge-1", "choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage}):
            self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_):
        pass


# With a server that counts tokens and a price that is known: exact sums.
with tempfile.TemporaryDirectory(prefix="kforge-eval") as folder:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    suite, prices = os.path.join(folder, "suite.txt"), os.path.join(folder, "prices.toml")
    with open(suite, "w") as file:
        file.write(f"{EXAMPLES}/saxpy/task.toml\n")
    with open(prices, "w") as file:
        file.write('[[price]]\nmodel = "forge-1"\ninput = 2.0\noutput = 10.0\ncached = 0.5\n')
    done = subprocess.run([KFORGE, "eval", suite, "--llm", "compatible:forge-1", "--llm-url", f"http://127.0.0.1:{server.server_port}/v1", "--max-money", "1", "--proposers", "model", "--candidates", "2",
                           "--budget-seconds", "120", "--json", "--store", os.path.join(folder, "store")], capture_output=True, text=True, timeout=300, cwd=folder, env={**os.environ, "KFORGE_PRICES": prices})
    server.shutdown()
    row = json.loads(done.stdout)["tasks"][0]
    expect(done.returncode == 0 and row["answers"] >= 1, (done.returncode, row, done.stderr))
    expect(row["input_tokens"] == 10_000 * row["answers"] and row["output_tokens"] == 500 * row["answers"], row)
    expect(abs(row["dollars"] - row["answers"] * (6_000 * 2 + 4_000 * 0.5 + 500 * 10) / 1e6) < 1e-9, row)
print("evaluated")
