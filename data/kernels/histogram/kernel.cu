// Each block counts in shared memory and adds its counts to the output once. The counts exist in copies that lie side by side, a lane
// using its own modulo their number, so that equal values of neighbouring lanes do not meet; with 32 copies every lane has a bank of
// its own.
{{{headers}}}

#include <cstring>
#include <type_traits>

namespace {

using Real = {{{real}}};
using Count = {{{count_type}}};
constexpr int kThreads = {{threads}};
constexpr int kCopies = {{copies}};
constexpr int kVector = {{vector}};
constexpr int kMaxBlocks = {{sheet_multiprocessors}} * {{blocks_per_sm}};
constexpr bool kStream = false;

{{> pack}}

template <int kWidth>
struct Inputs {
  static constexpr int kElements = kWidth;
{{#inputs}}
  Pack<{{{type}}}, kWidth> {{name}};
{{/inputs}}
};

__global__ void __launch_bounds__(kThreads) clear_kernel(Count* bins, int bin_count) {
  const int bin = blockIdx.x * kThreads + threadIdx.x;
  if (bin < bin_count) bins[bin] = 0;
}

template <int kWidth>
__global__ void __launch_bounds__(kThreads) histogram_kernel({{{kernel_parameters}}}, long long count, int bin_count) {
  extern __shared__ Count counts[];
  for (int i = threadIdx.x; i < bin_count * kCopies; i += kThreads) counts[i] = 0;
  __syncthreads();
  {{{uniform_loads}}}
  const auto fetch = [&](auto width, long long first) {
    Inputs<decltype(width)::value> in;
{{#inputs}}
    in.{{name}} = load<decltype(width)::value>({{name}} + first);
{{/inputs}}
    return in;
  };
  const auto visit = [&](const auto& in, [[maybe_unused]] long long first) {
#pragma unroll
    for (int e = 0; e < std::decay_t<decltype(in)>::kElements; ++e) {
      {{{inside}}}
      atomicAdd(&counts[static_cast<int>({{{bin}}}) * kCopies + threadIdx.x % kCopies], static_cast<Count>({{{weight}}}));
    }
  };
  const long long whole = count - count % kWidth;
  const long long step = static_cast<long long>(gridDim.x) * kThreads * kWidth;
  for (long long first = (static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x) * kWidth; first < whole; first += step) visit(fetch(std::integral_constant<int, kWidth>(), first), first);
  if (blockIdx.x == 0 && threadIdx.x < count - whole) visit(fetch(std::integral_constant<int, 1>(), whole + threadIdx.x), whole + threadIdx.x);
  __syncthreads();
  // The copies of a bin are read in turns, so that lanes meet different banks.
  for (int bin = threadIdx.x; bin < bin_count; bin += kThreads) {
    Count sum = 0;
#pragma unroll
    for (int c = 0; c < kCopies; ++c) sum += counts[bin * kCopies + (c + threadIdx.x) % kCopies];
    if (sum != 0) atomicAdd(&{{out}}[bin], sum);
  }
}

}  // namespace

extern "C" cudaError_t {{function}}({{{parameters}}}, cudaStream_t stream) {
  const long long count = {{{count}}};
  const int bin_count = static_cast<int>({{{bins}}});
  if (bin_count == 0) return cudaSuccess;
{{#clears}}
  clear_kernel<<<(bin_count + kThreads - 1) / kThreads, kThreads, 0, stream>>>({{out}}, bin_count);
{{/clears}}
  if (count == 0) return cudaGetLastError();
  const bool vectors = true{{#inputs}} && aligned({{name}}, kVector * sizeof({{{type}}})){{/inputs}};
  const long long per_block = static_cast<long long>(kThreads) * (vectors ? kVector : 1);
  const long long wanted = (count + per_block - 1) / per_block;
  const unsigned blocks = static_cast<unsigned>(wanted < kMaxBlocks ? wanted : kMaxBlocks);
  const std::size_t bytes = static_cast<std::size_t>(bin_count) * kCopies * sizeof(Count);
  if (vectors) histogram_kernel<kVector><<<blocks, kThreads, bytes, stream>>>({{{arguments}}}, count, bin_count);
  else histogram_kernel<1><<<blocks, kThreads, bytes, stream>>>({{{arguments}}}, count, bin_count);
  return cudaGetLastError();
}
