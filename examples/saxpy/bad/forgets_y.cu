// a * x alone: what y held is lost.
#include <cuda_runtime.h>

namespace {

constexpr int kThreads = 256;

__device__ float4 axpy(float a, float4 x, float4) { return make_float4(a * x.x, a * x.y, a * x.z, a * x.w); }

__global__ void __launch_bounds__(kThreads) saxpy_vectors(const float* __restrict__ x, float* __restrict__ y, int n, float a) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n / 4) {
    const float4 own = reinterpret_cast<const float4*>(x)[i];
    reinterpret_cast<float4*>(y)[i] = axpy(a, own, reinterpret_cast<float4*>(y)[i]);  // expect: numerics
  }
  const int tail = n / 4 * 4 + i;
  if (i < n % 4) y[tail] = a * x[tail] + y[tail];
}

}  // namespace

extern "C" cudaError_t saxpy(const float* x, float* y, int n, float a, cudaStream_t stream) {
  const int vectors = (n + 3) / 4;
  saxpy_vectors<<<(vectors + kThreads - 1) / kThreads, kThreads, 0, stream>>>(x, y, n, a);
  return cudaGetLastError();
}
