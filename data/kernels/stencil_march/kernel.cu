// A warp marches through {{march_words}}, each lane with a vector of neighbouring columns. What a row gives to several outputs stays in registers until
// the warp has passed; columns come from neighbouring lanes, and only a warp's ends read beyond its own. Everything is clamped at the borders.
{{{headers}}}

#include <cstring>
#include <type_traits>

namespace {

using Real = {{{real}}};
using In = {{{in_type}}};
using Out = {{{out_type}}};
constexpr int kWarps = {{warps}};
constexpr int kVector = {{vector}};
constexpr int kSteps = {{steps}};               // outputs of a lane along the march, where kWaves is 0
constexpr int kWaves = {{waves}};               // times that blocks fill the multiprocessors; the march is as long as that needs
constexpr int kLeastSteps = 4;
constexpr int kRounds = {{rounds}};
constexpr int kAhead = {{ahead}};               // steps between a load and its use
[[maybe_unused]] constexpr bool kPairs = {{pairs}} == 1;         // two outputs to an arithmetic instruction
constexpr int kLines = {{is_cube}} ? kWarps : 1;   // neighbouring lines of a block; its other warps have neighbouring columns
constexpr int kStream = {{stream}};

{{> pack}}

{{#exact}}
{{> pairs}}

using Number = int;
{{/exact}}
{{^exact}}
using Number = In;
{{/exact}}

// A single element where it is wanted, without a branch.
template <class T>
__device__ __forceinline__ T load_if(const T* from, bool wanted) {
  typename Bits<sizeof(T)>::type bits{};
  if constexpr (sizeof(T) == 1) {
    unsigned wide = 0;
    asm("{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\n@p ld.global.u8 %0, [%1];\n}" : "+r"(wide) : "l"(from), "r"(static_cast<unsigned>(wanted)));
    bits = static_cast<unsigned char>(wide);
  } else if constexpr (sizeof(T) == 2) {
    asm("{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\n@p ld.global.u16 %0, [%1];\n}" : "+h"(bits) : "l"(from), "r"(static_cast<unsigned>(wanted)));
  } else if constexpr (sizeof(T) == 4) {
    asm("{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\n@p ld.global.u32 %0, [%1];\n}" : "+r"(bits) : "l"(from), "r"(static_cast<unsigned>(wanted)));
  } else {
    asm("{\n.reg .pred p;\nsetp.ne.u32 p, %3, 0;\n@p ld.global.v2.u32 {%0, %1}, [%2];\n}" : "+r"(bits.x), "+r"(bits.y) : "l"(from), "r"(static_cast<unsigned>(wanted)));
  }
  T out;
  memcpy(&out, &bits, sizeof out);
  return out;
}

constexpr int kLastLane = 31;
__device__ __forceinline__ int least_of(int a, int b) { return a < b ? a : b; }
__device__ __forceinline__ int clamped(int i, int extent) { return i < 0 ? 0 : i < extent ? i : extent - 1; }

// A row's elements of a lane as they were loaded, whole, and those beyond them that no lane has.
template <int kWidth, int kEdges>
struct Raw {
  typename Bits<kWidth * sizeof(In)>::type word;
  In edge[kEdges > 0 ? kEdges : 1];
};

{{#lines}}
// A row as outputs read it: kWidth elements, {{before}} before and {{after}} after them.
template <int kWidth>
struct {{type}} {
{{#exact}}
  static constexpr bool kPaired = kPairs && kWidth > 1;
  using Value = std::conditional_t<kPaired, Pair, Number>;
{{/exact}}
{{^exact}}
  static constexpr bool kPaired = false;
  using Value = Number;
{{/exact}}
  static constexpr int kBefore = {{before}}, kAfter = {{after}}, kElements = kPaired ? kWidth / 2 : kWidth;
  static constexpr int kMost = kBefore > kAfter ? kBefore : kAfter;
  // Of a vector, edges come from neighbouring lanes; of single elements from memory, those before first.
  static constexpr int kEdges = kWidth > 1 ? kMost : kBefore + kAfter;
  using Read = Raw<kWidth, kEdges>;
  Value mid[kElements], before[kBefore > 0 ? kBefore : 1], after[kAfter > 0 ? kAfter : 1];
{{#filters}}
  Value {{filter}}[kElements];
{{/filters}}

  __device__ __forceinline__ Value at(int i) const { return i < 0 ? before[-i - 1] : i >= kElements ? after[i - kElements] : mid[i]; }

  // Where a lane reads in every row: what lies beyond the last column is never stored, and read inside.
  struct Places {
    int column, edge[kEdges > 0 ? kEdges : 1];
    bool has_edge, is_first, is_lone, is_last;   // lane 0; the last lane; the lane of the last column
    __device__ __forceinline__ Places(int own, int lane, int column_count)
        : column(least_of(own, column_count - kWidth)), has_edge(kWidth == 1 || lane == 0 || lane == kLastLane), is_first(lane == 0), is_lone(lane == kLastLane), is_last(own + kWidth >= column_count) {
      if constexpr (kWidth > 1) {
#pragma unroll
        for (int r = 0; r < kEdges; ++r) edge[r] = clamped(lane == 0 ? own - 1 - r : own + kWidth + r, column_count);
      } else {
#pragma unroll
        for (int r = 0; r < kBefore; ++r) edge[r] = clamped(own - 1 - r, column_count);
#pragma unroll
        for (int r = 0; r < kAfter; ++r) edge[kBefore + r] = clamped(own + 1 + r, column_count);
      }
    }
  };

  static __device__ __forceinline__ Read read(const In* row, const Places& places) {
    Read out;
    out.word = load_word(reinterpret_cast<const decltype(out.word)*>(row + places.column));
#pragma unroll
    for (int r = 0; r < kEdges; ++r) out.edge[r] = load_if(row + places.edge[r], places.has_edge);
    return out;
  }

  __device__ __forceinline__ void take(const Read& from, [[maybe_unused]] const Places& places) {
    Pack<In, kWidth> pack;
    memcpy(&pack, &from.word, sizeof pack);
    Number left[kBefore > 0 ? kBefore : 1], right[kAfter > 0 ? kAfter : 1];
#pragma unroll
    for (int r = 0; r < kBefore; ++r) {
      left[r] = Number(from.edge[r]);
      if constexpr (kWidth > 1) {
        const Number near = __shfl_up_sync(0xffffffffu, Number(pack.at[kWidth - 1 - r]), 1);
        if (!places.is_first) left[r] = near;
      }
    }
#pragma unroll
    for (int r = 0; r < kAfter; ++r) {
      right[r] = Number(from.edge[kWidth > 1 ? r : kBefore + r]);
      if constexpr (kWidth > 1) {
        const Number near = __shfl_down_sync(0xffffffffu, Number(pack.at[r]), 1);
        if (!places.is_lone) right[r] = near;
        if (places.is_last) right[r] = Number(pack.at[kWidth - 1]);
      }
    }
    if constexpr (!kPaired) {
#pragma unroll
      for (int e = 0; e < kElements; ++e) mid[e] = Number(pack.at[e]);
#pragma unroll
      for (int r = 0; r < kBefore; ++r) before[r] = left[r];
#pragma unroll
      for (int r = 0; r < kAfter; ++r) after[r] = right[r];
    }
{{#exact}}
    if constexpr (kPaired) {
      unpack_pairs<kWidth>(from.word, mid);
#pragma unroll
      for (int r = 0; r < kBefore; ++r) before[r] = pair_of(left[r], pack.at[kElements - 1 - r]);
#pragma unroll
      for (int r = 0; r < kAfter; ++r) after[r] = pair_of(pack.at[kElements + r], right[r]);
    }
#pragma unroll
    for (int e = 0; e < kElements; ++e) {
      {{{filter_lines}}}
    }
{{/exact}}
  }
};

{{/lines}}
// In an image planes are its rows, and there is one line; in a cube lines are the rows of a plane.
template <int kWidth>
__global__ void __launch_bounds__(32 * kWarps) march_kernel({{{kernel_parameters}}}, int plane_count, int line_count, int column_count, int most_steps, unsigned line_blocks, unsigned column_blocks, unsigned chunks) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  unsigned block = blockIdx.x;
  [[maybe_unused]] const int line = static_cast<int>(block % line_blocks) * kLines + warp % kLines;
  block /= line_blocks;
  const int segment = static_cast<int>(block % column_blocks) * (kWarps / kLines) + warp / kLines;
  block /= column_blocks;
  const int first = static_cast<int>(block % chunks) * most_steps, steps = least_of(most_steps, plane_count - first);
  const long long pitch = static_cast<long long>(line_count) * column_count, base = block / chunks * plane_count * pitch;
  const int column = (segment * 32 + lane) * kWidth;
  if (line >= line_count || segment * 32 * kWidth >= column_count) return;   // whole warps
  {{{uniform_loads}}}

{{#lines}}
  // The next row that is read, and the plane that it stands for: at the borders and after the last one needed the row stays.
  const typename {{type}}<kWidth>::Places {{name}}_places(column, lane, column_count);
  int {{name}}_next = first + {{lowest}};
  const int {{name}}_last = least_of(plane_count - 1, first + steps - 1 + {{highest}});
  const In* {{name}}_row = {{in}} + base + clamped({{name}}_next, plane_count) * pitch + clamped(line + {{offset}}, line_count) * static_cast<long long>(column_count);
  const auto {{name}}_read = [&] {
    const auto read = {{type}}<kWidth>::read({{name}}_row, {{name}}_places);
    if ({{name}}_next >= 0 && {{name}}_next < {{name}}_last) {{name}}_row += pitch;
    ++{{name}}_next;
    return read;
  };
  {{type}}<kWidth> {{name}}[{{depth}}];
  typename {{type}}<kWidth>::Read {{name}}_ahead[kAhead + 1];
#pragma unroll
  for (int d = 1; d < {{depth}}; ++d) {{name}}[d].take({{name}}_read(), {{name}}_places);
#pragma unroll
  for (int a = 0; a < kAhead; ++a) {{name}}_ahead[a] = {{name}}_read();
{{/lines}}
  long long place = base + first * pitch + static_cast<long long>(line) * column_count + column;
  for (int group = 0; group < steps; group += kRounds) {
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      // Unrolled by hand: nvcc 13.0 leaves the steps that remain out of a loop that is unrolled by its pragma here.
      if (round > 0 && group + round >= steps) return;
      [[maybe_unused]] const int plane = first + group + round;
{{#lines}}
      {{name}}_ahead[kAhead] = {{name}}_read();
#pragma unroll
      for (int d = 1; d < {{depth}}; ++d) {{name}}[d - 1] = {{name}}[d];
      {{name}}[{{depth}} - 1].take({{name}}_ahead[0], {{name}}_places);
#pragma unroll
      for (int a = 0; a < kAhead; ++a) {{name}}_ahead[a] = {{name}}_ahead[a + 1];
{{/lines}}
      Pack<Out, kWidth> out_pack;
{{#exact}}
      using Lane = {{first_type}}<kWidth>;
      typename Lane::Value values[Lane::kElements];
#pragma unroll
      for (int e = 0; e < Lane::kElements; ++e) {
        using Value = typename Lane::Value;
        {{{exact_statements}}}
        values[e] = {{{exact_value}}};
      }
      if constexpr (Lane::kPaired) {
        pack_pairs(values, out_pack);
      } else {
#pragma unroll
        for (int e = 0; e < kWidth; ++e) out_pack.at[e] = static_cast<Out>(values[e]);
      }
{{/exact}}
{{^exact}}
{{#others}}
      Pack<{{{type}}}, kWidth> {{name}}_pack;
      if (column < column_count) {{name}}_pack = load_once<kWidth>({{name}} + place);
{{/others}}
#pragma unroll
      for (int e = 0; e < kWidth; ++e) {
        {{{inside}}}
        out_pack.at[e] = {{{value}}};
      }
{{/exact}}
      if (column < column_count) store<kWidth>({{out}} + place, out_pack);
      place += pitch;
    }
  }
}

}  // namespace

extern "C" cudaError_t {{function}}({{{parameters}}}, cudaStream_t stream) {
  const long long batches = {{{batches}}}, plane_count = {{{planes}}}, line_count = {{{line_count}}}, column_count = {{{columns}}};
  if (batches * plane_count * line_count * column_count == 0) return cudaSuccess;
  const bool vectors = column_count % kVector == 0{{#pointers}} && aligned({{name}}, kVector * sizeof({{{type}}})){{/pointers}};
  const long long across = 32 * (kWarps / kLines) * (vectors ? kVector : 1);
  const unsigned line_blocks = static_cast<unsigned>((line_count + kLines - 1) / kLines), column_blocks = static_cast<unsigned>((column_count + across - 1) / across);
  const auto kernel = vectors ? march_kernel<kVector> : march_kernel<1>;
  long long steps = kSteps;
  if constexpr (kWaves > 0) {
    int resident = 0;
    if (const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, 32 * kWarps, 0); error != cudaSuccess) return error;
    const long long wanted = static_cast<long long>({{sheet_multiprocessors}}) * resident * kWaves / (batches * line_blocks * column_blocks);
    steps = wanted > 1 ? (plane_count + wanted - 1) / wanted : plane_count;
    if (steps < kLeastSteps) steps = kLeastSteps;
  }
  const unsigned chunks = static_cast<unsigned>((plane_count + steps - 1) / steps), blocks = static_cast<unsigned>(batches) * chunks * line_blocks * column_blocks;
  const int planes = static_cast<int>(plane_count), lines = static_cast<int>(line_count), columns = static_cast<int>(column_count);
  kernel<<<blocks, 32 * kWarps, 0, stream>>>({{{arguments}}}, planes, lines, columns, static_cast<int>(steps), line_blocks, column_blocks, chunks);
  return cudaGetLastError();
}
