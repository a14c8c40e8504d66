// Single pass (Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016): tiles in order of their tickets read
// their elements once, publish their sum, and look back over the tiles before them, 32 at a time, until one has its whole prefix.
{{{headers}}}

#include <cstring>

namespace {

using Real = {{{real}}};
using Sum = {{{sum_type}}};
constexpr int kThreads = {{threads}};
constexpr int kWarps = kThreads / 32;
constexpr int kVector = {{vector}};
constexpr int kUnroll = {{unroll}};
constexpr int kMaxTiles = 1 << 18;
constexpr bool kStream = false;

{{> pack}}

// What a tile has published in this launch: 4 * generation + 1 its sum, + 2 its prefix including itself.
__device__ volatile unsigned published[kMaxTiles];
__device__ volatile Sum tile_sum[kMaxTiles];
__device__ volatile Sum tile_prefix[kMaxTiles];
__device__ volatile unsigned generation = 1;
__device__ unsigned ticket = 0, finished = 0;   // 0 again at the end of each launch

__device__ __forceinline__ Sum scan_warp(Sum value) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const Sum other = __shfl_up_sync(0xffffffffu, value, offset);
    if (lane >= offset) value += other;
  }
  return value;
}

__device__ __forceinline__ void publish(long long tile, volatile Sum* values, Sum value, unsigned state) {
  values[tile] = value;
  __threadfence();
  published[tile] = state;
}

// The sum of all tiles from `first` to `tile` - 1, by one warp.
__device__ Sum look_back(long long tile, long long first, unsigned base) {
  const int lane = threadIdx.x % 32;
  Sum sum = 0;
  for (long long last = tile - 1; last >= first; last -= 32) {
    const long long own = last - lane;
    unsigned state = base + 2;
    do {
      if (own >= first) state = published[own];
    } while (__any_sync(0xffffffffu, state != base + 1 && state != base + 2));
    __threadfence();
    const unsigned whole = __ballot_sync(0xffffffffu, state == base + 2);
    const int nearest = whole == 0 ? 31 : __ffs(static_cast<int>(whole)) - 1;
    Sum part = 0;
    if (own >= first && lane <= nearest) part = state == base + 2 ? tile_prefix[own] : tile_sum[own];
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) part += __shfl_xor_sync(0xffffffffu, part, offset);
    sum += part;
    if (whole != 0) break;
  }
  return sum;
}

template <int kWidth>
__global__ void __launch_bounds__(kThreads) scan_kernel({{{kernel_parameters}}}, long long column_count, long long tiles_per_row) {
  __shared__ long long own_tile;
  __shared__ unsigned own_base;
  __shared__ Sum group_sums[kUnroll * kWarps];
  __shared__ Sum group_starts[kUnroll * kWarps];
  if (threadIdx.x == 0) {
    own_tile = atomicAdd(&ticket, 1u);
    own_base = generation * 4;
  }
  __syncthreads();
  const long long tile = own_tile, row = tile / tiles_per_row;
  const long long base = row * column_count, start = tile % tiles_per_row * (kThreads * kWidth * kUnroll);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  {{{uniform_loads}}}

  Sum items[kUnroll][kWidth], before[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const long long column = start + (static_cast<long long>(u) * kThreads + threadIdx.x) * kWidth;
#pragma unroll
    for (int e = 0; e < kWidth; ++e) items[u][e] = 0;
    if (column < column_count) {
{{#inputs}}
      const Pack<{{{type}}}, kWidth> {{name}}_pack = load<kWidth>({{name}} + base + column);
{{/inputs}}
#pragma unroll
      for (int e = 0; e < kWidth; ++e) {
        {{{inside}}}
        items[u][e] = {{{body}}};
      }
    }
  }
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    Sum own = 0;
#pragma unroll
    for (int e = 0; e < kWidth; ++e) own += items[u][e];
    const Sum scanned = scan_warp(own);
    const Sum left = __shfl_up_sync(0xffffffffu, scanned, 1);
    before[u] = lane == 0 ? Sum(0) : left;
    if (lane == 31) group_sums[u * kWarps + warp] = scanned;
  }
  __syncthreads();
  if (warp == 0) {
    const bool has = lane < kUnroll * kWarps;
    const Sum scanned = scan_warp(has ? group_sums[lane] : Sum(0));
    const Sum total = __shfl_sync(0xffffffffu, scanned, 31);
    const long long first = row * tiles_per_row;
    if (lane == 0 && tile > first) publish(tile, tile_sum, total, own_base + 1);
    const Sum prefix = look_back(tile, first, own_base);
    if (lane == 0) publish(tile, tile_prefix, prefix + total, own_base + 2);
    const Sum left = __shfl_up_sync(0xffffffffu, scanned, 1);
    if (has) group_starts[lane] = prefix + (lane == 0 ? Sum(0) : left);
  }
  __syncthreads();
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const long long column = start + (static_cast<long long>(u) * kThreads + threadIdx.x) * kWidth;
    Sum running = group_starts[u * kWarps + warp] + before[u];
    Pack<{{{out_type}}}, kWidth> {{out}}_pack;
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      [[maybe_unused]] const Sum exclusive = running;
      running += items[u][e];
      [[maybe_unused]] const Sum inclusive = running;
      {{{output_statements}}}
      {{out}}_pack.at[e] = {{{value}}};
    }
    if (column < column_count) store<kWidth>({{out}} + base + column, {{out}}_pack);
  }
  // The last tile to end leaves everything as it was, in the next generation.
  if (threadIdx.x == 0) {
    __threadfence();
    if (atomicAdd(&finished, 1u) == gridDim.x - 1) {
      ticket = 0;
      finished = 0;
      __threadfence();
      generation = own_base / 4 + 1;
    }
  }
}

}  // namespace

extern "C" cudaError_t {{function}}({{{parameters}}}, cudaStream_t stream) {
  const long long row_count = {{{rows}}}, column_count = {{{columns}}};
  if (row_count * column_count == 0) return cudaSuccess;
  const bool vectors = column_count % kVector == 0{{#pointers}} && aligned({{name}}, kVector * sizeof({{{type}}})){{/pointers}};
  const long long per_tile = static_cast<long long>(kThreads) * kUnroll * (vectors ? kVector : 1);
  const long long tiles_per_row = (column_count + per_tile - 1) / per_tile, tiles = row_count * tiles_per_row;
  if (tiles > kMaxTiles) return cudaErrorInvalidValue;
  if (vectors) scan_kernel<kVector><<<static_cast<unsigned>(tiles), kThreads, 0, stream>>>({{{arguments}}}, column_count, tiles_per_row);
  else scan_kernel<1><<<static_cast<unsigned>(tiles), kThreads, 0, stream>>>({{{arguments}}}, column_count, tiles_per_row);
  return cudaGetLastError();
}
