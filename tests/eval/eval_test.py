"""kforge eval --llm: eval_test.py KFORGE PROJECT. Rates, tokens and money of a suite whose model is a program."""

import json
import os
import subprocess
import sys
import tempfile

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
print("evaluated")
