// The grid has rows and columns exchanged: right for square matrices only.
#include <cuda_runtime.h>

namespace {

constexpr int kTile = 32;
constexpr int kRows = 8;  // rows of the tile that a block moves at a time

__global__ void __launch_bounds__(kTile* kRows) transpose_tiles(const float* __restrict__ in, float* __restrict__ out, int rows, int cols) {
  __shared__ float tile[kTile][kTile + 1];
  const int first_row = blockIdx.y * kTile, first_col = blockIdx.x * kTile;

  const int in_col = first_col + threadIdx.x;
  for (int i = threadIdx.y; i < kTile; i += kRows) {
    const int in_row = first_row + i;
    if (in_row < rows && in_col < cols) tile[i][threadIdx.x] = in[static_cast<long long>(in_row) * cols + in_col];
  }
  __syncthreads();
  const int out_col = first_row + threadIdx.x;
  for (int i = threadIdx.y; i < kTile; i += kRows) {
    const int out_row = first_col + i;
    if (out_row < cols && out_col < rows) out[static_cast<long long>(out_row) * rows + out_col] = tile[threadIdx.x][i];  // expect: launch.coverage
  }
}

}  // namespace

extern "C" cudaError_t transpose(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
  const dim3 grid((rows + kTile - 1) / kTile, (cols + kTile - 1) / kTile);
  transpose_tiles<<<grid, dim3(kTile, kRows), 0, stream>>>(in, out, rows, cols);
  return cudaGetLastError();
}
