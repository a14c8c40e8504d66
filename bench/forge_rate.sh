#!/bin/bash
# Candidates a minute of `kforge optimize`, and processor seconds a candidate, everything included (compilers, emulation, the forge itself, what is
# started once). Two light tasks, a softmax and a saxpy at small sizes beside the built-in ones; store and cache of builds are fresh in each run.
# Several programs are measured in turns, so that the machine's load is the same for all.
#
#   bench/forge_rate.sh PROGRAM...       PROGRAM: .../bin/kforge of a build; its helpers are beside it
#
#   KFORGE_RATE_CANDIDATES  a run (default 24)     KFORGE_RATE_TURNS  of all (default 1)
#
# A run's figures are of all its judgements: candidates, start, the winner's proof and its ablation.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
[ $# -gt 0 ] || { echo "usage: bench/forge_rate.sh PROGRAM..." >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# light NAME SIZES: the example's task at another size, with a goal that nothing meets, so that the run goes on.
light() {
  cp -r "$root/examples/$1" "$work/$1"
  sed -i "s/^measure = .*/measure = [{$2}]/" "$work/$1/task.toml"
  printf '\n[goal]\nus = 0.001\n' >> "$work/$1/task.toml"
}
light softmax "rows = 512, cols = 512"
light saxpy "n = 262144"

TIMEFORMAT='%R %U %S'
printf '%-10s %-9s %8s %14s %14s  %s\n' task program judged "candidates/min" "cpu s each" "neither compiler nor emulation"
for ((turn = 0; turn < ${KFORGE_RATE_TURNS:-1}; ++turn)); do
  for task in softmax saxpy; do
    number=0
    for program; do
      number=$((number + 1))
      out=$work/$task-$number-$turn
      mkdir "$out"
      export KFORGE_CACHE=$out/cache KFORGE_STORE=$out/store
      { time "$program" optimize "$work/$task/task.toml" --candidates "${KFORGE_RATE_CANDIDATES:-24}" --stagnation 0 --budget-seconds 600 > "$out/report" 2> "$out/progress" || true; } 2> "$out/time"
      "$program" runs last --json > "$out/run.json"
      "$program" runs last --costs > "$out/costs" 2> /dev/null || true
      python3 - "$task" "$number" "$out" <<'PYTHON'
import json, sys
task, number, out = sys.argv[1:]
run = json.load(open(out + "/run.json"))
wall, user, system = map(float, open(out + "/time").read().split()[-3:])
judged = len(run["tried"]) + (1 if run["winner"] else 0)
costs = open(out + "/costs").read()
share = costs.rsplit(": ", 1)[-1].strip() if "neither" in costs else "-"
print(f"{task:10} {number:9} {judged:8} {60 * judged / wall:14.1f} {(user + system) / judged:14.2f}  {share}")
PYTHON
    done
  done
done
echo
echo "the last program's stages, $task:"
cat "$out/costs"
