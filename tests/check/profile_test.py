"""kforge profile: profile_test.py KFORGE PROJECT. Figures stand beside the lines that they are of, and JSON has Nsight Compute's names."""

import json
import os
import re
import subprocess
import sys

KFORGE, PROJECT = os.path.abspath(sys.argv[1]), sys.argv[2]
TASK = os.path.join(PROJECT, "examples/transpose/task.toml")
BAD = os.path.join(PROJECT, "examples/transpose/bad/bank_conflicts.cu")


def run(*arguments):
    done = subprocess.run([KFORGE, "profile", *arguments], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


code, text = run(TASK, BAD)
expect(code == 0, text)
line = re.search(r"^.*\b22 \| .*out\[.*tile\[threadIdx\.x\]\[i\].*$", text, re.M)
expect(line and "32.00x" in line.group(0) and "97.0%" in line.group(0), text)
expect("30 registers" in text and "rejected" in text, text)

code, text = run(TASK, BAD, "--json")
document = json.loads(text)
expect(document["schema"] == "kforge.profile/1" and document["status"] == "rejected", text[:300])
kernel = document["kernels"][0]
at = {entry["line"]: entry["metrics"] for entry in kernel["lines"] if entry["file"] == BAD}
expect(at[22]["memory_l1_wavefronts_shared"] == 32 * at[22]["memory_l1_wavefronts_shared_ideal"], at[22])
for metric, total in kernel["metrics"].items():
    expect(sum(entry["metrics"].get(metric, 0) for entry in kernel["lines"]) == total, "the lines of %s make up the kernel's" % metric)

code, text = run(TASK, BAD, "--code", "ptx")
expect(code == 0 and ".entry" in text, text[:300])
code, text = run(TASK, BAD, "--code", "sass")
expect((code == 0 and "STG" in text and "bank_conflicts.cu" in text) or (code == 3 and text == ""), "machine code, or none without nvdisasm: %s" % text[:300])
expect(run(TASK, BAD, "--code", "c")[0] == 2, "another code")

code, text = run(TASK, os.path.join(PROJECT, "tests/hostile/does_not_compile.cu"))
expect(code == 1 and "nothing was counted" in text and "error[build]" in text and "does_not_compile.cu:" in text, (code, text))
code, text = run(TASK, os.path.join(PROJECT, "tests/hostile/does_not_compile.cu"), "--json")
expect(any(finding["contract"] == "build" and finding["line"] > 0 for finding in json.loads(text)["findings"]), text)
expect(run(TASK, "/nowhere.cu")[0] == 2, "a candidate that is not there")
print("profiled")
