// The second kernel starts early and never waits for the first.
#include <cuda_runtime.h>

__device__ float part[2][65536];

__global__ void halves(const float* x, int rows, int cols) {
  cudaTriggerProgrammaticLaunchCompletion();
  const int row = blockIdx.x, warp = threadIdx.x / 32;
  float sum = 0;
  for (int c = threadIdx.x; c < cols; c += 64) sum += x[(size_t)row * cols + c];
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  if (threadIdx.x % 32 == 0) part[warp][row] = sum;
}

__global__ void add(float* y, int rows) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < rows) y[i] = part[0][i] + part[1][i];  // expect: safety.races
}

extern "C" cudaError_t forked_sum(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  halves<<<rows, 64, 0, stream>>>(x, rows, cols);
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = (rows + 255) / 256;
  config.blockDim = 256;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, add, y, rows);
}
