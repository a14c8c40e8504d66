// Neighbouring lanes have neighbouring columns, so that a row's elements come in whole sectors. The groups of a block share the rows between
// them; their results meet in shared memory in a fixed order, so that equal inputs give equal bits.
{{{headers}}}

#include <cstring>

namespace {

using Real = {{{real}}};
constexpr int kThreads = {{threads}};
constexpr int kLanes = {{lanes}};               // columns of a block
constexpr int kGroups = kThreads / kLanes;      // threads that share a column
constexpr int kUnroll = {{unroll}};
constexpr int kWidth = 1;
constexpr int kStream = 0;

{{> pack}}

{{#has_arg}}
{{> best}}

{{/has_arg}}
// Over the groups of a block; all of them get the result. Each call of a block has a `scratch` of its own.
template <class T, class Op>
__device__ __forceinline__ T reduce_groups(T value, Op op, T (*scratch)[kLanes]) {
  const int lane = threadIdx.x % kLanes, group = threadIdx.x / kLanes;
  scratch[group][lane] = value;
  __syncthreads();
#pragma unroll
  for (int half = kGroups / 2; half > 0; half /= 2) {
    if (group < half) scratch[group][lane] = op(scratch[group][lane], scratch[group + half][lane]);
    __syncthreads();
  }
  return scratch[0][lane];
}

struct Inputs {
{{#element_inputs}}
  Pack<{{{type}}}, kWidth> {{name}};
{{/element_inputs}}
};

__global__ void __launch_bounds__(kThreads) column_kernel({{{kernel_parameters}}}, long long row_count, long long column_count) {
  // In the words of row kernels: a row is what is reduced, `column` runs along it, and here it lies across memory.
  const long long wanted = static_cast<long long>(blockIdx.x) * kLanes + threadIdx.x % kLanes;
  const bool inside = wanted < row_count;
  const long long row = inside ? wanted : row_count - 1;
  const int group = threadIdx.x / kLanes;
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
    for (long long column = group; column < column_count; column += kGroups) {
      const Inputs in = fetch(column);
      {{{column_packs}}}
      [[maybe_unused]] constexpr int e = 0;
        {{{inside}}}
    }
  }
{{#reductions}}
  __shared__ {{{type}}} {{name}}_scratch[kGroups][kLanes];
  {{name}} = reduce_groups({{name}}, []({{{type}}} a, {{{type}}} b) -> {{{type}}} { return {{{combined}}}; }, {{name}}_scratch);
{{/reductions}}

{{/passes}}
  if (group == 0 && inside) {
    {{{row_lines}}}
  }
}

}  // namespace

extern "C" cudaError_t {{function}}({{{parameters}}}, cudaStream_t stream) {
  const long long row_count = {{{rows}}}, column_count = {{{columns}}};
  if (row_count == 0) return cudaSuccess;
  const unsigned blocks = static_cast<unsigned>((row_count + kLanes - 1) / kLanes);
  column_kernel<<<blocks, kThreads, 0, stream>>>({{{arguments}}}, row_count, column_count);
  return cudaGetLastError();
}
