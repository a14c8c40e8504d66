"""kforge check --json --watch: watch_test.py KFORGE PROJECT. One document a line after each change, however an editor makes it; SIGINT ends it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import queue
import time

KFORGE, PROJECT = os.path.abspath(sys.argv[1]), sys.argv[2]


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


with tempfile.TemporaryDirectory(prefix="kforge-watch") as folder:
    example = os.path.join(PROJECT, "examples", "saxpy")
    task, candidate = os.path.join(folder, "task.toml"), os.path.join(folder, "mine.cu")
    shutil.copy(os.path.join(example, "task.toml"), task)
    good = open(os.path.join(example, "good.cu")).read()
    open(candidate, "w").write(good.replace("a * x.x", "2 * x.x"))
    server = subprocess.Popen([KFORGE, "check", task, candidate, "--only", "correctness", "--json", "--watch"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    lines = queue.Queue()
    threading.Thread(target=lambda: [lines.put(line) for line in server.stdout], daemon=True).start()

    def answer():
        return json.loads(lines.get(timeout=120))

    expect(answer()["status"] == "rejected", "the wrong kernel")
    open(candidate, "w").write(good)                                        # written in place
    expect(answer()["status"] == "accepted", "the right kernel")
    open(candidate + "~", "w").write(good.replace("constexpr", "constexprr"))
    os.replace(candidate + "~", candidate)                                  # replaced, as editors do
    verdict = answer()
    expect(verdict["status"] == "rejected" and verdict["findings"][0]["contract"] == "build", "a kernel that does not build")
    os.remove(candidate)
    gone = answer()
    expect(gone["schema"] == "kforge.error/1" and "gone" in gone["message"], gone)
    open(candidate, "w").write(good)
    expect(answer()["status"] == "accepted", "it is back")
    os.utime(candidate)                                                     # touched, not changed
    open(os.path.join(folder, "other.cu"), "w").write("another kernel")     # no part of the candidate
    time.sleep(1.5)
    expect(lines.empty(), "no change, no answer")
    for i in range(20):                                                     # an editor that writes in many steps: one answer
        open(candidate, "w").write(good + "// %d\n" % i)
        time.sleep(0.05)
    expect(answer()["status"] == "accepted", "after many writes")
    time.sleep(1)
    expect(lines.empty(), "writes close together are one change")
    open(task, "a").write("nonsense = [\n")
    expect(answer()["exit_code"] == 2, "a broken task file")
    shutil.copy(os.path.join(example, "task.toml"), task)
    expect(answer()["status"] == "accepted", "a mended task file")
    server.send_signal(signal.SIGINT)
    expect(server.wait(10) == 0, "SIGINT ends it with status 0")
print("watched")
