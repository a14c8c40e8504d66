// Single pass (Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016): tiles in order of their tickets read
// their elements once, publish their sum, and look back over the tiles before them, {{look}} * 32 at a time, until one has its whole prefix.
{{{headers}}}

#include <cstring>

namespace {

using Real = {{{real}}};
using Sum = {{{sum_type}}};
constexpr int kThreads = {{threads}};
constexpr int kWarps = kThreads / 32;
constexpr int kVector = {{vector}};
constexpr int kUnroll = {{unroll}};
constexpr int kLook = {{look}};         // predecessors that a lane asks for at a time
constexpr int kPause = {{pause}};       // nanoseconds between two questions to a tile that has published nothing
// Blocks stay and have the elements of their next tile on the way into shared memory, each thread its own.
constexpr bool kStay = {{stay}} == 1{{#inputs}} && sizeof({{{type}}}) * kVector >= 4{{/inputs}};
constexpr int kBlocksPerSm = {{blocks_per_sm}};
constexpr int kMaxTiles = 1 << 18;
constexpr int kStream = {{stream}};

{{> pack}}

{{> copy_async}}

// What a tile has published: its sum or its prefix including itself, and which of them in which launch: 4 * generation + 1 or + 2. Words of
// 8 bytes are read and written whole; wider sums have their values beside the state and a fence between.
struct Published {
  unsigned state;
  Sum value;
};
constexpr bool kOneWord = sizeof(Sum) == 4;
__device__ volatile unsigned long long words[kOneWord ? kMaxTiles : 1];
__device__ volatile unsigned states[kOneWord ? 1 : kMaxTiles];
__device__ volatile Sum tile_sums[kOneWord ? 1 : kMaxTiles];
__device__ volatile Sum tile_prefixes[kOneWord ? 1 : kMaxTiles];
__device__ unsigned long long ticket = 1ull << 32;   // of the next tile; the generation in its upper half

__device__ __forceinline__ void publish(long long tile, Sum value, unsigned state) {
  if constexpr (kOneWord) {
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    words[tile] = static_cast<unsigned long long>(bits) << 32 | state;
  } else {
    (state % 4 == 2 ? tile_prefixes : tile_sums)[tile] = value;
    __threadfence();
    states[tile] = state;
  }
}
__device__ __forceinline__ Published peek(long long tile) {
  Published out;
  if constexpr (kOneWord) {
    const unsigned long long word = words[tile];
    const unsigned bits = static_cast<unsigned>(word >> 32);
    out.state = static_cast<unsigned>(word);
    memcpy(&out.value, &bits, sizeof bits);
  } else {
    out.state = states[tile];
    __threadfence();
    out.value = (out.state % 4 == 2 ? tile_prefixes : tile_sums)[tile];
  }
  return out;
}

__device__ __forceinline__ Sum scan_warp(Sum value) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const Sum other = __shfl_up_sync(0xffffffffu, value, offset);
    if (lane >= offset) value += other;
  }
  return value;
}

// The sum of all tiles from `first` to `tile` - 1, by one warp: nobody waits for tiles before the nearest one that has its prefix.
__device__ Sum look_back(long long tile, long long first, unsigned base) {
  const int lane = threadIdx.x % 32;
  Sum sum = 0;
  for (long long last = tile - 1; last >= first; last -= 32 * kLook) {
    Published seen[kLook];
#pragma unroll
    for (int w = 0; w < kLook; ++w) {
      const long long own = last - 32 * w - lane;
      seen[w] = own >= first ? peek(own) : Published{base + 2, Sum(0)};
    }
#pragma unroll
    for (int w = 0; w < kLook; ++w) {
      const long long own = last - 32 * w - lane;
      unsigned whole, wanted;
      while (true) {
        whole = __ballot_sync(0xffffffffu, seen[w].state == base + 2);
        wanted = whole == 0 ? 0xffffffffu : whole ^ (whole - 1);   // up to the nearest prefix
        const unsigned missing = __ballot_sync(0xffffffffu, seen[w].state != base + 1 && seen[w].state != base + 2);
        if ((missing & wanted) == 0) break;
        if constexpr (kPause > 0) __nanosleep(kPause);
        if (missing >> lane & 1) seen[w] = peek(own);
      }
      Sum part = wanted >> lane & 1 ? seen[w].value : Sum(0);
#pragma unroll
      for (int offset = 16; offset > 0; offset /= 2) part += __shfl_xor_sync(0xffffffffu, part, offset);
      sum += part;
      if (whole != 0) return sum;
    }
  }
  return sum;
}

constexpr int kRingBytes = kThreads * kUnroll * static_cast<int>(0{{#inputs}} + sizeof(Pack<{{{type}}}, kVector>){{/inputs}});   // of a tile

template <int kWidth, bool kStays>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm) scan_kernel({{{kernel_parameters}}}, long long column_count, long long tiles_per_row, long long tiles) {
  __shared__ long long own_tile[2];
  __shared__ unsigned own_base;
  __shared__ Sum group_sums[kUnroll * kWarps];
  __shared__ Sum group_starts[kUnroll * kWarps];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  // Who takes the last ticket leaves the first one of the next launch. A block that stays takes two beyond its tiles.
  const auto take = [&] {
    const unsigned long long own = atomicAdd(&ticket, 1ull);
    if (static_cast<unsigned>(own) == (kStays ? tiles + 2 * gridDim.x : tiles) - 1) atomicExch(&ticket, ((own >> 32) + 1) << 32);
    return own;
  };
  {{{uniform_loads}}}

  // The tile's elements, as they were loaded, to its output.
  const auto process = [&](long long tile{{#inputs}}, const Pack<{{{type}}}, kWidth> (&{{name}}_packs)[kUnroll]{{/inputs}}) {
    const long long row = tile / tiles_per_row, base = row * column_count, start = tile % tiles_per_row * (kThreads * kWidth * kUnroll);
    Sum items[kUnroll][kWidth], before[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const long long column = start + (static_cast<long long>(u) * kThreads + threadIdx.x) * kWidth;
#pragma unroll
      for (int e = 0; e < kWidth; ++e) items[u][e] = 0;
      if (column < column_count) {
{{#inputs}}
        const Pack<{{{type}}}, kWidth>& {{name}}_pack = {{name}}_packs[u];
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
      constexpr int kOwn = (kUnroll * kWarps + 31) / 32;   // groups of a lane, 32 apart, so that lanes meet different banks
      Sum starts[kOwn], total = 0;
#pragma unroll
      for (int g = 0; g < kOwn; ++g) {
        const bool has = g * 32 + lane < kUnroll * kWarps;
        const Sum scanned = scan_warp(has ? group_sums[g * 32 + lane] : Sum(0));
        const Sum left = __shfl_up_sync(0xffffffffu, scanned, 1);
        starts[g] = total + (lane == 0 ? Sum(0) : left);
        total += __shfl_sync(0xffffffffu, scanned, 31);
      }
      const long long first = row * tiles_per_row;
      if (lane == 0 && tile > first) publish(tile, total, own_base + 1);
      const Sum prefix = look_back(tile, first, own_base);
      if (lane == 0) publish(tile, prefix + total, own_base + 2);
#pragma unroll
      for (int g = 0; g < kOwn; ++g)
        if (g * 32 + lane < kUnroll * kWarps) group_starts[g * 32 + lane] = prefix + starts[g];
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
  };

{{#inputs}}
  Pack<{{{type}}}, kWidth> {{name}}_packs[kUnroll];
{{/inputs}}
  if constexpr (!kStays) {
    if (threadIdx.x == 0) {
      const unsigned long long own = take();
      own_tile[0] = static_cast<unsigned>(own);
      own_base = static_cast<unsigned>(own >> 32) * 4;
    }
    __syncthreads();
    const long long tile = own_tile[0], base = tile / tiles_per_row * column_count, start = tile % tiles_per_row * (kThreads * kWidth * kUnroll);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const long long column = start + (static_cast<long long>(u) * kThreads + threadIdx.x) * kWidth;
      if (column >= column_count) continue;
{{#inputs}}
      {{name}}_packs[u] = load_once<kWidth>({{name}} + base + column);
{{/inputs}}
    }
    process(tile{{#inputs}}, {{name}}_packs{{/inputs}});
  } else {
    extern __shared__ uint4 ring[];
    [[maybe_unused]] char* place = reinterpret_cast<char*>(ring);
{{#inputs}}
    auto* const {{name}}_ring = reinterpret_cast<Pack<{{{type}}}, kWidth>*>(place) + threadIdx.x;
    place += sizeof(Pack<{{{type}}}, kWidth>) * 2 * kUnroll * kThreads;
{{/inputs}}
    const auto request = [&](long long wanted, int slot) {
      const long long base = wanted / tiles_per_row * column_count, start = wanted % tiles_per_row * (kThreads * kWidth * kUnroll);
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const long long column = start + (static_cast<long long>(u) * kThreads + threadIdx.x) * kWidth;
        if (wanted >= tiles || column >= column_count) continue;
{{#inputs}}
        copy_async({{name}}_ring + (slot * kUnroll + u) * kThreads, {{name}} + base + column);
{{/inputs}}
      }
      commit_copies();
    };
    unsigned long long pending = 0;   // a ticket ahead, whose answer nobody waits for
    if (threadIdx.x == 0) {
      const unsigned long long own = take();
      own_tile[0] = static_cast<unsigned>(own);
      own_base = static_cast<unsigned>(own >> 32) * 4;
      pending = take();
    }
    __syncthreads();
    long long tile = own_tile[0];
    request(tile, 0);
    for (int slot = 0; tile < tiles; slot ^= 1) {
      if (threadIdx.x == 0) {
        own_tile[slot ^ 1] = static_cast<unsigned>(pending);
        pending = take();
      }
      __syncthreads();
      const long long next = own_tile[slot ^ 1];
      request(next, slot ^ 1);
      wait_copies<1>();
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const long long column = tile % tiles_per_row * (kThreads * kWidth * kUnroll) + (static_cast<long long>(u) * kThreads + threadIdx.x) * kWidth;
        if (column >= column_count) continue;
{{#inputs}}
        {{name}}_packs[u] = {{name}}_ring[(slot * kUnroll + u) * kThreads];
{{/inputs}}
      }
      process(tile{{#inputs}}, {{name}}_packs{{/inputs}});
      tile = next;
    }
    wait_copies<0>();
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
  if constexpr (kStay) {
    constexpr long long kResident = static_cast<long long>({{sheet_multiprocessors}}) * kBlocksPerSm;
    if (vectors && tiles > kResident) {
      const auto kernel = scan_kernel<kVector, kStay>;
      if (const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 2 * kRingBytes); error != cudaSuccess) return error;
      kernel<<<static_cast<unsigned>(kResident), kThreads, 2 * kRingBytes, stream>>>({{{arguments}}}, column_count, tiles_per_row, tiles);
      return cudaGetLastError();
    }
  }
  if (vectors) scan_kernel<kVector, false><<<static_cast<unsigned>(tiles), kThreads, 0, stream>>>({{{arguments}}}, column_count, tiles_per_row, tiles);
  else scan_kernel<1, false><<<static_cast<unsigned>(tiles), kThreads, 0, stream>>>({{{arguments}}}, column_count, tiles_per_row, tiles);
  return cudaGetLastError();
}
