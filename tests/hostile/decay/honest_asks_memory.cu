// Asks how much memory is free, where a pointer lies, how it is aligned and what time it is, and chooses the vector width by it; right whatever the answers.
#include <cstdint>
#include <chrono>
#include "decay.cuh"
static __global__ void by_four(const float4* x, float4* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 v = x[i];
  y[i] = make_float4(decayed(v.x), decayed(v.y), decayed(v.z), decayed(v.w));
}
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static auto last = std::chrono::steady_clock::now();
  std::size_t free = 0, all = 0;
  cudaMemGetInfo(&free, &all);
  cudaPointerAttributes about{};
  cudaPointerGetAttributes(&about, y);
  const auto now = std::chrono::steady_clock::now();
  const bool pause = now - last > std::chrono::milliseconds(1), aligned = (reinterpret_cast<std::uintptr_t>(x) | reinterpret_cast<std::uintptr_t>(y)) % 16 == 0;
  last = now;
  if (n > 0 && n % 4 == 0 && aligned && free > all / 2) {
    const int block = pause ? 64 : 128;
    by_four<<<(n / 4 + block - 1) / block, block, 0, stream>>>(reinterpret_cast<const float4*>(x), reinterpret_cast<float4*>(y), n / 4);
    return cudaGetLastError();
  }
  return work(x, y, n, stream);
}
