// One accumulator: each multiply-add waits for the one before.
#include <cuda_runtime.h>

__global__ void dot_kernel(const double* __restrict__ x, const double* __restrict__ y, double* out, int n) {
  __shared__ double s[8];
  const int stride = gridDim.x * blockDim.x, lane = threadIdx.x % 32;
  double v = 0.0;
#pragma unroll 1
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) v += x[i] * y[i];
  for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(0xffffffffu, v, o);
  if (lane == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  v = lane < 8 ? s[lane] : 0.0;
  for (int o = 4; o > 0; o /= 2) v += __shfl_xor_sync(0xffffffffu, v, o);
  if (lane == 0) atomicAdd(out, v);
}

extern "C" cudaError_t dot(const double* x, const double* y, double* out, int n, cudaStream_t stream) {
  cudaMemsetAsync(out, 0, sizeof(double), stream);
  dot_kernel<<<32, 256, 0, stream>>>(x, y, out, n);
  return cudaGetLastError();
}
