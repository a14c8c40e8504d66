// A row is read once into registers and reduced by shuffles; what depends on the whole row is then computed from the registers. Rows that
// do not fit are read again for each pass, and rows that are no multiple of the vector go by single elements.
{{{headers}}}

#include <cstring>

namespace {

using Real = {{{real}}};
constexpr int kThreads = {{threads}};
constexpr int kGroup = {{group}};   // threads that share a row: whole warps
constexpr int kRows = kThreads / kGroup;   // of a block
constexpr int kVector = {{vector}};
constexpr int kPacks = {{packs}};
constexpr bool kStream = {{stream}} == 1;

{{> pack}}

{{#has_arg}}
{{> best}}

{{/has_arg}}
template <class T>
__device__ __forceinline__ T exchanged(T own, int offset) {
  return __shfl_xor_sync(0xffffffffu, own, offset);
}

// Over the threads of a row; all of them get the result. Each call of a block has a `scratch` of its own, a part of it for each row.
template <class T, class Op>
__device__ __forceinline__ T reduce_group(T value, Op op, T* scratch) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value = op(value, exchanged(value, offset));
  if constexpr (kGroup > 32) {
    constexpr int kWarps = kGroup / 32;
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
    __syncthreads();
    value = scratch[threadIdx.x / kGroup * kWarps + threadIdx.x % kWarps];
#pragma unroll
    for (int offset = kWarps / 2; offset > 0; offset /= 2) value = op(value, exchanged(value, offset));
  }
  return value;
}

template <int kWidth>
struct Inputs {
{{#element_inputs}}
  Pack<{{{type}}}, kWidth> {{name}};
{{/element_inputs}}
};

template <int kWidth, int kCount, bool kResident>
__global__ void __launch_bounds__(kThreads) row_kernel({{{kernel_parameters}}}, long long row_count, long long column_count) {
  const long long row = static_cast<long long>(blockIdx.x) * kRows + threadIdx.x / kGroup;
  if (row >= row_count) return;
  const long long base = row * column_count;
  const int lane = threadIdx.x % kGroup;
  const auto fetch = [&](long long column) {
    Inputs<kWidth> in;
{{#element_inputs}}
    in.{{name}} = load<kWidth>({{name}} + base + column);
{{/element_inputs}}
    return in;
  };
  [[maybe_unused]] Inputs<kWidth> kept[kCount];
  if constexpr (kResident) {
#pragma unroll
    for (int p = 0; p < kCount; ++p) {
      const int column = (p * kGroup + lane) * kWidth;
      if (column < column_count) kept[p] = fetch(column);
    }
  }
  const auto each = [&](auto&& visit) {
    if constexpr (kResident) {
#pragma unroll
      for (int p = 0; p < kCount; ++p) {
        const int column = (p * kGroup + lane) * kWidth;
        if (column < column_count) visit(kept[p], static_cast<long long>(column));
      }
    } else {
      for (long long column = static_cast<long long>(lane) * kWidth; column < column_count; column += kGroup * kWidth) visit(fetch(column), column);
    }
  };
  {{{uniform_loads}}}

{{#passes}}
{{#reductions}}
  {{{type}}} {{name}} = {{{identity}}};
{{/reductions}}
  {
    {{{uniform}}}
    each([&](const Inputs<kWidth>& in, [[maybe_unused]] long long column) {
      {{{column_packs}}}
#pragma unroll
      for (int e = 0; e < kWidth; ++e) {
        {{{inside}}}
      }
    });
  }
{{#reductions}}
  __shared__ {{{type}}} {{name}}_scratch[kThreads / 32];
  {{name}} = reduce_group({{name}}, []({{{type}}} a, {{{type}}} b) -> {{{type}}} { return {{{combined}}}; }, {{name}}_scratch);
{{/reductions}}

{{/passes}}
{{#has_rows}}
  if (lane == 0) {
    {{{row_lines}}}
  }
{{/has_rows}}
{{#has_elements}}
  {{{output_uniform}}}
  each([&](const Inputs<kWidth>& in, [[maybe_unused]] long long column) {
      {{{output_column_packs}}}
      {{{output_packs}}}
#pragma unroll
      for (int e = 0; e < kWidth; ++e) {
        {{{output_inside}}}
      }
      {{{output_writes}}}
  });
{{/has_elements}}
}

}  // namespace

extern "C" cudaError_t {{function}}({{{parameters}}}, cudaStream_t stream) {
  const long long row_count = {{{rows}}}, column_count = {{{columns}}};
  if (row_count == 0) return cudaSuccess;
  const unsigned blocks = static_cast<unsigned>((row_count + kRows - 1) / kRows);
  const bool vectors = column_count % kVector == 0{{#vector_pointers}} && aligned({{name}}, kVector * sizeof({{{type}}})){{/vector_pointers}};
  constexpr long long kCapacity = static_cast<long long>(kGroup) * kVector * kPacks;
  if (vectors && column_count <= kCapacity) row_kernel<kVector, kPacks, true><<<blocks, kThreads, 0, stream>>>({{{arguments}}}, row_count, column_count);
  else if (vectors) row_kernel<kVector, 1, false><<<blocks, kThreads, 0, stream>>>({{{arguments}}}, row_count, column_count);
  else if (column_count <= kCapacity) row_kernel<1, kPacks * kVector, true><<<blocks, kThreads, 0, stream>>>({{{arguments}}}, row_count, column_count);
  else row_kernel<1, 1, false><<<blocks, kThreads, 0, stream>>>({{{arguments}}}, row_count, column_count);
  return cudaGetLastError();
}
