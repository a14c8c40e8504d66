#!/usr/bin/env python3
"""Kernel Tuner's strategies on a recorded space, in its simulation mode: kernel_tuner_replay.py SPACE.csv [SEEDS] [PERCENT].

Needs `pip install kernel_tuner` (1.0 or later). The recorded space becomes Kernel Tuner's cache file; each strategy gets PERCENT of the space as its
budget of evaluations. Prints the same figures as search_replay.
"""
import csv
import json
import math
import os
import random
import statistics
import sys
import tempfile
import warnings

import numpy

# brute_force is its default. The rest of its list needs further packages.
STRATEGIES = ["brute_force", "random_sample", "genetic_algorithm", "greedy_ils", "greedy_mls", "mls", "simulated_annealing", "dual_annealing", "basinhopping", "pso", "firefly_algorithm", "diff_evo", "bayes_opt"]


def read(path):
    rows = [r for r in csv.reader(open(path)) if r and not r[0].startswith("#")]
    names = rows[0][:-2]
    points = [(tuple(int(c) for c in r[:-2]), float(r[-2]) if r[-2] else 0.0) for r in rows[1:]]
    return names, points


def write_cache(path, names, points):
    cache = {}
    for key, value in points:
        entry = dict(zip(names, key))
        entry.update(time=value if value > 0 else "RuntimeFailedConfig", times=[value], compile_time=0, verification_time=0, benchmark_time=0,
                     strategy_time=0, framework_time=0, timestamp="2026-01-01 00:00:00+00:00")
        cache[",".join(str(k) for k in key)] = entry
    tune = {n: sorted({p[0][i] for p in points}) for i, n in enumerate(names)}
    json.dump({"device_name": "recorded", "kernel_name": "recorded", "problem_size": 1, "tune_params_keys": names, "tune_params": tune, "objective": "time", "cache": cache},
              open(path, "w"))
    return tune


def main():
    path = sys.argv[1]
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    percent = float(sys.argv[3]) if len(sys.argv) > 3 else 5.0
    from kernel_tuner import tune_kernel

    warnings.filterwarnings("ignore")
    names, points = read(path)
    known = dict(points)
    best = min(v for v in known.values() if v > 0)
    budget = max(1, int(percent / 100 * len(points)))
    folder = tempfile.mkdtemp()
    cache = os.path.join(folder, "cache.json")
    tune = write_cache(cache, names, points)
    restrictions = ["(" + ", ".join(names) + ") in (" + ", ".join(str(key) for key in known) + ")"]
    strategies = sys.argv[4].split(",") if len(sys.argv) > 4 else STRATEGIES
    for strategy in strategies:
        excess = []
        for seed in range(1, seeds + 1):
            random.seed(seed)
            numpy.random.seed(seed)
            stdout, sys.stdout = sys.stdout, open(os.devnull, "w")
            try:
                results, _ = tune_kernel("recorded", "__global__ void recorded() {}", 1, [], tune, restrictions=restrictions, strategy=strategy,
                                         strategy_options={} if strategy == "brute_force" else {"max_fevals": budget}, simulation_mode=True, cache=cache, block_size_names=["none"], verbose=False, quiet=True)
                times = [r["time"] for r in results[:budget] if isinstance(r["time"], (int, float)) and r["time"] > 0]
                excess.append((min(times) / best - 1) * 100 if times else math.inf)
            except Exception as error:  # a strategy that does not run is said, not hidden
                sys.stdout = stdout
                print(f"{strategy}: does not run here: {type(error).__name__}: {str(error)[:120]}")
                break
            finally:
                sys.stdout = stdout
        if len(excess) == seeds:
            excess.sort()
            print(f"{strategy}: after {budget} evaluations above the best: median {statistics.median(excess):.2f}%, 75% of seeds {excess[int(0.75 * (seeds - 1) + 0.5)]:.2f}%, worst {excess[-1]:.2f}%", flush=True)


if __name__ == "__main__":
    main()
