#!/bin/bash
# Hides every installed CUDA toolkit and proves that the pinned one, fetched by tools/setup.sh, does the whole job: nvcc
# builds a shared object from a kernel that uses CUB and cooperative groups, and NVRTC compiles a kernel to PTX.
# Argument: a folder to work in; downloads in it are kept for the next run. Status 77: no network, skipped.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${1:?a folder to work in}
mkdir -p "$work"

fail() { echo "FAILED: $*" >&2; exit 1; }

# A PATH with the programs that setup and nvcc need, and no nvcc in any of its folders.
path_without_nvcc() {
  local folder result=
  IFS=: read -ra folders <<<"$PATH:/usr/bin:/bin"
  for folder in "${folders[@]}"; do
    [ -x "$folder/nvcc" ] || result+=${result:+:}$folder
  done
  echo "$result"
}

unset CUDA_HOME CUDA_PATH CUDACXX LD_LIBRARY_PATH LIBRARY_PATH CPATH
PATH=$(path_without_nvcc)
export PATH
! command -v nvcc || fail "nvcc is still to be seen"
export KFORGE_CUDA=pinned KFORGE_STATE=$work/state KFORGE_WHEELS=$work/wheels
rm -rf "$KFORGE_STATE"

toolkit=$("$root/tools/setup.sh" toolkit 2>"$work/setup.log") || {
  if grep -qE 'Temporary failure in name resolution|Name or service not known|NewConnectionError|ConnectTimeout|Network is unreachable' \
    "$work/state/cuda.log"; then
    echo "SKIPPED: the package index cannot be reached, so the path without a toolkit was NOT tested" >&2
    exit 77
  fi
  cat "$work/setup.log" >&2
  fail "the pinned toolkit could not be installed"
}
[ "$toolkit" = "$KFORGE_STATE/cuda" ] || fail "expected the pinned toolkit, got $toolkit"
[ -z "$(find "$toolkit" -lname '/*')" ] || fail "the toolkit links to something outside"

cd "$work"
"$toolkit/bin/nvcc" -O3 -std=c++17 -lineinfo -arch=sm_90 -cudart none -Xcompiler -fPIC -shared -compress-mode=none \
  -Xptxas -v --keep --keep-dir "$work" -o candidate.so "$here/kernel.cu" 2>ptxas.log || { cat ptxas.log >&2; fail "nvcc"; }
grep -q 'Used [0-9]* registers' ptxas.log || fail "ptxas reported no registers"
grep -q 'cudaLaunchKernel' <(nm -D --undefined-only candidate.so) || fail "the runtime's symbols are not left open"
! grep -qE 'libcud(art|a)\.so' <(readelf -d candidate.so) || fail "the object needs a CUDA library at load time"
grep -q '^\.target sm_90' kernel.ptx || fail "no PTX was kept"

g++ -std=c++20 "$here/nvrtc.cc" -I"$toolkit/include" -ldl -o nvrtc
./nvrtc "$(readlink -f "$toolkit/lib64")" || fail "NVRTC"

# A second use must not do anything.
before=$(stat -c %Y.%i "$toolkit")
"$root/tools/setup.sh" toolkit >/dev/null 2>second.log
[ ! -s second.log ] || fail "the second use said: $(cat second.log)"
[ "$before" = "$(stat -c %Y.%i "$toolkit")" ] || fail "the second use installed again"

# A kill half-way leaves either nothing or rubbish; both must be made good. Rubbish:
rm -rf "$toolkit/nvvm"
mkdir -p "$KFORGE_STATE/cuda.new/rubbish"
"$root/tools/setup.sh" toolkit >/dev/null 2>third.log || { cat third.log >&2; fail "no recovery from a broken folder"; }
[ -x "$toolkit/nvvm/bin/cicc" ] || fail "a broken toolkit was kept"
[ ! -e "$KFORGE_STATE/cuda.new" ] || fail "rubbish was left behind"
rm -rf "$KFORGE_STATE"
echo "passed"
