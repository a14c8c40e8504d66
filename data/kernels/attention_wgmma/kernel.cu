// A block computes 64 rows of the output of one head by each of its {{groups}} warpgroups, and passes over the keys once. Tiles of keys and values come through
// `stages` buffers of swizzled shared memory by asynchronous copies; scores, weights and sums stay in registers (wgmma: sm_90a). The scores of a step are
// multiplied together with the weights of the one before, which end while the largest scores are sought. Where they grow, what was added up before is
// scaled down. Keys that no row of the block sees are left out.
{{{headers}}}

#include <cstring>

namespace {

using Real = {{{real}}};
using In = {{{operand_type}}};
constexpr int kGroups = {{groups}}, kTileQ = 64 * kGroups, kTileK = {{tile_k}};   // queries per block, keys per step
constexpr int kStages = {{stages}}, kBlocks = {{blocks_per_sm}};
constexpr int kWarps = 4 * kGroups, kThreads = 32 * kWarps;
constexpr int kParts = {{parts}};                             // a weight is a sum of so many operands: 1 rounds it to their type, more keep what f32 holds
constexpr bool kCausal = {{causal}};                          // query i sees keys 0 to i
constexpr int kStream = 0;

{{> pack}}

{{> matrix_tile}}

{{> wgmma_rows}}

{{> attention_rows}}

// PTX manual, matrix descriptors: spans of 128 bytes, swizzled; offsets in units of 16 bytes.
__device__ __forceinline__ unsigned long long describe(const unsigned char* from, unsigned leading) {
  const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(from));
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

// A span of a tile, kRows rows of 64 elements, by vectors: `from` is this thread's part of the span's first rows, of which `left` rows and those after are none.
template <int kRows>
__device__ __forceinline__ void fetch_rows(unsigned place, const In* from, const In* anything, long long left, int width, bool has_chunk) {
  constexpr int kPass = kThreads / 8, kCount = (kRows + kPass - 1) / kPass;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (kRows % kPass != 0 && static_cast<int>(threadIdx.x / 8) + i * kPass >= kRows) break;
    const bool inside = has_chunk && i * kPass < left;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place + i * kThreads * 16), "l"(inside ? from + i * kPass * width : anything), "r"(inside ? 16 : 0) : "memory");
  }
}

// kHead: `width`, rounded up to what is multiplied, spans of 64; the columns in between are 0. `scale` is of base 2.
template <int kHead, bool kVectors>
__global__ void __launch_bounds__(kThreads, kBlocks) attention_kernel(const In* __restrict__ queries, const In* __restrict__ keys, const In* __restrict__ values, In* __restrict__ out,
                                                                      long long query_count, long long key_count, int width, unsigned tiles, float scale) {
  using QueryTile = Tile<kTileQ, 64>;
  using KeyTile = Tile<kTileK, 64>;
  constexpr int kSpans = kHead / 64, kColumns = kTileK / 8, kQueryBytes = kSpans * QueryTile::kBytes, kKeyBytes = kSpans * KeyTile::kBytes, kStageBytes = 2 * kKeyBytes;
  extern __shared__ unsigned char raw[];
  unsigned char* const shared = raw + ((1024 - (static_cast<unsigned>(__cvta_generic_to_shared(raw)) & 1023)) & 1023);
  const int lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 * 16, group_row = threadIdx.x / 128 * 64;
  // Causal blocks at the end see most keys: they start first.
  const long long head = blockIdx.x / tiles, first_query = static_cast<long long>(tiles - 1 - blockIdx.x % tiles) * kTileQ;
  const In* const key_from = keys + head * key_count * width;
  const In* const value_from = values + head * key_count * width;
  const long long seen = kCausal && first_query + kTileQ < key_count ? first_query + kTileQ : key_count;
  const int steps = static_cast<int>((seen + kTileK - 1) / kTileK);
  const int own_row = threadIdx.x / 8, own_column = threadIdx.x % 8 * 8;
  const unsigned own_place = static_cast<unsigned>(__cvta_generic_to_shared(shared)) + QueryTile::place(own_row, threadIdx.x % 8);
  const auto fetch_tile = [&](auto shape, int offset, const In* from, long long first, long long count) {
    using Shape = decltype(shape);
#pragma unroll
    for (int span = 0; span < kSpans; ++span) {
      if constexpr (kVectors)
        fetch_rows<Shape::kRows>(own_place + offset + span * Shape::kBytes, from + (first + own_row) * width + span * 64 + own_column, from, count - first - own_row, width, span * 64 + own_column < width);
      else
        fetch<Shape, false>(shared + offset + span * Shape::kBytes, from, first, span * 64, count, width);
    }
  };
  const auto fetch_step = [&](int step) {
    const int offset = kQueryBytes + step % kStages * kStageBytes;
    fetch_tile(KeyTile(), offset, key_from, static_cast<long long>(step) * kTileK, key_count);
    fetch_tile(KeyTile(), offset + kKeyBytes, value_from, static_cast<long long>(step) * kTileK, key_count);
  };

  fetch_tile(QueryTile(), 0, queries + head * query_count * width, first_query, query_count);
#pragma unroll
  for (int s = 0; s < kStages - 2; ++s) {
    if (s < steps) fetch_step(s);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  // Largest scores are sought before they are scaled, which a negative scale would turn round; not 0, with which a key that is not seen would have a weight
  // that is no number.
  const float turned = scale < 0 ? -1.f : 1.f, factor = fmaxf(fabsf(scale), 1e-37f);

  // Of row lane / 4 + 8 half of a warp's sixteen: the largest score, and this lane's part of the weights' sum.
  float score[kTileK / 2], sum[kHead / 2] = {}, peak[2] = {-INFINITY, -INFINITY}, weight[2] = {0, 0};
  unsigned left[kTileK / 16][kParts][4];
  const auto multiply_keys = [&](int step) {
    const unsigned char* const tile = shared + kQueryBytes + step % kStages * kStageBytes;
#pragma unroll
    for (int d = 0; d < kHead / 16; ++d)
      multiply_shared(score, describe(shared + d / 4 * QueryTile::kBytes + group_row * 128, 16) + d % 4 * 2, describe(tile + d / 4 * KeyTile::kBytes, 16) + d % 4 * 2, d > 0);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  };
  const auto multiply_values = [&](int step) {
    const unsigned long long tile = describe(shared + kQueryBytes + step % kStages * kStageBytes + kKeyBytes, KeyTile::kBytes);
#pragma unroll
    for (int d = 0; d < kTileK / 16; ++d)
#pragma unroll
      for (int p = 0; p < kParts; ++p) multiply_across(sum, left[d][p], tile + d * 128);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  };
  // The step's tiles are there for the tensor cores, and those of the step before the last one are free.
  const auto arrive = [&](int step) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 3) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (step + kStages - 2 < steps) fetch_step(step + kStages - 2);
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  };
  // Scores become weights before they are rounded; `kept` is what is left of earlier ones.
  const auto weigh = [&](int step, float (&kept)[2]) {
    const long long first_key = static_cast<long long>(step) * kTileK;
    const long long warp_query = first_query + warp_row;
    if (turned < 0) {
#pragma unroll
      for (int i = 0; i < kTileK / 2; ++i) score[i] = -score[i];
    }
    if (first_key + kTileK > key_count || (kCausal && first_key + kTileK - 1 > warp_query)) {
      const int most = static_cast<int>(key_count - first_key < kTileK ? key_count - first_key : kTileK);
      const int own = static_cast<int>(warp_query - first_key) + lane / 4;
#pragma unroll
      for (int j = 0; j < kColumns; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int column = j * 8 + lane % 4 * 2 + e % 2;
          if (column >= most || (kCausal && column > own + e / 2 * 8)) score[4 * j + e] = -INFINITY;
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

  float kept[2];
  arrive(0);
  multiply_keys(0);
  wait_products<0>();
  settled(score);
  weigh(0, kept);
  round_weights();
  for (int step = 1; step < steps; ++step) {
    arrive(step);
    multiply_keys(step);
    multiply_values(step - 1);
    wait_products<1>();
    settled(score);
    weigh(step, kept);
    wait_products<0>();
    settled(sum);
#pragma unroll
    for (int i = 0; i < kHead / 2; ++i) sum[i] *= kept[i / 2 % 2];
    round_weights();
  }
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  multiply_values(steps - 1);
  wait_products<0>();
  settled(sum);
  asm volatile("cp.async.wait_group 0;" ::: "memory");

  // The queries make room for the output, which leaves in vectors of rows.
  __syncthreads();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float inverse = 1 / over_row(weight[half], true);
#pragma unroll
    for (int n = 0; n < kHead / 8; ++n) {
      unsigned char* const to = shared + n / 8 * QueryTile::kBytes + QueryTile::place(warp_row + half * 8 + lane / 4, n % 8) + lane % 4 * 4;
      *reinterpret_cast<unsigned*>(to) = narrowed(sum[4 * n + 2 * half] * inverse, sum[4 * n + 2 * half + 1] * inverse);
    }
  }
  __syncwarp();
  In* const out_to = out + (head * query_count + first_query) * width;
#pragma unroll
  for (int unit = lane; unit < 16 * kHead / 8; unit += 32) {
    const int row = warp_row + unit / (kHead / 8), chunk = unit % (kHead / 8);
    if (first_query + row >= query_count) continue;
    Pack<In, 8> eight;
    memcpy(&eight, __builtin_assume_aligned(shared + chunk / 8 * QueryTile::kBytes + QueryTile::place(row, chunk % 8), 16), 16);
    if constexpr (kVectors) {
      if (chunk * 8 < width) store<8>(out_to + row * width + chunk * 8, eight);
    } else {
#pragma unroll
      for (int e = 0; e < 8; ++e)
        if (chunk * 8 + e < width) out_to[row * width + chunk * 8 + e] = eight.at[e];
    }
  }
}

template <int kHead>
cudaError_t launch(bool vectors, const In* queries, const In* keys, const In* values, In* out, long long heads, long long query_count, long long key_count, int width, float scale, cudaStream_t stream) {
  constexpr int kSharedBytes = (kTileQ + 2 * kStages * kTileK) * kHead * 2 + 1024;
  const auto kernel = vectors ? attention_kernel<kHead, true> : attention_kernel<kHead, false>;
  if (kSharedBytes > 48 * 1024) {
    const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
    if (error != cudaSuccess) return error;
  }
  const unsigned tiles = static_cast<unsigned>((query_count + kTileQ - 1) / kTileQ);
  kernel<<<static_cast<unsigned>(heads * tiles), kThreads, kSharedBytes, stream>>>(queries, keys, values, out, query_count, key_count, width, tiles, scale);
  return cudaGetLastError();
}

}  // namespace

extern "C" cudaError_t {{function}}({{{parameters}}}, cudaStream_t stream) {
  const long long heads = {{{batches}}}, query_count = {{{query_count}}}, key_count = {{{key_count}}}, width = {{{width}}};
  if (heads * query_count * width == 0) return cudaSuccess;
  {{{scale_statements}}}
  const float scale = static_cast<float>({{{scale}}} * 1.4426950408889634);   // to powers of 2
  const bool vectors = width % 8 == 0{{#vector_pointers}} && aligned({{name}}, 16){{/vector_pointers}};
  if (width <= 64) return launch<64>(vectors, {{query}}, {{key}}, {{value}}, {{out}}, heads, query_count, key_count, static_cast<int>(width), scale, stream);
{{#is_wide}}
  if (width <= 128) return launch<128>(vectors, {{query}}, {{key}}, {{value}}, {{out}}, heads, query_count, key_count, static_cast<int>(width), scale, stream);
{{/is_wide}}
  return cudaErrorInvalidValue;
}
