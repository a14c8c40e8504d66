// 2048 threads a block.
#include <cuda_runtime.h>

__global__ void saxpy_kernel(const float* __restrict__ x, float* __restrict__ y, int n, float a) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (4 * i + 3 < n) {
    const float4 u = reinterpret_cast<const float4*>(x)[i];
    float4 v = reinterpret_cast<float4*>(y)[i];
    v = make_float4(a * u.x + v.x, a * u.y + v.y, a * u.z + v.z, a * u.w + v.w);
    reinterpret_cast<float4*>(y)[i] = v;
  } else {
    for (int k = 4 * i; k < n; ++k) y[k] = a * x[k] + y[k];
  }
}

extern "C" cudaError_t saxpy(const float* x, float* y, int n, float a, cudaStream_t stream) {
  const int threads = 2048;
  saxpy_kernel<<<(n + 4 * threads - 1) / (4 * threads), threads, 0, stream>>>(x, y, n, a);  // expect: launch.limits
  return cudaGetLastError();
}
