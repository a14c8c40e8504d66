// Blocks stay and take tiles of the product in turn. In each, a warpgroup of producers brings tiles of both operands into `stages` buffers of shared
// memory, in spans of 128 bytes that are swizzled; {{consumers}} warpgroups of consumers multiply them from there (wgmma: sm_90a), 64 rows each, with sums
// in registers. A buffer is handed over and back by a pair of mbarriers. One thread asks for whole tiles by tensor maps; operands whose rows
// are no multiple of 16 bytes are brought by all producers, element by element, into the same places. The product leaves through
// shared memory, by a tensor map or in vectors of rows, while the producers are at the next tile.
{{{headers}}}

#include <cuda.h>

#include <cstring>

namespace {

using Real = {{{real}}};
using In = {{{operand_type}}};
using Out = {{{out_type}}};
using Sum = {{{sum_type}}};
constexpr int kConsumers = {{consumers}}, kThreads = 128 * (kConsumers + 1);
constexpr int kHeights = {{warpgroup_rows}} / 64;                                // of a consumer warpgroup, 64 rows each
constexpr bool kInTurn = {{in_turn}};                                          // consumer warpgroups take tiles in turn, each a whole one: one's results leave while another multiplies
constexpr int kSharers = kInTurn ? 1 : kConsumers;                             // warpgroups that multiply from one buffer
constexpr int kTileM = 64 * kHeights * kSharers, kTileN = {{tile_n}}, kTileK = 128 / static_cast<int>(sizeof(In));   // of the product per block, and the depth of a buffer: 128 bytes
constexpr int kStages = {{stages}};
constexpr int kGroup = {{group}};                                              // rows of tiles that are taken side by side
// Blocks of a cluster: one below another they share the right operand's tile, side by side the left one's. One of the two is 1.
constexpr int kDown = {{cluster_down}}, kAcross = {{cluster_across}}, kCluster = kDown * kAcross;
constexpr int kSplit = {{split}};                                              // parts of a tile's depth, at most
constexpr int kMostUnits = 144;                                                // parts of tiles in all, when there is more than one of each: multiprocessors of a full GH100
constexpr bool kLeftAlong = {{left_along}}, kRightAlong = {{right_along}};     // an operand's rows run along the depth
// wgmma takes operands across the depth in two bytes only: others are turned on their way into shared memory, by the producers.
constexpr bool kTurns = sizeof(In) != 2, kByMap = !kTurns || (kLeftAlong && kRightAlong);
constexpr bool kLeftAlongThere = kLeftAlong || kTurns, kRightAlongThere = kRightAlong || kTurns;
constexpr int kStream = 0;

{{> pack}}

{{> wgmma}}

constexpr int kLeftBytes = kTileM * 128, kRightBytes = kTileN * 128, kStageBytes = kLeftBytes + kRightBytes;
constexpr int kBoxBytes = 64 * 128;                    // of 64 rows of the left operand, which lie side by side where they run across the depth
constexpr int kSpan = kTileN % 64 == 0 ? 64 : 32;      // columns of the right operand or the product that lie side by side, in a span of as many bytes as are swizzled
constexpr int kSpanBytes = kSpan * 128;
// Elements of two bytes leave by tensor map, from two boxes of 64 rows by 64 columns per consumer warpgroup, unless the epilogue reads a matrix, which it is to do in
// vectors. Others leave in vectors of rows, from sixteen rows of each warp, padded so that lanes that store eight rows meet different banks.
constexpr bool kOutByMap = sizeof(Out) == 2 && !{{epilogue_reads_matrices}};
constexpr int kOutBoxBytes = 64 * 64 * 2, kOutBytes = kConsumers * 2 * kOutBoxBytes;
constexpr int kPart = 32, kOutPitch = kPart + 8;
static_assert(4 * 16 * kOutPitch * 4 <= 2 * kOutBoxBytes);
constexpr int kSharedBytes = kStages * kStageBytes + kOutBytes + kStages * 16 + kConsumers * 4 + 1024;

__device__ __forceinline__ unsigned shared_place(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ __forceinline__ void init_barrier(unsigned barrier, int count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory"); }
__device__ __forceinline__ void expect(unsigned barrier, int bytes) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory"); }
__device__ __forceinline__ void arrive(unsigned barrier) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory"); }
__device__ __forceinline__ void wait_for(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra AGAIN;\n}\n" ::"r"(barrier), "r"(parity) : "memory");
}
// At the barrier in the same place of the cluster's block `rank`. What arrives and waits orders nothing but copies and products, which order themselves.
__device__ __forceinline__ void arrive_at(unsigned barrier, int rank) {
  asm volatile("{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\nmbarrier.arrive.shared::cluster.b64 _, [remote];\n}\n" ::"r"(barrier), "r"(rank) : "memory");
}
// Into the same place of the cluster's blocks in `blocks`, each of which counts the bytes by its own barrier in that place.
__device__ __forceinline__ void load_box_to(unsigned to, const CUtensorMap* map, int x, int y, int z, unsigned barrier, unsigned short blocks) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier), "h"(blocks) : "memory");
}
__device__ __forceinline__ void load_box(unsigned to, const CUtensorMap* map, int x, int y, int z, unsigned barrier) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier) : "memory");
}

// The consumer warpgroup's turn to multiply, which the one before it gives it: all buffers of earlier tiles have come then, so that no phase of a barrier is taken for one two before it.
__device__ __forceinline__ void await_turn(int own) { asm volatile("bar.sync %0, 256;" ::"r"(own + kConsumers + 1) : "memory"); }
__device__ __forceinline__ void give_turn(int to) { asm volatile("bar.arrive %0, 256;" ::"r"(to + kConsumers + 1) : "memory"); }
// A barrier of the consumer warpgroup `own`.
__device__ __forceinline__ void meet(int own) { asm volatile("bar.sync %0, 128;" ::"r"(own + 1) : "memory"); }
__device__ __forceinline__ void fetch_map(const CUtensorMap& map) { asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory"); }
__device__ __forceinline__ void store_box(const CUtensorMap* map, unsigned from, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map), "r"(x), "r"(y), "r"(z), "r"(from) : "memory");
}

// Where the 16 bytes `chunk` of row r lie in a span of kWide elements of two bytes, in units of 16 bytes.
template <int kWide>
__device__ __forceinline__ int swizzled(int chunk, int r) {
  return kWide == 64 ? chunk ^ r % 8 : chunk ^ r / 2 % 4;
}

// A tile of kRows rows of an operand by kTileK of its depth, from the matrix of `across` by `depth`: 16 bytes at a time or element by element, zeros outside. Rows that run across
// the depth lie in boxes of kWide of them, or are turned: then neighbouring threads read neighbouring columns.
template <bool kAlong, int kRows, int kWide>
__device__ __forceinline__ void fill_tile(unsigned char* to, const In* __restrict__ from, long long first_across, long long first_depth, long long across, long long depth) {
  constexpr int kUnits = kRows * 8, kPer = 16 / static_cast<int>(sizeof(In));
  const bool whole = (kAlong ? depth : across) % kPer == 0 && reinterpret_cast<size_t>(from) % 16 == 0;   // rows lie in whole units of 16 bytes
#pragma unroll 1
  for (int unit = threadIdx.x; unit < kUnits; unit += 128) {
    Pack<In, kPer> several = {};
    if constexpr (!kAlong && kTurns) {
      const int r = unit % kRows, chunk = unit / kRows;
      const long long row = first_depth + chunk * kPer, column = first_across + r;
#pragma unroll
      for (int e = 0; e < kPer; ++e)
        if (column < across && row + e < depth) several.at[e] = from[(row + e) * across + column];
      memcpy(__builtin_assume_aligned(to + r * 128 + (chunk ^ (r % 8)) * 16, 16), &several, 16);
      continue;
    }
    unsigned char* place;
    long long row, column, rows, columns;
    if constexpr (kAlong) {
      const int r = unit / 8, chunk = unit % 8;
      place = to + r * 128 + (chunk ^ (r % 8)) * 16;
      row = first_across + r, column = first_depth + chunk * kPer, rows = across, columns = depth;
    } else {
      constexpr int kChunks = kWide / 8;
      const int r = unit / kChunks % kTileK, chunk = unit % kChunks, box = unit / (kChunks * kTileK);
      place = to + box * kWide * kTileK * 2 + r * kWide * 2 + swizzled<kWide>(chunk, r) * 16;
      row = first_depth + r, column = first_across + box * kWide + chunk * 8, rows = depth, columns = across;
    }
    if (row < rows) {
      if (whole) {
        if (column < columns) several = load<kPer>(from + row * columns + column);
      } else {
#pragma unroll
        for (int e = 0; e < kPer; ++e)
          if (column + e < columns) several.at[e] = from[row * columns + column + e];
      }
    }
    memcpy(__builtin_assume_aligned(place, 16), &several, 16);
  }
}

// PTX manual, matrix descriptors: spans of 128 bytes (kWide 64) or 64 (32), swizzled, eight of them a group; offsets in units of 16 bytes.
template <int kWide>
__device__ __forceinline__ unsigned long long describe(unsigned place, unsigned leading) {
  return static_cast<unsigned long long>((place & 0x3ffff) >> 4) | static_cast<unsigned long long>(leading >> 4) << 16 | static_cast<unsigned long long>(kWide) << 32 | (kWide == 64 ? 1ull : 2ull) << 62;
}

{{> finish}}

{{> out_width}}

{{#mma_scales}}
{{> store_pair}}
{{/mma_scales}}
{{^mma_scales}}
__device__ __forceinline__ void store_pair(int* to, int first, int second) {
  asm volatile("st.shared.v2.s32 [%0], {%1, %2};" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "r"(first), "r"(second) : "memory");
}
{{/mma_scales}}

// Sums of parts of the depth, as the threads hold them; and how many parts of a tile's rows have been left there, by warpgroup.
constexpr int kUnitQuads = kHeights * kTileN / 8 * kConsumers * 128;
struct alignas(16) Quad {
  Sum at[4];
};
__device__ Quad partial[kSplit > 1 ? kMostUnits * kUnitQuads : 1];
__device__ unsigned arrived[kSplit > 1 ? kMostUnits * kConsumers : 1];

struct Tiles {
  unsigned down, across, batches;   // tiles of the product, as many as a cluster's blocks have at a time taken as one
  unsigned parts;                   // of the depth, each a unit of work
  __device__ __forceinline__ unsigned count() const { return down * across * batches * parts; }
  // kGroup rows of tiles side by side, column by column, so that what neighbouring blocks read stays in the L2. Each is of kRows by kColumns.
  template <int kRows, int kColumns>
  __device__ __forceinline__ void at(unsigned tile, int& row, int& column, int& batch) const {
    const unsigned per_batch = down * across, per_group = kGroup * across;
    batch = static_cast<int>(tile / per_batch);
    const unsigned rest = tile % per_batch, group = rest / per_group, inside = rest % per_group;
    const unsigned height = down - group * kGroup < kGroup ? down - group * kGroup : kGroup;
    row = static_cast<int>(group * kGroup + inside % height) * kRows;
    column = static_cast<int>(inside / height) * kColumns;
  }
};

// Leaves a warpgroup's sums for the part of its tile that is done last, which gets the sums of all parts, added in their order.
__device__ __forceinline__ bool last_of_parts(Sum (&sum)[kHeights][kTileN / 2], unsigned tile, unsigned part, unsigned parts, unsigned thread, volatile unsigned* is_last) {
  constexpr int kQuads = kHeights * kTileN / 8, kStride = kConsumers * 128;
  Quad* const own = partial + static_cast<size_t>(tile * parts + part) * kUnitQuads + thread;
#pragma unroll
  for (int q = 0; q < kQuads; ++q) {
    const Sum* const from = sum[q / (kTileN / 8)] + q % (kTileN / 8) * 4;
    own[q * kStride] = {from[0], from[1], from[2], from[3]};
  }
  meet(thread / 128);
  if (thread % 128 == 0) {
    unsigned* const count = arrived + tile * kConsumers + thread / 128;
    __threadfence();
    const unsigned before = atomicAdd(count, 1u);
    if (before == parts - 1) *count = 0;
    __threadfence();
    *is_last = before == parts - 1;
  }
  meet(thread / 128);
  if (*is_last == 0) return false;
  const Quad* const first = partial + static_cast<size_t>(tile * parts) * kUnitQuads + thread;
#pragma unroll
  for (int q = 0; q < kQuads; ++q) {
    Sum* const to = sum[q / (kTileN / 8)] + q % (kTileN / 8) * 4;
    to[0] = to[1] = to[2] = to[3] = 0;
  }
#pragma unroll 1
  for (unsigned p = 0; p < parts; ++p) {
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      const Quad more = first[static_cast<size_t>(p) * kUnitQuads + q * kStride];
      Sum* const to = sum[q / (kTileN / 8)] + q % (kTileN / 8) * 4;
      to[0] += more.at[0], to[1] += more.at[1], to[2] += more.at[2], to[3] += more.at[3];
    }
  }
  return true;
}

// Arrives and waits at the barrier of the cluster.
__device__ __forceinline__ void meet_cluster() { asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory"); }

// True for one lane of a warp that is there as a whole. ptxas knows that what it goes on to do is done once a warp: copies need no loop over lanes then.
__device__ __forceinline__ bool elected() {
  int one;
  asm volatile("{\n.reg .pred is;\nelect.sync _|is, 0xffffffff;\nselp.s32 %0, 1, 0, is;\n}\n" : "=r"(one));
  return one != 0;
}

// A tile of kRows rows of an operand by kTileK of its depth, of which block `part` of the kParts in `blocks` asks for its part, for all of them.
template <bool kAlong, int kRows, int kWide, int kParts>
__device__ __forceinline__ void load_part(unsigned to, const CUtensorMap* map, int first_row, int first_depth, int batch, unsigned barrier, int part, unsigned blocks) {
  const auto load = [&](unsigned place, int column, int row) {
    if constexpr (kParts == 1) load_box(place, map, column, row, batch, barrier);
    else load_box_to(place, map, column, row, batch, barrier, static_cast<unsigned short>(blocks));
  };
  if constexpr (kAlong) {
    load(to + part * (kRows / kParts) * 128, first_depth, first_row + part * (kRows / kParts));
  } else {
#pragma unroll
    for (int box = 0; box < kRows / kWide; ++box)
      load(to + box * kWide * 128 + part * (kTileK / kParts) * kWide * 2, first_row + box * kWide, first_depth + part * (kTileK / kParts));
  }
}

template <bool kVectors>
__global__ void __launch_bounds__(kThreads, 1) gemm_kernel({{{kernel_parameters}}}, long long row_count, long long column_count, long long depth, const Tiles tiles, const __grid_constant__ CUtensorMap left_map, const __grid_constant__ CUtensorMap right_map, const __grid_constant__ CUtensorMap out_map) {
  extern __shared__ unsigned char raw[];
  unsigned char* const shared = raw + ((1024 - (shared_place(raw) & 1023)) & 1023);
  const unsigned buffers = shared_place(shared), full = buffers + kStages * kStageBytes + kOutBytes, empty = full + 8 * kStages;
  const int warpgroup = threadIdx.x / 128;
  const int steps = static_cast<int>((depth + kTileK - 1) / kTileK);
  constexpr int kSizeDown = kVectors ? kDown : 1, kSizeAcross = kVectors ? kAcross : 1, kSize = kSizeDown * kSizeAcross;
  const int rank = kSize > 1 ? static_cast<int>(blockIdx.x % kSize) : 0, x = kSizeAcross > 1 ? rank : 0, y = kSizeDown > 1 ? rank : 0;
  const unsigned parts = kSplit > 1 ? tiles.parts : 1;
  const auto first_step = [&](unsigned part) { return static_cast<int>(kSplit > 1 ? steps * part / parts : steps * part); };
  if (threadIdx.x == 0) {
    if constexpr (kVectors) {
      fetch_map(left_map), fetch_map(right_map);
      if constexpr (kOutByMap) fetch_map(out_map);
    }
    for (int s = 0; s < kStages; ++s) {
      init_barrier(full + 8 * s, kVectors ? 1 : 128);
      init_barrier(empty + 8 * s, 4 * kSharers * kSize);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if constexpr (kSize > 1) meet_cluster();
  else __syncthreads();

  int stage = 0;
  unsigned phase = 0;
  const auto advance = [&] {
    if (++stage == kStages) stage = 0, phase ^= 1;
  };
  const unsigned first_unit = blockIdx.x / kSize, units_at_once = gridDim.x / kSize;
  if (warpgroup == 0) {
    if constexpr (kConsumers > 1) asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
    if (kVectors && (threadIdx.x >= 32 || !elected())) return;
    for (unsigned unit = first_unit; unit < tiles.count(); unit += units_at_once) {
      int row, column, batch;
      tiles.at<kTileM * kSizeDown, kTileN * kSizeAcross>(unit / parts, row, column, batch);
      row += y * kTileM, column += x * kTileN;
      const int end = first_step(unit % parts + 1);
      for (int step = first_step(unit % parts); step < end; ++step) {
        wait_for(empty + 8 * stage, phase ^ 1);
        const unsigned barrier = full + 8 * stage, left_to = buffers + stage * kStageBytes, right_to = left_to + kLeftBytes;
        if constexpr (kVectors) {
          expect(barrier, kStageBytes);
          load_part<kLeftAlong, kTileM, 64, kSizeAcross>(left_to, &left_map, row, step * kTileK, batch, barrier, x, (1u << kSize) - 1);
          load_part<kRightAlong, kTileN, kSpan, kSizeDown>(right_to, &right_map, column, step * kTileK, batch, barrier, y, (1u << kSize) - 1);
        } else {
          unsigned char* const left_place = shared + stage * kStageBytes;
          fill_tile<kLeftAlong, kTileM, 64>(left_place, {{left}} + batch * row_count * depth, row, static_cast<long long>(step) * kTileK, row_count, depth);
          fill_tile<kRightAlong, kTileN, kSpan>(left_place + kLeftBytes, {{right}} + batch * depth * column_count, column, static_cast<long long>(step) * kTileK, column_count, depth);
          asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
          arrive(barrier);
        }
        advance();
      }
    }
    return;
  }

  if constexpr (kConsumers > 1) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kConsumers == 2 ? 224 : 152));
  const int own = warpgroup - 1, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  unsigned char* const own_out = shared + kStages * kStageBytes + own * 2 * kOutBoxBytes;
  volatile unsigned* const is_last = reinterpret_cast<unsigned*>(shared + kStages * kStageBytes + kOutBytes + kStages * 16) + own;
  Sum sum[kHeights][kTileN / 2];
  // Gives a buffer back to all whose copies fill it.
  const auto release = [&](int of_stage) {
    if constexpr (kSize == 1) {
      if (lane == 0) arrive(empty + 8 * of_stage);
    } else {
      if (lane < kSize) arrive_at(empty + 8 * of_stage, lane);
    }
  };
  const int part_of_tile = kInTurn ? 0 : own;   // whose rows of a tile are this warpgroup's
  int turn = 0;
  for (unsigned unit = first_unit; unit < tiles.count(); unit += units_at_once) {
    const unsigned tile = unit / parts, part_of_depth = unit % parts;
    int first_row, first_column, batch;
    tiles.at<kTileM * kSizeDown, kTileN * kSizeAcross>(tile, first_row, first_column, batch);
    first_row += y * kTileM, first_column += x * kTileN;
    const int count = first_step(part_of_depth + 1) - first_step(part_of_depth);
    if constexpr (kInTurn) {
      const bool others = turn % kConsumers != own;
      if (turn++ > 0 && !others) await_turn(own);
      if (others) {
        stage += count, phase ^= stage / kStages % 2, stage %= kStages;
        continue;
      }
    }
    int previous = 0;
    for (int step = 0; step < count; ++step) {
      wait_for(full + 8 * stage, phase);
      const unsigned left_from = buffers + stage * kStageBytes + part_of_tile * kHeights * kBoxBytes, right_from = buffers + stage * kStageBytes + kLeftBytes;
      const unsigned long long left_matrix = describe<64>(left_from, kLeftAlongThere ? 16 : kBoxBytes), right_matrix = describe<kRightAlongThere ? 64 : kSpan>(right_from, kRightAlongThere ? 16 : kSpanBytes);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int d = 0; d < 4; ++d)
#pragma unroll
        for (int h = 0; h < kHeights; ++h)
          multiply<!kLeftAlongThere, !kRightAlongThere>(sum[h], left_matrix + h * (kBoxBytes >> 4) + d * (kLeftAlongThere ? 2 : 128), right_matrix + d * (kRightAlongThere ? 2 : 2 * kSpan), step > 0 || d > 0);
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      if (step > 0) {
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        release(previous);
      }
      previous = stage;
      advance();
    }
    if (kInTurn && unit + units_at_once < tiles.count()) give_turn((own + 1) % kConsumers);
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    release(previous);
    if (kSplit > 1 && parts > 1 && !last_of_parts(sum, tile, part_of_depth, parts, threadIdx.x - 128, is_last)) continue;

    // Sum 4 j + i of a lane lies in row lane / 4 + i / 2 * 8, column 8 j + lane % 4 * 2 + i % 2.
    if constexpr (kVectors && kOutByMap) {
      const auto pair = [&](const Sum* from, long long row, long long column) {
        Pack<Out, 2> two = {};
        if (!{{epilogue_reads}} || (row < row_count && column < column_count)) two = finished<2>(from, {{{arguments}}}, batch, row, column, row_count, column_count);
        unsigned word;
        memcpy(&word, &two, sizeof word);
        return word;
      };
      constexpr int kBoxes = kHeights * (kTileN / kSpan);
#pragma unroll
      for (int first_box = 0; first_box < kBoxes; first_box += 2) {
        // What left from here before has been read.
        if (threadIdx.x % 128 == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        meet(own);
#pragma unroll
        for (int box = first_box; box < first_box + 2 && box < kBoxes; ++box) {
          const int height = box / (kTileN / kSpan);
          const long long row = first_row + (part_of_tile * kHeights + height) * 64 + warp * 16 + lane / 4;
#pragma unroll
          for (int j = 0; j < kSpan / 8; j += 2) {
            const Sum* const from = sum[height] + (box % (kTileN / kSpan) * (kSpan / 8) + j) * 4;
            const long long column = first_column + box % (kTileN / kSpan) * kSpan + j * 8 + lane % 4 * 2;
            const unsigned place = shared_place(own_out) + (box - first_box) * kOutBoxBytes + (warp * 16 + lane % 16) * kSpan * 2 + swizzled<kSpan>(j + lane / 16, lane % 16) * 16;
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(place), "r"(pair(from, row, column)), "r"(pair(from + 2, row + 8, column)),
                         "r"(pair(from + 4, row, column + 8)), "r"(pair(from + 6, row + 8, column + 8))
                         : "memory");
          }
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        meet(own);
        if (threadIdx.x % 128 == 0) {
#pragma unroll
          for (int box = first_box; box < first_box + 2 && box < kBoxes; ++box)
            store_box(&out_map, shared_place(own_out) + (box - first_box) * kOutBoxBytes, first_column + box % (kTileN / kSpan) * kSpan, first_row + (part_of_tile * kHeights + box / (kTileN / kSpan)) * 64, batch);
          asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
      }
    } else {
      Sum* const out_part = reinterpret_cast<Sum*>(own_out) + warp * 16 * kOutPitch;
#pragma unroll
      for (int half = 0; half < kHeights * (kTileN / kPart); ++half) {
        const int height = half / (kTileN / kPart), part = half % (kTileN / kPart);
#pragma unroll
        for (int j = 0; j < kPart / 8; ++j) {
          const Sum* const from = sum[height] + (part * kPart / 8 + j) * 4;
          Sum* const to = out_part + lane / 4 * kOutPitch + j * 8 + lane % 4 * 2;
          store_pair(to, from[0], from[1]);
          store_pair(to + 8 * kOutPitch, from[2], from[3]);
        }
        __syncwarp();
        constexpr int kWidth = kVectors ? kOutWidth : 1;
        constexpr int kUnits = kPart / kWidth, kRounds = kVectors ? 16 : 1;
#pragma unroll kRounds
        for (int unit = lane; unit < 16 * kUnits; unit += 32) {
          const int r = unit / kUnits, c = unit % kUnits * kWidth;
          const long long row = first_row + (part_of_tile * kHeights + height) * 64 + warp * 16 + r, column = first_column + part * kPart + c;
          const Sum* const from = out_part + r * kOutPitch + c;
          Sum own_sums[kWidth];
          if constexpr (kWidth == 8) {
            // Half of the lanes read their second four first: so eight lanes meet all banks.
            const bool late = lane / 4 % 2 == 1;
            const Quad a = *reinterpret_cast<const Quad*>(from + (late ? 4 : 0)), b = *reinterpret_cast<const Quad*>(from + (late ? 0 : 4));
#pragma unroll
            for (int e = 0; e < 4; ++e) own_sums[e] = late ? b.at[e] : a.at[e], own_sums[4 + e] = late ? a.at[e] : b.at[e];
          } else if constexpr (kWidth == 4) {
            const Quad a = *reinterpret_cast<const Quad*>(from);
#pragma unroll
            for (int e = 0; e < 4; ++e) own_sums[e] = a.at[e];
          } else {
#pragma unroll
            for (int e = 0; e < kWidth; ++e) own_sums[e] = from[e];
          }
          if (row < row_count && column < column_count) finish<kWidth>(own_sums, {{{arguments}}}, batch, row, column, row_count, column_count);
        }
        __syncwarp();
      }
    }
  }
  if (kVectors && kOutByMap && threadIdx.x % 128 == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  // A block stays until nobody fills its buffers or arrives at its barriers any more.
  if constexpr (kSize > 1) meet_cluster();
}

{{> tensor_map}}

// The matrices of a batch, `rows` rows of `columns` elements of `size` bytes each; boxes of 128 bytes or 64 across. Where rows begin within a line of 128 bytes, 256 fetched at once bring what nobody reads.
bool map_of(Encode encode, CUtensorMap& map, CUtensorMapDataType type, int size, const void* data, long long batches, long long rows, long long columns, int box_rows, int box_columns) {
  const cuuint64_t extents[3] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows), static_cast<cuuint64_t>(batches)};
  const cuuint64_t strides[2] = {static_cast<cuuint64_t>(columns * size), static_cast<cuuint64_t>(rows * columns * size)};
  const CUtensorMapL2promotion fetched = strides[0] % 128 == 0 ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B : CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
  const cuuint32_t box[3] = {static_cast<cuuint32_t>(box_columns), static_cast<cuuint32_t>(box_rows), 1}, steps[3] = {1, 1, 1};
  return encode(&map, type, 3, const_cast<void*>(data), extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, box_columns * size == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B, fetched,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

}  // namespace

extern "C" cudaError_t {{function}}({{{parameters}}}, cudaStream_t stream) {
  const long long batches = {{{batches}}}, row_count = {{{rows}}}, column_count = {{{columns}}}, depth = {{{depth}}};
  if (batches * row_count * column_count == 0) return cudaSuccess;
  constexpr int kSize = sizeof(In), kPer = 16 / kSize;
  const bool vectors = kByMap && {{{left_row}}} % kPer == 0 && {{{right_row}}} % kPer == 0 && column_count % kOutWidth == 0{{#vector_pointers}} && aligned({{name}}, 16){{/vector_pointers}};
  CUtensorMap left_map = {}, right_map = {}, out_map = {};
  if (vectors) {
    Encode encode = nullptr;
    if (const cudaError_t error = find_encode(encode); error != cudaSuccess) return error;
    if (!map_of(encode, left_map, {{tensor_map_type}}, kSize, {{left}}, batches, kLeftAlong ? row_count : depth, kLeftAlong ? depth : row_count, (kLeftAlong ? kTileM : kTileK) / kAcross, 128 / kSize)) return cudaErrorInvalidValue;
    if (kOutByMap && !map_of(encode, out_map, {{out_map_type}}, 2, {{out}}, batches, row_count, column_count, 64, kSpan)) return cudaErrorInvalidValue;
    if (!map_of(encode, right_map, {{tensor_map_type}}, kSize, {{right}}, batches, kRightAlong ? column_count : depth, kRightAlong ? depth : column_count, (kRightAlong ? kTileN : kTileK) / kDown, kRightAlong ? 128 / kSize : kSpan)) return cudaErrorInvalidValue;
  }
  int device = 0, multiprocessors = 1;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
  if (const cudaError_t error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device); error != cudaSuccess) return error;
  const long long tall = vectors ? kTileM * kDown : kTileM, wide = vectors ? kTileN * kAcross : kTileN;
  Tiles tiles{static_cast<unsigned>((row_count + tall - 1) / tall), static_cast<unsigned>((column_count + wide - 1) / wide), static_cast<unsigned>(batches), 1};
  if constexpr (kSplit > 1) {
    // As many parts as fill the multiprocessors once.
    const long long room = (multiprocessors < kMostUnits ? multiprocessors : kMostUnits) / (static_cast<long long>(tiles.down) * tiles.across * tiles.batches), most = (depth + kTileK - 1) / kTileK;
    const long long wanted = room < kSplit ? room : kSplit;
    tiles.parts = static_cast<unsigned>(wanted > most ? most : wanted);
    if (tiles.parts == 0) tiles.parts = 1;
  }
  const unsigned count = tiles.down * tiles.across * tiles.batches * tiles.parts;
  const auto kernel = vectors ? gemm_kernel<true> : gemm_kernel<false>;
  if (const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes); error != cudaSuccess) return error;
  if (kCluster > 1 && vectors) {
    cudaLaunchAttribute shape = {};
    shape.id = cudaLaunchAttributeClusterDimension, shape.val.clusterDim.x = kCluster, shape.val.clusterDim.y = shape.val.clusterDim.z = 1;
    cudaLaunchConfig_t launch = {};
    launch.gridDim = dim3(static_cast<unsigned>(multiprocessors / kCluster * kCluster)), launch.blockDim = dim3(kThreads), launch.dynamicSmemBytes = kSharedBytes, launch.stream = stream, launch.attrs = &shape, launch.numAttrs = 1;
    // As many as are there at a time: blocks stay, and a cluster that came later would be late with all of its tiles.
    int clusters = 0;
    if (const cudaError_t error = cudaOccupancyMaxActiveClusters(&clusters, kernel, &launch); error != cudaSuccess) return error;
    if (clusters < 1) return cudaErrorInvalidConfiguration;
    launch.gridDim = dim3(kCluster * (count < static_cast<unsigned>(clusters) ? count : static_cast<unsigned>(clusters)));
    return cudaLaunchKernelEx(&launch, kernel, {{{arguments}}}, row_count, column_count, depth, tiles, left_map, right_map, out_map);
  }
  const unsigned blocks = count < static_cast<unsigned>(multiprocessors) ? count : static_cast<unsigned>(multiprocessors);
  kernel<<<blocks, kThreads, kSharedBytes, stream>>>({{{arguments}}}, row_count, column_count, depth, tiles, left_map, right_map, out_map);
  return cudaGetLastError();
}
