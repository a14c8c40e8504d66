// A block reads a tile with its halo into shared memory, clamped at the borders, and each element's neighbours come from there. A warp
// reads and computes along a row, so that all of its accesses are consecutive. Of an image whose every second or fourth column is asked for, the columns
// lie by remainders in shared memory, so that lanes meet different banks there, too.
{{{headers}}}

namespace {

using Real = {{{real}}};
constexpr int kWidth = {{tile_width}}, kHeight = {{tile_height}};   // of a tile
constexpr int kWarps = {{warps}};
constexpr int kLeft = {{left}}, kRight = {{right}}, kAbove = {{above}}, kBelow = {{below}};   // of the halo
constexpr int kStrideY = {{stride_y}}, kStrideX = {{stride_x}};   // of the image, between neighbouring outputs
constexpr int kSpanY = (kHeight - 1) * kStrideY + 1 + kAbove + kBelow, kSpanX = (kWidth - 1) * kStrideX + 1 + kLeft + kRight;
constexpr int kBanks = 128 / sizeof({{{in_type}}});
constexpr int kPhases = kStrideX & -kStrideX;
// Columns of a remainder: each begins where the one before it ends, counted in banks.
constexpr int kPhase = kPhases == 1 ? kSpanX : ((kSpanX + kPhases - 1) / kPhases + kBanks - 1 - kBanks / kPhases) / kBanks * kBanks + kBanks / kPhases;

__device__ __forceinline__ int place_of(int column) { return kPhases == 1 ? column : column % kPhases * kPhase + column / kPhases; }

__global__ void __launch_bounds__(32 * kWarps) stencil_kernel({{{kernel_parameters}}}, int row_count, int column_count, int image_rows, int image_columns, unsigned row_tiles, unsigned column_tiles) {
  __shared__ {{{in_type}}} tile[kSpanY][kPhases * kPhase];
  const unsigned strip = blockIdx.x / column_tiles;
  const int first_row = static_cast<int>(strip % row_tiles) * kHeight, first_column = static_cast<int>(blockIdx.x % column_tiles) * kWidth;
  const long long batch = strip / row_tiles, base = batch * row_count * column_count, image_base = batch * image_rows * image_columns;
  {{{uniform_loads}}}

  for (int r = threadIdx.y; r < kSpanY; r += kWarps) {
    const {{{in_type}}}* from = {{in}} + image_base + static_cast<long long>(min(max(first_row * kStrideY + r - kAbove, 0), image_rows - 1)) * image_columns;
    for (int c = threadIdx.x; c < kSpanX; c += 32) tile[r][place_of(c)] = from[min(max(first_column * kStrideX + c - kLeft, 0), image_columns - 1)];
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
  const long long image_rows = {{{image_rows}}}, image_columns = {{{image_columns}}};
  if (batches * row_count * column_count * image_rows * image_columns == 0) return cudaSuccess;
  const unsigned row_tiles = static_cast<unsigned>((row_count + kHeight - 1) / kHeight), column_tiles = static_cast<unsigned>((column_count + kWidth - 1) / kWidth);
  const unsigned blocks = static_cast<unsigned>(batches) * row_tiles * column_tiles;
  stencil_kernel<<<blocks, dim3(32, kWarps), 0, stream>>>({{{arguments}}}, static_cast<int>(row_count), static_cast<int>(column_count), static_cast<int>(image_rows), static_cast<int>(image_columns), row_tiles, column_tiles);
  return cudaGetLastError();
}
