#!/usr/bin/env python3
"""Compares verdicts with and without a GPU: NAME-gpu.json beside NAME-emulator.json in one folder. A line each, then a summary."""
import json
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
same = total = 0
for path in sorted(folder.glob("*-gpu.json")):
    name = path.name[: -len("-gpu.json")]
    try:
        gpu = json.loads(path.read_text())
        emulator = json.loads((folder / f"{name}-emulator.json").read_text())
    except (OSError, ValueError) as error:
        total += 1
        print(f"{name:40} unreadable: {error} {(folder / (name + '-gpu.err')).read_text()[-300:]}")
        continue
    total += 1
    failed = [[c["id"] for c in v["contracts"] if c["status"] == "failed" and c["level"] == "required"] for v in (gpu, emulator)]
    # A wrong kernel may also go wrong on the GPU: what it fails there besides is more evidence, not another verdict.
    equal = gpu["status"] == emulator["status"] and set(failed[1]) <= set(failed[0])
    same += equal
    time = gpu.get("time") or {}
    rungs = " ".join(f"{r['name']}={r['status']}({r['seconds']:.1f})" for r in gpu["rungs"])
    honest = [f["message"] for f in gpu["findings"] if f["contract"] == "honest"]
    print(f"{name:40} {'same' if equal else 'DIFFERENT'} {gpu['status']}/{emulator['status']} {failed[0]}{'' if equal else failed[1]} "
          f"{time.get('source')} {time.get('us')} us modelled {time.get('modelled_us')} floor {time.get('floor_us')} interval {time.get('interval')} first {time.get('first_call_us')} "
          f"burst {time.get('back_to_back_us')} verified {time.get('verified')} {rungs} {honest} {'' if equal else gpu['why'] + ' / ' + emulator['why']}")
print(f"{same} of {total} verdicts are the same with and without the GPU")
