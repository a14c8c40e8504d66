// Each block counts in shared memory and adds its counts to the output.
#include <cstdint>

#include <cuda_runtime.h>

__global__ void count(const std::uint8_t* data, std::uint32_t* bins, int n) {
  __shared__ std::uint32_t own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[data[i]], 1u);
  __syncthreads();
  if (own[threadIdx.x] > 0) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

extern "C" cudaError_t histogram(const std::uint8_t* data, std::uint32_t* bins, int n, cudaStream_t stream) {
  cudaMemsetAsync(bins, 0, 256 * sizeof(std::uint32_t), stream);
  count<<<132, 256, 0, stream>>>(data, bins, n);
  return cudaGetLastError();
}
