// The second phase reads a column of the tile: all lanes meet in one bank.
#include <cuda_runtime.h>

constexpr int kTile = 32, kRows = 8;

__global__ void __launch_bounds__(kTile * kRows) transpose_tiles(const float* in, float* out, int rows, int cols) {
  __shared__ float tile[kTile][kTile];
  const int col = blockIdx.x * kTile + threadIdx.x, first_row = blockIdx.y * kTile;
  for (int i = threadIdx.y; i < kTile; i += kRows)
    if (first_row + i < rows && col < cols) tile[i][threadIdx.x] = in[static_cast<long long>(first_row + i) * cols + col];
  __syncthreads();
  const int out_col = first_row + threadIdx.x, first_col = blockIdx.x * kTile;
  for (int i = threadIdx.y; i < kTile; i += kRows)
    if (first_col + i < cols && out_col < rows) out[static_cast<long long>(first_col + i) * rows + out_col] = tile[threadIdx.x][i];
}

extern "C" cudaError_t transpose(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
  const dim3 grid((cols + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
  transpose_tiles<<<grid, dim3(kTile, kRows), 0, stream>>>(in, out, rows, cols);
  return cudaGetLastError();
}
