// A block reads a tile with its halo into shared memory, clamped at the borders, and each element's neighbours come from there. A warp
// reads and computes along a row, so that all of its accesses are consecutive.
{{{headers}}}

namespace {

using Real = {{{real}}};
constexpr int kWidth = {{tile_width}}, kHeight = {{tile_height}};   // of a tile
constexpr int kWarps = {{warps}};
constexpr int kLeft = {{left}}, kRight = {{right}}, kAbove = {{above}}, kBelow = {{below}};   // of the halo

__global__ void __launch_bounds__(32 * kWarps) stencil_kernel({{{kernel_parameters}}}, int row_count, int column_count, unsigned row_tiles, unsigned column_tiles) {
  __shared__ {{{in_type}}} tile[kHeight + kAbove + kBelow][kWidth + kLeft + kRight];
  const unsigned strip = blockIdx.x / column_tiles;
  const int first_row = static_cast<int>(strip % row_tiles) * kHeight, first_column = static_cast<int>(blockIdx.x % column_tiles) * kWidth;
  const long long base = static_cast<long long>(strip / row_tiles) * row_count * column_count;
  {{{uniform_loads}}}

  for (int r = threadIdx.y; r < kHeight + kAbove + kBelow; r += kWarps) {
    const {{{in_type}}}* from = {{in}} + base + static_cast<long long>(min(max(first_row + r - kAbove, 0), row_count - 1)) * column_count;
    for (int c = threadIdx.x; c < kWidth + kLeft + kRight; c += 32) tile[r][c] = from[min(max(first_column + c - kLeft, 0), column_count - 1)];
  }
  __syncthreads();
  for (int r = threadIdx.y; r < kHeight; r += kWarps) {
#pragma unroll
    for (int c = threadIdx.x; c < kWidth; c += 32) {
      const int row = first_row + r, column = first_column + c;
      if (row >= row_count || column >= column_count) continue;
      [[maybe_unused]] const long long at = base + static_cast<long long>(row) * column_count + column;
      {{{inside}}}
      {{out}}[at] = {{{value}}};
    }
  }
}

}  // namespace

extern "C" cudaError_t {{function}}({{{parameters}}}, cudaStream_t stream) {
  const long long batches = {{{batches}}}, row_count = {{{rows}}}, column_count = {{{columns}}};
  if (batches * row_count * column_count == 0) return cudaSuccess;
  const unsigned row_tiles = static_cast<unsigned>((row_count + kHeight - 1) / kHeight), column_tiles = static_cast<unsigned>((column_count + kWidth - 1) / kWidth);
  const unsigned blocks = static_cast<unsigned>(batches) * row_tiles * column_tiles;
  stencil_kernel<<<blocks, dim3(32, kWarps), 0, stream>>>({{{arguments}}}, static_cast<int>(row_count), static_cast<int>(column_count), row_tiles, column_tiles);
  return cudaGetLastError();
}
