#!/bin/bash
# run.sh [ROUNDS]: on a machine with a GPU of sm_90 and nvcc 13.0. Builds the sources that render.sh left here on all cores, times them (runner.cu says how) and
# leaves table.txt and all.json in $OUT. Two to three minutes. cuBLASLt is looked for beside nvcc and in Python's packages.
set -u
kit=$(cd "$(dirname "$0")" && pwd); out=${OUT:-$kit/out}; rounds=${1:-30}
work=$(mktemp -d /tmp/kforge-kit.XXXX); mkdir -p "$out" "$work/objects"; cd "$work" || exit 1
export PATH=/usr/local/cuda/bin:$PATH
lt=$(python3 -c 'import glob, sys; print(":".join(g for p in sys.path for g in glob.glob(p + "/nvidia/*/lib")))' 2>/dev/null):/usr/local/cuda/lib64
export LD_LIBRARY_PATH=$lt:${LD_LIBRARY_PATH:-}
start=$SECONDS
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.draw,power.limit,temperature.gpu --format=csv | tee "$out/table.txt"
echo "cublasLt: $(find ${lt//:/ } -name 'libcublasLt.so*' 2>/dev/null | head -2 | tr '\n' ' ')" | tee -a "$out/table.txt"
flags="-O3 -std=c++17 -lineinfo -gencode arch=compute_90a,code=sm_90a -cudart shared -shared -Xcompiler -fPIC"
{
  echo "nvcc -O2 -std=c++17 -gencode arch=compute_90,code=sm_90 -cudart shared -o $work/runner $kit/src/runner.cu -ldl"
  while read -r task label object; do
    hash=$(basename "$object" .so); echo "nvcc $flags -o $work/objects/$hash.so $kit/cu/$hash.cu"
  done < <(cat "$kit/list.txt" "$kit/attention.txt")
  for type in f16 bf16; do
    t=__half; [ $type = bf16 ] && t=__nv_bfloat16
    while read -r label defines; do
      echo "nvcc $flags -DTYPE=$t $defines -o $work/objects/$label+$type.so $kit/src/gemm_cluster.cu"
    done <"$kit/src/cluster_points.txt"
    for cu in "$kit"/gemm/*+"$type".cu; do echo "nvcc $flags -o $work/objects/$(basename "$cu" .cu).so $cu"; done
    r=CUDA_R_16F; [ $type = bf16 ] && r=CUDA_R_16BF
    sed "s/@FUNCTION@/gemm/; s/@PARAMETERS@/const void* a, const void* b, void* c, int m, int k, int n/; s/@LIBRARY@/libcublasLt.so.13/; s/@TYPE_C@/$r/g; s/@TYPE@/$r/g; s/@OP_[AB]@/CUBLAS_OP_N/g; s/@LD_B@/n/g; s/@LD_A@/k/g; s/@M@/m/g; s/@N@/n/g; s/@K@/k/g; s/@A@/a/g; s/@B@/b/g; s/@C@/c/g" "$kit/src/cublaslt_gemm.cu" >"$work/cublaslt-$type.cu"
    echo "nvcc $flags -o $work/objects/cublaslt+$type.so $work/cublaslt-$type.cu"
  done
} | sort -u | xargs -P "$(nproc)" -I{} sh -c '{} 2>>build.err || echo "failed: {}" >>build.failed'
cat build.failed 2>/dev/null | tee -a "$out/table.txt"; cp build.err "$out/build.err" 2>/dev/null
echo "built $(ls objects | wc -l) objects in $((SECONDS - start)) s" | tee -a "$out/table.txt"
[ ! -s "$kit/attention.txt" ] || timeout 60 python3 "$kit/attention.py" "$out/attention.json" "$kit/attention.txt" "$rounds" 2>"$out/attention.err" | tee -a "$out/table.txt"
timeout 90 ./runner "$kit/list.txt" "$out/memory.json" "$rounds" 2>"$out/memory.err" | tee -a "$out/table.txt"
echo "memory-bound part ended with ${PIPESTATUS[0]} after $((SECONDS - start)) s" | tee -a "$out/table.txt"
cat >try.sh <<'B'
label=$1 type=$2
for size in 1000x2056x520 64x1096x4096; do echo "gemm_${type}_$size $label objects/$label+$type.so"; done >"one-$label-$type"
if timeout 20 ./runner "one-$label-$type" "one-$label-$type.json" 1 >"one-$label-$type.txt" 2>&1 && [ "$(grep -c "err 0\.[0-9]* *$" "one-$label-$type.txt")" = 2 ]; then echo "TASK $label objects/$label+$type.so $type" >>gemms
else echo "dropped $label+$type: $(tail -n 2 "one-$label-$type.txt" | tr '\n' ' ')"; fi
B
for type in f16 bf16; do { cut -d' ' -f1 "$kit/src/cluster_points.txt"; for cu in "$kit"/gemm/*+"$type".cu; do basename "$cu" "+$type.cu"; done; } | sed "s/$/ $type/"; done | xargs -P 8 -L 1 bash try.sh | tee -a "$out/table.txt"
echo "products tried after $((SECONDS - start)) s" | tee -a "$out/table.txt"
while read -r task rounds; do
  type=${task#gemm_}; type=${type%%_*}
  { echo "$task cublaslt objects/cublaslt+$type.so"; sort gemms | awk -v t="$task" -v y="$type" '$4 == y {print t, $2, $3}'; } >one
  [ $((SECONDS - start)) -gt 170 ] && break
  timeout 60 ./runner one "$out/$task.json" "$rounds" 2>>"$out/gemm.err" | tail -n +2 | tee -a "$out/table.txt"
done <<'T'
gemm_f16_4096 200
gemm_bf16_4096 200
gemm_f16_8192 80
gemm_bf16_8192 80
gemm_f16_2048 200
gemm_f16_64x4096x4096 200
gemm_f16_128x11008x4096 200
T
python3 - "$out" <<'P'
import glob, json, sys
rows, copy = [], None
for f in sorted(glob.glob(sys.argv[1] + '/*.json')):
    try: d = json.load(open(f))
    except Exception: continue
    copy = copy or d.get('copy_tb_s'); rows += d['rows']
rows = [r for r in rows if 'of_torch' not in r]
json.dump({'copy_tb_s': copy, 'rows': rows}, open(sys.argv[1] + '/all.json', 'w'), indent=0)
P
mkdir -p "$out/parts"; mv "$out"/memory.json "$out"/gemm_*.json "$out/parts/" 2>/dev/null; tar czf "$out/parts.tgz" -C "$out" parts; rm -rf "$out/parts"
nvidia-smi --query-gpu=clocks.sm,clocks.mem,power.draw,temperature.gpu --format=csv,noheader | tee -a "$out/table.txt"
echo "all of it: $((SECONDS - start)) s" | tee -a "$out/table.txt"
rm -rf "$work"
