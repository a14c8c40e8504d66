#!/bin/bash
# Sets up what Kernel Forge needs and builds it. ./forge and ./test read this file; run by itself it does one step:
#
#   tools/setup.sh packages        install the Debian/Ubuntu packages of tools/packages.txt
#   tools/setup.sh toolkit         find or install a CUDA compiler and print its folder
#   tools/setup.sh grammar         fetch the CUDA grammar, without which no kernel is transformed and no reference read
#   tools/setup.sh agents          fetch what the tests of kforge mcp need and print its python
#   tools/setup.sh disassembler    fetch NVIDIA's disassembler, with which models and agents are shown machine code
#   tools/setup.sh build PRESET    configure and build (release, debug, asan, fuzz)
#
# Each step leaves a stamp and does nothing while the stamp fits its inputs. A step that was killed leaves no stamp and is
# done again; one lock keeps two of us apart. Nothing outside the checkout is touched but by apt-get.
#
# Environment: KFORGE_CUDA    a toolkit's folder to use, or "pinned" to ignore installed toolkits
#              KFORGE_WHEELS  a folder to keep the compiler's wheels in, or to take them from (offline)
#              KFORGE_STATE   folder for the toolkit and the stamps (default .kforge in the checkout)
#              KFORGE_BUILD   folder for the builds (default build in the checkout)
#              KFORGE_JOBS    compilers at once (default: one per core, fewer when memory is short)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
readonly root
# Exit statuses of design.md: 2 the call is wrong, 3 something is missing here.
readonly wrong_call=2 missing=3

say() { echo "kernel forge: $*" >&2; }
die() { say "$1"; shift; for hint; do echo "  $hint" >&2; done; exit "$missing"; }

# --- folders ------------------------------------------------------------------------------------------------

usable_folder() { mkdir -p "$1" 2>/dev/null && [ -w "$1" ]; }

# A read-only checkout keeps its state and builds in the user's cache.
choose_folders() {
  local elsewhere
  elsewhere=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/kforge/checkouts/$(echo "$root" | sha256sum | cut -c1-16)
  state=${KFORGE_STATE:-$root/.kforge}
  build=${KFORGE_BUILD:-$root/build}
  usable_folder "$state" || state=$elsewhere/state
  usable_folder "$build" || build=$elsewhere/build
  usable_folder "$state" && usable_folder "$build" ||
    die "neither the checkout nor $elsewhere can be written" "set KFORGE_STATE and KFORGE_BUILD to folders that can"
}

# need_space FOLDER MEBIBYTES WHAT
need_space() {
  local free
  free=$(df --output=avail -m "$1" 2>/dev/null | tail -n 1 | tr -d ' ') || return 0
  [ "${free:-0}" -ge "$2" ] || die "$3 needs $2 MiB in $1, which has ${free:-0} MiB left" "free some space and run again"
}

# Waits for another setup of this checkout. The descriptor stays open until unlock or our end.
lock() {
  exec 9>"$state/setup.lock"
  flock -n 9 && return
  say "waiting for another setup of this checkout"
  flock 9
}
unlock() { exec 9>&-; }

# --- stamps -------------------------------------------------------------------------------------------------

fits_stamp() { [ -r "$state/$1.stamp" ] && [ "$(<"$state/$1.stamp")" = "$2" ]; }
write_stamp() { echo "$2" >"$state/$1.stamp.new" && mv "$state/$1.stamp.new" "$state/$1.stamp"; }

# --- Debian and Ubuntu packages -----------------------------------------------------------------------------

listed_packages() { sed -e 's/#.*//' "$root/tools/packages.txt" | xargs -n 1; }
packages_key() { cat "$root/tools/packages.txt" /etc/os-release 2>/dev/null | sha256sum | cut -c1-32; }

absent_packages() {
  local present
  present=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' 2>/dev/null | sed -n 's/^ii  *//p' | sort -u)
  comm -23 <(listed_packages | sort -u) <(echo "$present")
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif [ -t 0 ]; then
    sudo "$@"
  else
    sudo -n "$@"
  fi
}

# install_packages NAME...
install_packages() {
  local by_hand="sudo apt-get update && sudo apt-get install --no-install-recommends $*"
  command -v apt-get >/dev/null || die "these packages are missing and there is no apt-get here: $*" \
    "install their equivalents, then set KFORGE_SKIP_PACKAGES=1"
  [ "$(id -u)" = 0 ] || command -v sudo >/dev/null ||
    die "packages are missing and neither root nor sudo is to be had" "as root, run: ${by_hand//sudo /}"
  need_space /var/cache 600 "installing packages"
  say "installing packages with apt-get: $*"
  local apt=(apt-get -q -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
  {
    # An installation that was killed half-way must be completed first.
    [ -z "$(dpkg --audit)" ] || as_root dpkg --configure -a
    as_root "${apt[@]}" update
    as_root env DEBIAN_FRONTEND=noninteractive "${apt[@]}" install -y --no-install-recommends "$@"
  } >"$state/packages.log" 2>&1 || {
    tail -n 15 "$state/packages.log" >&2
    die "apt-get failed (all of its output: $state/packages.log)" "offline, or no permission? then later: $by_hand"
  }
}

set_up_packages() {
  [ -z "${KFORGE_SKIP_PACKAGES:-}" ] || return 0
  fits_stamp packages "$(packages_key)" && return
  local absent
  mapfile -t absent < <(absent_packages)
  [ ${#absent[@]} = 0 ] || install_packages "${absent[@]}"
  write_stamp packages "$(packages_key)"
}

# --- CUDA compiler ------------------------------------------------------------------------------------------

# The toolkits of this machine, best first, one folder a line.
installed_toolkits() {
  local nvcc
  nvcc=$(command -v nvcc || true)
  [ -z "$nvcc" ] || dirname "$(dirname "$(readlink -f "$nvcc")")"
  [ -z "${CUDA_HOME:-}" ] || echo "$CUDA_HOME"
  echo /usr/local/cuda
}

# Prints what is wrong with the toolkit in a folder, or nothing. Releases before 12.8 do not know all targets of our data
# sheets; those from 14 on are unknown to us.
toolkit_fault() {
  local file version
  for file in bin/nvcc bin/ptxas nvvm/bin/cicc; do
    [ -x "$1/$file" ] || { echo "it has no $file"; return; }
  done
  for file in cuda_runtime.h cooperative_groups.h; do
    [ -r "$1/include/$file" ] || { echo "it has no include/$file"; return; }
  done
  [ -r "$1/include/cccl/cub/cub.cuh" ] || [ -r "$1/include/cub/cub.cuh" ] || { echo "it has no CUB"; return; }
  version=$("$1/bin/nvcc" --version 2>/dev/null | sed -n 's/.*release \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
  read -r major minor <<<"${version:-0 0}"
  if [ "$major" -lt 12 ] || { [ "$major" = 12 ] && [ "$minor" -lt 8 ]; } || [ "$major" -gt 13 ]; then
    echo "its release is $major.$minor; 12.8 to 13.x is needed"
  fi
}

pinned_key() { sha256sum "$root/tools/cuda-wheels.txt" | cut -c1-32; }
pinned_toolkit_is_there() {
  [ -r "$state/cuda/.key" ] && [ "$(<"$state/cuda/.key")" = "$(pinned_key)" ] && [ -z "$(toolkit_fault "$state/cuda")" ]
}

# The wheels hold the toolkit without the links that its programs and linkers look for, and their own idea of modes.
complete_toolkit() {
  local library
  ln -s lib "$1/lib64"
  for library in "$1"/lib/*.so.*; do
    case $library in *.alt.*) continue ;; esac
    ln -sf "$(basename "$library")" "${library%%.so.*}.so"
  done
  chmod -R u+w,a+rX "$1"
  chmod a+x "$1"/bin/* "$1"/nvvm/bin/*
}

system_python() {
  local python
  for python in /usr/bin/python3 "$(command -v python3 || true)"; do
    [ -n "$python" ] && "$python" -c 'import venv, ensurepip' 2>/dev/null && { echo "$python"; return; }
  done
  die "no python3 with its venv module was found; it fetches the CUDA compiler" "run: sudo apt-get install python3-venv"
}

# fetch_wheels PYTHON FOLDER: unpacks the wheels into FOLDER/unpacked, taking them from KFORGE_WHEELS where they are there.
fetch_wheels() {
  local wheels=${KFORGE_WHEELS:-$2/wheels} pip=("$2/venv/bin/python" -m pip --disable-pip-version-check)
  local what=(--no-deps --only-binary=:all: --require-hashes -r "$root/tools/cuda-wheels.txt")
  "$1" -m venv "$2/venv" && mkdir -p "$wheels" || return 1
  install_from() { "${pip[@]}" install --no-index --find-links "$wheels" --no-compile --target "$2/unpacked" "${what[@]}"; }
  [ -n "${KFORGE_WHEELS:-}" ] && install_from "$@" && return
  "${pip[@]}" download -d "$wheels" "${what[@]}" && install_from "$@"
}

# Builds the folder aside and renames it, so that it is whole or absent.
install_pinned_toolkit() {
  local new=$state/cuda.new python
  [ "$(uname -sm)" = "Linux x86_64" ] || die "the pinned CUDA compiler is for x86-64 Linux; this is $(uname -sm)" \
    "install CUDA 12.8 or later and set CUDA_HOME to its folder"
  need_space "$state" 1100 "the CUDA compiler"
  say "fetching the CUDA compiler, release 13.0 (190 MB, about half a minute)"
  rm -rf "$new"
  mkdir -p "$new"
  python=$(system_python)
  fetch_wheels "$python" "$new" >"$state/cuda.log" 2>&1 || {
    tail -n 8 "$state/cuda.log" >&2
    rm -rf "$new"
    die "the CUDA compiler could not be fetched (all output: $state/cuda.log)" \
      "offline? install CUDA 12.8 or later and set CUDA_HOME to its folder," \
      "or put the wheels of tools/cuda-wheels.txt into a folder and set KFORGE_WHEELS to it"
  }
  local unpacked=$new/unpacked/nvidia/cu13 fault
  complete_toolkit "$unpacked"
  fault=$(toolkit_fault "$unpacked")
  [ -z "$fault" ] || die "the fetched CUDA compiler is broken: $fault" "please report this"
  pinned_key >"$unpacked/.key"
  rm -rf "$state/cuda"
  mv "$unpacked" "$state/cuda"
  rm -rf "$new"
}

# What the choice of the toolkit depends on.
toolkit_key() {
  {
    cat "$root/tools/cuda-wheels.txt"
    echo "${KFORGE_CUDA:-} ${CUDA_HOME:-} $state"
    stat -Lc '%n %s %Y' "$(command -v nvcc || echo none)" "${CUDA_HOME:-none}/bin/nvcc" /usr/local/cuda/bin/nvcc \
      "$state/cuda/bin/nvcc" 2>/dev/null || true
  } | sha256sum | cut -c1-32
}

choose_toolkit() {
  local candidate fault seen=" "
  case ${KFORGE_CUDA:-} in
    "") for candidate in $(installed_toolkits); do
        case $seen in *" $candidate "*) continue ;; esac
        seen+="$candidate "
        [ -e "$candidate/bin/nvcc" ] || continue
        fault=$(toolkit_fault "$candidate")
        [ -n "$fault" ] || { toolkit=$candidate; return; }
        say "passing over the CUDA toolkit in $candidate: $fault"
      done ;;
    pinned) ;;
    *)
      fault=$(toolkit_fault "$KFORGE_CUDA")
      [ -z "$fault" ] || die "KFORGE_CUDA=$KFORGE_CUDA cannot be used: $fault"
      toolkit=$KFORGE_CUDA
      return ;;
  esac
  pinned_toolkit_is_there || install_pinned_toolkit
  toolkit=$state/cuda
}

toolkit_is_chosen() {
  fits_stamp toolkit "$(toolkit_key)" && toolkit=$(<"$state/toolkit") && [ -x "$toolkit/bin/nvcc" ] && [ -x "$toolkit/nvvm/bin/cicc" ]
}

set_up_toolkit() {
  toolkit_is_chosen && return
  choose_toolkit
  echo "$toolkit" >"$state/toolkit.new" && mv "$state/toolkit.new" "$state/toolkit"
  write_stamp toolkit "$(toolkit_key)"
}

# For the programs that we start: the chosen toolkit comes first wherever they look.
export_toolkit() {
  export CUDA_HOME=$toolkit KFORGE_CUDA=$toolkit
  export PATH=$toolkit/bin:$PATH
  [ -z "${KFORGE_STATE:-}" ] || [ -n "${KFORGE_GRAMMAR:-}" ] || export KFORGE_GRAMMAR=$state/grammar/tree_sitter_cuda/_binding.abi3.so
}

# --- CUDA grammar -------------------------------------------------------------------------------------------

grammar_key() { sha256sum "$root/tools/grammar-wheels.txt" | cut -c1-32; }
# True also for a day after it could not be had, so that a machine without network does not ask at every start.
grammar_is_settled() { grammar_is_there || [ -n "$(find "$state/grammar.failed" -mtime -1 2>/dev/null)" ]; }
grammar_is_there() { [ -r "$state/grammar/.key" ] && [ "$(<"$state/grammar/.key")" = "$(grammar_key)" ]; }

# fetch_small LIST FOLDER: as fetch_wheels, of another list of tools/.
fetch_small() {
  local python folder=$2 wheels=${KFORGE_WHEELS:-$2/wheels} what
  local pip=("$folder/venv/bin/python" -m pip --disable-pip-version-check)
  what=(--no-deps --only-binary=:all: --require-hashes -r "$root/tools/$1")
  python=$(system_python) && "$python" -m venv "$folder/venv" && mkdir -p "$wheels" || return 1
  unpack() { "${pip[@]}" install --no-index --find-links "$wheels" --no-compile --target "$folder/unpacked" "${what[@]}"; }
  [ -n "${KFORGE_WHEELS:-}" ] && unpack && return
  "${pip[@]}" download -d "$wheels" "${what[@]}" && unpack
}

# Everything but the transformations of `optimize --from` works without it, so that a failure is said and no more.
set_up_grammar() {
  local new=$state/grammar.new
  grammar_is_there && return
  rm -rf "$new" && mkdir -p "$new"
  if fetch_small grammar-wheels.txt "$new" >"$state/grammar.log" 2>&1; then
    grammar_key >"$new/unpacked/.key"
    rm -rf "$state/grammar" && mv "$new/unpacked" "$state/grammar"
  else
    say "the CUDA grammar could not be fetched (all output: $state/grammar.log); given kernels are not transformed and references not read until it is"
    touch "$state/grammar.failed"
  fi
  rm -rf "$new"
}

# --- Python environment of the agent tests -----------------------------------------------------------------

agents_key() { sha256sum "$root/tools/agent-wheels.txt" | cut -c1-32; }
agents_are_there() { [ -r "$state/agents/.key" ] && [ "$(<"$state/agents/.key")" = "$(agents_key)" ]; }

# Prints the environment's python. Where PyPI cannot be reached that is said, and no more.
set_up_agents() {
  local new=$state/agents
  agents_are_there || {
    rm -rf "$new" && "$(system_python)" -m venv "$new" &&
      "$new/bin/python" -m pip --disable-pip-version-check install --quiet --only-binary=:all: --require-hashes \
        ${KFORGE_WHEELS:+--find-links "$KFORGE_WHEELS"} -r "$root/tools/agent-wheels.txt" >"$state/agents.log" 2>&1 ||
      die "the SDK of the Model Context Protocol could not be fetched (all output: $state/agents.log)" "the tests of kforge mcp need it; nothing else does"
    agents_key >"$new/.key"
  }
  echo "$new/bin/python"
}

# --- disassembler -------------------------------------------------------------------------------------------

disassembler_key() { sha256sum "$root/tools/disassembler-wheels.txt" | cut -c1-32; }
disassembler_is_there() { [ -r "$state/disassembler/.key" ] && [ "$(<"$state/disassembler/.key")" = "$(disassembler_key)" ]; }

# Only when it is asked for: nothing of the judge needs it.
set_up_disassembler() {
  local new=$state/disassembler.new
  disassembler_is_there && return
  rm -rf "$new" && mkdir -p "$new"
  fetch_small disassembler-wheels.txt "$new" >"$state/disassembler.log" 2>&1 || {
    rm -rf "$new"
    die "the disassembler could not be fetched (all output: $state/disassembler.log)" "an nvdisasm of an installed CUDA toolkit does as well"
  }
  chmod a+x "$new/unpacked/nvidia/cu13/bin/nvdisasm"
  disassembler_key >"$new/unpacked/.key"
  rm -rf "$state/disassembler" && mv "$new/unpacked" "$state/disassembler"
  rm -rf "$new"
}

# --- building -----------------------------------------------------------------------------------------------

# One compiler needs up to 1.5 GiB under the sanitizers.
jobs_at_once() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/MemAvailable/ {print int($2 / 1572864)}' /proc/meminfo 2>/dev/null || echo "$cores")
  [ "${memory:-0}" -ge 1 ] || memory=1
  echo $((cores < memory ? cores : memory))
}

build_inputs() { echo "$root"/{src,include,cmake,data,examples,tests,CMakeLists.txt,CMakePresets.json}; }

# True if nothing that goes into the build is newer than the last one (a folder's time changes with its entries).
# Whenever this says no, ninja decides what is to be done.
is_built() {
  local stamp=$build/$1.stamp inputs
  read -ra inputs < <(build_inputs)
  [ -e "$stamp" ] && [ "$(<"$stamp")" = "$toolkit" ] && [ -e "$build/$1/build.ninja" ] &&
    [ -z "$(find "${inputs[@]}" -newer "$stamp" -print -quit 2>/dev/null)" ]
}

# configure PRESET LOG
configure() {
  local folder=$build/$1
  # A build folder that came with a copied or moved checkout is of no use here.
  if [ -e "$folder/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt"; then
    rm -rf "$folder"
  fi
  [ ! -e "$folder/build.ninja" ] || [ "$(cat "$build/$1.stamp" 2>/dev/null)" != "$toolkit" ] || return 0
  (cd "$root" && cmake --preset "$1" -B "$folder") >"$2" 2>&1 && return
  tail -n 30 "$2" >&2
  say "cmake could not configure the $1 preset (all of its output: $2)"
  return 1
}

# Everything, but of the fuzz preset only the fuzzers: the rest would be compiled a third time for nothing.
targets_of() {
  [ "$1" = fuzz ] || return 0
  local fuzzer
  for fuzzer in "$root"/src/*/*_fuzz.cc; do basename "$fuzzer" .cc; done
}

# On a terminal ninja shows its own progress; elsewhere a line every half minute, and the errors at the end.
run_ninja() {
  local ninja=(ninja -C "$build/$1" -j "${KFORGE_JOBS:-$(jobs_at_once)}") status=0 ticker
  # shellcheck disable=SC2046  # one word a target
  ninja+=($(targets_of "$1"))
  export NINJA_STATUS="[%f/%t, %es] "
  if [ -t 2 ]; then
    "${ninja[@]}" >&2
    return
  fi
  while sleep 30; do say "still building: $(grep -o '^\[[^]]*\]' "$2" | tail -n 1)"; done 9>&- &
  ticker=$!
  "${ninja[@]}" >"$2" 2>&1 || status=1
  kill $ticker 2>/dev/null
  wait $ticker 2>/dev/null || true
  [ $status = 0 ] || grep -E -A 12 'error:|^FAILED|No space left|Killed' "$2" | head -n 40 >&2
  return $status
}

# build_preset PRESET: configures if need be and builds the preset's targets.
build_preset() {
  is_built "$1" && return
  local stamp=$build/$1.stamp log=$build/$1.log
  need_space "$build" 2500 "the $1 build"
  say "building the $1 preset, $(jobs_at_once) compilers at once"
  # The stamp carries the time at which the build began: what changes meanwhile is built the next time.
  echo "$toolkit" >"$stamp.new"
  configure "$1" "$log" || return 1
  run_ninja "$1" "$log" || { say "the $1 build failed (log: $log)"; return 1; }
  mv "$stamp.new" "$stamp"
}

# --- command line -------------------------------------------------------------------------------------------

set_up_tools() {
  choose_folders
  if [ -z "${KFORGE_SKIP_PACKAGES:-}" ] && ! fits_stamp packages "$(packages_key)" || ! toolkit_is_chosen || ! grammar_is_settled; then
    lock
    set_up_packages
    set_up_toolkit
    grammar_is_settled || set_up_grammar
    unlock
  fi
}

# build_all PRESET...
build_all() {
  local preset
  for preset; do
    is_built "$preset" && continue
    lock
    build_preset "$preset" || { unlock; return 1; }
    unlock
  done
}

main() {
  case ${1:-} in
    packages) choose_folders; lock; set_up_packages ;;
    toolkit) choose_folders; lock; set_up_toolkit; echo "$toolkit" ;;
    grammar) choose_folders; lock; set_up_grammar; grammar_is_there ;;
    agents) choose_folders; lock; set_up_agents ;;
    disassembler) choose_folders; lock; set_up_disassembler ;;
    build) shift; [ $# -gt 0 ] || exit "$wrong_call"; set_up_tools; export_toolkit; build_all "$@" ;;
    *) sed -n '2,/^set /p' "${BASH_SOURCE[0]}" | sed -n 's/^# \{0,1\}//p' >&2; exit "$wrong_call" ;;
  esac
}

[ "${BASH_SOURCE[0]}" != "$0" ] || main "$@"
