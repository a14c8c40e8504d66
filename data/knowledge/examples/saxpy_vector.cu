// Four elements a thread, 16 bytes per lane; the tail has a launch of its own.
#include <cuda_runtime.h>

__global__ void saxpy_vectors(const float4* __restrict__ x, float4* __restrict__ y, int vectors, float a) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= vectors) return;
  const float4 u = x[i];
  float4 v = y[i];
  v = make_float4(a * u.x + v.x, a * u.y + v.y, a * u.z + v.z, a * u.w + v.w);
  y[i] = v;
}

// The one to three elements behind the last vector.
__global__ void saxpy_tail(const float* __restrict__ x, float* __restrict__ y, int begin, int n, float a) {
  const int i = begin + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

extern "C" cudaError_t saxpy(const float* x, float* y, int n, float a, cudaStream_t stream) {
  const int vectors = n / 4;
  if (vectors > 0)
    saxpy_vectors<<<(vectors + 255) / 256, 256, 0, stream>>>(reinterpret_cast<const float4*>(x), reinterpret_cast<float4*>(y), vectors, a);
  if (n % 4 != 0) saxpy_tail<<<1, 32, 0, stream>>>(x, y, 4 * vectors, n, a);
  return cudaGetLastError();
}
