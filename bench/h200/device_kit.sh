#!/bin/bash
# What the documents say of a real GPU, gathered on one: run from the project's root with its release build, where a GPU, its driver and nvcc 13.0 are.
#
#   bench/h200/device_kit.sh OUT [PART...]     parts: doctor probe smoke examples faulty repeat tiny dishonest hostile libraries tools forge (default: all, some 12 minutes)
#   $WINNERS       a folder with NAME.cu, what optimize found for examples/NAME: judged beside the kernels of the examples
#   $EXAMPLE_SECONDS of samples for each kernel of the examples; $FAULTY those of tests/device/faulty that are tried; $LIBRARY_TURNS of cuBLAS beside a plain loop
#   $KFORGE_BIN    the programs; default build/release/bin
#   $PLAIN_LOOP    plain_loop as built from bench/h200/plain_loop.cu; default: it is built here
#
# Each part is bounded in seconds, and one that fails leaves the others alone.
#
# OUT gets the raw answers; OUT/summary.txt what came of each part. Settings of the card are left alone.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
out=${1:?usage: device_kit.sh OUT [PART...]}
shift
parts=${*:-doctor probe smoke examples faulty repeat tiny dishonest hostile libraries tools forge}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$root" || exit 2
kforge=${KFORGE_BIN:-$root/build/release/bin}/kforge
export KFORGE_ROOT=$root KFORGE_CACHE=${KFORGE_CACHE:-$out/cache} KFORGE_STORE=$out/store
mkdir -p "$KFORGE_CACHE"
say() { echo "$*" | tee -a "$out/summary.txt"; }
wants() { [[ " $parts " == *" $1 "* ]]; }
start=$SECONDS

if wants doctor; then
  "$kforge" doctor >"$out/doctor.txt" 2>&1
  say "doctor: exit $?"
  "$kforge" gpus --this >"$out/this.toml" 2>"$out/this.err"
  say "gpus --this: exit $? $(cat "$out/this.err")"
fi

if wants probe; then
  nvcc -O2 -std=c++17 -arch=sm_90 bench/h200/probe.cu -ldl -o "$out/probe" >"$out/probe.err" 2>&1
  timeout 60 "$out/probe" >"$out/probe.json" 2>>"$out/probe.err"
  say "probe: exit $? $(cat "$out/probe.json") $(tail -n 1 "$out/probe.err")"
  rm -f "$out/probe"
fi

if wants smoke; then
  # Which layer of the sandbox, if any, the driver cannot live with: the first setting that works is used for the rest.
  for off in "" files privileges files,privileges calls files,privileges,calls; do
    KFORGE_DEFENCES_OFF=$off timeout 120 "$kforge" check tests/device/task.toml tests/device/honest/plain.cu --device gpu:0 --json >"$out/smoke-${off:-none}.json" 2>"$out/smoke-${off:-none}.err"
    code=$?
    say "smoke, defences off: '${off}': exit $code $(tail -n 1 "$out/smoke-${off:-none}.err")"
    export KFORGE_DEFENCES_OFF=$off
    [ $code -le 1 ] && break
  done
fi

# check NAME TASK CANDIDATE OPTIONS...
check() {
  local name=$1 task=$2 candidate=$3
  shift 3
  local began=$SECONDS
  timeout 200 "$kforge" check "$task" "$candidate" --json "$@" >"$out/$name.json" 2>"$out/$name.err"
  echo "$name exit=$? seconds=$((SECONDS - began))" >>"$out/checks.txt"
}
export -f check
export out kforge

if wants examples; then
  mkdir -p "$out/examples"
  list=$(for task in examples/*/task.toml; do
    folder=$(dirname "$task")
    for candidate in "$folder"/naive.cu "$folder"/good.cu "$folder"/bad/*.cu; do echo "$task $candidate examples/$(basename "$folder")-$(basename "$candidate" .cu)"; done
    winner=${WINNERS:-/nowhere}/$(basename "$folder").cu
    [ -f "$winner" ] && echo "$task $winner examples/$(basename "$folder")-winner"
  done)
  export EXAMPLE_SECONDS=${EXAMPLE_SECONDS:-1}
  # The second check of a candidate finds it built.
  echo "$list" | xargs -P 16 -L 1 bash -c 'check "$2-emulator" "$0" "$1"; check "$2-gpu" "$0" "$1" --device gpu:0 --time-seconds $EXAMPLE_SECONDS'
  python3 bench/h200/compare_verdicts.py "$out/examples" >"$out/examples.txt" 2>&1
  say "examples: $(tail -n 1 "$out/examples.txt") after $((SECONDS - start)) s"
fi

if wants faulty; then
  # Each bad one between two honest ones, without the emulator in between: bench goes to the GPU at once.
  mkdir -p "$out/faulty"
  for bad in ${FAULTY:-illegal traps hangs takes_all_memory resets exits}; do
    timeout 120 "$kforge" bench tests/device/large.toml tests/device/honest/plain.cu tests/device/faulty/$bad.cu tests/device/honest/plain.cu --time-seconds 0.5 --json >"$out/faulty/$bad.json" 2>"$out/faulty/$bad.err"
    say "faulty $bad: exit $? $(python3 bench/h200/rows.py "$out/faulty/$bad.json")"
  done
fi

if wants repeat; then
  mkdir -p "$out/repeat"
  for turn in 0 1 2 3 4 5 6 7 8 9; do "$kforge" bench examples/sgemm/task.toml examples/sgemm/good.cu --time-seconds 2 --json >"$out/repeat/$turn.json" 2>"$out/repeat/$turn.err"; done
  say "repeatability: $(python3 bench/h200/rows.py --spread "$out"/repeat/*.json)"
fi

if wants tiny; then
  "$kforge" bench tests/device/task.toml tests/device/honest/*.cu --time-seconds 1 --json >"$out/tiny.json" 2>"$out/tiny.err"
  say "tiny (n = 4096): exit $? $(python3 bench/h200/rows.py "$out/tiny.json")"
  "$kforge" bench tests/device/task.toml tests/device/honest/plain.cu --warm --time-seconds 1 --json >"$out/tiny-warm.json" 2>"$out/tiny-warm.err"
  say "tiny, warm: exit $? $(python3 bench/h200/rows.py "$out/tiny-warm.json")"
  "$kforge" bench tests/device/task.toml bench/h200/empty.cu --time-seconds 1 --json >"$out/empty.json" 2>"$out/empty.err"
  say "an empty kernel (its answer is wrong, of course): exit $? $(python3 bench/h200/rows.py "$out/empty.json")"
fi

if wants dishonest; then
  mkdir -p "$out/dishonest"
  for candidate in tests/device/honest/*.cu tests/device/dishonest/*.cu; do
    name=$(basename "$candidate" .cu)
    timeout 120 "$kforge" bench tests/device/large.toml "$candidate" --time-seconds 0.5 --json >"$out/dishonest/$name.json" 2>"$out/dishonest/$name.err"
    say "$candidate: exit $? $(python3 bench/h200/rows.py "$out/dishonest/$name.json")"
  done
fi

if wants hostile; then
  # $HOSTILE_PARTS: of honest, cheats, without; each some 100 s.
  SANDBOX_OFF=${KFORGE_DEFENCES_OFF:-} timeout 480 python3 bench/h200/hostile.py "$out/hostile" "$kforge" ${HOSTILE_PARTS:-} 2>&1 | tee "$out/hostile.txt" | grep -v "^built" | while read -r line; do say "hostile: $line"; done
fi

if wants libraries; then
  mkdir -p "$out/libraries"
  plain=${PLAIN_LOOP:-$out/plain_loop}
  [ -x "$plain" ] || nvcc -O2 -std=c++17 -arch=sm_90 bench/h200/plain_loop.cu -lcublas -o "$plain" >"$out/libraries/plain_loop.err" 2>&1
  for turn in $(seq "${LIBRARY_TURNS:-3}"); do
    timeout 60 "$kforge" bench bench/h200/gemm4096/task.toml --with cublas,cublaslt --beside "$plain turns renew" --time-seconds 2 --json >"$out/libraries/gemm4096-$turn.json" 2>"$out/libraries/gemm4096-$turn.err"
    say "cuBLAS f16 4096^3 beside a plain loop: exit $? $(python3 bench/h200/rows.py "$out/libraries/gemm4096-$turn.json") $(tail -n 1 "$out/libraries/gemm4096-$turn.err")"
  done
  rm -f "$out/plain_loop"
  library() {
    timeout 150 "$kforge" bench examples/$1/task.toml examples/$1/good.cu --with "$2" --time-seconds 1 --json >"$out/libraries/$1.json" 2>"$out/libraries/$1.err"
    say "$1 with $2: exit $? $(python3 bench/h200/rows.py "$out/libraries/$1.json") $(tail -n 1 "$out/libraries/$1.err")"
  }
  library sgemm cublas,cublaslt,pytorch
  library reduction cub,pytorch
  library scan cub,pytorch
  library softmax pytorch,pytorch-compile
fi

if wants tools; then
  mkdir -p "$out/tools"
  timeout 150 "$kforge" check examples/softmax/task.toml examples/softmax/good.cu --device gpu:0 --time-seconds 0.5 --sanitize --counters --json >"$out/tools/softmax.json" 2>"$out/tools/softmax.err"
  say "softmax with compute-sanitizer and ncu: exit $? $(python3 -c "import json; v=json.load(open('$out/tools/softmax.json')); print([(r['name'], r['status'], round(r['seconds'], 1), r['why']) for r in v['rungs']], [(c['id'], c['measured'], c['evidence']) for c in v['contracts'] if c['evidence'] == 'ncu'])" 2>&1 | tail -n 1)"
fi

if wants forge; then
  timeout 100 "$kforge" optimize examples/softmax/task.toml --device gpu:0 --budget-seconds 60 --json >"$out/optimize.json" 2>"$out/optimize.err"
  say "optimize softmax: exit $? $(python3 -c "import json,sys; r=json.load(open('$out/optimize.json')); print(r.get('outcome'), r.get('device'), r.get('best_us'))" 2>&1 | tail -n 1)"
fi
say "all of it: $((SECONDS - start)) s"
rm -rf "$out/cache" "$out/store"
tar czf "$out/../device-out.tgz" -C "$out" . && mv "$out/../device-out.tgz" "$out/all.tgz"
