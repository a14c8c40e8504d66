// Pairs start at the second element: no such pair lies on a 4-byte boundary.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void relu_kernel(const __half* x, __half* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) y[0] = __hmax(x[0], __float2half(0.0f));
  if (2 * i + 2 < n) {
    const __half2 v = *reinterpret_cast<const __half2*>(x + 1 + 2 * i);  // expect: safety.bounds
    *reinterpret_cast<__half2*>(y + 1 + 2 * i) = __hmax2(v, __float2half2_rn(0.0f));
  }
  if (i == 0 && n % 2 == 0) y[n - 1] = __hmax(x[n - 1], __float2half(0.0f));
}

extern "C" cudaError_t relu(const __half* x, __half* y, int n, cudaStream_t stream) {
  relu_kernel<<<(n / 2 + 256) / 256, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
