#!/bin/bash
# The measuring kit of the headline tasks: points of the templates as sources, and the program that times them, in a folder to carry to a machine with a GPU.
#
#   bench/headline/kit/render.sh KIT        from the project's root, with build/release/bin/template_points (-DKFORGE_BENCHMARKS=ON)
#
# Then KIT/run.sh there. points.txt names the points of the memory-bound tasks, gemm_mma_points.txt and gemm_wgmma_points.txt those of these templates, cluster_points.txt the
# macros of gemm_cluster.in.cu, which has what the template lacks: clusters with multicast.
set -eu
kit=${1:?usage: render.sh KIT}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
points=$root/build/release/bin/template_points
mkdir -p "$kit/src" "$kit/cu" "$kit/gemm"
cp "$here/runner.cu" "$here/cluster_points.txt" "$root/data/baselines/cublaslt_gemm.cu" "$kit/src/"
cp "$here/run.sh" "$here/attention.py" "$kit/"
python3 "$here/gen_wgmma.py" "$here/gemm_cluster.in.cu" "$kit/src/gemm_cluster.cu"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$kit/list.txt"
: >"$kit/attention.txt"
while read -r task template wanted; do
  rm -rf "${work:?}"/*
  "$points" "$root/bench/headline/$task/task.toml" "$work" "$template" "$wanted" >/dev/null
  for cu in "$work"/*.cu; do
    label=$template,$(head -n 1 "$cu" | sed 's|^// ||; s/ /,/g')
    hash=$(md5sum <"$cu" | cut -c1-12)
    cp "$cu" "$kit/cu/$hash.cu"
    list=list.txt
    case $task in attention*) list=attention.txt ;; esac
    echo "$task $label objects/$hash.so" >>"$kit/$list"
  done
done <"$here/points.txt"
for type in f16 bf16; do
  for template in mma wgmma; do
    rm -rf "${work:?}"/*
    "$points" "$root/bench/headline/gemm_$type/task.toml" "$work" "gemm_$template" "$(paste -sd ';' "$here/gemm_${template}_points.txt")" >/dev/null
    for cu in "$work"/*.cu; do cp "$cu" "$kit/gemm/$template+$(head -n 1 "$cu" | sed 's|^// ||; s/ /+/g; s/=//g')+$type.cu"; done
  done
done
wc -l "$kit/list.txt" "$kit/attention.txt"
