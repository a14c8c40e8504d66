// Four elements a thread where the pointers allow it, and a tail.
#include "decay.cuh"

static __global__ void wide(const float4* x, float4* y, int quads) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= quads) return;
  const float4 v = x[i];
  y[i] = make_float4(decayed(v.x), decayed(v.y), decayed(v.z), decayed(v.w));
}

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  const int quads = n / 4;
  if (quads > 0) wide<<<(quads + 255) / 256, 256, 0, stream>>>(reinterpret_cast<const float4*>(x), reinterpret_cast<float4*>(y), quads);
  return work(x + 4 * quads, y + 4 * quads, n - 4 * quads, stream);
}
