// Neighbouring lanes have neighbouring columns, so that a row's elements come in whole sectors; all columns of a narrow matrix lie side by side,
// so that a warp reads on from one row into the next. The groups of a block share its rows, and the blocks of a strip of columns the matrix's:
// results meet in shared memory, then in global memory where the block that comes last adds them up, both in a fixed order, so that equal
// inputs give equal bits.
{{{headers}}}

#include <cstring>

namespace {

using Real = {{{real}}};
constexpr int kThreads = {{threads}};
constexpr bool kSideBySide = {{lanes}} == 0;     // where all columns fit into a block
constexpr int kLanes = kSideBySide ? 32 : {{lanes}};   // columns of a block, else
constexpr int kUnroll = {{unroll}};
{{#one_pass}}
constexpr int kBlocksPerSm = {{blocks_per_sm}};  // whose columns are shared out until there are as many; 0: none are
constexpr int kMaxBlocks = kBlocksPerSm > 0 ? {{sheet_multiprocessors}} * kBlocksPerSm : 1;
{{/one_pass}}
constexpr int kWidth = 1;
constexpr int kStream = 0;

{{> pack}}

{{#has_arg}}
{{> best}}

{{/has_arg}}
// Over the groups of a block; {{#one_pass}}the first of them gets{{/one_pass}}{{^one_pass}}all of them get{{/one_pass}} the result. Each call of a block has a `scratch` of its own, or a barrier before it.
template <bool kNarrow, class T, class Op>
__device__ __forceinline__ T reduce_groups(T value, Op op, T* scratch, int width, int groups) {
  const int group = threadIdx.x / width;
  scratch[threadIdx.x] = value;
  __syncthreads();
  for (int count = groups; count > 1;) {
    const int kept = (count + 1) / 2;
    if (group + kept < count) scratch[threadIdx.x] = op(scratch[threadIdx.x], scratch[threadIdx.x + kept * width]);
    __syncthreads();
    count = kept;
  }
{{^one_pass}}
  if constexpr (!kNarrow) return scratch[threadIdx.x % width];
  // Lanes that read on from the last column to the first would meet in a bank: groups hand the results on instead.
  for (int known = 1; known < groups; known *= 2) {
    if (group >= known && group < 2 * known && group < groups) scratch[threadIdx.x] = scratch[threadIdx.x - known * width];
    __syncthreads();
  }
{{/one_pass}}
  return scratch[threadIdx.x];
}

{{#one_pass}}
{{#passes}}
{{#reductions}}
__device__ {{{type}}} {{name}}_partial[kMaxBlocks * (kSideBySide ? kThreads : kLanes)];
{{/reductions}}
{{/passes}}
__device__ unsigned arrived[kMaxBlocks];   // blocks of a strip that have left their partial results; 0 again at the end

{{/one_pass}}
struct Inputs {
{{#element_inputs}}
  Pack<{{{type}}}, kWidth> {{name}};
{{/element_inputs}}
};

// `parts` blocks share a strip of columns.
template <bool kNarrow>
__global__ void __launch_bounds__(kThreads) column_kernel({{{kernel_parameters}}}, long long row_count, long long column_count, [[maybe_unused]] unsigned parts) {
  // In the words of row kernels: a row is what is reduced, `column` runs along it, and here it lies across memory.
  const int width = kNarrow ? static_cast<int>(row_count) : kLanes, groups = kThreads / width;
  const int lane = threadIdx.x % width, group = threadIdx.x / width;
{{#one_pass}}
  const unsigned strip = blockIdx.x / parts, part = blockIdx.x % parts;
{{/one_pass}}
{{^one_pass}}
  constexpr unsigned part = 0;
  const unsigned strip = blockIdx.x;
{{/one_pass}}
  const long long wanted = static_cast<long long>(strip) * kLanes + lane;
  const bool inside = wanted < row_count;
  const long long row = inside ? wanted : row_count - 1;
  // Threads that are left over beside narrow rows have none.
  const long long first = group < groups ? static_cast<long long>(part) * groups + group : column_count, step = static_cast<long long>(parts) * groups;
  const auto fetch = [&](long long column) {
    Inputs in;
{{#element_inputs}}
    in.{{name}} = load<kWidth>({{name}} + column * row_count + row);
{{/element_inputs}}
    return in;
  };
  {{{uniform_loads}}}

{{#passes}}
{{#reductions}}
  {{{type}}} {{name}} = {{{identity}}};
{{/reductions}}
  {
    {{{uniform}}}
#pragma unroll kUnroll
    for (long long column = first; column < column_count; column += step) {
      const Inputs in = fetch(column);
      {{{column_packs}}}
      [[maybe_unused]] constexpr int e = 0;
        {{{inside}}}
    }
  }
{{#reductions}}
  __shared__ {{{type}}} {{name}}_scratch[kThreads];
  const auto {{name}}_combine = []({{{type}}} a, {{{type}}} b) -> {{{type}}} { return {{{combined}}}; };
  {{name}} = reduce_groups<kNarrow>({{name}}, {{name}}_combine, {{name}}_scratch, width, groups);
{{/reductions}}
{{#one_pass}}
  if (parts > 1) {
    __shared__ bool is_last;
    [[maybe_unused]] const unsigned own = blockIdx.x * width + lane;
    if (group == 0) {
{{#reductions}}
      {{name}}_partial[own] = {{name}};
{{/reductions}}
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      is_last = atomicAdd(&arrived[strip], 1u) == parts - 1;
      __threadfence();
    }
    __syncthreads();
    if (!is_last) return;
{{#reductions}}
    {{name}} = {{{identity}}};
    if (group < groups)
      for (unsigned p = group; p < parts; p += groups) {{name}} = {{name}}_combine({{name}}, {{name}}_partial[(strip * parts + p) * width + lane]);
    {{name}} = reduce_groups<kNarrow>({{name}}, {{name}}_combine, {{name}}_scratch, width, groups);
{{/reductions}}
    if (threadIdx.x == 0) arrived[strip] = 0;
  }
{{/one_pass}}

{{/passes}}
  if (group == 0 && inside) {
    {{{row_lines}}}
  }
}

}  // namespace

extern "C" cudaError_t {{function}}({{{parameters}}}, cudaStream_t stream) {
  const long long row_count = {{{rows}}}, column_count = {{{columns}}};
  if (row_count == 0) return cudaSuccess;
  const bool narrow = kSideBySide && row_count <= kThreads;
  const long long strips = narrow ? 1 : (row_count + kLanes - 1) / kLanes;
  long long parts = 1;
{{#one_pass}}
  if constexpr (kBlocksPerSm > 0) {
    // Each thread is left a round of its rows.
    const long long rows_of_block = kThreads / (narrow ? row_count : kLanes) * kUnroll, most = (column_count + rows_of_block - 1) / rows_of_block;
    parts = kMaxBlocks / strips;
    if (parts > most) parts = most;
    if (parts < 1) parts = 1;
  }
{{/one_pass}}
  const unsigned blocks = static_cast<unsigned>(strips * parts);
  if (narrow) column_kernel<kSideBySide><<<blocks, kThreads, 0, stream>>>({{{arguments}}}, row_count, column_count, static_cast<unsigned>(parts));
  else column_kernel<false><<<blocks, kThreads, 0, stream>>>({{{arguments}}}, row_count, column_count, static_cast<unsigned>(parts));
  return cudaGetLastError();
}
