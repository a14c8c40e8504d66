// One launch: threads keep several vector loads in flight and reduce them in registers, blocks by shuffles. Each block publishes its
// partial result, and the block that arrives last combines them in a fixed order, so that equal inputs give equal bits.
{{{headers}}}

#include <cstring>
#include <type_traits>

namespace {

using Real = {{{real}}};
constexpr int kThreads = {{threads}};
constexpr int kVector = {{vector}};
constexpr int kUnroll = {{unroll}};
constexpr int kMaxBlocks = {{sheet_multiprocessors}} * {{blocks_per_sm}};
constexpr int kStream = {{stream}};

{{> pack}}

{{#has_arg}}
{{> best}}

{{/has_arg}}
{{> reduce_block}}

template <int kWidth>
struct Inputs {
  static constexpr int kElements = kWidth;
{{#element_inputs}}
  Pack<{{{type}}}, kWidth> {{name}};
{{/element_inputs}}
};

{{#passes}}
{{#reductions}}
__device__ {{{type}}} {{name}}_partial[kMaxBlocks];
{{/reductions}}
{{/passes}}
__device__ unsigned arrived = 0;   // blocks that have left their partial results; 0 again at the end

template <int kWidth>
__global__ void __launch_bounds__(kThreads) reduce_kernel({{{kernel_parameters}}}, long long count) {
  constexpr long long row = 0;
  const auto fetch = [&](auto width, long long column) {
    Inputs<decltype(width)::value> in;
{{#element_inputs}}
    in.{{name}} = load_once<decltype(width)::value>({{name}} + column);
{{/element_inputs}}
    return in;
  };
  {{{uniform_loads}}}
{{#passes}}
{{#reductions}}
  {{{type}}} {{name}} = {{{identity}}};
{{/reductions}}
  {{{uniform}}}
  const auto visit = [&](const auto& in, [[maybe_unused]] long long column) {
#pragma unroll
      for (int e = 0; e < std::decay_t<decltype(in)>::kElements; ++e) {
        {{{inside}}}
      }
  };
{{/passes}}

  constexpr long long kStep = static_cast<long long>(kThreads) * kWidth;
  const long long whole = count - count % kWidth;
  for (long long first = blockIdx.x * kStep * kUnroll + static_cast<long long>(threadIdx.x) * kWidth; first < whole; first += gridDim.x * kStep * kUnroll) {
    Inputs<kWidth> in[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (first + u * kStep < whole) in[u] = fetch(std::integral_constant<int, kWidth>(), first + u * kStep);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (first + u * kStep < whole) visit(in[u], first + u * kStep);
  }
  if (blockIdx.x == 0 && threadIdx.x < count - whole) visit(fetch(std::integral_constant<int, 1>(), whole + threadIdx.x), whole + threadIdx.x);

{{#passes}}
{{#reductions}}
  __shared__ {{{type}}} {{name}}_scratch[kThreads / 32];
  const auto {{name}}_combine = []({{{type}}} a, {{{type}}} b) -> {{{type}}} { return {{{combined}}}; };
  {{name}} = reduce_block({{name}}, {{name}}_combine, {{name}}_scratch);
{{/reductions}}
  if (gridDim.x > 1) {
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
{{#reductions}}
      {{name}}_partial[blockIdx.x] = {{name}};
{{/reductions}}
      __threadfence();
      is_last = atomicAdd(&arrived, 1u) == gridDim.x - 1;
      __threadfence();
    }
    __syncthreads();
    if (!is_last) return;
{{#reductions}}
    {{name}} = {{{identity}}};
    for (unsigned b = threadIdx.x; b < gridDim.x; b += kThreads) {{name}} = {{name}}_combine({{name}}, {{name}}_partial[b]);
    __shared__ {{{type}}} {{name}}_last_scratch[kThreads / 32];
    {{name}} = reduce_block({{name}}, {{name}}_combine, {{name}}_last_scratch);
{{/reductions}}
    if (threadIdx.x == 0) arrived = 0;
  }
{{/passes}}
  if (threadIdx.x == 0) {
    {{{row_lines}}}
  }
}

}  // namespace

extern "C" cudaError_t {{function}}({{{parameters}}}, cudaStream_t stream) {
  const long long count = {{{columns}}};
  const bool vectors = true{{#vector_pointers}} && aligned({{name}}, kVector * sizeof({{{type}}})){{/vector_pointers}};
  const long long per_block = static_cast<long long>(kThreads) * kUnroll * (vectors ? kVector : 1);
  const long long wanted = (count + per_block - 1) / per_block;
  const unsigned blocks = static_cast<unsigned>(wanted < 1 ? 1 : wanted < kMaxBlocks ? wanted : kMaxBlocks);
  if (vectors) reduce_kernel<kVector><<<blocks, kThreads, 0, stream>>>({{{arguments}}}, count);
  else reduce_kernel<1><<<blocks, kThreads, 0, stream>>>({{{arguments}}}, count);
  return cudaGetLastError();
}
