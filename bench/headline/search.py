#!/usr/bin/env python3
"""Each headline task by `kforge optimize` alone, then its winner in turns with the baselines, then the table.

  bench/headline/search.py [--tasks softmax,...] [--budget 170] [--store FOLDER] [--out FILE.jsonl] [--device gpu:0]

A task's search begins in an empty store, FOLDER/TASK, and goes on there when the command is given again: a finished one is not repeated, an unfinished one is resumed.
The winner is then timed by `kforge bench` beside PyTorch's operator (cold L2, fresh inputs), which also measures the copy bandwidth that the task's figure is a part of.
The table goes to standard output, a line of JSON per task to --out. Exit code 1 when a task has no winner or misses its figure.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
KFORGE = os.environ.get("KFORGE", str(HERE.parent.parent / "build/release/bin/kforge"))
ELEMENTS = 8192 * 8192
# Task: what is asked, of what, and the bytes that a call reads and writes at least.
TASKS = {
    "softmax": (0.90, "copy", 8 * ELEMENTS),
    "layer_norm": (0.90, "copy", 8 * ELEMENTS),
    "rms_norm": (0.90, "copy", 8 * ELEMENTS),
    "transpose": (0.90, "copy", 8 * ELEMENTS),
    "cumulative_sum": (0.85, "copy", 8 * ELEMENTS),
    "row_max": (0.90, "copy", 4 * ELEMENTS),
    "add_relu": (0.93, "copy", 12 * ELEMENTS),
    "row_sum": (0.93, "copy", 4 * ELEMENTS),
    "full_sum": (0.93, "copy", 4 * ELEMENTS),
    "sobel": (0.85, "copy", 2 * ELEMENTS),
    "stencil3d": (0.85, "copy", 8 * 512**3),
    "histogram": (0.85, "copy", 1 << 28),
    "attention": (0.90, "pytorch", 0),
    "attention_causal": (0.90, "pytorch", 0),
}


def call(words, limit):
    """Standard output and exit code; what did not end in `limit` seconds is killed."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return "", 124
    if done.returncode > 1:
        print(done.stderr[-500:], file=sys.stderr)
    return done.stdout, done.returncode


def search(name, store, budget, device):
    """The run's record (schema kforge.run/1), or None."""
    done = store / "run.json"
    if not done.exists():
        begun = (store / "runs").is_dir() and any((store / "runs").iterdir())
        what = ["--resume", "last"] if begun else [str(HERE / name / "task.toml"), "--device", device]
        start = time.monotonic()
        text, _ = call([KFORGE, "optimize", *what, "--budget-seconds", str(budget), "--candidates", "400", "--stagnation", "80", "--store", str(store), "--json"], budget + 120)
        if not text.lstrip().startswith("{"):
            return None
        record = json.loads(text)
        record["wall_seconds"] = time.monotonic() - start
        done.parent.mkdir(parents=True, exist_ok=True)
        done.write_text(json.dumps(record))
    return json.loads(done.read_text())


def bench(name, winner, device, seconds):
    """The report of kforge bench, with PyTorch where it has the operator."""
    for libraries in (["--with", "pytorch"], []):
        text, _ = call([KFORGE, "bench", str(HERE / name / "task.toml"), str(winner), *libraries, "--device", device, "--time-seconds", str(seconds), "--json"], 300)
        if text.lstrip().startswith("{"):
            return json.loads(text)
    return None


def row_of(name, store, options):
    asked, of, moved = TASKS[name]
    record = search(name, store, options.budget, options.device)
    winner = next(iter(sorted((store / "runs").glob("*/winner.cu"))), None) if (store / "runs").is_dir() else None
    row = {"task": name, "asked": asked, "of": of, "budget_seconds": options.budget}
    if record:
        tried = record["tried"]
        row.update({key: record[key] for key in ("outcome", "outcome_why", "seconds", "wall_seconds", "goal_met")})
        row.update({"candidates": len(tried), "accepted": sum(t["verdict"]["status"] == "accepted" for t in tried)})
        row["tried"] = [{"proposer": t["candidate"]["proposer"], "parameters": t["candidate"]["parameters"], "status": t["verdict"]["status"], "us": (t["verdict"].get("time") or {}).get("us", 0),
                         "why": t["verdict"]["why"], "seconds": round(t["build_s"] + t["judge_s"], 1)} for t in tried]
        for t in tried:
            if t["candidate"]["id"] == (record["winner"] or record["best"]):
                row.update({"winner": t["candidate"]["proposer"], "parameters": t["candidate"]["parameters"], "status": t["verdict"]["status"], "unproven": t["verdict"].get("unproven", [])})
    if winner is None:
        return row
    timed = bench(name, winner, options.device, options.seconds)
    if timed is None:
        return row
    own, library = timed["rows"][0], timed["rows"][1] if len(timed["rows"]) > 1 else None
    row.update({"us": own["us"], "right": own["right"], "dishonest": own["dishonest"], "copy_tb_s": timed["copy_bytes_per_s"] / 1e12})
    if library:
        row["pytorch_us"] = library["us"]
    if own["us"] > 0 and of == "copy" and timed["copy_bytes_per_s"] > 0:
        row["reached"] = moved / own["us"] * 1e6 / timed["copy_bytes_per_s"]
    elif own["us"] > 0 and library and library["us"] > 0:
        row["reached"] = library["us"] / own["us"]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--budget", type=float, default=170, help="seconds of search per task")
    parser.add_argument("--seconds", type=float, default=2, help="seconds of timed calls per contestant")
    parser.add_argument("--store", default="headline-search")
    parser.add_argument("--out", default="")
    parser.add_argument("--device", default="gpu:0")
    options = parser.parse_args()
    missed = False
    print(f"{'task':18} {'asked':>14} {'reached':>8} {'us':>9} {'PyTorch us':>11} {'search s':>9} {'candidates':>11}  outcome")
    for name in options.tasks.split(","):
        row = row_of(name, pathlib.Path(options.store) / name, options)
        reached = row.get("reached", 0)
        missed = missed or reached < row["asked"] or row.get("right") != "right"
        print(f"{name:18} {row['asked']:>5.2f} {row['of']:>8} {reached:8.3f} {row.get('us', 0):9.1f} {row.get('pytorch_us', 0):11.1f} {row.get('seconds', 0):9.1f} {row.get('candidates', 0)!s:>11}  "
              f"{row.get('outcome', 'no run')}, {row.get('right', 'no winner')}, {row.get('status', '')}", flush=True)
        if options.out:
            with open(options.out, "a") as file:
                file.write(json.dumps(row) + "\n")
    return 1 if missed else 0


sys.exit(main())
