// The lock is given back before the sums are visible.
#include <cstdint>
#include <cuda_runtime.h>

__device__ int lock = 0;

__global__ void zero(int64_t* out) { out[threadIdx.x] = 0; }

__global__ void add(const int* x, int64_t* out, long long n) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  int64_t a = i < n ? (int64_t)x[i] * x[i] : 0, b = i < n && x[i] > 0 ? i : 0;
  for (int o = 16; o > 0; o /= 2) {
    a += __shfl_down_sync(0xffffffffu, a, o);
    b += __shfl_down_sync(0xffffffffu, b, o);
  }
  if (threadIdx.x % 32 == 0) {
    while (atomicCAS(&lock, 0, 1) != 0) {}
    __threadfence();
    out[0] = __ldcg((const long long*)out) + a;  // expect-contract: safety.races
    out[1] = __ldcg((const long long*)out + 1) + b;

    atomicExch(&lock, 0);
  }
}

extern "C" cudaError_t locked_sum(const int* x, int64_t* out, long long n, cudaStream_t stream) {
  zero<<<1, 2, 0, stream>>>(out);
  add<<<(n + 127) / 128, 128, 0, stream>>>(x, out, n);
  return cudaGetLastError();
}
