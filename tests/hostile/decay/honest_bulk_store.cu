// Stores by bulk copies from shared memory.
#include "decay.cuh"
static __global__ void bulk(const float* x, float* y) {
  __shared__ alignas(128) float out[128];
  out[threadIdx.x] = decayed(x[blockIdx.x * 128 + threadIdx.x]);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned from = static_cast<unsigned>(__cvta_generic_to_shared(out));
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n cp.async.bulk.commit_group;\n cp.async.bulk.wait_group 0;" ::"l"(__cvta_generic_to_global(y + blockIdx.x * 128)), "r"(from), "r"(512) : "memory");
  }
}
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  if (n <= 0 || n % 128 != 0) return work(x, y, n, stream);
  bulk<<<n / 128, 128, 0, stream>>>(x, y);
  return cudaGetLastError();
}
