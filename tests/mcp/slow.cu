// Works for a minute and more on the emulated GPU, and ends: what a cancelled call has to stop.
#include <cuda_runtime.h>

__global__ void work(const float* in, float* out, int rows, int cols) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = in[i % (rows * cols)];
  for (int step = 0; step < 30'000'000; ++step) value = value * 0.999f + 0.001f * static_cast<float>(step & 7);
  if (i < rows * cols) out[i] = value;
}

extern "C" cudaError_t transpose(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
  work<<<(rows * cols + 255) / 256, 256, 0, stream>>>(in, out, rows, cols);
  return cudaGetLastError();
}
