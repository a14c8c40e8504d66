// Tiles of 32x32 bytes; rows of 36 bytes keep the columns in different banks.  full
#include <cstdint>
#include <cuda_runtime.h>

__global__ void turn(const int8_t* x, int8_t* y, int h, int w) {
  __shared__ int8_t s[32][36];
  const int i0 = blockIdx.y * 32, j0 = blockIdx.x * 32;
  for (int k = threadIdx.y; k < 32; k += 8)
    if (i0 + k < h && j0 + threadIdx.x < w) s[k][threadIdx.x] = x[(size_t)(i0 + k) * w + j0 + threadIdx.x];
  __syncthreads();
  for (int k = threadIdx.y; k < 32; k += 8)
    if (j0 + k < w && i0 + threadIdx.x < h) y[(size_t)(j0 + k) * h + i0 + threadIdx.x] = s[threadIdx.x][k];
}

extern "C" cudaError_t transpose_i8(const int8_t* x, int8_t* y, int h, int w, cudaStream_t stream) {
  turn<<<dim3((w + 31) / 32, (h + 31) / 32), dim3(32, 8), 0, stream>>>(x, y, h, w);
  return cudaGetLastError();
}
