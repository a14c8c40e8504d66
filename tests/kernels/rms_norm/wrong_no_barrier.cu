// No barrier.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void rms(const __half* x, const __half* g, __half* y, int cols, float eps) {
  __shared__ float part[4];
  x += (size_t)blockIdx.x * cols;
  y += (size_t)blockIdx.x * cols;
  float s = 0.0f;
  if (cols % 2 == 0) {
    for (int c = threadIdx.x; c < cols / 2; c += 128) {
      const float2 v = __half22float2(reinterpret_cast<const __half2*>(x)[c]);
      s += v.x * v.x + v.y * v.y;
    }
  } else {
    for (int c = threadIdx.x; c < cols; c += 128) s += __half2float(x[c]) * __half2float(x[c]);
  }
  for (int o = 16; o > 0; o /= 2) s += __shfl_xor_sync(0xffffffffu, s, o);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;

  const float scale = rsqrtf((part[0] + part[1] + part[2] + part[3]) / cols + eps);  // expect-contract: safety.uninitialised safety.races
  for (int c = threadIdx.x; c < cols; c += 128) y[c] = __float2half(__half2float(x[c]) * scale * __half2float(g[c]));
}

extern "C" cudaError_t rms_norm(const __half* x, const __half* g, __half* y, int rows, int cols, float eps, cudaStream_t stream) {
  rms<<<rows, 128, 0, stream>>>(x, g, y, cols, eps);
  return cudaGetLastError();
}
