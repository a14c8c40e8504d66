// A block computes `tile_q` rows of the output of one head, a warp `warp_m` of them, and passes over the keys once. Tiles of keys and values come through
// `stages` buffers of swizzled shared memory by asynchronous copies; scores, weights and sums stay in registers (mma.sync m16n8k16). Of each row the
// largest score so far is known: where it grows, what was added up before is scaled down. Keys that no row of the block sees are left out.
{{{headers}}}

#include <cstring>

namespace {

using Real = {{{real}}};
using In = {{{operand_type}}};
constexpr int kTileQ = {{tile_q}}, kTileK = {{tile_k}};       // queries per block, keys per step
constexpr int kWarpM = {{warp_m}};                            // queries per warp
constexpr int kStages = {{stages}};
constexpr int kWarps = kTileQ / kWarpM, kThreads = 32 * kWarps;
constexpr int kParts = {{parts}};                             // a weight is a sum of so many operands: 1 rounds it to their type, more keep what f32 holds
constexpr bool kCausal = {{causal}};                          // query i sees keys 0 to i
constexpr int kStream = 0;

{{> pack}}

{{> matrix_tile}}

{{> attention_rows}}

// kHead: `width`, rounded up to what is multiplied; the columns in between are 0. `scale` is of base 2.
template <int kHead, bool kVectors>
__global__ void __launch_bounds__(kThreads) attention_kernel(const In* __restrict__ queries, const In* __restrict__ keys, const In* __restrict__ values, In* __restrict__ out, long long query_count,
                                                             long long key_count, int width, unsigned tiles, float scale) {
  using QueryTile = Tile<kTileQ, kHead>;
  using KeyTile = Tile<kTileK, kHead>;
  constexpr int kRows = kWarpM / 16, kDepths = kHead / 16, kColumns = kTileK / 8, kStageBytes = 2 * KeyTile::kBytes;
  extern __shared__ __align__(128) unsigned char shared[];
  const int lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 * kWarpM;
  // Causal blocks at the end see most keys: they start first.
  const long long head = blockIdx.x / tiles, first_query = static_cast<long long>(tiles - 1 - blockIdx.x % tiles) * kTileQ;
  const In* const key_from = keys + head * key_count * width;
  const In* const value_from = values + head * key_count * width;
  const long long seen = kCausal && first_query + kTileQ < key_count ? first_query + kTileQ : key_count;
  const int steps = static_cast<int>((seen + kTileK - 1) / kTileK);
  const auto fetch_step = [&](int step) {
    unsigned char* const to = shared + QueryTile::kBytes + step % kStages * kStageBytes;
    const long long first = static_cast<long long>(step) * kTileK;
    fetch<KeyTile, kVectors>(to, key_from, first, 0, key_count, width);
    fetch<KeyTile, kVectors>(to + KeyTile::kBytes, value_from, first, 0, key_count, width);
  };

  fetch<QueryTile, kVectors>(shared, queries + head * query_count * width, first_query, 0, query_count, width);
  asm volatile("cp.async.commit_group;" ::: "memory");
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) {
    if (s < steps) fetch_step(s);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 1) : "memory");
  __syncthreads();
  unsigned query[kRows][kDepths][4];
#pragma unroll
  for (int i = 0; i < kRows; ++i)
#pragma unroll
    for (int d = 0; d < kDepths; ++d) {
      load_matrices<false>(query[i][d], shared + QueryTile::place(warp_row + i * 16 + lane % 16, d * 2 + lane / 16));
      // Largest scores are sought before they are scaled, which a negative scale would turn round.
      if (scale < 0) {
#pragma unroll
        for (int e = 0; e < 4; ++e) query[i][d][e] ^= 0x80008000u;
      }
    }
  // Not 0, with which a key that is not seen would have a weight that is no number.
  const float factor = fmaxf(fabsf(scale), 1e-37f);

  // Of row lane / 4 + 8 half of each sixteen: the largest score, and this lane's part of the weights' sum.
  float sum[kRows][kHead / 8][4] = {}, peak[kRows][2], weight[kRows][2];
#pragma unroll
  for (int i = 0; i < kRows; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) peak[i][half] = -INFINITY, weight[i][half] = 0;

  for (int step = 0; step < steps; ++step) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2) : "memory");
    __syncthreads();
    if (step + kStages - 1 < steps) fetch_step(step + kStages - 1);
    asm volatile("cp.async.commit_group;" ::: "memory");
    const unsigned char* const key_tile = shared + QueryTile::kBytes + step % kStages * kStageBytes;
    const unsigned char* const value_tile = key_tile + KeyTile::kBytes;

    float score[kRows][kColumns][4] = {};
#pragma unroll
    for (int d = 0; d < kDepths; ++d)
#pragma unroll
      for (int j = 0; j < kTileK / 16; ++j) {
        unsigned key[4];
        load_matrices<false>(key, key_tile + KeyTile::place(j * 16 + lane % 8 + lane / 16 * 8, d * 2 + lane / 8 % 2));
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
          multiply(score[i][2 * j], query[i][d], key[0], key[1]);
          multiply(score[i][2 * j + 1], query[i][d], key[2], key[3]);
        }
      }

    const long long first_key = static_cast<long long>(step) * kTileK;
    const long long warp_query = first_query + warp_row;
    if (first_key + kTileK > key_count || (kCausal && first_key + kTileK - 1 > warp_query)) {
      const int left = static_cast<int>(key_count - first_key < kTileK ? key_count - first_key : kTileK);
      const int own = static_cast<int>(warp_query - first_key) + lane / 4;
#pragma unroll
      for (int i = 0; i < kRows; ++i)
#pragma unroll
        for (int j = 0; j < kColumns; ++j)
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            const int column = j * 8 + lane % 4 * 2 + e % 2;
            if (column >= left || (kCausal && column > own + i * 16 + e / 2 * 8)) score[i][j][e] = -INFINITY;
          }
    }

#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float top = peak[i][half];
#pragma unroll
        for (int j = 0; j < kColumns; ++j) top = fmaxf(top, fmaxf(score[i][j][2 * half], score[i][j][2 * half + 1]));
        top = over_row(top, false);
        const float kept = power_of_two((peak[i][half] - top) * factor), shift = top * factor;
        peak[i][half] = top;
        float added = 0;
#pragma unroll
        for (int j = 0; j < kColumns; ++j)
#pragma unroll
          for (int e = 2 * half; e < 2 * half + 2; ++e) {
            score[i][j][e] = power_of_two(fmaf(score[i][j][e], factor, -shift));
            added += score[i][j][e];
          }
        weight[i][half] = weight[i][half] * kept + added;
#pragma unroll
        for (int n = 0; n < kHead / 8; ++n) sum[i][n][2 * half] *= kept, sum[i][n][2 * half + 1] *= kept;
      }

    // The layout in which scores leave a product is the one in which weights enter the next.
#pragma unroll
    for (int d = 0; d < kTileK / 16; ++d) {
      unsigned left[kRows][kParts][4];
#pragma unroll
      for (int i = 0; i < kRows; ++i)
#pragma unroll
        for (int e = 0; e < 4; ++e) split(score[i][2 * d + e / 2][e % 2 * 2], score[i][2 * d + e / 2][e % 2 * 2 + 1], left[i], e);
#pragma unroll
      for (int n = 0; n < kDepths; ++n) {
        unsigned value[4];
        load_matrices<true>(value, value_tile + KeyTile::place(d * 16 + lane % 16, n * 2 + lane / 16));
#pragma unroll
        for (int i = 0; i < kRows; ++i)
#pragma unroll
          for (int p = 0; p < kParts; ++p) {
            multiply(sum[i][2 * n], left[i][p], value[0], value[1]);
            multiply(sum[i][2 * n + 1], left[i][p], value[2], value[3]);
          }
      }
    }
  }
  asm volatile("cp.async.wait_group 0;" ::: "memory");

  // Each warp's queries make room for its output, which leaves in vectors of rows.
  __syncwarp();
#pragma unroll
  for (int i = 0; i < kRows; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float inverse = 1 / over_row(weight[i][half], true);
#pragma unroll
      for (int n = 0; n < kHead / 8; ++n) {
        unsigned char* const to = shared + QueryTile::place(warp_row + i * 16 + half * 8 + lane / 4, n) + lane % 4 * 4;
        *reinterpret_cast<unsigned*>(to) = narrowed(sum[i][n][2 * half] * inverse, sum[i][n][2 * half + 1] * inverse);
      }
    }
  __syncwarp();
  In* const out_to = out + (head * query_count + first_query) * width;
#pragma unroll
  for (int unit = lane; unit < kWarpM * QueryTile::kChunks; unit += 32) {
    const int row = warp_row + unit / QueryTile::kChunks, chunk = unit % QueryTile::kChunks;
    if (first_query + row >= query_count) continue;
    Pack<In, 8> eight;
    memcpy(&eight, __builtin_assume_aligned(shared + QueryTile::place(row, chunk), 16), 16);
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
  constexpr int kSharedBytes = (kTileQ + 2 * kStages * kTileK) * kHead * 2;
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
{{#heads}}
  if (width <= {{head}}) return launch<{{head}}>(vectors, {{query}}, {{key}}, {{value}}, {{out}}, heads, query_count, key_count, static_cast<int>(width), scale, stream);
{{/heads}}
  return cudaErrorInvalidValue;
}
