#!/usr/bin/env python3
"""PyTorch as a contestant of the rung "time": answers the requests that kforge-worker answers (src/trial/worker_timing.h), with an operator in place of
a launcher. Started by Kernel Forge alone: a socket at descriptor 3, shared memory at 4. What to compute comes with the start: pattern, tensors, and
whether the operator runs eagerly or compiled.
"""
import ctypes
import json
import mmap
import os
import signal
import socket
import struct
import sys
import tempfile
import time

ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: dies with the parent
if os.getppid() != int(sys.argv[-1]):
    os._exit(0)

HEADER = struct.Struct("<IIQQQ")  # magic, kind, nonce, detail, bytes (src/trial/protocol.h)
MAGIC, REPLY, ARENA_HEADER = 0x4B46524D, 3, 4096
SOCKET = socket.socket(fileno=3)
DTYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i8": "int8", "u8": "uint8", "i32": "int32", "i64": "int64", "bool": "bool"}


def receive(count):
    data = bytearray()
    while len(data) < count:
        piece = SOCKET.recv(count - len(data))
        if not piece:
            os._exit(0)
        data += piece
    return bytes(data)


def read_request():
    _, _, nonce, _, count = HEADER.unpack(receive(HEADER.size))
    return nonce, json.loads(receive(count))


def answer(nonce, reply):
    text = json.dumps(reply).encode()
    SOCKET.sendall(HEADER.pack(MAGIC, REPLY, nonce, 0, len(text)) + text)


def operator(torch, pattern, inputs, outputs, scalars):
    """The operator of the pattern, from input tensors to one result; None where PyTorch has none of this form. A scalar counts where its name says what it does."""
    functional = torch.nn.functional
    first, out = inputs[0]["shape"], outputs[0]["shape"]
    if len(outputs) != 1:
        return None
    if scalars:
        plain = operator(torch, pattern, inputs, outputs, {})
        if plain is None or len(scalars) > 1:
            return None
        ((name, value),) = scalars.items()
        if pattern == "softmax" and name == "scale":
            return lambda x: plain(x * value)
        if pattern == "gemm" and name == "alpha":
            return lambda a, b: value * plain(a, b)
        if pattern in ("layer_norm", "rms_norm") and name in ("eps", "epsilon"):
            return lambda x, *rest: plain(x, *rest, eps=value)
        return None
    if pattern == "gemm" and len(inputs) == 2:
        second = inputs[1]["shape"]
        plain_a, plain_b = first[-2] == out[-2], second[-1] == out[-1]
        return lambda a, b: torch.matmul(a if plain_a else a.transpose(-1, -2), b if plain_b else b.transpose(-1, -2))
    if pattern.startswith("attention") and len(inputs) == 3 and len(first) in (3, 4) and out == first:
        batch = (lambda x: x) if len(first) == 4 else (lambda x: x.unsqueeze(0))
        causal = pattern.endswith("causal")
        return lambda q, k, v: functional.scaled_dot_product_attention(batch(q), batch(k), batch(v), is_causal=causal).reshape(out)
    if pattern == "softmax" and len(inputs) == 1:
        return lambda x: torch.softmax(x, -1)
    if pattern == "layer_norm" and len(inputs) in (1, 3):
        return lambda x, *rest, **eps: functional.layer_norm(x, x.shape[-1:], *rest, **eps)
    if pattern == "rms_norm" and len(inputs) == 2:
        return lambda x, weight, **eps: functional.rms_norm(x, x.shape[-1:], weight, **eps)
    if pattern == "transpose" and len(inputs) == 1:
        return lambda x: x.transpose(-1, -2).contiguous()
    if pattern == "reduction" and len(inputs) == 1 and out in ([1], []):
        return lambda x: torch.sum(x)
    if pattern == "reduction" and len(inputs) == 1 and out == first[:-1]:
        return lambda x: torch.sum(x, -1)
    if pattern == "scan" and len(inputs) == 1 and out == first:
        return lambda x: torch.cumsum(x, -1, dtype=x.dtype)
    if pattern == "sort" and len(inputs) == 1 and out == first:
        return lambda x: torch.sort(x, -1).values
    if pattern == "histogram" and len(inputs) == 1 and len(out) == 1:
        return lambda x: torch.bincount(x.flatten().to(torch.int32), minlength=out[0])
    return None


class Contestant:
    def __init__(self, start):
        import torch

        self.torch = torch
        wanted = json.loads(start["configure"])
        self.tensors = wanted["tensors"]
        for tensor in self.tensors:
            if tensor["dtype"] not in DTYPES:
                raise ValueError(f"PyTorch has no type {tensor['dtype']}")
        self.function = operator(torch, wanted["pattern"], [t for t in self.tensors if t["role"] == 0], [t for t in self.tensors if t["role"] == 1], wanted["scalars"])
        if self.function is None or any(t["role"] == 2 for t in self.tensors):
            raise ValueError(f"PyTorch has no operator of this form: {wanted['pattern']}")
        torch.backends.cuda.matmul.allow_tf32 = False  # f32 is f32
        torch.cuda.init()
        if wanted["variant"] == "compile":
            self.function = torch.compile(self.function)
        if wanted["variant"] == "cudnn":
            from torch.nn.attention import SDPBackend, sdpa_kernel

            plain = self.function

            def through_cudnn(*tensors):
                with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                    return plain(*tensors)

            self.function = through_cudnn
        self.arena = None

    def area(self, count):
        if self.arena is None or len(self.arena) < count + ARENA_HEADER:
            self.arena = mmap.mmap(4, count + ARENA_HEADER)
        return memoryview(self.arena)[ARENA_HEADER:]

    def empty(self, tensor):
        return self.torch.empty(tensor["shape"], dtype=getattr(self.torch, DTYPES[tensor["dtype"]]), device="cuda")

    def open(self, request):
        self.sets = [[self.empty(t) for t in self.tensors] for _ in range(request["sets"])]
        self.draws = [[self.empty(t) if t["role"] == 0 else None for t in self.tensors] for _ in range(request["draws"])]
        self.results = [None] * request["sets"]
        self.flush = self.torch.empty(request["flush_bytes"], dtype=self.torch.uint8, device="cuda")
        self.begin, self.end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        return {"ok": True}

    def load(self, request):
        area = self.area(request["arena_bytes"])
        for place, target in zip(request["tensors"], self.draws[request["draw"]]):
            if target is not None and place["bytes"]:
                source = self.torch.frombuffer(area, dtype=self.torch.uint8, count=place["bytes"], offset=place["in"])
                target.view(self.torch.uint8).reshape(-1).copy_(source)
        return {"ok": True, "completed": True}

    def fill(self, pair):
        for target, source in zip(self.sets[pair[0]], self.draws[pair[1]]):
            if source is not None:
                target.copy_(source)

    def call(self, which):
        return self.function(*[t for t, about in zip(self.sets[which], self.tensors) if about["role"] == 0])

    def block(self, request):
        us, launch_us, after_us, host_us = [], [], [], []
        for pair in request["pairs"]:
            self.fill(pair)
            if request["warm"]:
                self.call(pair[0])
                for _ in range(24):
                    self.flush[: 1 << 20].fill_(0)
            elif request["flush"]:
                self.flush.fill_(pair[2] & 0x7F)
            if not request["flush"]:
                self.torch.cuda.synchronize()
            self.begin.record()
            start = time.perf_counter()
            if not request["empty"]:
                self.results[pair[0]] = self.call(pair[0])
            launched = time.perf_counter()
            self.end.record()
            self.end.synchronize()
            ended = time.perf_counter()
            self.torch.cuda.synchronize()
            quiet = time.perf_counter()
            us.append(self.begin.elapsed_time(self.end) * 1000)
            launch_us.append((launched - start) * 1e6)
            after_us.append((quiet - ended) * 1e6)
            host_us.append((quiet - start) * 1e6)
        if request["fetch"]:
            self.fetch({**request, "set": request["pairs"][-1][0]})
        return {"ok": True, "completed": True, "us": us, "launch_us": launch_us, "after_us": after_us, "host_us": host_us}

    def prepare(self, request):
        for pair in request["pairs"]:
            self.fill(pair)
        self.flush.fill_(0)
        self.torch.cuda.synchronize()
        return {"ok": True, "completed": True}

    def go(self, request):
        for which in request["sets"]:
            self.results[which] = self.call(which)
        if request["wait"]:
            self.torch.cuda.synchronize()
        return {"ok": True, "completed": True}

    def fetch(self, request):
        area = self.area(request["arena_bytes"])
        for place, about, tensor in zip(request["tensors"], self.tensors, self.sets[request["set"]]):
            if about["role"] == 1:
                tensor = self.results[request["set"]].to(tensor.dtype).reshape(tensor.shape).contiguous()
            data = tensor.view(self.torch.uint8).reshape(-1).cpu().numpy().tobytes() if place["bytes"] else b""
            area[place["out"] : place["out"] + len(data)] = data
        return {"ok": True, "completed": True}


def main():
    os.environ.update(HOME=os.environ.get("HOME", tempfile.gettempdir()), TORCHINDUCTOR_CACHE_DIR=tempfile.mkdtemp(prefix="kforge-inductor"))
    nonce, start = read_request()
    if start["gpu"]:
        os.environ.update(CUDA_DEVICE_ORDER="PCI_BUS_ID", CUDA_VISIBLE_DEVICES=start["gpu"])
    try:
        contestant = Contestant(start)
    except Exception as error:  # whatever an installation may lack: said to the parent, who goes on without
        answer(nonce, {"ok": False, "error": f"object: {error}"})
        return
    answer(nonce, {"ok": True, "error": "", "emulated": False})
    verbs = {"open": contestant.open, "load": contestant.load, "block": contestant.block, "prepare": contestant.prepare, "go": contestant.go, "fetch": contestant.fetch}
    while True:
        nonce, request = read_request()
        verb = verbs.get(request.get("time"))
        try:
            answer(nonce, verb(request) if verb else {"ok": False, "error": "this contestant has no such verb"})
        except Exception as error:
            answer(nonce, {"ok": True, "completed": False, "returned": 0, "detail": str(error)[:300]})


main()
