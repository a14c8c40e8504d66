// Atomics of every width, operation, scope and memory, and what programs make of compare-and-swap.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda/atomic>

#include "self_check.h"

struct Results {
  int add, sub, exch, min, max, conjunction, disjunction, parity, cas;
  unsigned inc, dec, umin, umax;
  unsigned long long add64, min64, max64, and64, or64, xor64, cas64, exch64;
  long long smin64, smax64;
  float fadd, fexch;
  double dadd;
  float fmax_by_cas;
  double dmax_by_cas, dmul_by_cas;
  unsigned short cas16[2];
  unsigned char cas8[4];
  __half2 hadd2;
  __half hadd;
  __nv_bfloat162 badd2;
  int scopes[3];
  int std_add, std_ref;
  double std_double;
  int locked, order_errors;
};

__global__ void run_operations(Results* r) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&r->add, t);
  atomicSub(&r->sub, 2);
  atomicExch(&r->exch, 77);
  atomicMin(&r->min, -t);
  atomicMax(&r->max, t);
  atomicAnd(&r->conjunction, ~(1 << (t % 31)));
  atomicOr(&r->disjunction, 1 << (t % 31));
  atomicXor(&r->parity, t);
  atomicCAS(&r->cas, t, t + 1);
  atomicInc(&r->inc, 99);
  atomicDec(&r->dec, 6);
  atomicMin(&r->umin, 0xf0000000u + t);
  atomicMax(&r->umax, 0xf0000000u + t);
  atomicAdd(&r->add64, 1ull << 33);
  atomicMin(&r->min64, (1ull << 40) + t);
  atomicMax(&r->max64, (1ull << 40) + t);
  atomicMin(&r->smin64, -(1ll << 40) - t);
  atomicMax(&r->smax64, -(1ll << 40) - t);
  atomicAnd(&r->and64, ~(1ull << (t % 64)));
  atomicOr(&r->or64, 1ull << (t % 64));
  atomicXor(&r->xor64, static_cast<unsigned long long>(t) << 32);
  atomicCAS(&r->cas64, static_cast<unsigned long long>(t), t + 1ull);
  atomicExch(&r->exch64, 1ull << 50);
  atomicAdd(&r->fadd, 0.5f);
  atomicExch(&r->fexch, 2.5f);
  atomicAdd(&r->dadd, 0.25);
  atomicAdd(&r->scopes[0], 1);
  atomicAdd_block(&r->scopes[1], 1);
  atomicAdd_system(&r->scopes[2], 1);
  atomicAdd(&r->hadd2, __floats2half2_rn(1, 0.5f));
  atomicAdd(&r->hadd, __float2half(0.25f));
  atomicAdd(&r->badd2, __floats2bfloat162_rn(1, 2));
}

__global__ void run_loops(Results* r) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  int* as_int = reinterpret_cast<int*>(&r->fmax_by_cas);
  for (int old = *as_int, assumed; __int_as_float(old) < static_cast<float>(t);) {
    assumed = old;
    old = atomicCAS(as_int, assumed, __float_as_int(static_cast<float>(t)));
    if (old == assumed) break;
  }
  auto* as_long = reinterpret_cast<unsigned long long*>(&r->dmax_by_cas);
  unsigned long long old = *as_long, assumed;
  do {
    assumed = old;
    old = atomicCAS(as_long, assumed, __double_as_longlong(fmax(static_cast<double>(t), __longlong_as_double(assumed))));
  } while (assumed != old);
  as_long = reinterpret_cast<unsigned long long*>(&r->dmul_by_cas);
  old = *as_long;
  do {
    assumed = old;
    old = atomicCAS(as_long, assumed, __double_as_longlong(__longlong_as_double(assumed) * (t == 5 ? 3.0 : 1.0)));
  } while (assumed != old);
  // Bytes and halves through compare-and-swap of what surrounds them.
  unsigned short seen = r->cas16[t % 2], expected;
  do {
    expected = seen;
    seen = atomicCAS(&r->cas16[t % 2], expected, static_cast<unsigned short>(expected + 1));
  } while (seen != expected);
  cuda::atomic_ref<unsigned char, cuda::thread_scope_device> byte(r->cas8[t % 4]);
  byte.fetch_add(1);
}

__global__ void run_standard(Results* r) {
  cuda::atomic_ref<int, cuda::thread_scope_device> plain(r->std_ref);
  plain.fetch_add(3, cuda::memory_order_relaxed);
  cuda::atomic_ref<double, cuda::thread_scope_device> real(r->std_double);
  real.fetch_add(0.5, cuda::memory_order_relaxed);
  cuda::atomic_ref<int, cuda::thread_scope_system> wide(r->std_add);
  int value = wide.load(cuda::memory_order_acquire);
  while (!wide.compare_exchange_weak(value, value + 2, cuda::memory_order_acq_rel)) {
  }
}

// A lock that one thread of each warp takes at a time.
__device__ int g_lock = 0;
__global__ void run_lock(Results* r) {
  bool done = false;
  while (!done) {
    if (atomicCAS(&g_lock, 0, 1) == 0) {
      __threadfence();
      const int before = *const_cast<volatile int*>(&r->locked);
      *const_cast<volatile int*>(&r->locked) = before + 1;
      __threadfence();
      atomicExch(&g_lock, 0);
      done = true;
    }
  }
}

// What an atomic returns is each value once.
__global__ void run_tickets(int* tickets) {
  __shared__ int counter;
  if (threadIdx.x == 0) counter = 0;
  __syncthreads();
  const int mine = atomicAdd(&counter, 1);
  atomicAdd(&tickets[mine], 1);
}

__global__ void run_histogram(const unsigned char* data, int count, unsigned* bins) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) atomicAdd(&local[data[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}

struct alignas(16) Pair {
  unsigned long long low, high;
};

#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)
#define KFORGE_WIDE 1
#endif

__global__ void run_wide(Pair* pair, float2* two, float4* four) {
#if defined(KFORGE_WIDE)
  Pair expected = *pair, seen;
  for (;;) {
    const Pair next{expected.low + 1, expected.high + 2};
    seen = atomicCAS(pair, expected, next);
    if (seen.low == expected.low && seen.high == expected.high) break;
    expected = seen;
  }
  atomicAdd(two, float2{1, 2});
  atomicAdd(four, float4{1, 2, 3, 4});
#endif
}

int main() {
  Results* r = managed<Results>();
  r->conjunction = 0x7fffffff;
  r->min = 5;
  r->and64 = ~0ull;
  r->umin = ~0u;
  r->min64 = ~0ull;
  r->smin64 = 0;
  r->smax64 = -(1ll << 50);
  r->dec = 3;
  r->dmul_by_cas = 2;
  const int blocks = 8, threads = 96, count = blocks * threads;
  run_operations<<<blocks, threads>>>(r);
  CHECK(cudaDeviceSynchronize());
  int parity = 0;
  unsigned long long parity64 = 0;
  for (int t = 0; t < count; ++t) parity ^= t, parity64 ^= static_cast<unsigned long long>(t) << 32;
  EXPECT_EQ(r->add, count * (count - 1) / 2);
  EXPECT_EQ(r->sub, -2 * count);
  EXPECT_EQ(r->exch, 77);
  EXPECT_EQ(r->min, -(count - 1));
  EXPECT_EQ(r->max, count - 1);
  EXPECT_EQ(r->conjunction, 0);
  EXPECT_EQ(r->disjunction, 0x7fffffff);
  EXPECT_EQ(r->parity, parity);
  EXPECT(r->cas > 0 && r->cas <= count);
  EXPECT_EQ(r->inc, count % 100u);
  EXPECT_EQ(r->dec, (3 + 7 * 1000 - count) % 7u);
  EXPECT_EQ(r->umin, 0xf0000000u);
  EXPECT_EQ(r->umax, 0xf0000000u + count - 1);
  EXPECT(r->add64 == (static_cast<unsigned long long>(count) << 33));
  EXPECT(r->min64 == 1ull << 40);
  EXPECT(r->max64 == (1ull << 40) + count - 1);
  EXPECT(r->smin64 == -(1ll << 40) - (count - 1));
  EXPECT(r->smax64 == -(1ll << 40));
  EXPECT(r->and64 == 0);
  EXPECT(r->or64 == ~0ull);
  EXPECT(r->xor64 == parity64);
  EXPECT(r->cas64 > 0);
  EXPECT(r->exch64 == 1ull << 50);
  EXPECT_EQ(r->fadd, count * 0.5f);
  EXPECT_EQ(r->fexch, 2.5f);
  EXPECT_EQ(r->dadd, count * 0.25);
  for (int scope : r->scopes) EXPECT_EQ(scope, count);
  EXPECT_EQ(__low2float(r->hadd2), count);
  EXPECT_EQ(__high2float(r->hadd2), count / 2);
  EXPECT_EQ(__half2float(r->hadd), count / 4);
  EXPECT_EQ(__low2float(r->badd2), 256);    // bf16 cannot count past it
  EXPECT_EQ(__high2float(r->badd2), 512);
  run_loops<<<blocks, threads>>>(r);
  run_standard<<<blocks, threads>>>(r);
  run_lock<<<4, 64>>>(r);
  CHECK(cudaDeviceSynchronize());
  EXPECT_EQ(r->fmax_by_cas, count - 1);
  EXPECT_EQ(r->dmax_by_cas, count - 1);
  EXPECT_EQ(r->dmul_by_cas, 6);
  EXPECT_EQ(r->cas16[0], count / 2);
  EXPECT_EQ(r->cas16[1], count / 2);
  for (unsigned char byte : r->cas8) EXPECT_EQ(byte, static_cast<unsigned char>(count / 4));
  EXPECT_EQ(r->std_ref, 3 * count);
  EXPECT_EQ(r->std_double, 0.5 * count);
  EXPECT_EQ(r->std_add, 2 * count);
  EXPECT_EQ(r->locked, 256);

  int* tickets = managed<int>(threads);
  run_tickets<<<blocks, threads>>>(tickets);
  auto* data = managed<unsigned char>(10000);
  auto* bins = managed<unsigned>(256);
  for (int i = 0; i < 10000; ++i) data[i] = static_cast<unsigned char>(i * i / 7);
  run_histogram<<<5, 128>>>(data, 10000, bins);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < threads; ++i) EXPECT_EQ(tickets[i], blocks);
  unsigned expected[256] = {};
  for (int i = 0; i < 10000; ++i) ++expected[data[i]];
  for (int i = 0; i < 256; ++i) EXPECT_EQ(bins[i], expected[i]);

  int device = 0, major = 0;
  CHECK(cudaGetDevice(&device));
  CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  if (major >= 9) {
    Pair* pair = managed<Pair>();
    float2* two = managed<float2>();
    float4* four = managed<float4>();
    run_wide<<<2, 64>>>(pair, two, four);
    CHECK(cudaDeviceSynchronize());
    EXPECT(pair->low == 128 && pair->high == 256);
    EXPECT(two->x == 128 && two->y == 256);
    EXPECT(four->x == 128 && four->y == 256 && four->z == 384 && four->w == 512);
  }
  return finish();
}
