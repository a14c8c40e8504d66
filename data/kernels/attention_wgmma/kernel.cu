// Blocks stay and take tiles of 64 rows of the output of one head by each of their {{groups}} warpgroups in turn, and pass over the keys once for each. One
// warpgroup more brings queries, keys and values into swizzled shared memory: one thread of it by tensor maps, or, where rows are no multiple of 16 bytes, all of it element
// by element. Buffers are handed over and back by pairs of mbarriers. Scores, weights and sums stay in registers (wgmma: sm_90a). The scores of a step are
// multiplied together with the weights of the one before, which end while the largest scores are sought. Where they grow, what was added up before is
// scaled down. Keys that no row of a tile sees are left out.
{{{headers}}}

#include <cuda.h>

#include <cstring>

namespace {

using Real = {{{real}}};
using In = {{{operand_type}}};
constexpr int kGroups = {{groups}}, kTileQ = 64 * kGroups, kTileK = {{tile_k}};   // warpgroups that multiply, queries per tile, keys per step
constexpr int kStages = {{stages}}, kBlocks = {{blocks_per_sm}}, kQueryBuffers = {{query_buffers}};
constexpr bool kTurns = {{turns}} == 1 && kGroups > 1;        // warpgroups multiply one after the other, each while others are at their exponentials
constexpr unsigned kSection = {{section}};                    // heads that causal blocks take together: their keys and values are to stay in the L2
constexpr int kThreads = 128 * (kGroups + 1);
constexpr int kParts = {{parts}};                             // a weight is a sum of so many operands: 1 rounds it to their type, more keep what f32 holds
constexpr bool kCausal = {{causal}};                          // query i sees keys 0 to i
constexpr int kStream = 0;

{{> pack}}

{{> wgmma_rows}}

{{> attention_rows}}

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
// PTX manual, matrix descriptors: spans of 128 bytes, swizzled; offsets in units of 16 bytes.
__device__ __forceinline__ unsigned long long describe(unsigned place, unsigned leading) {
  return static_cast<unsigned long long>((place & 0x3ffff) >> 4) | static_cast<unsigned long long>(leading >> 4) << 16 | 64ull << 32 | 1ull << 62;
}
template <int kYoungest>
__device__ __forceinline__ void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kYoungest) : "memory");
}
// What asynchronous products write is read after them only.
template <int kCount>
__device__ __forceinline__ void settled(float (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(values[i])::"memory");
}
// Warpgroups hand their turn round.
__device__ __forceinline__ void await_turn(int own) { asm volatile("bar.sync %0, 256;" ::"r"(own + 1) : "memory"); }
__device__ __forceinline__ void hand_on(int own) { asm volatile("bar.arrive %0, 256;" ::"r"((own + 1) % kGroups + 1) : "memory"); }

// A buffer of several, and how often they have been gone round.
struct Ring {
  int stage = 0;
  unsigned phase = 0;
  __device__ __forceinline__ void advance(int count) {
    if (++stage == count) stage = 0, phase ^= 1;
  }
};

// Registers of a thread: those that a launch gives to all, and, of these, what producers keep and the others then have.
static_assert(kGroups * kBlocks > 1, "a launch gives as many as there are");
constexpr int kGivenRegisters = 65536 / (kThreads * kBlocks) / 8 * 8;
constexpr int kKeptRegisters = 32, kLeftRegisters = (kGivenRegisters * (kGroups + 1) - kKeptRegisters) / kGroups / 8 * 8, kOwnRegisters = kLeftRegisters < 240 ? kLeftRegisters : 240;

// Rows [first, first + kRows) of a matrix of `rows` by `width` in spans of 64 columns, element by element; what lies outside is 0.
template <int kRows, int kSpans>
__device__ __forceinline__ void fill_spans(unsigned char* to, const In* __restrict__ from, int first, int rows, int width) {
#pragma unroll 1
  for (int unit = threadIdx.x % 128; unit < kRows * kSpans * 8; unit += 128) {
    const int span = unit / (kRows * 8), row = unit / 8 % kRows, chunk = unit % 8, column = span * 64 + chunk * 8;
    Pack<In, 8> eight = {};
    if (first + row < rows) {
#pragma unroll
      for (int e = 0; e < 8; ++e)
        if (column + e < width) eight.at[e] = from[static_cast<long long>(first + row) * width + column + e];
    }
    memcpy(__builtin_assume_aligned(to + span * kRows * 128 + row * 128 + (chunk ^ (row % 8)) * 16, 16), &eight, 16);
  }
}

template <int kRows>
struct Rows {
  static constexpr int value = kRows;
};

// In shared memory, in bytes, for heads of kHead columns: spans of 64 columns, queries apart for each warpgroup.
template <int kHead>
struct Room {
  static constexpr int kSpans = kHead / 64, kQueryBox = 64 * 128, kQueryBytes = kGroups * kSpans * kQueryBox, kSpanBytes = kTileK * 128, kTileBytes = kSpans * kSpanBytes;
  static constexpr int kKeys = kQueryBuffers * kQueryBytes, kValues = kKeys + kStages * kTileBytes, kBarriers = kValues + kStages * kTileBytes;
  static constexpr int kBytes = kBarriers + 8 * (2 * kQueryBuffers + 4 * kStages) + 1024;
};

// kHead: `width`, rounded up to what is multiplied, spans of 64; the columns in between are 0. `scale` is of base 2. kVectors: by tensor maps.
template <int kHead, bool kVectors>
__global__ void __launch_bounds__(kThreads, kBlocks) attention_kernel(const In* __restrict__ queries, const In* __restrict__ keys, const In* __restrict__ values, In* __restrict__ out, int query_count,
                                                                      int key_count, int width, unsigned tiles, unsigned heads, float scale, const __grid_constant__ CUtensorMap query_map,
                                                                      const __grid_constant__ CUtensorMap key_map, const __grid_constant__ CUtensorMap value_map) {
  using Here = Room<kHead>;
  constexpr int kSpans = Here::kSpans, kColumns = kTileK / 8;
  extern __shared__ unsigned char raw[];
  unsigned char* const shared = raw + ((1024 - (shared_place(raw) & 1023)) & 1023);
  const unsigned base = shared_place(shared), query_full = base + Here::kBarriers, query_empty = query_full + 8 * kQueryBuffers, key_full = query_empty + 8 * kQueryBuffers,
                 key_empty = key_full + 8 * kStages, value_full = key_empty + 8 * kStages, value_empty = value_full + 8 * kStages;
  const int warpgroup = threadIdx.x / 128;
  if (threadIdx.x == 0) {
    constexpr int kBringers = kVectors ? 1 : 128;
    for (int s = 0; s < kQueryBuffers; ++s) init_barrier(query_full + 8 * s, kBringers), init_barrier(query_empty + 8 * s, 4 * kGroups);
    for (int s = 0; s < kStages; ++s) {
      init_barrier(key_full + 8 * s, kBringers), init_barrier(value_full + 8 * s, kBringers);
      init_barrier(key_empty + 8 * s, 4 * kGroups), init_barrier(value_empty + 8 * s, 4 * kGroups);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  const unsigned count = tiles * heads;
  // Causal tiles at the end see most keys: they come first in a section of heads, and blocks take them to and fro, so that all have as much to do.
  const auto tile_at = [&](unsigned round, int& first_query, unsigned& head, int& steps) {
    const unsigned unit = round * gridDim.x + (kCausal && round % 2 ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
    if (unit >= count) return false;
    unsigned tile;
    if constexpr (kCausal) {
      const unsigned section = unit / (kSection * tiles), first = section * kSection, here = heads - first < kSection ? heads - first : kSection, rest = unit - first * tiles;
      head = first + rest % here, tile = tiles - 1 - rest / here;
    } else {
      head = unit / tiles, tile = unit % tiles;
    }
    first_query = static_cast<int>(tile) * kTileQ;
    const int seen = kCausal && first_query + kTileQ < key_count ? first_query + kTileQ : key_count;
    steps = (seen + kTileK - 1) / kTileK;
    return true;
  };
  int first_query;
  unsigned head;
  int steps;
  if (warpgroup == kGroups) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kKeptRegisters));
    if (kVectors && threadIdx.x % 128 != 0) return;
    // A tile of `rows` rows from the matrix of one head; all of it is there when `full` has passed.
    const auto bring = [&](auto rows, int offset, const CUtensorMap* map, const In* from, int first, int row_count, unsigned full) {
      constexpr int kRows = decltype(rows)::value;
      if constexpr (kVectors) {
        for (int span = 0; span < kSpans; ++span) load_box(base + offset + span * kRows * 128, map, span * 64, first, static_cast<int>(head), full);
      } else {
        fill_spans<kRows, kSpans>(shared + offset, from + static_cast<long long>(head) * row_count * width, first, row_count, width);
      }
    };
    const auto announce = [&](unsigned full, int bytes) {
      if constexpr (kVectors) expect(full, bytes);
    };
    const auto hand_over = [&](unsigned full) {
      if constexpr (!kVectors) {
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        arrive(full);
      }
    };
    Ring query, ring;
    for (unsigned round = 0; round * gridDim.x < count; ++round) {
      if (!tile_at(round, first_query, head, steps)) continue;
      const unsigned queries_full = query_full + 8 * query.stage;
      wait_for(query_empty + 8 * query.stage, query.phase ^ 1);
      announce(queries_full, Here::kQueryBytes);
      for (int g = 0; g < kGroups; ++g)
        bring(Rows<64>(), query.stage * Here::kQueryBytes + g * kSpans * Here::kQueryBox, &query_map, queries, first_query + g * 64, query_count, queries_full);
      hand_over(queries_full);
      query.advance(kQueryBuffers);
      for (int step = 0; step < steps; ++step) {
        const unsigned keys_full = key_full + 8 * ring.stage, values_full = value_full + 8 * ring.stage;
        wait_for(key_empty + 8 * ring.stage, ring.phase ^ 1);
        announce(keys_full, Here::kTileBytes);
        bring(Rows<kTileK>(), Here::kKeys + ring.stage * Here::kTileBytes, &key_map, keys, step * kTileK, key_count, keys_full);
        hand_over(keys_full);
        wait_for(value_empty + 8 * ring.stage, ring.phase ^ 1);
        announce(values_full, Here::kTileBytes);
        bring(Rows<kTileK>(), Here::kValues + ring.stage * Here::kTileBytes, &value_map, values, step * kTileK, key_count, values_full);
        hand_over(values_full);
        ring.advance(kStages);
      }
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kOwnRegisters));
  const int own = warpgroup, lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 % 4 * 16;
  // Largest scores are sought before they are scaled, which a negative scale would turn round; not 0, with which a key that is not seen would have a weight
  // that is no number.
  const float turned = scale < 0 ? -1.f : 1.f, factor = fmaxf(fabsf(scale), 1e-37f);
  if (kTurns && own == kGroups - 1) hand_on(own);
  Ring query, key, value;
  // Of row lane / 4 + 8 half of a warp's sixteen: the largest score, and this lane's part of the weights' sum.
  float score[kTileK / 2], sum[kHead / 2], peak[2], weight[2];
  unsigned left[kTileK / 16][kParts][4];
  for (unsigned round = 0; round * gridDim.x < count; ++round) {
    if (!tile_at(round, first_query, head, steps)) continue;
    const int warp_query = first_query + own * 64 + warp_row;
    int own_steps = steps;
    if constexpr (kCausal) {
      const int own_seen = first_query + own * 64 + 64 < key_count ? first_query + own * 64 + 64 : key_count;
      own_steps = (own_seen + kTileK - 1) / kTileK;
    }
    unsigned char* const own_queries = shared + query.stage * Here::kQueryBytes + own * kSpans * Here::kQueryBox;
    const unsigned own_place = shared_place(own_queries);
    const auto multiply_keys = [&] {
      const unsigned tile = base + Here::kKeys + key.stage * Here::kTileBytes;
      const unsigned long long left_matrix = describe(own_place, 16), right_matrix = describe(tile, 16);
#pragma unroll
      for (int d = 0; d < kHead / 16; ++d)
        multiply_shared(score, left_matrix + d / 4 * (Here::kQueryBox >> 4) + d % 4 * 2, right_matrix + d / 4 * (Here::kSpanBytes >> 4) + d % 4 * 2, d > 0);
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    };
    const auto multiply_values = [&] {
      const unsigned long long tile = describe(base + Here::kValues + value.stage * Here::kTileBytes, Here::kSpanBytes);
#pragma unroll
      for (int d = 0; d < kTileK / 16; ++d)
#pragma unroll
        for (int p = 0; p < kParts; ++p) multiply_across(sum, left[d][p], tile + d * 128);
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    };
    const auto release = [&](unsigned barriers, Ring& ring) {
      if (lane == 0) arrive(barriers + 8 * ring.stage);
      ring.advance(kStages);
    };
    // Scores become weights before they are rounded; `kept` is what is left of earlier ones.
    const auto weigh = [&](int step, float (&kept)[2]) {
      const int first_key = step * kTileK;
      if (turned < 0) {
#pragma unroll
        for (int i = 0; i < kTileK / 2; ++i) score[i] = -score[i];
      }
      if (first_key + kTileK > key_count || (kCausal && first_key + kTileK - 1 > warp_query)) {
        const int most = key_count - first_key < kTileK ? key_count - first_key : kTileK;
        const int own_key = warp_query - first_key + lane / 4;
#pragma unroll
        for (int j = 0; j < kColumns; ++j)
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            const int column = j * 8 + lane % 4 * 2 + e % 2;
            if (column >= most || (kCausal && column > own_key + e / 2 * 8)) score[4 * j + e] = -INFINITY;
          }
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float top = peak[half];
#pragma unroll
        for (int j = 0; j < kColumns; ++j) top = fmaxf(top, fmaxf(score[4 * j + 2 * half], score[4 * j + 2 * half + 1]));
        top = over_row(top, false);
        const float shift = top * factor;
        kept[half] = power_of_two((peak[half] - top) * factor);
        peak[half] = top;
        float added = 0;
#pragma unroll
        for (int j = 0; j < kColumns; ++j)
#pragma unroll
          for (int e = 2 * half; e < 2 * half + 2; ++e) {
            score[4 * j + e] = power_of_two(fmaf(score[4 * j + e], factor, -shift));
            added += score[4 * j + e];
          }
        weight[half] = weight[half] * kept[half] + added;
      }
    };
    // The layout in which scores leave a product is the one in which weights enter the next.
    const auto round_weights = [&] {
#pragma unroll
      for (int d = 0; d < kTileK / 16; ++d)
#pragma unroll
        for (int e = 0; e < 4; ++e) split(score[4 * (2 * d + e / 2) + e % 2 * 2], score[4 * (2 * d + e / 2) + e % 2 * 2 + 1], left[d], e);
    };
    peak[0] = peak[1] = -INFINITY;
    weight[0] = weight[1] = 0;
#pragma unroll
    for (int i = 0; i < kHead / 2; ++i) sum[i] = 0;
    float kept[2];
    wait_for(query_full + 8 * query.stage, query.phase);
    wait_for(key_full + 8 * key.stage, key.phase);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    multiply_keys();
    wait_products<0>();
    settled(score);
    release(key_empty, key);
    weigh(0, kept);
    round_weights();
    for (int step = 1; step < own_steps; ++step) {
      wait_for(key_full + 8 * key.stage, key.phase);
      wait_for(value_full + 8 * value.stage, value.phase);
      if constexpr (kTurns) await_turn(own);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      multiply_keys();
      multiply_values();
      if constexpr (kTurns) hand_on(own);
      wait_products<1>();
      settled(score);
      release(key_empty, key);
      weigh(step, kept);
      wait_products<0>();
      settled(sum);
      release(value_empty, value);
#pragma unroll
      for (int i = 0; i < kHead / 2; ++i) sum[i] *= kept[i / 2 % 2];
      round_weights();
    }
    wait_for(value_full + 8 * value.stage, value.phase);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    multiply_values();
    wait_products<0>();
    settled(sum);
    release(value_empty, value);
    if constexpr (kCausal) {   // what only later rows of the tile see
      for (int step = own_steps; step < steps; ++step) {
        if constexpr (kTurns) await_turn(own), hand_on(own);
        wait_for(key_full + 8 * key.stage, key.phase);
        release(key_empty, key);
        wait_for(value_full + 8 * value.stage, value.phase);
        release(value_empty, value);
      }
    }
    // The queries make room for the output, which leaves in vectors of rows.
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float inverse = 1 / over_row(weight[half], true);
      const int row = warp_row + half * 8 + lane / 4;
#pragma unroll
      for (int n = 0; n < kHead / 8; ++n)
        *reinterpret_cast<unsigned*>(own_queries + n / 8 * Here::kQueryBox + row * 128 + ((n % 8) ^ (row % 8)) * 16 + lane % 4 * 4) = narrowed(sum[4 * n + 2 * half] * inverse, sum[4 * n + 2 * half + 1] * inverse);
    }
    __syncwarp();
    In* const out_to = out + (static_cast<long long>(head) * query_count + first_query + own * 64) * width;
#pragma unroll
    for (int unit = lane; unit < 16 * kHead / 8; unit += 32) {
      const int row = warp_row + unit / (kHead / 8), chunk = unit % (kHead / 8);
      if (first_query + own * 64 + row >= query_count) continue;
      Pack<In, 8> eight;
      memcpy(&eight, __builtin_assume_aligned(own_queries + chunk / 8 * Here::kQueryBox + row * 128 + ((chunk % 8) ^ (row % 8)) * 16, 16), 16);
      if constexpr (kVectors) {
        if (chunk * 8 < width) store<8>(out_to + row * width + chunk * 8, eight);
      } else {
#pragma unroll
        for (int e = 0; e < 8; ++e)
          if (chunk * 8 + e < width) out_to[row * width + chunk * 8 + e] = eight.at[e];
      }
    }
    __syncwarp();
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    if (lane == 0) arrive(query_empty + 8 * query.stage);
    query.advance(kQueryBuffers);
  }
}
{{> tensor_map}}

// The matrices of all heads, `rows` rows of `width` elements each; boxes of 64 columns.
bool map_of(Encode encode, CUtensorMap& map, const void* data, long long heads, long long rows, long long width, int box_rows) {
  const cuuint64_t extents[3] = {static_cast<cuuint64_t>(width), static_cast<cuuint64_t>(rows), static_cast<cuuint64_t>(heads)};
  const cuuint64_t strides[2] = {static_cast<cuuint64_t>(width) * 2, static_cast<cuuint64_t>(rows * width) * 2};
  const cuuint32_t box[3] = {64, static_cast<cuuint32_t>(box_rows), 1}, steps[3] = {1, 1, 1};
  return encode(&map, {{tensor_map_type}}, 3, const_cast<void*>(data), extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

template <int kHead>
cudaError_t launch(bool vectors, const In* queries, const In* keys, const In* values, In* out, long long heads, int query_count, int key_count, int width, float scale, cudaStream_t stream) {
  CUtensorMap query_map = {}, key_map = {}, value_map = {};
  if (vectors) {
    Encode encode = nullptr;
    if (const cudaError_t error = find_encode(encode); error != cudaSuccess) return error;
    if (!map_of(encode, query_map, queries, heads, query_count, width, 64) || !map_of(encode, key_map, keys, heads, key_count, width, kTileK) ||
        !map_of(encode, value_map, values, heads, key_count, width, kTileK))
      return cudaErrorInvalidValue;
  }
  int device = 0, multiprocessors = 1;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
  if (const cudaError_t error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device); error != cudaSuccess) return error;
  constexpr int kSharedBytes = Room<kHead>::kBytes;
  const auto kernel = vectors ? attention_kernel<kHead, true> : attention_kernel<kHead, false>;
  if (const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes); error != cudaSuccess) return error;
  const unsigned tiles = static_cast<unsigned>((query_count + kTileQ - 1) / kTileQ), count = tiles * static_cast<unsigned>(heads), most = static_cast<unsigned>(multiprocessors * kBlocks);
  kernel<<<count < most ? count : most, kThreads, kSharedBytes, stream>>>(queries, keys, values, out, query_count, key_count, width, tiles, static_cast<unsigned>(heads), scale, query_map, key_map, value_map);
  return cudaGetLastError();
}

}  // namespace

extern "C" cudaError_t {{function}}({{{parameters}}}, cudaStream_t stream) {
  const long long heads = {{{batches}}}, query_count = {{{query_count}}}, key_count = {{{key_count}}}, width = {{{width}}};
  if (heads * query_count * width == 0) return cudaSuccess;
  {{{scale_statements}}}
  const float scale = static_cast<float>({{{scale}}} * 1.4426950408889634);   // to powers of 2
  const bool vectors = width % 8 == 0{{#vector_pointers}} && aligned({{name}}, 16){{/vector_pointers}};
  if (width <= 64) return launch<64>(vectors, {{query}}, {{key}}, {{value}}, {{out}}, heads, static_cast<int>(query_count), static_cast<int>(key_count), static_cast<int>(width), scale, stream);
{{#is_wide}}
  if (width <= 128) return launch<128>(vectors, {{query}}, {{key}}, {{value}}, {{out}}, heads, static_cast<int>(query_count), static_cast<int>(key_count), static_cast<int>(width), scale, stream);
{{/is_wide}}
  return cudaErrorInvalidValue;
}
