#include <cstdint>

#include <cuda_runtime.h>

__global__ void clear(std::uint32_t* bins) { bins[threadIdx.x] = 0; }

__global__ void count_runs(const std::uint8_t* data, std::uint32_t* bins, int n) {
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * 128;
  for (int i = first; i < first + 128 && i < n; ++i) atomicAdd(&bins[data[i]], 1u);
}

extern "C" cudaError_t histogram(const std::uint8_t* data, std::uint32_t* bins, int n, cudaStream_t stream) {
  clear<<<1, 256, 0, stream>>>(bins);
  count_runs<<<(n + 128 * 128 - 1) / (128 * 128), 128, 0, stream>>>(data, bins, n);
  return cudaGetLastError();
}
