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
constexpr int kUnroll = {{unroll}};
constexpr int kStream = {{stream}};

{{> pack}}

// Of a word as it was loaded; of bytes by one instruction.
template <class T, class Word>
__device__ __forceinline__ auto element(const Word& word, int e) {
  if constexpr (std::is_same_v<T, unsigned char> && sizeof(Word) >= 4) {
    unsigned words[sizeof(Word) / 4];
    memcpy(words, &word, sizeof words);
    return static_cast<int>(__byte_perm(words[e / 4], 0, 0x4440 | e % 4));
  } else {
    T all[sizeof(Word) / sizeof(T)];
    memcpy(all, &word, sizeof all);
    return all[e];
  }
}

// Kept as they were loaded: taken apart, bytes would have a register each, and be waited for where they are asked for.
template <int kWidth>
struct Inputs {
  static constexpr int kElements = kWidth;
{{#inputs}}
  typename Bits<kWidth * sizeof({{{type}}})>::type {{name}};
  __device__ __forceinline__ auto {{name}}_at(int e) const { return element<{{{type}}}>({{name}}, e); }
{{/inputs}}
};

__global__ void __launch_bounds__(kThreads) clear_kernel(Count* bins, int bin_count) {
  const int bin = blockIdx.x * kThreads + threadIdx.x;
  if (bin < bin_count) bins[bin] = 0;
}

template <int kWidth>
__global__ void __launch_bounds__(kThreads, {{blocks_per_sm}}) histogram_kernel({{{kernel_parameters}}}, long long count, int bin_count) {
  extern __shared__ Count counts[];
  for (int i = threadIdx.x; i < bin_count * kCopies; i += kThreads) counts[i] = 0;
  __syncthreads();
  {{{uniform_loads}}}
  // Known at run time only: additions of a constant 1 have an instruction of their own.
  [[maybe_unused]] const Count one = static_cast<Count>(count > 0);
  const auto fetch = [&](auto width, long long first) {
    Inputs<decltype(width)::value> in;
{{#inputs}}
    in.{{name}} = load_word_once(reinterpret_cast<const decltype(in.{{name}})*>({{name}} + first));
{{/inputs}}
    return in;
  };
  // Of this lane's copy of bin 0, in 32 bits that the compiler does not take apart: a bin's address is one multiplication and addition.
  unsigned own = static_cast<unsigned>(__cvta_generic_to_shared(counts + threadIdx.x % kCopies));
  asm volatile("" : "+r"(own));
  const auto visit = [&](const auto& in, [[maybe_unused]] long long first) {
#pragma unroll
    for (int e = 0; e < std::decay_t<decltype(in)>::kElements; ++e) {
      {{{inside}}}
      atomicAdd(reinterpret_cast<Count*>(__cvta_shared_to_generic(own + static_cast<unsigned>({{{bin}}}) * (kCopies * sizeof(Count)))), {{^is_count}}static_cast<Count>({{{weight}}}){{/is_count}}{{#is_count}}{{#add_is_0}}1{{/add_is_0}}{{#add_is_1}}one{{/add_is_1}}{{/is_count}});
    }
  };
  const long long whole = count - count % kWidth;
  // The next elements are on their way while these are counted.
  constexpr long long kStep = static_cast<long long>(kThreads) * kWidth;
  const long long stride = gridDim.x * kStep * kUnroll;
  Inputs<kWidth> in[kUnroll], next[kUnroll];
  const auto fetch_all = [&](Inputs<kWidth> (&to)[kUnroll], long long first) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (first + u * kStep < whole) to[u] = fetch(std::integral_constant<int, kWidth>(), first + u * kStep);
  };
  long long first = blockIdx.x * kStep * kUnroll + static_cast<long long>(threadIdx.x) * kWidth;
  fetch_all(in, first);
  for (; first < whole; first += stride) {
    fetch_all(next, first + stride);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (first + u * kStep < whole) visit(in[u], first + u * kStep);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) in[u] = next[u];
  }
  if (blockIdx.x == 0 && threadIdx.x < count - whole) visit(fetch(std::integral_constant<int, 1>(), whole + threadIdx.x), whole + threadIdx.x);
  __syncthreads();
  // The copies of a bin are read in turns, so that lanes meet different banks.
  for (int bin = threadIdx.x; bin < bin_count; bin += kThreads) {
    Count sum = 0;
#pragma unroll 8
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
  const long long per_block = static_cast<long long>(kThreads) * kUnroll * (vectors ? kVector : 1);
  const long long wanted = (count + per_block - 1) / per_block;
  const unsigned blocks = static_cast<unsigned>(wanted < kMaxBlocks ? wanted : kMaxBlocks);
  const std::size_t bytes = static_cast<std::size_t>(bin_count) * kCopies * sizeof(Count);
  if (vectors) histogram_kernel<kVector><<<blocks, kThreads, bytes, stream>>>({{{arguments}}}, count, bin_count);
  else histogram_kernel<1><<<blocks, kThreads, bytes, stream>>>({{{arguments}}}, count, bin_count);
  return cudaGetLastError();
}
