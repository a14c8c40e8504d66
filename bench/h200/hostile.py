#!/usr/bin/env python3
"""The candidates of tests/hostile on a real GPU: cheats must be named as their headers say and get through without their defence, honest ones must pass.

  hostile.py OUT KFORGE [honest cheats without checked checked-without]     run from the project's root; default: the first three

checked: the cheats that need no clock, judged by `kforge check` with the GPU's rung besides. $HOSTILE_BUILT: the build cache has all of them (pack_kit.sh).
OUT gets each answer as JSON and hostile.json, a row a candidate; the last line printed is a summary. Each call is bounded; one that fails leaves the rest alone.
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time

SECONDS = os.environ.get("HOSTILE_SECONDS", "0.4")   # of samples for a contestant
AT_ONCE = 12             # contestants in a call
CALL_LIMIT = 100         # s
SANDBOX_OFF = os.environ.get("SANDBOX_OFF", "")       # layers that this machine's driver cannot live with
DEVICE = os.environ.get("HOSTILE_DEVICE", "gpu:0")
AT_ONCE_HERE = min(14, os.cpu_count() or 2)           # processes that compile or emulate
ALONE = {"cheat_background_solver", "cheat_thread_at_load", "cheat_inherited_name"}   # what would disturb its neighbours


def marks(path):
    out = {}
    for line in path.read_text().splitlines():
        if not line.startswith("// "):
            break
        key, colon, value = line[3:].partition(": ")
        if colon and " " not in key:
            out[key] = value
    return out


def candidates(start):
    found = []
    for path in sorted(pathlib.Path("tests/hostile").glob(f"*/{start}_*.cu")):
        task = next((path.parent / name for name in ("large.toml", "free.toml", "task.toml") if (path.parent / name).exists()), None)
        found.append({"path": path, "name": path.stem, "task": task, "marks": marks(path)})
    return found


def run(arguments, off=""):
    environment = dict(os.environ, KFORGE_DEFENCES_OFF=",".join(word for word in (off, SANDBOX_OFF) if word))
    try:
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=CALL_LIMIT)
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        return -1, (late.stdout or b"").decode(errors="replace") if isinstance(late.stdout, bytes) else late.stdout or "", f"stopped after {CALL_LIMIT} s"


def bench(kforge, group, off, out, label):
    """Rows by candidate of one call of bench."""
    started = time.time()
    code, text, errors = run([kforge, "bench", str(group[0]["task"]), *[str(c["path"]) for c in group], "--time-seconds", SECONDS, "--json"], off)
    (out / f"{label}.json").write_text(text)
    (out / f"{label}.err").write_text(errors)
    try:
        rows = {row["candidate"]: row for row in json.loads(text)["rows"]}
    except (ValueError, KeyError):
        rows = {}
    print(f"{label}: exit {code}, {len(rows)} of {len(group)} rows, {time.time() - started:.0f} s {errors.strip().splitlines()[-1] if not rows and errors.strip() else ''}", flush=True)
    return [rows.get(str(c["path"])) for c in group]


def groups(list_of, key):
    made = {}
    for one in list_of:
        alone = one["name"] if one["name"] in ALONE else ""
        made.setdefault((str(one["task"]), key(one), alone), []).append(one)
    for (_, off, _), group in made.items():
        for start in range(0, len(group), AT_ONCE):
            yield off, group[start:start + AT_ONCE]


def said(row):
    return json.dumps([row.get("right"), row.get("failure"), row.get("dishonest")])


def check(kforge, one, off, out, part):
    """The verdict of one candidate, with the cases run on the GPU too."""
    code, text, errors = run([kforge, "check", str(one["path"].parent / "task.toml"), str(one["path"]), "--device", DEVICE, "--only", "correctness", "--json"], off)
    (out / f"{part}-{one['path'].parent.name}-{one['name']}.json").write_text(text or errors)
    try:
        verdict = json.loads(text)
    except ValueError:
        return {"status": f"exit {code}", "said": errors.strip().splitlines()[-1:] }
    return {"status": verdict["status"], "said": [[f["contract"], f["message"]] for f in verdict["findings"]]}


def named(one, row):
    contract, _, words = one["marks"]["check"].partition(" | ")
    return row["status"] == "rejected" and any(found[0] == contract and words in found[1] for found in row["said"])


def clean(row):
    return bool(row) and not row["failure"] and not row["dishonest"] and row["right"] == "right"


def main():
    out = pathlib.Path(sys.argv[1])
    kforge = sys.argv[2]
    parts = sys.argv[3:] or ["honest", "cheats", "without"]
    out.mkdir(parents=True, exist_ok=True)
    honest, cheats = candidates("honest"), [c for c in candidates("cheat") if c["marks"].get("bench")]
    began = time.time()
    checked = [c for c in candidates("cheat") if not c["marks"].get("bench")]
    built = [] if os.environ.get("HOSTILE_BUILT") else honest + cheats
    with concurrent.futures.ThreadPoolExecutor(max_workers=AT_ONCE_HERE) as pool:   # compiled at once; bench would do it one by one
        list(pool.map(lambda c: run([kforge, "check", str(c["task"]), str(c["path"]), "--only", "correctness", "--measure-instructions", "1", "--json"]), built))
    print(f"built {len(built)} candidates in {time.time() - began:.0f} s", flush=True)
    results, number = [], 0
    for part, list_of, key in (("honest", honest, lambda c: ""), ("cheats", cheats, lambda c: ""), ("without", [c for c in cheats if c["marks"].get("bench-off")], lambda c: c["marks"]["bench-off"])):
        if part not in parts:
            continue
        for off, group in groups(list_of, key):
            number += 1
            for one, row in zip(group, bench(kforge, group, off, out, f"{part}-{number}")):
                as_wanted = bool(row) and (one["marks"]["bench"] in said(row) if part == "cheats" else clean(row))
                results.append({"part": part, "candidate": str(one["path"]), "off": off, "as_wanted": as_wanted, "row": row})
                if not as_wanted:
                    print(f"  NOT AS WANTED: {part} {one['path']} (off: {off or 'nothing'}): {said(row) if row else 'no row'} us={row.get('us') if row else None}", flush=True)
        (out / "hostile.json").write_text(json.dumps(results, indent=1))
    for part, list_of, off_of in (("checked", checked, lambda c: ""), ("checked-without", [c for c in checked if c["marks"].get("check-off")], lambda c: c["marks"]["check-off"])):
        if part not in parts:
            continue
        with concurrent.futures.ThreadPoolExecutor(max_workers=AT_ONCE_HERE) as pool:
            rows = list(pool.map(lambda c: check(kforge, c, off_of(c), out, part), list_of))
        for one, row in zip(list_of, rows):
            as_wanted = named(one, row) if part == "checked" else row["status"] == "accepted"
            results.append({"part": part, "candidate": str(one["path"]), "off": off_of(one), "as_wanted": as_wanted, "row": row})
            if not as_wanted:
                print(f"  NOT AS WANTED: {part} {one['path']} (off: {off_of(one) or 'nothing'}): {json.dumps(row)[:400]}", flush=True)
        (out / "hostile.json").write_text(json.dumps(results, indent=1))
        print(f"{part}: {len(list_of)} candidates by {time.time() - began:.0f} s", flush=True)
    words = [f"{part} {sum(r['as_wanted'] for r in results if r['part'] == part)} of {sum(r['part'] == part for r in results)}" for part in parts]
    print("as wanted: " + ", ".join(words) + f" ({time.time() - began:.0f} s)")


main()
