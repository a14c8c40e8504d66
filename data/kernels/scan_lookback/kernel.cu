// Single pass (Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016): tiles in order of their tickets read
// their elements once, publish their sum, and look back over the tiles before them, {{look}} * 32 at a time, until one has its whole prefix.
// Blocks that stay carry their prefix themselves: they add the sums of the tiles between their last one and their next one, which were published while
// the last one was written.
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
// Blocks stay: the sum of their next tile is published and the one after is on its way into shared memory, each thread its own elements.
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

// Of the groups of a tile, a warp's elements of one access each, in order: where they start within the tile; the tile's sum. By one warp.
__device__ __forceinline__ Sum scan_groups(const Sum* sums, Sum (&starts)[(kUnroll * kWarps + 31) / 32]) {
  const int lane = threadIdx.x % 32;
  Sum total = 0;
#pragma unroll
  for (int g = 0; g < (kUnroll * kWarps + 31) / 32; ++g) {   // groups of a lane are 32 apart, so that lanes meet different banks
    const Sum scanned = scan_warp(g * 32 + lane < kUnroll * kWarps ? sums[g * 32 + lane] : Sum(0));
    const Sum left = __shfl_up_sync(0xffffffffu, scanned, 1);
    starts[g] = total + (lane == 0 ? Sum(0) : left);
    total += __shfl_sync(0xffffffffu, scanned, 31);
  }
  return total;
}
// Who takes the last ticket leaves the first one of the next launch.
__device__ __forceinline__ unsigned long long take_ticket(long long tickets) {
  const unsigned long long own = atomicAdd(&ticket, 1ull);
  if (static_cast<unsigned>(own) == tickets - 1) atomicExch(&ticket, ((own >> 32) + 1) << 32);
  return own;
}

template <int kWidth>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm) scan_kernel({{{kernel_parameters}}}, long long column_count, long long tiles_per_row, long long tiles) {
  __shared__ long long own_tile;
  __shared__ unsigned own_base;
  __shared__ Sum group_sums[kUnroll * kWarps];
  __shared__ Sum group_starts[kUnroll * kWarps];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    const unsigned long long own = take_ticket(tiles);
    own_tile = static_cast<unsigned>(own);
    own_base = static_cast<unsigned>(own >> 32) * 4;
  }
  __syncthreads();
  {{{uniform_loads}}}
  const long long tile = own_tile, row = tile / tiles_per_row, base = row * column_count, start = tile % tiles_per_row * (kThreads * kWidth * kUnroll);
{{#inputs}}
  Pack<{{{type}}}, kWidth> {{name}}_packs[kUnroll];
{{/inputs}}
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const long long column = start + (static_cast<long long>(u) * kThreads + threadIdx.x) * kWidth;
    if (column >= column_count) continue;
{{#inputs}}
    {{name}}_packs[u] = load_once<kWidth>({{name}} + base + column);
{{/inputs}}
  }

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
    constexpr int kOwn = (kUnroll * kWarps + 31) / 32;
    Sum starts[kOwn];
    const Sum total = scan_groups(group_sums, starts);
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
}

constexpr int kLead = {{lead}};      // tiles between the one whose sum is published and the one that is written
constexpr int kSlots = {{slots}};    // of tiles in shared memory: those from the one that is written to the one that is summed, and those that arrive
constexpr int kRingBytes = kSlots * kThreads * kUnroll * static_cast<int>(0{{#inputs}} + sizeof(Pack<{{{type}}}, kVector>){{/inputs}});

__global__ void __launch_bounds__(kThreads, kBlocksPerSm) staying_kernel({{{kernel_parameters}}}, long long column_count, unsigned tiles_per_row, unsigned tiles) {
  constexpr int kTile = kThreads * kVector * kUnroll, kGroups = kUnroll * kWarps;
  constexpr unsigned kTaken = kSlots + 1;   // tickets beyond the last tile that a block takes
  extern __shared__ uint4 ring[];
  __shared__ unsigned own_tile[kSlots], own_base;
  // By turns, so that one barrier a tile is enough.
  __shared__ Sum group_sums[2][kGroups], group_starts[kLead + 1][kGroups], totals[kLead + 1], parts[2][kWarps];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  {{{uniform_loads}}}
  [[maybe_unused]] char* place = reinterpret_cast<char*>(ring);
{{#inputs}}
  auto* const {{name}}_ring = reinterpret_cast<Pack<{{{type}}}, kVector>*>(place) + threadIdx.x;
  place += sizeof(Pack<{{{type}}}, kVector>) * kSlots * kUnroll * kThreads;
{{/inputs}}
  // This thread's first element of a tile, and how many of the row are left from there on.
  const auto first_of = [&](unsigned tile) { return tile / tiles_per_row * column_count + static_cast<long long>(tile % tiles_per_row) * kTile + threadIdx.x * kVector; };
  const auto left_of = [&](unsigned tile) {
    const long long left = column_count - static_cast<long long>(tile % tiles_per_row) * kTile;
    return static_cast<int>(left < kTile ? left : kTile) - static_cast<int>(threadIdx.x) * kVector;
  };
  const auto request = [&](unsigned tile, int slot) {
    if (tile < tiles) {
      const long long first = first_of(tile);
      const int left = left_of(tile);
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (u * kThreads * kVector >= left) continue;
{{#inputs}}
        copy_async({{name}}_ring + (slot * kUnroll + u) * kThreads, {{name}} + first + u * kThreads * kVector);
{{/inputs}}
      }
    }
    commit_copies();
  };
  const auto items_of = [&](int slot, int u, int left, Sum (&items)[kVector]) {
#pragma unroll
    for (int e = 0; e < kVector; ++e) items[e] = 0;
    if (u * kThreads * kVector >= left) return;
{{#inputs}}
    const Pack<{{{type}}}, kVector> {{name}}_pack = {{name}}_ring[(slot * kUnroll + u) * kThreads];
{{/inputs}}
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      {{{inside}}}
      items[e] = {{{body}}};
    }
  };
  const auto sum_groups = [&](unsigned tile, int slot, Sum* sums, Sum (&before)[kUnroll]) {
    const int left = left_of(tile);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      Sum items[kVector], own = 0;
      items_of(slot, u, left, items);
#pragma unroll
      for (int e = 0; e < kVector; ++e) own += items[e];
      const Sum scanned = scan_warp(own);
      const Sum before_lane = __shfl_up_sync(0xffffffffu, scanned, 1);
      before[u] = lane == 0 ? Sum(0) : before_lane;
      if (lane == 31) sums[u * kWarps + warp] = scanned;
    }
  };
  const auto announce = [&](unsigned tile, const Sum* sums, int place) {
    constexpr int kOwn = (kGroups + 31) / 32;
    Sum starts[kOwn];
    const Sum total = scan_groups(sums, starts);
    if (lane == 0) {
      publish(tile, total, own_base + 1);
      totals[place] = total;
    }
#pragma unroll
    for (int g = 0; g < kOwn; ++g)
      if (g * 32 + lane < kGroups) group_starts[place][g * 32 + lane] = starts[g];
  };

  const long long tickets = static_cast<long long>(tiles) + kTaken * gridDim.x;
  unsigned long long pending = 0;   // a ticket ahead, whose answer nobody waits for
  if (threadIdx.x == 0) {
#pragma unroll
    for (int t = 0; t < kSlots; ++t) {
      const unsigned long long own = take_ticket(tickets);
      own_tile[t] = static_cast<unsigned>(own);
      own_base = static_cast<unsigned>(own >> 32) * 4;
    }
    pending = take_ticket(tickets);
  }
  __syncthreads();
  unsigned tile[kSlots], last = 0;   // the one that is written, and those after it
#pragma unroll
  for (int t = 0; t < kSlots; ++t) tile[t] = own_tile[t];
  const unsigned wanted = own_base + 1;
  Sum before[kLead + 1][kUnroll], carry = 0;
#pragma unroll
  for (int t = 0; t < kSlots - 1; ++t) request(tile[t], t);
#pragma unroll
  for (int t = 0; t < kLead; ++t) {
    if (t == 0) wait_copies<kSlots - 2>();
    else wait_copies<kSlots - 1 - kLead>();
    if (tile[t] < tiles) sum_groups(tile[t], t, group_sums[t % 2], before[t]);
    __syncthreads();
    if (warp == 0 && tile[t] < tiles) announce(tile[t], group_sums[t % 2], t);
  }
  // Counted round: of the slot that is written, of its sums' place, and of what changes place with each tile.
  int slot = 0, sums_place = 0, turn = kLead % 2;
  const auto after = [](int own, int by, int count) { return own + by < count ? own + by : own + by - count; };
  while (tile[0] < tiles) {
    // Tiles between this block's last one and this one: their sums are asked for before they are needed.
    const unsigned row_first = tile[0] / tiles_per_row * tiles_per_row;
    if (last <= row_first) last = row_first, carry = 0;
    unsigned asked = last + threadIdx.x;
    Published seen[kLook];
    const auto ask = [&] {
#pragma unroll
      for (int l = 0; l < kLook; ++l) seen[l] = asked + l * kThreads < tile[0] ? peek(asked + l * kThreads) : Published{wanted, Sum(0)};
    };
    ask();
    if (threadIdx.x == 0) {
      own_tile[turn] = static_cast<unsigned>(pending);
      pending = take_ticket(tickets);
    }
    request(tile[kSlots - 1], after(slot, kSlots - 1, kSlots));
    wait_copies<kSlots - 1 - kLead>();
    const int lead_place = after(sums_place, kLead, kLead + 1);
    if (tile[kLead] < tiles) sum_groups(tile[kLead], after(slot, kLead, kSlots), group_sums[turn], before[kLead]);
    Sum part = 0;
    while (true) {
#pragma unroll
      for (int l = 0; l < kLook; ++l) {
        while (seen[l].state != wanted) {
          if constexpr (kPause > 0) __nanosleep(kPause);
          seen[l] = peek(asked + l * kThreads);
        }
        part += seen[l].value;
      }
      asked += kLook * kThreads;
      if (asked >= tile[0]) break;
      ask();
    }
    __syncwarp();
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) part += __shfl_xor_sync(0xffffffffu, part, offset);
    if (lane == 0) parts[turn][warp] = part;
    __syncthreads();
    if (warp == 0 && tile[kLead] < tiles) announce(tile[kLead], group_sums[turn], lead_place);
    Sum prefix = carry;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) prefix += parts[turn][w];
    const long long first = first_of(tile[0]);
    const int left = left_of(tile[0]);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      Sum items[kVector], running = prefix + group_starts[sums_place][u * kWarps + warp] + before[0][u];
      items_of(slot, u, left, items);
      Pack<{{{out_type}}}, kVector> {{out}}_pack;
#pragma unroll
      for (int e = 0; e < kVector; ++e) {
        [[maybe_unused]] const Sum exclusive = running;
        running += items[e];
        [[maybe_unused]] const Sum inclusive = running;
        {{{output_statements}}}
        {{out}}_pack.at[e] = {{{value}}};
      }
      if (u * kThreads * kVector < left) store<kVector>({{out}} + first + u * kThreads * kVector, {{out}}_pack);
#pragma unroll
      for (int t = 0; t < kLead; ++t) before[t][u] = before[t + 1][u];
    }
    carry = prefix + totals[sums_place];
    last = tile[0] + 1;
#pragma unroll
    for (int t = 0; t < kSlots - 1; ++t) tile[t] = tile[t + 1];
    tile[kSlots - 1] = own_tile[turn];
    slot = after(slot, 1, kSlots);
    sums_place = after(sums_place, 1, kLead + 1);
    turn ^= 1;
  }
  wait_copies<0>();
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
      if (const cudaError_t error = cudaFuncSetAttribute(staying_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kRingBytes); error != cudaSuccess) return error;
      staying_kernel<<<static_cast<unsigned>(kResident), kThreads, kRingBytes, stream>>>({{{arguments}}}, column_count, static_cast<unsigned>(tiles_per_row), static_cast<unsigned>(tiles));
      return cudaGetLastError();
    }
  }
  if (vectors) scan_kernel<kVector><<<static_cast<unsigned>(tiles), kThreads, 0, stream>>>({{{arguments}}}, column_count, tiles_per_row, tiles);
  else scan_kernel<1><<<static_cast<unsigned>(tiles), kThreads, 0, stream>>>({{{arguments}}}, column_count, tiles_per_row, tiles);
  return cudaGetLastError();
}
