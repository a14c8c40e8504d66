// Steps inside a warp need no more than __syncwarp().
#include <cuda_runtime.h>

extern __shared__ unsigned s[];

__global__ void sort_kernel(const unsigned* keys, unsigned* sorted) {
  const unsigned t = threadIdx.x;
  s[t] = keys[blockIdx.x * 256 + t];
  __syncthreads();
  for (unsigned size = 2; size <= 256; size *= 2) {
    for (unsigned stride = size / 2; stride > 0; stride /= 2) {
      const unsigned partner = t ^ stride;
      if (partner > t) {
        const bool up = (t & size) == 0;
        const unsigned a = s[t], b = s[partner];
        if ((a > b) == up) {
          s[t] = b;
          s[partner] = a;
        }
      }
      if (stride >= 32 || (stride == 1 && size >= 32)) __syncthreads();
      else __syncwarp();
    }
  }
  sorted[blockIdx.x * 256 + t] = s[t];
}

extern "C" cudaError_t sort_rows(const unsigned* keys, unsigned* sorted, int rows, cudaStream_t stream) {
  sort_kernel<<<rows, 256, 256 * sizeof(unsigned), stream>>>(keys, sorted);
  return cudaGetLastError();
}
