// The last n % 4 elements stay as they were.
#include <cuda_runtime.h>

namespace {

constexpr int kThreads = 256;

__device__ float4 axpy(float a, float4 x, float4 y) { return make_float4(a * x.x + y.x, a * x.y + y.y, a * x.z + y.z, a * x.w + y.w); }

__global__ void __launch_bounds__(kThreads) saxpy_vectors(const float* __restrict__ x, float* __restrict__ y, int n, float a) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n / 4) {
    const float4 own = reinterpret_cast<const float4*>(x)[i];
    reinterpret_cast<float4*>(y)[i] = axpy(a, own, reinterpret_cast<float4*>(y)[i]);
  }
  const int tail = n / 4 * 4 + i;
  (void)tail;  // expect-contract: numerics launch.coverage
}

}  // namespace

extern "C" cudaError_t saxpy(const float* x, float* y, int n, float a, cudaStream_t stream) {
  const int vectors = (n + 3) / 4;
  saxpy_vectors<<<(vectors + kThreads - 1) / kThreads, kThreads, 0, stream>>>(x, y, n, a);
  return cudaGetLastError();
}
