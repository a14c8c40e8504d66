// One pass: each thread loads its vectors of every operand before the first use, computes, and stores. What is left after whole
// vectors goes by single elements.
{{{headers}}}

#include <cstring>
#include <type_traits>

namespace {

using Real = {{{real}}};
constexpr int kThreads = {{threads}};
constexpr int kVector = {{vector}};
constexpr int kUnroll = {{unroll}};
constexpr int kStream = {{stream}};

{{> pack}}

template <int kWidth>
struct Inputs {
  static constexpr int kElements = kWidth;
{{#inputs}}
  Pack<{{{type}}}, kWidth> {{name}};
{{/inputs}}
};

template <int kWidth>
__global__ void __launch_bounds__(kThreads) elementwise_kernel({{{kernel_parameters}}}, long long count) {
  const auto fetch = [&](auto width, [[maybe_unused]] long long first) {
    Inputs<decltype(width)::value> in;
{{#inputs}}
    in.{{name}} = {{{load}}}<decltype(width)::value>({{name}} + {{{offset}}});
{{/inputs}}
    return in;
  };
  {{{uniform_loads}}}
  const auto visit = [&](const auto& in, long long first) {
    constexpr int kElements = std::decay_t<decltype(in)>::kElements;
    {{{packs}}}
#pragma unroll
    for (int e = 0; e < kElements; ++e) {
      {{{inside}}}
    }
    {{{writes}}}
  };
  constexpr long long kStep = static_cast<long long>(kThreads) * kWidth;
  const long long whole = count - count % kWidth;
  const long long own = blockIdx.x * kStep * kUnroll + static_cast<long long>(threadIdx.x) * kWidth;
  Inputs<kWidth> in[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u)
    if (own + u * kStep < whole) in[u] = fetch(std::integral_constant<int, kWidth>(), own + u * kStep);
#pragma unroll
  for (int u = 0; u < kUnroll; ++u)
    if (own + u * kStep < whole) visit(in[u], own + u * kStep);
  if (blockIdx.x == 0 && threadIdx.x < count - whole) visit(fetch(std::integral_constant<int, 1>(), whole + threadIdx.x), whole + threadIdx.x);
}

}  // namespace

extern "C" cudaError_t {{function}}({{{parameters}}}, cudaStream_t stream) {
  const long long count = {{{count}}};
  if (count == 0) return cudaSuccess;
  const bool vectors = {{{period}}} % kVector == 0{{#pointers}} && aligned({{name}}, kVector * sizeof({{{type}}})){{/pointers}};
  const long long per_block = static_cast<long long>(kThreads) * kUnroll * (vectors ? kVector : 1);
  const unsigned blocks = static_cast<unsigned>((count + per_block - 1) / per_block);
  if (vectors) elementwise_kernel<kVector><<<blocks, kThreads, 0, stream>>>({{{arguments}}}, count);
  else elementwise_kernel<1><<<blocks, kThreads, 0, stream>>>({{{arguments}}}, count);
  return cudaGetLastError();
}
