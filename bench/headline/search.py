#!/usr/bin/env python3
"""Each headline task by `kforge optimize` alone, then its winner in turns with the baselines, then the table.

  bench/headline/search.py [--tasks softmax,...] [--budget 170] [--jobs 1] [--store FOLDER] [--out FILE.jsonl] [--device gpu:0] [--perturb] [--bound S]

A task's search begins in an empty store, FOLDER/TASK, and goes on there when the command is given again: a finished one is not repeated, an unfinished one is resumed.
Several searches at once (--jobs) share the GPU, which one of them holds at a time: what one waits for it counts in its seconds.
The winner is then timed by `kforge bench` beside the library (cold L2, fresh inputs), which also measures the copy bandwidth that the task's figure is a part of.
With --perturb it is timed so again with each dimension above 256 at 0.97 and at 1.03 of its size, which keeps 95% of the figure or the task is missed.
No search or bench begins or goes on after --bound seconds of the whole call. The table goes to standard output as tasks end, a line of JSON per task to --out.
Exit code 1 when a task has no winner or misses its figure.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

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
    "gemm_f16_4096": (0.997, "cublaslt", 0),
    "gemm_f16_8192": (0.997, "cublaslt", 0),
    "gemm_bf16_4096": (0.997, "cublaslt", 0),
    "gemm_bf16_8192": (0.997, "cublaslt", 0),
    "gemm_f16_2048": (1.0, "cublaslt", 0),
    "gemm_f16_64": (1.0, "cublaslt", 0),
    "gemm_f16_128": (1.0, "cublaslt", 0),
    "gemm_tf32_4096": (0.97, "cublaslt", 0),
    "gemm_f32_4096": (1.0, "cublaslt", 0),
    "gemm_bias_gelu": (1.1, "pytorch", 0),
}


def product(m, n, k, folder, words=()):
    return folder, [("measure", f"measure = [{{m = {m}, k = {k}, n = {n}}}]")], words


# Tasks that are others at one size: the folder, the lines that are replaced by what they begin with, words that are replaced.
VARIANTS = {
    "gemm_f16_4096": product(4096, 4096, 4096, "gemm_f16"),
    "gemm_f16_8192": product(8192, 8192, 8192, "gemm_f16"),
    "gemm_bf16_4096": product(4096, 4096, 4096, "gemm_bf16"),
    "gemm_bf16_8192": product(8192, 8192, 8192, "gemm_bf16"),
    "gemm_f16_2048": product(2048, 2048, 2048, "gemm_f16"),
    "gemm_f16_64": product(64, 4096, 4096, "gemm_f16"),
    "gemm_f16_128": product(128, 11008, 4096, "gemm_f16"),
    "gemm_tf32_4096": product(4096, 4096, 4096, "gemm_tf32"),
    "gemm_f32_4096": product(4096, 4096, 4096, "gemm_tf32", [('"tf32"', '"f32"')]),
}


DRIFTS = 256   # batches, heads and the few rows of skinny products are no sizes that drift
KEPT = 0.95    # of the figure, by sizes 3% away


def task_text(name):
    """The task: that of a folder beside this program, or a variant of one."""
    folder, lines, words = VARIANTS.get(name, (name, (), ()))
    text = (HERE / folder / "task.toml").read_text().replace(f'name = "{folder}"', f'name = "{name}"', 1)
    for old, new in words:
        text = text.replace(old, new)
    return "\n".join(next((new for start, new in lines if line.startswith(start)), line) for line in text.split("\n"))


def scaled(text, scale):
    """The task with its measured sizes times `scale`, and by what that multiplies its elements."""
    grown = 1.0

    def size(match):
        nonlocal grown
        old = int(match[0])
        new = round(old * scale) if old > DRIFTS else old
        grown *= new / old
        return str(new)

    measured = re.search(r"^measure = .*$", text, re.MULTILINE)
    return text[: measured.start()] + re.sub(r"\b\d+\b", size, measured[0]) + text[measured.end():], grown


def task_file(name, store, scale=1.0):
    """The task's file: one of the folders beside this program, or one that is written into the store."""
    if name not in VARIANTS and scale == 1.0:
        return HERE / name / "task.toml"
    text = task_text(name)
    store.mkdir(parents=True, exist_ok=True)
    path = store / ("task.toml" if scale == 1.0 else f"task-{scale:.2f}.toml")
    path.write_text(text if scale == 1.0 else scaled(text, scale)[0])
    return path


START = time.monotonic()
BOUND = float("inf")
RESERVE = 30   # seconds of the bound in which no search goes on: its winner's proof and bench


def left():
    """Seconds until nothing may go on."""
    return START + BOUND - time.monotonic()


def call(words, limit):
    """Standard output and exit code; what did not end in `limit` seconds is killed."""
    limit = min(limit, left())
    if limit <= 0:
        return "", 124
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
        begun = sorted(run.name for run in (store / "runs").iterdir()) if (store / "runs").is_dir() else []
        what = ["--resume", begun[-1]] if begun else [str(task_file(name, store)), "--device", device]
        budget = min(budget, left() - RESERVE)
        if budget <= 0:
            return None
        start = time.monotonic()
        text, _ = call([KFORGE, "optimize", *what, "--budget-seconds", str(budget), "--candidates", "400", "--stagnation", "80", "--store", str(store), "--json"], budget + 120)
        if not text.lstrip().startswith("{"):
            return None
        record = json.loads(text)
        record["wall_seconds"] = time.monotonic() - start
        done.parent.mkdir(parents=True, exist_ok=True)
        done.write_text(json.dumps(record))
    return json.loads(done.read_text())


def bench(name, winner, store, device, seconds, scale=1.0):
    """The report of kforge bench, with the library where it has the operator."""
    library = "cublaslt" if TASKS[name][1] == "cublaslt" else "pytorch,pytorch-compile" if name == "gemm_bias_gelu" else "pytorch"
    for libraries in (["--with", library], []):
        text, _ = call([KFORGE, "bench", str(task_file(name, store, scale)), str(winner), *libraries, "--device", device, "--time-seconds", str(seconds), "--json"], 300)
        if text.lstrip().startswith("{"):
            return json.loads(text)
    return None


ONE_BENCH = threading.Lock()


def figure(of, moved, timed):
    """The part of the copy bandwidth or of the library's speed that the first contestant reaches; 0 where it is not known."""
    own, library = timed["rows"][0], timed["rows"][1] if len(timed["rows"]) > 1 else None
    if own["us"] > 0 and of == "copy" and timed["copy_bytes_per_s"] > 0:
        return moved / own["us"] * 1e6 / timed["copy_bytes_per_s"]
    return library["us"] / own["us"] if own["us"] > 0 and of != "copy" and library else 0


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
    with ONE_BENCH:
        timed = bench(name, winner, store, options.device, options.seconds)
        drifted = {scale: bench(name, winner, store, options.device, options.seconds, scale) for scale in (0.97, 1.03)} if options.perturb and timed else {}
    if timed is None:
        return row
    own, *others = timed["rows"]
    row.update({"us": own["us"], "right": own["right"], "dishonest": own["dishonest"], "copy_tb_s": timed["copy_bytes_per_s"] / 1e12})
    if others:
        row["library_us"] = others[0]["us"]
        row["libraries"] = {other["candidate"]: other["us"] for other in others}
    row["reached"] = figure(of, moved, timed)
    if options.perturb:
        row["perturbed"] = [{"scale": scale, "us": at["rows"][0]["us"] if at else 0, "right": at["rows"][0]["right"] if at else "no bench",
                             "reached": figure(of, moved * scaled(task_text(name), scale)[1], at) if at else 0} for scale, at in drifted.items()]
        row["kept"] = min((at["reached"] for at in row["perturbed"] if at["right"] == "right"), default=0) / row["reached"] if row["reached"] else 0
        if len(row["perturbed"]) < 2 or any(at["right"] != "right" for at in row["perturbed"]):
            row["kept"] = 0
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--budget", type=float, default=170, help="seconds of search per task")
    parser.add_argument("--jobs", type=int, default=1, help="searches at once")
    parser.add_argument("--seconds", type=float, default=2, help="seconds of timed calls per contestant")
    parser.add_argument("--store", default="headline-search")
    parser.add_argument("--out", default="")
    parser.add_argument("--device", default="gpu:0")
    parser.add_argument("--perturb", action="store_true", help="time the winner at sizes 3% away, too")
    parser.add_argument("--bound", type=float, default=float("inf"), help="seconds that the whole call may take")
    options = parser.parse_args()
    global BOUND
    BOUND = options.bound
    missed = False
    print(f"{'task':18} {'asked':>14} {'reached':>8} {'us':>9} {'library us':>11} {'search s':>9} {'candidates':>11}  outcome")
    names = options.tasks.split(",")
    if unknown := [name for name in names if name not in TASKS]:
        parser.error(f"no task {unknown[0]!r}; there are: {', '.join(TASKS)}")
    pool = ThreadPoolExecutor(options.jobs)
    for coming in as_completed([pool.submit(row_of, name, pathlib.Path(options.store) / name, options) for name in names]):
        row = coming.result()
        name = row["task"]
        reached = row.get("reached", 0)
        missed = missed or reached < row["asked"] or row.get("right") != "right" or (options.perturb and row.get("kept", 0) < KEPT)
        print(f"{name:18} {row['asked']:>5.2f} {row['of']:>8} {reached:8.3f} {row.get('us', 0):9.1f} {row.get('library_us', 0):11.1f} {row.get('seconds', 0):9.1f} {row.get('candidates', 0)!s:>11}  "
              f"{row.get('outcome', 'no run')}, {row.get('right', 'no winner')}, {row.get('status', '')}" + (f", keeps {row.get('kept', 0):.3f}" if options.perturb else ""), flush=True)
        if options.out:
            with open(options.out, "a") as file:
                file.write(json.dumps(row) + "\n")
    return 1 if missed else 0


sys.exit(main())
