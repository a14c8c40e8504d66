#!/bin/bash
# Packs one part of what device_kit.sh shows so that a rented GPU spends no time on compilers: the program, what it judges, and a build cache that holds every
# candidate already. Run from the project's root where its release build is and the same nvcc as there; no GPU is needed.
#
#   bench/h200/pack_kit.sh NAME FOLDER      NAME: hostile open verdicts attention headline; FOLDER gets kit.tar.gz, run.sh, SECONDS
#   $KFORGE_BIN                             the programs; default build/release/bin
#
# What a build is known by are the paths of source and compilers, nvcc's version and the size of g++ (src/build/candidate.cc): the kit unpacks to the
# folder in which it was built, /tmp/kforge-NAME, and finds the toolkit by a link there and g++ by a script of its own.
set -eu
name=${1:?usage: pack_kit.sh NAME FOLDER}
to=${2:?usage: pack_kit.sh NAME FOLDER}
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=${KFORGE_BIN:-$root/build/release/bin}
home=/tmp/kforge-${name/open/hostile}   # these two judge the same candidates
source "$root/bench/h200/kit_parts.sh"
[ "$(type -t "seconds_$name")" = function ] || { echo "pack_kit.sh: there is no kit '$name'" >&2; exit 2; }

mkdir -p "$home"/{bin,path,cache} "$to"
for one in kforge kforge-worker kforge-supervisor libkforge_cudart.so libkforge_fork_server.so libkforge_nvrtc.so; do
  cp -L "$bin/$one" "$home/bin/$one.new" && strip --strip-unneeded "$home/bin/$one.new" && mv "$home/bin/$one.new" "$home/bin/$one"
done
mkdir -p "$home/bin/cudart"
for link in libcuda.so.1 libcudart.so.13; do ln -sfn ../libkforge_cudart.so "$home/bin/cudart/$link"; done
for folder in data bench/h200 examples tests/hostile tests/device bench/headline; do
  mkdir -p "$home/$folder"
  cp -r "$root/$folder/." "$home/$folder"
done
printf '#!/bin/sh\nexec /usr/bin/g++ "$@"\n' >"$home/path/g++"
chmod +x "$home/path/g++"
ln -sfn "${CUDA_HOME:-/usr/local/cuda}" "$home/cuda"

enter_kit "$home"
build_"$name"
rm -rf "$home"/out "$home"/cache/*.lock
tar czf "$to/kit.tar.gz" -C "$home" --exclude=./cuda --exclude=./store --exclude='./cache/build/host-*' --exclude='./cache/build/work-*' --exclude='*.lock' .
cat >"$to/run.sh" <<RUN
#!/bin/bash
# run.sh OUT: unpacks the kit to $home and runs its part (bench/h200/kit_parts.sh).
here=\$(cd "\$(dirname "\$0")" && pwd)
mkdir -p "\${1:?usage: run.sh OUT}"
out=\$(cd "\$1" && pwd)
rm -rf $home && mkdir -p $home && tar xzf "\$here/kit.tar.gz" -C $home || exit 3
ln -sfn "\${CUDA_HOME:-/usr/local/cuda}" $home/cuda
source $home/bench/h200/kit_parts.sh
enter_kit $home
run_$name "\$out"
RUN
chmod +x "$to/run.sh"
seconds_"$name" >"$to/SECONDS"
du -sh "$to/kit.tar.gz"
