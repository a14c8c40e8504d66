// Square tiles through shared memory: rows are read and rows are written. The column of padding puts the lanes that read a column of the
// tile into different banks.
{{{headers}}}

namespace {

using Real = {{{real}}};
using In = {{{in_type}}};
using Out = {{{out_type}}};
constexpr int kTile = {{tile}};
constexpr int kStep = {{step}};        // rows of the tile that the block moves at a time
constexpr bool kStream = {{stream}} == 1;

__device__ __forceinline__ void put(Out* to, Out value) {
  if constexpr (kStream && sizeof(Out) == 4) __stcs(reinterpret_cast<unsigned*>(to), *reinterpret_cast<const unsigned*>(&value));
  else if constexpr (kStream && sizeof(Out) == 2) __stcs(reinterpret_cast<unsigned short*>(to), *reinterpret_cast<const unsigned short*>(&value));
  else *to = value;
}

__global__ void __launch_bounds__(32 * kStep) transpose_kernel({{{kernel_parameters}}}, long long row_count, long long column_count, unsigned row_tiles, unsigned column_tiles) {
  __shared__ In tile[kTile][kTile + 1];
  const unsigned strip = blockIdx.x / column_tiles;
  const long long first_row = static_cast<long long>(strip % row_tiles) * kTile, first_column = static_cast<long long>(blockIdx.x % column_tiles) * kTile;
  const long long base = strip / row_tiles * row_count * column_count;
  {{{uniform_loads}}}

#pragma unroll
  for (int i = threadIdx.y; i < kTile; i += kStep) {
#pragma unroll
    for (int j = threadIdx.x; j < kTile; j += 32)
      if (first_row + i < row_count && first_column + j < column_count) tile[i][j] = {{in}}[base + (first_row + i) * column_count + first_column + j];
  }
  __syncthreads();
#pragma unroll
  for (int i = threadIdx.y; i < kTile; i += kStep) {
#pragma unroll
    for (int j = threadIdx.x; j < kTile; j += 32) {
      if (first_column + i >= column_count || first_row + j >= row_count) continue;
      {{{inside}}}
      put({{out}} + base + (first_column + i) * row_count + first_row + j, {{{value}}});
    }
  }
}

}  // namespace

extern "C" cudaError_t {{function}}({{{parameters}}}, cudaStream_t stream) {
  const long long batches = {{{batches}}}, row_count = {{{rows}}}, column_count = {{{columns}}};
  if (batches * row_count * column_count == 0) return cudaSuccess;
  const unsigned row_tiles = static_cast<unsigned>((row_count + kTile - 1) / kTile), column_tiles = static_cast<unsigned>((column_count + kTile - 1) / kTile);
  const unsigned blocks = static_cast<unsigned>(batches) * row_tiles * column_tiles;
  transpose_kernel<<<blocks, dim3(32, kStep), 0, stream>>>({{{arguments}}}, row_count, column_count, row_tiles, column_tiles);
  return cudaGetLastError();
}
