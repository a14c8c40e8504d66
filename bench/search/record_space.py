#!/usr/bin/env python3
"""Records a template's whole space: record_space.py KFORGE TASK FOLDER TEMPLATE OUT.csv.

FOLDER holds the candidates as template_points wrote them (every point, parameters in the first line). Each is judged by `kforge check --json`; its
value is the verdict's time where it is accepted. Points that OUT.csv has already are not judged again, so that a run may be interrupted.
"""
import csv
import json
import os
import re
import subprocess
import sys
import time


def main():
    tool, task, folder, template, out = sys.argv[1:6]
    files = sorted((f for f in os.listdir(folder) if re.fullmatch(re.escape(template) + r"-\d+\.cu", f)), key=lambda f: int(f.split("-")[-1][:-3]))
    names, known = None, set()
    if os.path.exists(out):
        rows = [r for r in csv.reader(open(out)) if r and not r[0].startswith("#")]
        names, known = rows[0][:-2], {tuple(r[:-2]) for r in rows[1:]}
    with open(out, "a") as sink:
        for file in files:
            head = open(os.path.join(folder, file)).readline()[3:].split()
            point = dict(p.split("=") for p in head)
            if names is None:
                names = list(point)
                version = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout.strip()
                sink.write(f"# modelled us of template {template} on task {os.path.basename(os.path.dirname(os.path.abspath(task)))}, {version}\n")
                sink.write(",".join(names + ["value", "cost"]) + "\n")
            key = tuple(point[n] for n in names)
            if key in known:
                continue
            start = time.time()
            run = subprocess.run([tool, "check", task, os.path.join(folder, file), "--json"], capture_output=True, text=True)
            seconds = time.time() - start
            value = ""
            try:
                verdict = json.loads(run.stdout)
                if verdict["status"] == "accepted" and verdict.get("time"):
                    value = f"{verdict['time']['us']:.6g}"
            except ValueError:
                print(f"{file}: {run.stderr.strip()[-300:]}", file=sys.stderr)
            sink.write(",".join(key + (value, f"{seconds:.2f}")) + "\n")
            sink.flush()


if __name__ == "__main__":
    main()
