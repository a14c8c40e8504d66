// Small integers, two in a register as halves: exact while each result lies within -2048 and 2048. The same operations of plain integers
// stand beside them.
struct Pair {
  unsigned bits = 0;
};
constexpr unsigned half_bits(int value) {   // of an integer of at most 2048
  unsigned magnitude = value < 0 ? -value : value, exponent = 0;
  if (magnitude == 0) return 0;
  while (magnitude >> (exponent + 1) != 0) ++exponent;
  return (value < 0 ? 0x8000u : 0u) | (exponent + 15) << 10 | ((magnitude << 10 >> exponent) & 0x3ffu);
}
template <int kValue>
constexpr unsigned kBoth = half_bits(kValue) | half_bits(kValue) << 16;

template <class Value, int kValue>
[[maybe_unused]] __device__ __forceinline__ Value number() {
  if constexpr (std::is_same_v<Value, Pair>) return Pair{kBoth<kValue>};
  else return kValue;
}
[[maybe_unused]] __device__ __forceinline__ int add(int a, int b) { return a + b; }
[[maybe_unused]] __device__ __forceinline__ int subtract(int a, int b) { return a - b; }
[[maybe_unused]] __device__ __forceinline__ int absolute(int a) { return abs(a); }
[[maybe_unused]] __device__ __forceinline__ int least(int a, int b) { return min(a, b); }
[[maybe_unused]] __device__ __forceinline__ int greatest(int a, int b) { return max(a, b); }
template <int kFactor>
[[maybe_unused]] __device__ __forceinline__ int fused(int a, int b) {
  return kFactor * a + b;
}
[[maybe_unused]] __device__ __forceinline__ Pair add(Pair a, Pair b) {
  Pair out;
  asm("add.f16x2 %0, %1, %2;" : "=r"(out.bits) : "r"(a.bits), "r"(b.bits));
  return out;
}
[[maybe_unused]] __device__ __forceinline__ Pair subtract(Pair a, Pair b) {
  Pair out;   // sub.f16x2 would become two instructions
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(out.bits) : "r"(b.bits), "r"(kBoth<-1>), "r"(a.bits));
  return out;
}
[[maybe_unused]] __device__ __forceinline__ Pair absolute(Pair a) {
  Pair out;
  asm("abs.f16x2 %0, %1;" : "=r"(out.bits) : "r"(a.bits));
  return out;
}
[[maybe_unused]] __device__ __forceinline__ Pair least(Pair a, Pair b) {
  Pair out;
  asm("min.f16x2 %0, %1, %2;" : "=r"(out.bits) : "r"(a.bits), "r"(b.bits));
  return out;
}
[[maybe_unused]] __device__ __forceinline__ Pair greatest(Pair a, Pair b) {
  Pair out;
  asm("max.f16x2 %0, %1, %2;" : "=r"(out.bits) : "r"(a.bits), "r"(b.bits));
  return out;
}
template <int kFactor>
[[maybe_unused]] __device__ __forceinline__ Pair fused(Pair a, Pair b) {
  Pair out;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(out.bits) : "r"(a.bits), "r"(kBoth<kFactor>), "r"(b.bits));
  return out;
}

// 0x6400 is 1024, whose last bits count ones: a byte in its lower half is 1024 more than itself.
[[maybe_unused]] __device__ __forceinline__ Pair without_bias(unsigned bits) { return add(Pair{bits}, Pair{kBoth<-1024>}); }
[[maybe_unused]] __device__ __forceinline__ Pair pair_of(int low, int high) { return without_bias((static_cast<unsigned>(low) | static_cast<unsigned>(high) << 16) + 0x64006400u); }

// Elements k and k + N / 2 make pair k, so that the neighbours of a pair are pairs. REQUIRES: bytes, N of 8 or 16.
template <int N, class Word>
__device__ __forceinline__ void unpack_pairs(const Word& word, Pair (&pairs)[N / 2]) {
  unsigned words[N / 4];
  memcpy(words, &word, sizeof words);
#pragma unroll
  for (int w = 0; w < N / 8; ++w) {
    const unsigned even[2] = {__byte_perm(words[w], 0x64646464u, 0x4240), __byte_perm(words[w + N / 8], 0x64646464u, 0x4240)};
    const unsigned odd[2] = {__byte_perm(words[w], 0x64646464u, 0x4341), __byte_perm(words[w + N / 8], 0x64646464u, 0x4341)};
    pairs[4 * w] = without_bias(__byte_perm(even[0], even[1], 0x5410));
    pairs[4 * w + 1] = without_bias(__byte_perm(odd[0], odd[1], 0x5410));
    pairs[4 * w + 2] = without_bias(__byte_perm(even[0], even[1], 0x7632));
    pairs[4 * w + 3] = without_bias(__byte_perm(odd[0], odd[1], 0x7632));
  }
}
template <class T, int N>
[[maybe_unused]] __device__ __forceinline__ void pack_pairs(const Pair (&pairs)[N / 2], Pack<T, N>& pack) {
  unsigned words[N / 4], biased[N / 2];
#pragma unroll
  for (int k = 0; k < N / 2; ++k) biased[k] = add(pairs[k], Pair{kBoth<1024>}).bits;
#pragma unroll
  for (int w = 0; w < N / 8; ++w) {
    const unsigned a = __byte_perm(biased[4 * w], biased[4 * w + 1], 0x6240), b = __byte_perm(biased[4 * w + 2], biased[4 * w + 3], 0x6240);
    words[w] = __byte_perm(a, b, 0x5410);
    words[w + N / 8] = __byte_perm(a, b, 0x7632);
  }
  memcpy(&pack, words, sizeof words);
}
