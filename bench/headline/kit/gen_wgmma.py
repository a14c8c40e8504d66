#!/usr/bin/env python3
# gen_wgmma.py IN OUT: puts the long operand lists of wgmma in place of @WGMMA@.
import sys

def wgmma(n, dtype):
    regs = n // 2
    ops = ", ".join(f"%{i}" for i in range(regs))
    outs = ", ".join(f'"+f"(d[{i}])' for i in range(regs))
    return f'''
template <>
struct Wgmma<{n}, {dtype[0]}> {{
  static __device__ __forceinline__ void run(float (&d)[{regs}], unsigned long long a, unsigned long long b, int accumulate) {{
    asm volatile(
        "{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{regs+2}, 0;\\n"
        "wgmma.mma_async.sync.aligned.m64n{n}k16.f32.{dtype[1]}.{dtype[1]} {{{ops}}}, %{regs}, %{regs+1}, p, 1, 1, 0, 1;\\n}}\\n"
        : {outs}
        : "l"(a), "l"(b), "r"(accumulate));
  }}
}};
'''
head = open(sys.argv[1]).read()
specs = "".join(wgmma(n, d) for n in (256, 128) for d in (("__half", "f16"), ("__nv_bfloat16", "bf16")))
open(sys.argv[2], 'w').write(head.replace('@WGMMA@', specs))
