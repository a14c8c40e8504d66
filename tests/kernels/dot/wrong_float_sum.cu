// Sums in single precision.
#include <cuda_runtime.h>

__global__ void dot_kernel(const double* x, const double* y, double* out, int n) {
  __shared__ double s[256];
  const int t = threadIdx.x;
  float v = 0.0f;  // expect-contract: numerics
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) v += float(x[i]) * float(y[i]);
  s[t] = v;
  __syncthreads();
  for (int o = 128; o > 32; o >>= 1) {
    if (t < o) s[t] += s[t + o];
    __syncthreads();
  }
  if (t < 32) {
    v = s[t] + s[t + 32];
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
    if (t == 0) atomicAdd(out, v);
  }
}

extern "C" cudaError_t dot(const double* x, const double* y, double* out, int n, cudaStream_t stream) {
  cudaMemsetAsync(out, 0, sizeof(double), stream);
  dot_kernel<<<64, 256, 0, stream>>>(x, y, out, n);
  return cudaGetLastError();
}
