// Square tiles through shared memory, of the last dimension of the input and the last one of the output: rows are read and rows are written, kVector elements by one access on both sides. A vector of row r
// lies (r / kVector) % 8 vectors away from its own place, so that the lanes that gather a column meet different banks.
{{{headers}}}

#include <cstring>

namespace {

using Real = {{{real}}};
using In = {{{in_type}}};
using Out = {{{out_type}}};
constexpr int kThreads = {{threads}};
constexpr int kTile = {{tile}};
constexpr int kVector = {{vector}};
constexpr int kStream = {{stream}};

{{> pack}}

template <int kWidth>
__global__ void __launch_bounds__(kThreads) transpose_kernel({{{kernel_parameters}}}, long long row_count, long long column_count, unsigned row_tiles, unsigned column_tiles) {
  constexpr int kUnits = kTile / kWidth;        // vectors of a row of the tile
  // The four columns that a warp gathers at once lie in one vector, or in two of two elements: those stay neighbours.
  constexpr int kSpread = kWidth == 2 && sizeof(In) <= 4 ? 2 : 1;
  // Single elements have a column of padding instead.
  constexpr int kPitch = kWidth > 1 ? kUnits : kTile + 1;
  __shared__ __align__(16) Pack<In, kWidth> tile[kTile][kPitch];
  const unsigned strip = blockIdx.x / column_tiles;
  const long long first_row = static_cast<long long>(strip % row_tiles) * kTile, first_column = static_cast<long long>(blockIdx.x % column_tiles) * kTile;
  [[maybe_unused]] const long long batch = strip / row_tiles;
  const long long in_base = {{{in_base}}}, out_base = {{{out_base}}};
  const long long in_pitch = {{{in_pitch}}}, out_pitch = {{{out_pitch}}};
  {{{uniform_loads}}}

  constexpr int kAccesses = kTile * kUnits / kThreads;
  static_assert(kAccesses * kThreads == kTile * kUnits);
  constexpr int kHeld = kAccesses < 8 ? kAccesses : 8;   // in flight
  Pack<In, kWidth> held[kHeld];
#pragma unroll
  for (int first = 0; first < kAccesses; first += kHeld) {
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      const int i = (first + k) * kThreads + threadIdx.x, row = i / kUnits, unit = i % kUnits;
      if (first_row + row < row_count && first_column + unit * kWidth < column_count)
        held[k] = load_once<kWidth>({{in}} + in_base + (first_row + row) * in_pitch + first_column + unit * kWidth);
    }
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      const int i = (first + k) * kThreads + threadIdx.x, row = i / kUnits, unit = i % kUnits;
      if (first_row + row < row_count && first_column + unit * kWidth < column_count) tile[row][kWidth > 1 ? unit ^ (row / kWidth % 8 * kSpread) : unit] = held[k];
    }
  }
  __syncthreads();
  // Eight lanes take eight vectors of an output row, a warp four rows of the output.
  constexpr int kAcross = kWidth > 1 ? 8 : 32;
  constexpr int kBlocks = kUnits / kAcross, kDown = 32 / kAcross;
#pragma unroll
  for (int k = 0; k < kAccesses; ++k) {
    const int i = k * kThreads + threadIdx.x, lane = i % 32, part = i / 32;
    const int unit = part % kBlocks * kAcross + lane % kAcross, column = part / kBlocks * kDown + lane / kAcross;
    if (first_column + column >= column_count || first_row + unit * kWidth >= row_count) continue;
    Pack<Out, kWidth> out_pack;
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      const In element = kWidth > 1 ? tile[unit * kWidth + e][column / kWidth ^ (unit % 8 * kSpread)].at[column % kWidth] : tile[unit][column].at[0];
      {{{inside}}}
      out_pack.at[e] = {{{value}}};
    }
    store<kWidth>({{out}} + out_base + (first_column + column) * out_pitch + first_row + unit * kWidth, out_pack);
  }
}

}  // namespace

extern "C" cudaError_t {{function}}({{{parameters}}}, cudaStream_t stream) {
  const long long batches = {{{batches}}}, row_count = {{{rows}}}, column_count = {{{columns}}};
  if (batches * row_count * column_count == 0) return cudaSuccess;
  const unsigned row_tiles = static_cast<unsigned>((row_count + kTile - 1) / kTile), column_tiles = static_cast<unsigned>((column_count + kTile - 1) / kTile);
  const unsigned blocks = static_cast<unsigned>(batches) * row_tiles * column_tiles;
  const bool vectors = kVector > 1 && row_count % kVector == 0 && column_count % kVector == 0 && aligned({{in}}, kVector * sizeof(In)) && aligned({{out}}, kVector * sizeof(Out));
  if (vectors) transpose_kernel<kVector><<<blocks, kThreads, 0, stream>>>({{{arguments}}}, row_count, column_count, row_tiles, column_tiles);
  else transpose_kernel<1><<<blocks, kThreads, 0, stream>>>({{{arguments}}}, row_count, column_count, row_tiles, column_tiles);
  return cudaGetLastError();
}
