// A matrix that is long and narrow, either way: tiles of kTile places of the long side and kLines of the narrow one, which go through shared memory as they lie in the narrow matrix, one behind the other,
// so that each lane has an element on both sides. With an even number of lines a word more after every row of banks keeps lanes that gather a line out of each other's banks.
{{{headers}}}

#include <cstring>

namespace {

using Real = {{{real}}};
using In = {{{in_type}}};
using Out = {{{out_type}}};
constexpr int kThreads = {{threads}};
constexpr int kTile = {{tile}};
constexpr int kLines = {{lines}};
constexpr int kStream = {{stream}};
constexpr int kBanks = 128 / sizeof(In);   // elements of a row of banks
constexpr int kPadding = sizeof(In) < 4 ? 4 / sizeof(In) : 1;

{{> pack}}

// kTall: the input is the matrix with the long columns, else the output is.
template <bool kTall>
__global__ void __launch_bounds__(kThreads) narrow_kernel({{{kernel_parameters}}}, long long row_count, long long column_count, unsigned tiles, unsigned parts) {
  constexpr int kElements = kTile * kLines;
  __shared__ In tile[kElements + kElements / kBanks * kPadding];
  const unsigned strip = blockIdx.x / parts, first_line = blockIdx.x % parts * kLines;
  const long long first = static_cast<long long>(strip % tiles) * kTile;
  [[maybe_unused]] const long long batch = strip / tiles;
  const long long in_base = {{{in_base}}}, out_base = {{{out_base}}};
  const long long in_pitch = {{{in_pitch}}}, out_pitch = {{{out_pitch}}};
  const long long length = kTall ? row_count : column_count, width = kTall ? column_count : row_count;
  const unsigned lines = static_cast<unsigned>(width - first_line < kLines ? width - first_line : kLines);
  const unsigned count = static_cast<unsigned>(length - first < kTile ? length - first : kTile);
  {{{uniform_loads}}}

  // Element i of the narrow matrix' part, and where it lies in the tile.
  const auto place = [&](unsigned i) { return lines % 2 == 0 ? i + i / kBanks * kPadding : i; };
  constexpr int kAccesses = kElements / kThreads;
  static_assert(kAccesses * kThreads == kElements);
  In held[kAccesses];   // in flight
#pragma unroll
  for (int k = 0; k < kAccesses; ++k) {
    const unsigned i = k * kThreads + threadIdx.x;
    if constexpr (kTall) {
      if (i < count * lines) held[k] = load_once<1>({{in}} + in_base + (first + i / lines) * in_pitch + first_line + i % lines).at[0];
    } else {
      if (i / kTile < lines && i % kTile < count) held[k] = load_once<1>({{in}} + in_base + (first_line + i / kTile) * in_pitch + first + i % kTile).at[0];
    }
  }
#pragma unroll
  for (int k = 0; k < kAccesses; ++k) {
    const unsigned i = k * kThreads + threadIdx.x;
    if constexpr (kTall) {
      if (i < count * lines) tile[place(i)] = held[k];
    } else {
      if (i / kTile < lines && i % kTile < count) tile[place(i % kTile * lines + i / kTile)] = held[k];
    }
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kAccesses; ++k) {
    const unsigned i = k * kThreads + threadIdx.x;
    if (kTall ? i / kTile >= lines || i % kTile >= count : i >= count * lines) continue;
    const In element = tile[place(kTall ? i % kTile * lines + i / kTile : i)];
    {{{inside}}}
    Pack<Out, 1> out_pack;
    out_pack.at[0] = {{{value}}};
    const long long to = kTall ? (first_line + i / kTile) * out_pitch + first + i % kTile : (first + i / lines) * out_pitch + first_line + i % lines;
    store<1>({{out}} + out_base + to, out_pack);
  }
}

}  // namespace

extern "C" cudaError_t {{function}}({{{parameters}}}, cudaStream_t stream) {
  const long long batches = {{{batches}}}, row_count = {{{rows}}}, column_count = {{{columns}}};
  if (batches * row_count * column_count == 0) return cudaSuccess;
  const bool tall = column_count <= row_count;
  const unsigned tiles = static_cast<unsigned>(((tall ? row_count : column_count) + kTile - 1) / kTile), parts = static_cast<unsigned>(((tall ? column_count : row_count) + kLines - 1) / kLines);
  const unsigned blocks = static_cast<unsigned>(batches) * tiles * parts;
  if (tall) narrow_kernel<true><<<blocks, kThreads, 0, stream>>>({{{arguments}}}, row_count, column_count, tiles, parts);
  else narrow_kernel<false><<<blocks, kThreads, 0, stream>>>({{{arguments}}}, row_count, column_count, tiles, parts);
  return cudaGetLastError();
}
