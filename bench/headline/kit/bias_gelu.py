#!/usr/bin/env python3
# bias_gelu.py OUT.json OBJECT.so...: gelu(x @ w + bias) at 4096, bf16, by objects of bench/headline/gemm_bias_gelu against PyTorch, eager and compiled, on the GPU at hand.
# In turns, in another order each round; the L2 is flushed by reads before each call; medians of 60 rounds after a second under load.
import ctypes, json, os, random, statistics, sys, time, torch
import torch.nn.functional as F
flush = torch.empty(128 << 20, dtype=torch.float32, device="cuda").fill_(1)
sink = torch.zeros(1, device="cuda")
def rounds(contestants, n):
    us = {name: [] for name, _ in contestants}
    for r in range(-3, n):
        random.shuffle(contestants)
        for name, f in contestants:
            sink.add_(flush.sum())
            b, e = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            b.record(); f(); e.record(); e.synchronize()
            if r >= 0: us[name].append(b.elapsed_time(e) * 1000)
    return us
torch.manual_seed(1)
x, w, bias = torch.randn(4096, 4096, device="cuda").bfloat16(), torch.randn(4096, 4096, device="cuda").bfloat16(), torch.randn(4096, device="cuda").bfloat16()
want = F.gelu(x.double() @ w.double() + bias.double())
def eager(): return F.gelu(x @ w + bias)
def addmm(): return F.gelu(torch.addmm(bias, x, w))
contestants = [("eager: gelu(x @ w + bias)", eager), ("eager: gelu(addmm)", addmm), ("matmul alone", lambda: x @ w)]
start = time.time()
for name, f in (("compiled: gelu(x @ w + bias)", eager), ("compiled: gelu(addmm)", addmm)):
    compiled = torch.compile(f)
    compiled()
    contestants.append((name, compiled))
print("compile s", round(time.time() - start, 1), flush=True)
checks = {}
out = torch.empty(4096, 4096, device="cuda", dtype=torch.bfloat16)
for so in sys.argv[2:]:
    lib = ctypes.CDLL(os.path.abspath(so))
    def call(lib=lib):
        e = lib.gemm(*[ctypes.c_void_p(t.data_ptr()) for t in (x, w, bias, out)], 4096, 4096, 4096, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        assert e == 0, e
    out.fill_(float("nan")); call(); torch.cuda.synchronize()
    error = ((out.double() - want).abs() / (want.abs() * 2 ** -8 + 0.01)).max().item()
    checks[os.path.basename(so)] = error
    if error < 2: contestants.append((os.path.basename(so)[:-3], call))
print(checks, flush=True)
end = time.time() + 1.0
while time.time() < end:
    for _, f in contestants: f()
    torch.cuda.synchronize()
us = rounds(contestants, 60)
rows = [{"contestant": k, "us": round(statistics.median(v), 2), "us_p10": round(sorted(v)[len(v) // 10], 2)} for k, v in us.items()]
rows.sort(key=lambda r: r["us"])
for r in rows: print(r)
json.dump({"torch": torch.__version__, "rounds": 60, "error": checks, "rows": rows}, open(sys.argv[1], "w"), indent=0)
