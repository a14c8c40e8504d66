#!/usr/bin/env python3
"""One line of a bench report; with --spread, how far the medians of several reports lie apart."""
import json
import statistics
import sys

if sys.argv[1:2] == ["--spread"]:
    medians = []
    for path in sys.argv[2:]:
        try:
            medians.append(json.load(open(path))["rows"][0]["us"])
        except (OSError, ValueError, IndexError) as error:
            print(path, error)
    print(" ".join(f"{us:.3f}" for us in medians), f"us; (max - min) / median {100 * (max(medians) - min(medians)) / statistics.median(medians):.3f}%" if medians else "")
    sys.exit()
try:
    rows = json.load(open(sys.argv[1]))["rows"]
except (OSError, ValueError) as error:
    print(error)
    sys.exit()
print("; ".join(f"{r['candidate'].split('/')[-1]}: {r['us']:.3f} us (fresh {r['fresh_us']:.2f}, burst {r['back_to_back_us']:.2f}, graph {r['graph_us']:.2f}, launch {r['launch_us']:.2f}, "
                f"empty {r['empty_us']:.2f}, first {r['first_call_us']:.0f}, {r['samples']} samples, {r['verified']} verified, +-{50 * r['interval']:.2f}%) {r['right']} {r['failure']} {r['dishonest']}" for r in rows))
