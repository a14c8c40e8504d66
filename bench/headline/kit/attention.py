#!/usr/bin/env python3
"""attention.py OUT.json LIST ROUNDS: attention kernels (lines "TASK LABEL OBJECT.so") in turns with PyTorch's scaled_dot_product_attention.

f16, 8 x 16 heads, 2048 x 64, plain and causal. Each call between two events after the L2 was flushed by reading 512 MB; medians. Results are compared
with softmax and products in f32 of four heads: the largest error over the root mean square of a row.
"""
import ctypes
import json
import statistics
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

BATCH, HEADS, LENGTH, WIDTH = 8, 16, 2048, 64


def main():
    out_file, list_file, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    torch.manual_seed(1)
    q, k, v = (torch.randn(BATCH, HEADS, LENGTH, WIDTH, device="cuda", dtype=torch.float16) for _ in range(3))
    flush = torch.ones(128 << 20, device="cuda", dtype=torch.int32)
    wanted = [line.split() for line in open(list_file) if line.split()]
    rows = []
    for task in ("attention", "attention_causal"):
        causal = task.endswith("causal")
        operations = 4 * BATCH * HEADS * LENGTH * LENGTH * WIDTH / (2 if causal else 1)
        scores = (q[0, :4].float() @ k[0, :4].float().transpose(-1, -2)) * 0.125
        if causal:
            scores = scores.masked_fill(torch.ones(LENGTH, LENGTH, device="cuda", dtype=torch.bool).triu(1), float("-inf"))
        right = torch.softmax(scores, -1) @ v[0, :4].float()
        calls = {}
        for name, backend in (("torch:flash", SDPBackend.FLASH_ATTENTION), ("torch:cudnn", SDPBackend.CUDNN_ATTENTION)):
            def library(backend=backend):
                with sdpa_kernel(backend):
                    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
            calls[name] = library
        calls["torch:default"] = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        for own_task, label, path in wanted:
            if own_task != task:
                continue
            try:
                function = getattr(ctypes.CDLL(path), task)
            except OSError as error:
                print("missing", label, error)
                continue
            o = torch.empty_like(q)

            def own(function=function, o=o):
                code = function(ctypes.c_void_p(q.data_ptr()), ctypes.c_void_p(k.data_ptr()), ctypes.c_void_p(v.data_ptr()), ctypes.c_void_p(o.data_ptr()), BATCH * HEADS, LENGTH,
                                ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
                if code:
                    raise RuntimeError(f"error {code}")
                return o
            calls[label] = own
        errors, times = {}, {}
        for label, call in list(calls.items()):
            try:
                got = call()[0, :4].float()
                torch.cuda.synchronize()
                errors[label] = ((got - right).abs().amax(-1) / right.pow(2).mean(-1).sqrt()).max().item()
                times[label] = []
            except RuntimeError as error:
                print("failed", task, label, str(error).splitlines()[0])
                del calls[label]
        order = list(calls)
        for r in range(-2, rounds):
            for label in order if r % 2 else reversed(order):
                flush.sum()
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                begin.record()
                calls[label]()
                end.record()
                end.synchronize()
                if r >= 0:
                    times[label].append(begin.elapsed_time(end) * 1000)
        best = min(statistics.median(times[n]) for n in times if n.startswith("torch"))
        for label in sorted(times, key=lambda n: statistics.median(times[n])):
            us = statistics.median(times[label])
            print(f"{task:17} {label:60} {us:8.1f} us {operations / us * 1e-6:7.1f} TFLOP/s {best / us:6.3f} of torch  err {errors[label]:.4f}", flush=True)
            rows.append({"task": task, "variant": label, "us": us, "tflops": operations / us * 1e-6, "of_torch": best / us, "error": errors[label], "rounds": rounds})
    json.dump({"torch": torch.__version__, "gpu": torch.cuda.get_device_name(), "rows": rows}, open(out_file, "w"), indent=0)


main()
