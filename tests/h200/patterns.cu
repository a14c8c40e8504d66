// Issues every pattern of patterns.h as one memory instruction of one warp, for each kind of access and each width. Under `ncu` (section
// SourceCounters) each SASS instruction then carries the sectors and wavefronts that the tool counts for one request: the i-th access
// instruction of kernel `access<KIND, WIDTH, PART>` is pattern PART * 32 + i.
//
// `h200_patterns repeat` launches one kernel a pattern for shared memory, which issues it kRepeats times: what the hardware's own counter
// l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{ld,st} says, over kRepeats. See docs/h200-goldens.md.
#include <cuda_runtime.h>

#include <cstdio>
#include <utility>
#include <vector>

#include "patterns.h"

namespace {

using kforge::h200::kPatterns;
using kforge::h200::kUnits;
constexpr int kPart = 32;
enum Kind { kLoadShared, kStoreShared, kLoadGlobal, kStoreGlobal };

template <int kWidth> __device__ void load_shared(unsigned a, unsigned& s) {
  if constexpr (kWidth == 1) { unsigned short x; asm volatile("ld.shared.u8 %0, [%1];" : "=h"(x) : "r"(a)); s += x; }
  if constexpr (kWidth == 2) { unsigned short x; asm volatile("ld.shared.u16 %0, [%1];" : "=h"(x) : "r"(a)); s += x; }
  if constexpr (kWidth == 4) { unsigned x; asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(a)); s += x; }
  if constexpr (kWidth == 8) { unsigned x, y; asm volatile("ld.shared.v2.u32 {%0,%1}, [%2];" : "=r"(x), "=r"(y) : "r"(a)); s += x ^ y; }
  if constexpr (kWidth == 16) { unsigned x, y, z, w; asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "r"(a)); s += x ^ y ^ z ^ w; }
}
template <int kWidth> __device__ void store_shared(unsigned a, unsigned v) {
  if constexpr (kWidth == 1) asm volatile("st.shared.u8 [%0], %1;" :: "r"(a), "h"((unsigned short)v));
  if constexpr (kWidth == 2) asm volatile("st.shared.u16 [%0], %1;" :: "r"(a), "h"((unsigned short)v));
  if constexpr (kWidth == 4) asm volatile("st.shared.u32 [%0], %1;" :: "r"(a), "r"(v));
  if constexpr (kWidth == 8) asm volatile("st.shared.v2.u32 [%0], {%1,%1};" :: "r"(a), "r"(v));
  if constexpr (kWidth == 16) asm volatile("st.shared.v4.u32 [%0], {%1,%1,%1,%1};" :: "r"(a), "r"(v));
}
template <int kWidth> __device__ void load_global(const char* a, unsigned& s) {
  if constexpr (kWidth == 1) { unsigned short x; asm volatile("ld.global.u8 %0, [%1];" : "=h"(x) : "l"(a)); s += x; }
  if constexpr (kWidth == 2) { unsigned short x; asm volatile("ld.global.u16 %0, [%1];" : "=h"(x) : "l"(a)); s += x; }
  if constexpr (kWidth == 4) { unsigned x; asm volatile("ld.global.u32 %0, [%1];" : "=r"(x) : "l"(a)); s += x; }
  if constexpr (kWidth == 8) { unsigned x, y; asm volatile("ld.global.v2.u32 {%0,%1}, [%2];" : "=r"(x), "=r"(y) : "l"(a)); s += x ^ y; }
  if constexpr (kWidth == 16) { unsigned x, y, z, w; asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "l"(a)); s += x ^ y ^ z ^ w; }
}
template <int kWidth> __device__ void store_global(char* a, unsigned v) {
  if constexpr (kWidth == 1) asm volatile("st.global.u8 [%0], %1;" :: "l"(a), "h"((unsigned short)v));
  if constexpr (kWidth == 2) asm volatile("st.global.u16 [%0], %1;" :: "l"(a), "h"((unsigned short)v));
  if constexpr (kWidth == 4) asm volatile("st.global.u32 [%0], %1;" :: "l"(a), "r"(v));
  if constexpr (kWidth == 8) asm volatile("st.global.v2.u32 [%0], {%1,%1};" :: "l"(a), "r"(v));
  if constexpr (kWidth == 16) asm volatile("st.global.v4.u32 [%0], {%1,%1,%1,%1};" :: "l"(a), "r"(v));
}

// `table`: units of lane l of pattern p at [p * 32 + l]; kUnits: the lane does not take part. In constant memory, so that the only
// accesses of the kind under test are those of the patterns. `data` is 256-byte aligned.
__constant__ unsigned short table[kPart * 32];

template <int kKind, int kWidth, int kPartNumber>
__global__ void access(char* data, unsigned* sink) {
  __shared__ __align__(128) char shared[kUnits * 16];
  const unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  const unsigned lane = threadIdx.x;
  unsigned sum = 0;
#pragma unroll
  for (int i = 0; i < kPart; ++i) {
    const unsigned unit = table[i * 32 + lane];
    if (unit < kUnits) {
      if constexpr (kKind == kLoadShared) load_shared<kWidth>(base + unit * kWidth, sum);
      if constexpr (kKind == kStoreShared) store_shared<kWidth>(base + unit * kWidth, lane + i);
      if constexpr (kKind == kLoadGlobal) load_global<kWidth>(data + unit * kWidth, sum);
      if constexpr (kKind == kStoreGlobal) store_global<kWidth>(data + unit * kWidth, lane + i);
    }
    __syncwarp();
  }
  if (sum == 0xdeadbeef) *sink = sum + shared[lane];   // keeps the loads
}

constexpr int kRepeats = 256;

template <int kKind, int kWidth> __device__ void issue(unsigned a, unsigned& s) {
  if constexpr (kKind == kStoreShared) store_shared<kWidth>(a, s);
  if constexpr (kKind == kLoadShared && kWidth == 4) { unsigned x; asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(x) : "r"(a) : "memory"); s += x; }
  if constexpr (kKind == kLoadShared && kWidth == 8) { unsigned x, y; asm volatile("ld.volatile.shared.v2.u32 {%0,%1}, [%2];" : "=r"(x), "=r"(y) : "r"(a) : "memory"); s += x ^ y; }
  if constexpr (kKind == kLoadShared && kWidth == 16) {
    unsigned x, y, z, w;
    asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "r"(a) : "memory");
    s += x ^ y ^ z ^ w;
  }
}

template <int kKind, int kWidth>
__global__ void repeat(int pattern, unsigned* sink) {
  __shared__ __align__(128) char shared[kUnits * 16];
  const unsigned unit = table[pattern * 32 + threadIdx.x];
  unsigned a = static_cast<unsigned>(__cvta_generic_to_shared(shared)) + unit * kWidth, sum = threadIdx.x;
  if (unit < kUnits) {
#pragma unroll 1
    for (int i = 0; i < kRepeats; ++i) {
      issue<kKind, kWidth>(a, sum);
      asm volatile("" : "+r"(a));
      if (kKind == kStoreShared) sum += i;
    }
  }
  if (sum == 0xdeadbeef) *sink = sum;
}

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

struct Buffers { char* data; unsigned* sink; };

void load_table(int part) {
  const auto patterns = kforge::h200::all_patterns();
  std::vector<unsigned short> units(kPart * 32);
  for (int i = 0; i < kPart * 32; ++i) {
    const auto& pattern = patterns[part * kPart + i / 32];
    units[i] = static_cast<unsigned short>(pattern.mask >> (i % 32) & 1 ? pattern.units[i % 32] : kUnits);
  }
  check(cudaMemcpyToSymbol(table, units.data(), units.size() * 2), "copy of the table");
}

template <int kKind, int kWidth, int kPartNumber>
void run_part(const Buffers& b) {
  load_table(kPartNumber);
  access<kKind, kWidth, kPartNumber><<<1, 32>>>(b.data, b.sink);
  check(cudaDeviceSynchronize(), "the kernel");
}

template <int kKind, int kWidth, int... kParts>
void run_width(const Buffers& b, std::integer_sequence<int, kParts...>) { (run_part<kKind, kWidth, kParts>(b), ...); }

template <int kKind>
void run_kind(const Buffers& b) {
  const auto parts = std::make_integer_sequence<int, kPatterns / kPart>();
  run_width<kKind, 1>(b, parts);
  run_width<kKind, 2>(b, parts);
  run_width<kKind, 4>(b, parts);
  run_width<kKind, 8>(b, parts);
  run_width<kKind, 16>(b, parts);
}

// In the order: kind, width, pattern.
template <int kKind, int kWidth>
void repeat_all(const Buffers& b) {
  for (int part = 0; part < static_cast<int>(kPatterns) / kPart; ++part) {
    load_table(part);
    for (int i = 0; i < kPart; ++i) repeat<kKind, kWidth><<<1, 32>>>(i, b.sink);
    check(cudaDeviceSynchronize(), "the kernel");
  }
}

}  // namespace

int main(int argc, char**) {
  Buffers b{};
  check(cudaMalloc(&b.data, kUnits * 16), "cudaMalloc");
  check(cudaMalloc(&b.sink, 256), "cudaMalloc");
  check(cudaMemset(b.data, 0, kUnits * 16), "cudaMemset");
  if (argc > 1) {
    repeat_all<kLoadShared, 4>(b);
    repeat_all<kLoadShared, 8>(b);
    repeat_all<kLoadShared, 16>(b);
    repeat_all<kStoreShared, 4>(b);
    repeat_all<kStoreShared, 8>(b);
    repeat_all<kStoreShared, 16>(b);
    return 0;
  }
  run_kind<kLoadShared>(b);
  run_kind<kStoreShared>(b);
  run_kind<kLoadGlobal>(b);
  run_kind<kStoreGlobal>(b);
  return 0;
}
