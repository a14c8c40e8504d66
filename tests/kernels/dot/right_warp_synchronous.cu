// The last warp with volatile and __syncwarp.
#include <cuda_runtime.h>

__global__ void dot_kernel(const double* x, const double* y, double* out, int n) {
  __shared__ double s[256];
  const int t = threadIdx.x;
  double v = 0.0;
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) v += x[i] * y[i];
  s[t] = v;
  __syncthreads();
  for (int o = 128; o > 32; o >>= 1) {
    if (t < o) s[t] += s[t + o];
    __syncthreads();
  }
  if (t < 32) {
    volatile double* w = s;
    for (int o = 32; o > 0; o >>= 1) {
      v = w[t] + w[t + o];
      __syncwarp();
      w[t] = v;
      __syncwarp();
    }
    if (t == 0) atomicAdd(out, w[0]);
  }
}

extern "C" cudaError_t dot(const double* x, const double* y, double* out, int n, cudaStream_t stream) {
  cudaMemsetAsync(out, 0, sizeof(double), stream);
  dot_kernel<<<64, 256, 0, stream>>>(x, y, out, n);
  return cudaGetLastError();
}
