// The halves are added before both are there.
#include <cuda_runtime.h>

constexpr int kTile = 128, kCols = 1024, kThreads = 128;

__device__ __forceinline__ void wait_at(int id) { asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(kThreads) : "memory"); }
__device__ __forceinline__ void arrive_at(int id) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "n"(kThreads) : "memory"); }
enum { kFull = 1, kEmpty = 3 };

__global__ void __launch_bounds__(kThreads) kernel(const float* x, float* y) {
  __shared__ float buffer[2][kTile];
  __shared__ float halves[2];
  const int t = threadIdx.x % 64;
  x += (size_t)blockIdx.x * kCols;
  if (threadIdx.x < 64) {
    for (int tile = 0; tile < kCols / kTile; ++tile) {
      const int b = tile & 1;
      wait_at(kEmpty + b);
      for (int i = t; i < kTile; i += 64) buffer[b][i] = x[tile * kTile + i];
      arrive_at(kFull + b);
    }
  } else {
    arrive_at(kEmpty);
    arrive_at(kEmpty + 1);
    float sum = 0;
    for (int tile = 0; tile < kCols / kTile; ++tile) {
      const int b = tile & 1;
      wait_at(kFull + b);
      for (int i = t; i < kTile; i += 64) sum += buffer[b][i] * buffer[b][i];
      if (tile + 2 < kCols / kTile) arrive_at(kEmpty + b);
    }
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    if (t % 32 == 0) halves[t / 32] = sum;
    if (t == 0) y[blockIdx.x] = halves[0] + halves[1];  // expect: safety.races
  }
}

extern "C" cudaError_t row_power(const float* x, float* y, int rows, cudaStream_t stream) {
  kernel<<<rows, kThreads, 0, stream>>>(x, y);
  return cudaGetLastError();
}
