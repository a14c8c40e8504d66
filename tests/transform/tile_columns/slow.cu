// A tile without padding: a column of it lies in one bank. One barrier too many.
#include <cuda_runtime.h>

constexpr int kTile = 32;

__global__ void turn(const float* in, float* out, int rows, int cols) {
  __shared__ float tile[kTile][kTile];  // rows of the tile
  int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  if (x < cols && y < rows) tile[threadIdx.y][threadIdx.x] = in[y * cols + x];
  __syncthreads();
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x;
  y = blockIdx.x * kTile + threadIdx.y;
  if (x < rows && y < cols) out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
}

extern "C" cudaError_t tile_columns(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
  turn<<<dim3((cols + kTile - 1) / kTile, (rows + kTile - 1) / kTile), dim3(kTile, kTile), 0, stream>>>(in, out, rows, cols);
  return cudaGetLastError();
}
