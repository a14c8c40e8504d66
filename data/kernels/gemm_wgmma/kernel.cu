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
constexpr int kConsumers = {{consumers}}, kThreads = 128 * (kConsumers + 1);
constexpr int kHeights = {{warpgroup_rows}} / 64;                                // of a consumer warpgroup, 64 rows each
constexpr int kTileM = 64 * kHeights * kConsumers, kTileN = {{tile_n}}, kTileK = 64;   // of the product per block, and the depth of a buffer
constexpr int kStages = {{stages}};
constexpr int kGroup = {{group}};                                              // rows of tiles that are taken side by side
constexpr int kSplit = {{split}};                                              // parts of a tile's depth, at most
constexpr int kMostUnits = 144;                                                // parts of tiles in all, when there is more than one of each: multiprocessors of a full GH100
constexpr bool kLeftAlong = {{left_along}}, kRightAlong = {{right_along}};     // an operand's rows run along the depth
constexpr int kStream = 0;

{{> pack}}

{{> wgmma}}

constexpr int kLeftBytes = kTileM * kTileK * 2, kRightBytes = kTileN * kTileK * 2, kStageBytes = kLeftBytes + kRightBytes;
constexpr int kBoxBytes = 64 * kTileK * 2;             // of an operand whose rows run across the depth: 64 of them side by side
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
__device__ __forceinline__ void load_box(unsigned to, const CUtensorMap* map, int x, int y, int z, unsigned barrier) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier) : "memory");
}

// A barrier of the consumer warpgroup `own`.
__device__ __forceinline__ void meet(int own) { asm volatile("bar.sync %0, 128;" ::"r"(own + 1) : "memory"); }
__device__ __forceinline__ void store_box(const CUtensorMap* map, unsigned from, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map), "r"(x), "r"(y), "r"(z), "r"(from) : "memory");
}

// A tile of kAcross rows of an operand by kTileK of its depth, from the matrix of `across` by `depth`: element by element, zeros outside.
template <bool kAlong, int kAcross>
__device__ __forceinline__ void fill_tile(unsigned char* to, const In* __restrict__ from, long long first_across, long long first_depth, long long across, long long depth) {
  constexpr int kUnits = kAcross * kTileK / 8;
#pragma unroll 1
  for (int unit = threadIdx.x; unit < kUnits; unit += 128) {
    Pack<In, 8> eight = {};
    unsigned char* place;
    long long row, column, rows, columns;
    if constexpr (kAlong) {
      const int r = unit / 8, chunk = unit % 8;
      place = to + r * 128 + (chunk ^ (r % 8)) * 16;
      row = first_across + r, column = first_depth + chunk * 8, rows = across, columns = depth;
    } else {
      const int r = unit / 8 % kTileK, chunk = unit % 8, box = unit / (8 * kTileK);
      place = to + box * kBoxBytes + r * 128 + (chunk ^ (r % 8)) * 16;
      row = first_depth + r, column = first_across + box * 64 + chunk * 8, rows = depth, columns = across;
    }
    if (row < rows) {
#pragma unroll
      for (int e = 0; e < 8; ++e)
        if (column + e < columns) eight.at[e] = from[row * columns + column + e];
    }
    memcpy(__builtin_assume_aligned(place, 16), &eight, 16);
  }
}

// PTX manual, matrix descriptors: spans of 128 bytes, swizzled; offsets in units of 16 bytes.
__device__ __forceinline__ unsigned long long describe(unsigned place, unsigned leading) {
  return static_cast<unsigned long long>((place & 0x3ffff) >> 4) | static_cast<unsigned long long>(leading >> 4) << 16 | 64ull << 32 | 1ull << 62;
}

{{> finish}}

{{> out_width}}

{{> store_pair}}

// Sums of parts of the depth, as the threads hold them; and how many parts of a tile's rows have been left there, by warpgroup.
constexpr int kUnitQuads = kHeights * kTileN / 8 * kConsumers * 128;
__device__ float4 partial[kSplit > 1 ? kMostUnits * kUnitQuads : 1];
__device__ unsigned arrived[kSplit > 1 ? kMostUnits * kConsumers : 1];

struct Tiles {
  unsigned down, across, batches;   // tiles of the product
  unsigned parts;                   // of the depth, each a unit of work
  __device__ __forceinline__ unsigned count() const { return down * across * batches * parts; }
  // kGroup rows of tiles side by side, column by column, so that what neighbouring blocks read stays in the L2.
  __device__ __forceinline__ void at(unsigned tile, int& row, int& column, int& batch) const {
    const unsigned per_batch = down * across, per_group = kGroup * across;
    batch = static_cast<int>(tile / per_batch);
    const unsigned rest = tile % per_batch, group = rest / per_group, inside = rest % per_group;
    const unsigned height = down - group * kGroup < kGroup ? down - group * kGroup : kGroup;
    row = static_cast<int>(group * kGroup + inside % height) * kTileM;
    column = static_cast<int>(inside / height) * kTileN;
  }
};

// Leaves a warpgroup's sums for the part of its tile that is done last, which gets the sums of all parts, added in their order.
__device__ __forceinline__ bool last_of_parts(float (&sum)[kHeights][kTileN / 2], unsigned tile, unsigned part, unsigned parts, unsigned thread, volatile unsigned* is_last) {
  constexpr int kQuads = kHeights * kTileN / 8, kStride = kConsumers * 128;
  float4* const own = partial + static_cast<size_t>(tile * parts + part) * kUnitQuads + thread;
#pragma unroll
  for (int q = 0; q < kQuads; ++q) {
    const float* const from = sum[q / (kTileN / 8)] + q % (kTileN / 8) * 4;
    own[q * kStride] = make_float4(from[0], from[1], from[2], from[3]);
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
  const float4* const first = partial + static_cast<size_t>(tile * parts) * kUnitQuads + thread;
#pragma unroll
  for (int q = 0; q < kQuads; ++q) {
    float* const to = sum[q / (kTileN / 8)] + q % (kTileN / 8) * 4;
    to[0] = to[1] = to[2] = to[3] = 0;
  }
#pragma unroll 1
  for (unsigned p = 0; p < parts; ++p) {
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      const float4 more = first[static_cast<size_t>(p) * kUnitQuads + q * kStride];
      float* const to = sum[q / (kTileN / 8)] + q % (kTileN / 8) * 4;
      to[0] += more.x, to[1] += more.y, to[2] += more.z, to[3] += more.w;
    }
  }
  return true;
}

template <bool kVectors>
__global__ void __launch_bounds__(kThreads, 1) gemm_kernel({{{kernel_parameters}}}, long long row_count, long long column_count, long long depth, const Tiles tiles, const __grid_constant__ CUtensorMap left_map, const __grid_constant__ CUtensorMap right_map, const __grid_constant__ CUtensorMap out_map) {
  extern __shared__ unsigned char raw[];
  unsigned char* const shared = raw + ((1024 - (shared_place(raw) & 1023)) & 1023);
  const unsigned buffers = shared_place(shared), full = buffers + kStages * kStageBytes + kOutBytes, empty = full + 8 * kStages;
  const int warpgroup = threadIdx.x / 128;
  const int steps = static_cast<int>((depth + kTileK - 1) / kTileK);
  const unsigned parts = kSplit > 1 ? tiles.parts : 1;
  const auto first_step = [&](unsigned part) { return static_cast<int>(kSplit > 1 ? steps * part / parts : steps * part); };
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      init_barrier(full + 8 * s, kVectors ? 1 : 128);
      init_barrier(empty + 8 * s, 4 * kConsumers);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();

  int stage = 0;
  unsigned phase = 0;
  const auto advance = [&] {
    if (++stage == kStages) stage = 0, phase ^= 1;
  };
  if (warpgroup == 0) {
    if constexpr (kConsumers > 1) asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
    if (kVectors && threadIdx.x != 0) return;
    for (unsigned unit = blockIdx.x; unit < tiles.count(); unit += gridDim.x) {
      int row, column, batch;
      tiles.at(unit / parts, row, column, batch);
      const int end = first_step(unit % parts + 1);
      for (int step = first_step(unit % parts); step < end; ++step) {
        wait_for(empty + 8 * stage, phase ^ 1);
        const unsigned barrier = full + 8 * stage, left_to = buffers + stage * kStageBytes, right_to = left_to + kLeftBytes;
        if constexpr (kVectors) {
          expect(barrier, kStageBytes);
          if constexpr (kLeftAlong) load_box(left_to, &left_map, step * kTileK, row, batch, barrier);
          else
            for (int box = 0; box < kTileM / 64; ++box) load_box(left_to + box * kBoxBytes, &left_map, row + box * 64, step * kTileK, batch, barrier);
          if constexpr (kRightAlong) load_box(right_to, &right_map, step * kTileK, column, batch, barrier);
          else
            for (int box = 0; box < kTileN / 64; ++box) load_box(right_to + box * kBoxBytes, &right_map, column + box * 64, step * kTileK, batch, barrier);
        } else {
          unsigned char* const left_place = shared + stage * kStageBytes;
          fill_tile<kLeftAlong, kTileM>(left_place, {{left}} + batch * row_count * depth, row, static_cast<long long>(step) * kTileK, row_count, depth);
          fill_tile<kRightAlong, kTileN>(left_place + kLeftBytes, {{right}} + batch * depth * column_count, column, static_cast<long long>(step) * kTileK, column_count, depth);
          asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
          arrive(barrier);
        }
        advance();
      }
    }
    return;
  }

  if constexpr (kConsumers > 1) asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
  const int own = warpgroup - 1, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  unsigned char* const own_out = shared + kStages * kStageBytes + own * 2 * kOutBoxBytes;
  volatile unsigned* const is_last = reinterpret_cast<unsigned*>(shared + kStages * kStageBytes + kOutBytes + kStages * 16) + own;
  float sum[kHeights][kTileN / 2];
  for (unsigned unit = blockIdx.x; unit < tiles.count(); unit += gridDim.x) {
    const unsigned tile = unit / parts, part_of_depth = unit % parts;
    int first_row, first_column, batch;
    tiles.at(tile, first_row, first_column, batch);
    const int count = first_step(part_of_depth + 1) - first_step(part_of_depth);
    int previous = 0;
    for (int step = 0; step < count; ++step) {
      wait_for(full + 8 * stage, phase);
      const unsigned left_from = buffers + stage * kStageBytes + own * kHeights * kBoxBytes, right_from = buffers + stage * kStageBytes + kLeftBytes;
      const unsigned long long left_matrix = describe(left_from, kLeftAlong ? 16 : kBoxBytes), right_matrix = describe(right_from, kRightAlong ? 16 : kBoxBytes);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int d = 0; d < kTileK / 16; ++d)
#pragma unroll
        for (int h = 0; h < kHeights; ++h)
          multiply<!kLeftAlong, !kRightAlong>(sum[h], left_matrix + h * (kBoxBytes >> 4) + d * (kLeftAlong ? 2 : 128), right_matrix + d * (kRightAlong ? 2 : 128), step > 0 || d > 0);
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      if (step > 0) {
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        if (lane == 0) arrive(empty + 8 * previous);
      }
      previous = stage;
      advance();
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    if (lane == 0) arrive(empty + 8 * previous);
    if (kSplit > 1 && parts > 1 && !last_of_parts(sum, tile, part_of_depth, parts, threadIdx.x - 128, is_last)) continue;

    // Sum 4 j + i of a lane lies in row lane / 4 + i / 2 * 8, column 8 j + lane % 4 * 2 + i % 2.
    if constexpr (kVectors && kOutByMap) {
      const auto pair = [&](const float* from, long long row, long long column) {
        Pack<Out, 2> two = {};
        if (!{{epilogue_reads}} || (row < row_count && column < column_count)) two = finished<2>(from, {{{arguments}}}, batch, row, column, row_count, column_count);
        unsigned word;
        memcpy(&word, &two, sizeof word);
        return word;
      };
      constexpr int kBoxes = kHeights * (kTileN / 64);
#pragma unroll
      for (int first_box = 0; first_box < kBoxes; first_box += 2) {
        // What left from here before has been read.
        if (threadIdx.x % 128 == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        meet(own);
#pragma unroll
        for (int box = first_box; box < first_box + 2 && box < kBoxes; ++box) {
          const int height = box / (kTileN / 64);
          const long long row = first_row + (own * kHeights + height) * 64 + warp * 16 + lane / 4;
#pragma unroll
          for (int j = 0; j < 8; j += 2) {
            const float* const from = sum[height] + (box % (kTileN / 64) * 8 + j) * 4;
            const long long column = first_column + box % (kTileN / 64) * 64 + j * 8 + lane % 4 * 2;
            const unsigned place = shared_place(own_out) + (box - first_box) * kOutBoxBytes + (warp * 16 + lane % 16) * 128 + ((j + lane / 16) ^ (lane % 8)) * 16;
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
            store_box(&out_map, shared_place(own_out) + (box - first_box) * kOutBoxBytes, first_column + box % (kTileN / 64) * 64, first_row + (own * kHeights + box / (kTileN / 64)) * 64, batch);
          asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
      }
    } else {
      float* const out_part = reinterpret_cast<float*>(own_out) + warp * 16 * kOutPitch;
#pragma unroll
      for (int half = 0; half < kHeights * (kTileN / kPart); ++half) {
        const int height = half / (kTileN / kPart), part = half % (kTileN / kPart);
#pragma unroll
        for (int j = 0; j < kPart / 8; ++j) {
          const float* const from = sum[height] + (part * kPart / 8 + j) * 4;
          float* const to = out_part + lane / 4 * kOutPitch + j * 8 + lane % 4 * 2;
          store_pair(to, from[0], from[1]);
          store_pair(to + 8 * kOutPitch, from[2], from[3]);
        }
        __syncwarp();
        constexpr int kWidth = kVectors ? kOutWidth : 1;
        constexpr int kUnits = kPart / kWidth, kRounds = kVectors ? 16 : 1;
#pragma unroll kRounds
        for (int unit = lane; unit < 16 * kUnits; unit += 32) {
          const int r = unit / kUnits, c = unit % kUnits * kWidth;
          const long long row = first_row + (own * kHeights + height) * 64 + warp * 16 + r, column = first_column + part * kPart + c;
          const float* const from = out_part + r * kOutPitch + c;
          float own_sums[kWidth];
          if constexpr (kWidth == 8) {
            // Half of the lanes read their second four first: so eight lanes meet all banks.
            const bool late = lane / 4 % 2 == 1;
            const float4 a = *reinterpret_cast<const float4*>(from + (late ? 4 : 0)), b = *reinterpret_cast<const float4*>(from + (late ? 0 : 4));
            const float4 low = late ? b : a, high = late ? a : b;
            own_sums[0] = low.x, own_sums[1] = low.y, own_sums[2] = low.z, own_sums[3] = low.w, own_sums[4] = high.x, own_sums[5] = high.y, own_sums[6] = high.z, own_sums[7] = high.w;
          } else if constexpr (kWidth == 4) {
            const float4 a = *reinterpret_cast<const float4*>(from);
            own_sums[0] = a.x, own_sums[1] = a.y, own_sums[2] = a.z, own_sums[3] = a.w;
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
}

using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                            CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

// The matrices of a batch, `rows` rows of `columns` elements each; boxes of 64 columns. Where rows begin within a line of 128 bytes, 256 fetched at once bring what nobody reads.
bool map_of(Encode encode, CUtensorMap& map, const void* data, long long batches, long long rows, long long columns, int box_rows) {
  const cuuint64_t extents[3] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows), static_cast<cuuint64_t>(batches)};
  const cuuint64_t strides[2] = {static_cast<cuuint64_t>(columns) * 2, static_cast<cuuint64_t>(rows * columns) * 2};
  const CUtensorMapL2promotion fetched = strides[0] % 128 == 0 ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B : CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
  const cuuint32_t box[3] = {64, static_cast<cuuint32_t>(box_rows), 1}, steps[3] = {1, 1, 1};
  return encode(&map, {{tensor_map_type}}, 3, const_cast<void*>(data), extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, fetched,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

}  // namespace

extern "C" cudaError_t {{function}}({{{parameters}}}, cudaStream_t stream) {
  const long long batches = {{{batches}}}, row_count = {{{rows}}}, column_count = {{{columns}}}, depth = {{{depth}}};
  if (batches * row_count * column_count == 0) return cudaSuccess;
  const bool vectors = {{{left_row}}} % 8 == 0 && {{{right_row}}} % 8 == 0 && column_count % kOutWidth == 0{{#vector_pointers}} && aligned({{name}}, 16){{/vector_pointers}};
  CUtensorMap left_map = {}, right_map = {}, out_map = {};
  if (vectors) {
    static Encode encode = nullptr;
    if (encode == nullptr) {
      void* entry = nullptr;
      cudaDriverEntryPointQueryResult found;
      if (const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found); error != cudaSuccess) return error;
      encode = reinterpret_cast<Encode>(entry);
    }
    if (!map_of(encode, left_map, {{left}}, batches, kLeftAlong ? row_count : depth, kLeftAlong ? depth : row_count, kLeftAlong ? kTileM : kTileK)) return cudaErrorInvalidValue;
    if (kOutByMap && !map_of(encode, out_map, {{out}}, batches, row_count, column_count, 64)) return cudaErrorInvalidValue;
    if (!map_of(encode, right_map, {{right}}, batches, kRightAlong ? column_count : depth, kRightAlong ? depth : column_count, kRightAlong ? kTileN : kTileK)) return cudaErrorInvalidValue;
  }
  int device = 0, multiprocessors = 1;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
  if (const cudaError_t error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device); error != cudaSuccess) return error;
  Tiles tiles{static_cast<unsigned>((row_count + kTileM - 1) / kTileM), static_cast<unsigned>((column_count + kTileN - 1) / kTileN), static_cast<unsigned>(batches), 1};
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
  const unsigned blocks = count < static_cast<unsigned>(multiprocessors) ? count : static_cast<unsigned>(multiprocessors);
  kernel<<<blocks, kThreads, kSharedBytes, stream>>>({{{arguments}}}, row_count, column_count, depth, tiles, left_map, right_map, out_map);
  return cudaGetLastError();
}
