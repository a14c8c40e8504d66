// SplitMix64 and the ziggurat's fast way, four numbers at once in the registers of AVX2, with the same operations as one by one. Nothing inline of
// others is used here: it would be compiled for AVX2 and might be taken elsewhere.

#include "task/random_avx2.h"

#include <immintrin.h>

namespace kforge::task {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;

__m256i all(std::uint64_t x) { return _mm256_set1_epi64x(static_cast<long long>(x)); }

// The low 64 bits of products, out of 32-bit ones.
__m256i product(__m256i a, __m256i b) {
  const __m256i crossed = _mm256_mullo_epi32(a, _mm256_shuffle_epi32(b, 0xb1));
  const __m256i high = _mm256_add_epi32(_mm256_slli_epi64(crossed, 32), _mm256_and_si256(crossed, all(0xffffffff00000000u)));
  return _mm256_add_epi64(_mm256_mul_epu32(a, b), high);
}

__m256i mixed(__m256i x) {
  x = product(_mm256_xor_si256(x, _mm256_srli_epi64(x, 30)), all(0xbf58476d1ce4e5b9u));
  x = product(_mm256_xor_si256(x, _mm256_srli_epi64(x, 27)), all(0x94d049bb133111ebu));
  return _mm256_xor_si256(x, _mm256_srli_epi64(x, 31));
}

// The upper 53 bits times 2^-53. Both halves are exact, and so is their sum: the exponents of 2^84 and 2^52 stand above their bits.
__m256d unit(__m256i bits) {
  const __m256i x = _mm256_srli_epi64(bits, 11);
  const __m256d high = _mm256_castsi256_pd(_mm256_or_si256(_mm256_srli_epi64(x, 32), all(0x4530000000000000u)));
  const __m256d low = _mm256_castsi256_pd(_mm256_blend_epi32(all(0x4330000000000000u), x, 0x55));
  const __m256d whole = _mm256_add_pd(_mm256_sub_pd(high, _mm256_set1_pd(0x1.00000001p84)), low);
  return _mm256_mul_pd(whole, _mm256_set1_pd(0x1p-53));
}

// What is mixed for `first` and the three indices after it.
__m256i start_of(std::uint64_t key, std::uint64_t first) {
  const std::uint64_t at = key + (first + 1) * kGolden;
  return _mm256_add_epi64(all(at), _mm256_set_epi64x(static_cast<long long>(3 * kGolden), static_cast<long long>(2 * kGolden), static_cast<long long>(kGolden), 0));
}

}  // namespace

std::size_t units_avx2(std::uint64_t key, std::uint64_t first, std::size_t count, double* out) {
  __m256i at = start_of(key, first);
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4, at = _mm256_add_epi64(at, all(4 * kGolden))) _mm256_storeu_pd(out + i, unit(mixed(at)));
  return i;
}

std::size_t normals_avx2(std::uint64_t key, std::uint64_t first, const double* edges, double* out, std::uint32_t* slow) {
  __m256i at = start_of(key, first);
  std::size_t found = 0;
  for (std::size_t i = 0; i < kWideRun; i += 4, at = _mm256_add_epi64(at, all(4 * kGolden))) {
    const __m256i bits = mixed(at), layer = _mm256_and_si256(bits, all(255));
    const __m256d x = _mm256_mul_pd(unit(bits), _mm256_i64gather_pd(edges, layer, 8));
    const int fast = _mm256_movemask_pd(_mm256_cmp_pd(x, _mm256_i64gather_pd(edges + 1, layer, 8), _CMP_LT_OQ));
    const __m256d sign = _mm256_castsi256_pd(_mm256_and_si256(_mm256_slli_epi64(bits, 55), all(0x8000000000000000u)));   // of bit 8
    _mm256_storeu_pd(out + i, _mm256_or_pd(x, sign));
    if (fast == 15) continue;
    for (std::uint32_t lane = 0; lane < 4; ++lane)
      if ((fast >> lane & 1) == 0) slow[found++] = static_cast<std::uint32_t>(i) + lane;
  }
  return found;
}

}  // namespace kforge::task
