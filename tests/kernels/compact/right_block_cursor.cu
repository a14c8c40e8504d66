// One block walks over the input; a cursor in a register of every thread.
#include <cuda_runtime.h>

__global__ void __launch_bounds__(1024) kernel(const int* x, int* y, int* count, int n) {
  __shared__ int warps[32];
  int cursor = 0;
  for (int base = 0; base < n; base += 1024) {
    const int i = base + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int v = i < n ? x[i] : -1;
    const unsigned votes = __ballot_sync(~0u, v > 0);
    if (lane == 0) warps[warp] = __popc(votes);
    __syncthreads();
    if (warp == 0) {
      const int own = warps[lane];
      int sum = own;
      for (int o = 1; o < 32; o *= 2) {
        const int left = __shfl_up_sync(~0u, sum, o);
        if (lane >= o) sum += left;
      }
      warps[lane] = sum;
    }
    __syncthreads();
    unsigned below;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    if (v > 0) y[cursor + (warp ? warps[warp - 1] : 0) + __popc(votes & below)] = v;
    cursor += warps[31];
    __syncthreads();
  }
  for (int i = cursor + threadIdx.x; i < n; i += 1024) y[i] = 0;
  if (threadIdx.x == 0) *count = cursor;
}

extern "C" cudaError_t compact(const int* x, int* y, int* count, int n, cudaStream_t stream) {
  kernel<<<1, 1024, 0, stream>>>(x, y, count, n);
  return cudaGetLastError();
}
