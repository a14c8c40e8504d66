// The tile lacks its right halo.
#include <cuda_runtime.h>
#include <stdint.h>

#define BX 64
#define BY 4

__device__ __forceinline__ uint8_t saturate(int v) { return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v); }

__global__ void kernel(const uint8_t* in, uint8_t* out, int height, int width) {
  __shared__ uint8_t tile[BY + 2][BX + 1];
  const int x0 = blockIdx.x * BX - 1, y0 = blockIdx.y * BY - 1;
  for (int i = threadIdx.y * BX + threadIdx.x; i < (BY + 2) * (BX + 2); i += BX * BY) {
    const int ty = i / (BX + 2), tx = i % (BX + 2);
    const int y = min(max(y0 + ty, 0), height - 1), x = min(max(x0 + tx, 0), width - 1);
    tile[ty][tx] = in[(size_t)y * width + x];
  }
  __syncthreads();
  const int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y;
  const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  if (x < width && y < height) {
    const int v = 5 * tile[ty][tx] - tile[ty - 1][tx] - tile[ty + 1][tx] - tile[ty][tx - 1] - tile[ty][tx + 1];  // expect-contract: safety.bounds numerics safety.races
    out[(size_t)y * width + x] = saturate(v);
  }
}

extern "C" cudaError_t sharpen(const uint8_t* in, uint8_t* out, int height, int width, cudaStream_t stream) {
  dim3 grid((width + BX - 1) / BX, (height + BY - 1) / BY);
  kernel<<<grid, dim3(BX, BY), 0, stream>>>(in, out, height, width);
  return cudaGetLastError();
}
