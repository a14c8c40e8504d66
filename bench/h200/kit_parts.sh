# What pack_kit.sh packs: for each NAME a function build_NAME that fills the build cache, run_NAME OUT that is for a real GPU, and seconds_NAME, how long it may take.
# Sourced by bash; enter_kit comes first.

# The kit's folder as the project, with its own compilers' paths and its own cache; nothing of the machine's cache takes part.
enter_kit() {
  cd "$1" || exit 3
  export KFORGE_ROOT=$1 KFORGE_CACHE=$1/cache KFORGE_STORE=$1/store KFORGE_CUDA=$1/cuda CUDA_HOME=$1/cuda PATH=$1/path:$1/cuda/bin:$PATH
  kforge=$1/bin/kforge
}

# Candidates of one folder with one task: built by kept compilers; the smallest budget ends the emulation with its first call.
build_folder() { "$kforge" check "$1" "$2" --out "$KFORGE_STORE/built/$(echo "$2" | tr / _)" --only correctness --measure-instructions 1 --call-seconds 0.5 --call-instructions 1000 --jobs "${JOBS:-2}" >/dev/null 2>&1 || true; echo "built $2"; }   # rejected, or not judged: it is built

# --- the candidates of tests/hostile ------------------------------------------------------------------------
build_hostile() {
  for folder in tests/hostile/*/; do
    for task in large free task; do [ -f "$folder$task.toml" ] && break; done
    build_folder "$folder$task.toml" "${folder%/}"
  done
}
seconds_hostile() { echo 90; }
run_hostile() { HOSTILE_BUILT=1 HOSTILE_SECONDS=${HOSTILE_SECONDS:-0.2} python3 bench/h200/hostile.py "$1" "$kforge" honest cheats checked; }

# Without their defences.
build_open() { build_hostile; }
seconds_open() { echo 90; }
run_open() { HOSTILE_BUILT=1 HOSTILE_SECONDS=${HOSTILE_SECONDS:-0.2} python3 bench/h200/hostile.py "$1" "$kforge" without checked-without; }

# --- the verdicts of the examples ---------------------------------------------------------------------------
example_folders() { for task in examples/*/task.toml; do echo "$(dirname "$task")"; done; }
build_verdicts() {
  for folder in $(example_folders); do
    build_folder "$folder/task.toml" "$folder"
    [ -d "$folder/bad" ] && build_folder "$folder/task.toml" "$folder/bad"
  done
  build_folder tests/device/large.toml tests/device/honest
  build_folder tests/device/large.toml tests/device/faulty
}
seconds_verdicts() { echo 90; }
run_verdicts() { EXAMPLE_SECONDS=${EXAMPLE_SECONDS:-0.3} FAULTY=${FAULTY:-resets exits} LIBRARY_TURNS=${LIBRARY_TURNS:-1} KFORGE_BIN=$KFORGE_ROOT/bin bench/h200/device_kit.sh "$1" examples faulty tools libraries; }

# --- attention by its templates -----------------------------------------------------------------------------
# The points of bench/headline/kit/points.txt, beside PyTorch in turns. $TEMPLATE_POINTS is the program of -DKFORGE_BENCHMARKS=ON, needed for packing alone.
attention_tasks() { echo attention attention_causal; }
build_attention() {
  for task in $(attention_tasks); do
    while read -r of template points; do
      [ "$of" = "$task" ] && [ "$template" = attention_wgmma ] || continue
      mkdir -p "points/$task"
      "${TEMPLATE_POINTS:-$root/build/release/bin/template_points}" "bench/headline/$task/task.toml" "points/$task" "$template" "$points" >/dev/null
    done <bench/headline/kit/points.txt
    build_folder "bench/headline/$task/task.toml" "points/$task"
  done
}
seconds_attention() { echo 90; }
run_attention() {
  for task in $(attention_tasks); do
    timeout 45 "$kforge" bench "bench/headline/$task/task.toml" points/"$task"/*.cu --with pytorch --time-seconds 0.6 --json >"$1/$task.json" 2>"$1/$task.err"
    echo "$task: exit $? $(python3 bench/h200/rows.py "$1/$task.json")"
  done
}

# --- the headline tasks by the search alone -----------------------------------------------------------------
# $TASKS, with commas between; $BUDGET seconds of search each, $JOBS at once; $TIME seconds of timed calls a contestant; $BOUND for all of it; PERTURB=1 for sizes 3% away, too.
# No build is kept: what a search proposes is built there, which needs nvcc and g++.
build_headline() { :; }
seconds_headline() { echo "${BOUND:-540}"; }
run_headline() {
  KFORGE=$kforge timeout -k 10 "$((${BOUND:-540} + 5))" python3 bench/headline/search.py --tasks "${TASKS:-gemm_f16_4096,gemm_bf16_4096,softmax,row_max}" --budget "${BUDGET:-100}" --jobs "${JOBS:-1}" --seconds "${TIME:-1}" \
    ${PERTURB:+--perturb} --bound "${BOUND:-540}" --device "${DEVICE:-gpu:0}" --store "$KFORGE_ROOT/store/headline" --out "$1/headline.jsonl" >"$1/headline.txt" 2>"$1/headline.err"
  local rc=$?
  cat "$1/headline.txt"
  return "$rc"
}
