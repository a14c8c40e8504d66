#!/bin/bash
# Which toolkit tools/setup.sh chooses, and what it says when something is missing. Uses toolkits and package tools that
# are a few lines of shell.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
unset CUDA_HOME KFORGE_CUDA
export KFORGE_STATE=$work/state KFORGE_BUILD=$work/build
faults=0

check() { if ! eval "$2"; then echo "FAILED: $1"; echo "  not true: $2"; [ -z "${output:-}" ] || echo "  said: $output"; faults=$((faults + 1)); fi; }

# make_toolkit FOLDER RELEASE
make_toolkit() {
  mkdir -p "$1"/{bin,nvvm/bin,include/cccl/cub}
  touch "$1"/include/{cuda_runtime.h,cooperative_groups.h,cccl/cub/cub.cuh}
  printf '#!/bin/sh\necho "Cuda compilation tools, release %s, V%s.1"\n' "$2" "$2" >"$1/bin/nvcc"
  cp "$1/bin/nvcc" "$1/bin/ptxas"
  cp "$1/bin/nvcc" "$1/nvvm/bin/cicc"
  chmod +x "$1"/bin/* "$1"/nvvm/bin/*
}

# Runs setup.sh in a shell of its own with functions replaced. Sets output (both streams) and status.
setup() {
  status=0
  output=$(bash -c "source '$root/tools/setup.sh'; choose_folders; $1" 2>&1) || status=$?
}

for release in 11.8:no 12.0:no 12.7:no 12.8:yes 12.9:yes 13.0:yes 13.5:yes 14.0:no; do
  make_toolkit "$work/cuda" "${release%:*}"
  setup "toolkit_fault '$work/cuda'"
  check "release $release" '[ "$([ -z "$output" ] && echo yes || echo no)" = "${release#*:}" ]'
done

make_toolkit "$work/cuda" 13.0
for part in nvvm/bin/cicc include/cooperative_groups.h include/cccl/cub/cub.cuh bin/ptxas; do
  mv "$work/cuda/$part" "$work/part"
  setup "toolkit_fault '$work/cuda'"
  check "a toolkit without $part has a fault" '[ -n "$output" ]'
  mv "$work/part" "$work/cuda/$part"
done

pinned='install_pinned_toolkit() { echo INSTALLING; }'
make_toolkit "$work/old" 11.8
setup "$pinned; PATH=$work/cuda/bin:\$PATH; choose_toolkit; echo chose \$toolkit"
check "the toolkit on PATH is used" '[ "$output" = "chose $work/cuda" ]'
setup "$pinned; installed_toolkits() { echo $work/old; }; choose_toolkit; echo chose \$toolkit"
check "an old toolkit is passed over, with the reason" '[[ $output == *"11.8"*INSTALLING*"chose $work/state/cuda" ]]'
setup "$pinned; installed_toolkits() { echo $work/old; echo $work/cuda; }; choose_toolkit; echo chose \$toolkit"
check "the next toolkit is used" '[[ $output == *"chose $work/cuda" && $output != *INSTALLING* ]]'
setup "$pinned; KFORGE_CUDA=pinned; installed_toolkits() { echo $work/cuda; }; choose_toolkit"
check "pinned means pinned" '[ "$output" = INSTALLING ]'
setup "$pinned; KFORGE_CUDA=$work/old; choose_toolkit"
check "a named toolkit must do" '[ $status = 3 ] && [[ $output == *11.8* ]]'

setup 'listed_packages | wc -l'
check "the package list is read" '[ "$output" -gt 15 ]'
setup 'listed_packages() { echo no-such-package-a; echo coreutils; }; absent_packages'
check "only what is absent is installed" '[ "$output" = no-such-package-a ]'
setup 'id() { echo 1000; }; command() { return 1; }; PATH=/nowhere; install_packages a b'
check "no apt-get: says what is missing" '[ $status = 3 ] && [[ $output == *"a b"* ]]'
setup 'id() { echo 1000; }; command() { [ "$2" = apt-get ]; }; install_packages a b'
check "no sudo: gives the exact command" '[ $status = 3 ] && [[ $output == *"apt-get install --no-install-recommends a b"* ]]'
setup 'df() { echo Avail; echo 10; }; need_space / 500 "this"'
check "no space: says how much is needed" '[ $status = 3 ] && [[ $output == *"500 MiB"*"10 MiB"* ]]'

setup 'lock; ( exec 9>&-; bash -c "source $root/tools/setup.sh; choose_folders; lock; echo in" ) & sleep 0.5; echo out; unlock; wait'
check "one at a time" '[ "$(grep -v waiting <<<"$output" | xargs)" = "out in" ] && [[ $output == *waiting* ]]'

if [ "$(id -u)" != 0 ]; then
  mkdir "$work/read-only" && chmod a-w "$work/read-only"
  setup "KFORGE_STATE=$work/read-only/a KFORGE_BUILD=$work/read-only/b XDG_CACHE_HOME=$work/cache; choose_folders; echo \$state"
  check "a read-only checkout uses the cache" '[[ $output == $work/cache/* ]]'
fi
# Root may write anywhere, but not below a file.
touch "$work/file"
setup "KFORGE_STATE=$work/file/a KFORGE_BUILD=$work/file/b XDG_CACHE_HOME=$work/cache; choose_folders; echo \$state"
check "a checkout that cannot be written uses the cache" '[[ $output == $work/cache/kforge/checkouts/*/state ]]'
setup "KFORGE_STATE=$work/file/a KFORGE_BUILD=$work/file/b XDG_CACHE_HOME=$work/file; choose_folders"
check "nowhere to write is said" '[ $status = 3 ] && [[ $output == *KFORGE_STATE* ]]'

[ $faults = 0 ] && echo "passed"
exit $((faults > 0))
