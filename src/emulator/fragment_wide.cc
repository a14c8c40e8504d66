#include "emulator/fragment_wide.h"

#ifndef __clang__   // GCC 12's own header leaves the ignored operand of unmasked intrinsics unset (its bug 105593)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <cstring>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2")
#endif
namespace kforge::emulator::avx512 {
namespace {

// Of the lanes 16 * part and on.
inline __m512i offsets_of_words(FragmentPlaces places, int part) {
  const __m512i groups = _mm512_add_epi32(_mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0), _mm512_set1_epi32(4 * part));
  const __m512i lanes = _mm512_set_epi32(3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0);
  return _mm512_add_epi32(_mm512_mullo_epi32(groups, _mm512_set1_epi32(places.group)), _mm512_mullo_epi32(lanes, _mm512_set1_epi32(places.lane)));
}

// Of the lanes 8 * part and on.
inline __m256i offsets_of_doubles(FragmentPlaces places, int part) {
  const __m256i groups = _mm256_add_epi32(_mm256_set_epi32(1, 1, 1, 1, 0, 0, 0, 0), _mm256_set1_epi32(2 * part)), lanes = _mm256_set_epi32(3, 2, 1, 0, 3, 2, 1, 0);
  return _mm256_add_epi32(_mm256_mullo_epi32(groups, _mm256_set1_epi32(places.group)), _mm256_mullo_epi32(lanes, _mm256_set1_epi32(places.lane)));
}

inline __m128i quad(const std::byte* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }
inline __m256i pair_of_quads(const std::byte* from, std::ptrdiff_t group) { return _mm256_inserti128_si256(_mm256_castsi128_si256(quad(from)), quad(from + group), 1); }

}  // namespace

void load_fragment(std::byte* slot, const std::byte* start, FragmentPlaces places, std::uint32_t element_bytes) {
  const std::ptrdiff_t group = places.group;
  if (element_bytes == 8) {
    for (int part = 0; part < 4; ++part) {
      const std::byte* const first = start + 2 * part * group;
      const __m512i words = places.lane == 8
          ? _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(first))), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(first + group)), 1)
          : _mm512_i32gather_epi64(offsets_of_doubles(places, part), start, 1);
      _mm512_storeu_si512(slot + 64 * part, words);
    }
    return;
  }
  for (int part = 0; part < 2; ++part) {
    const std::byte* const first = start + 4 * part * group;
    const __m512i words = places.lane == 4 ? _mm512_inserti64x4(_mm512_castsi256_si512(pair_of_quads(first, group)), pair_of_quads(first + 2 * group, group), 1)
                                           : _mm512_i32gather_epi32(offsets_of_words(places, part), start, 1);
    _mm512_storeu_si512(slot + 64 * part, words);
  }
}

void store_fragment(const std::byte* slot, std::byte* start, FragmentPlaces places, std::uint32_t element_bytes) {
  if (element_bytes == 8) {
    for (int part = 0; part < 4; ++part) _mm512_i32scatter_epi64(start, offsets_of_doubles(places, part), _mm512_loadu_si512(slot + 64 * part), 1);
    return;
  }
  for (int part = 0; part < 2; ++part) _mm512_i32scatter_epi32(start, offsets_of_words(places, part), _mm512_loadu_si512(slot + 64 * part), 1);
}

bool is_uniform(const std::byte* slot, std::uint32_t element_bytes) {
  const __m512i first = _mm512_loadu_si512(slot);
  const __m512i all = element_bytes == 8 ? _mm512_broadcastq_epi64(_mm512_castsi512_si128(first)) : _mm512_broadcastd_epi32(_mm512_castsi512_si128(first));
  __m512i difference = _mm512_xor_si512(first, all);
  for (std::uint32_t part = 1; part < element_bytes / 2; ++part) difference = _mm512_or_si512(difference, _mm512_xor_si512(_mm512_loadu_si512(slot + 64 * part), all));
  return _mm512_test_epi64_mask(difference, difference) == 0;
}

}  // namespace kforge::emulator::avx512
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
namespace kforge::emulator::avx2 {
namespace {

inline __m256i load(const std::byte* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
inline void store(std::byte* to, __m256i x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), x); }
inline __m128i load_half(const std::byte* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }
inline void store_half(std::byte* to, __m128i x) { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), x); }

}  // namespace

void load_fragment(std::byte* slot, const std::byte* start, FragmentPlaces places, std::uint32_t element_bytes) {
  const std::ptrdiff_t group = places.group;
  const __m128i each = _mm_mullo_epi32(_mm_set_epi32(3, 2, 1, 0), _mm_set1_epi32(places.lane));
  if (element_bytes == 8) {
    for (std::ptrdiff_t g = 0; g < 8; ++g) {
      const std::byte* const first = start + g * group;
      store(slot + 32 * g, places.lane == 8 ? load(first) : _mm256_i32gather_epi64(reinterpret_cast<const long long*>(first), each, 1));
    }
    return;
  }
  for (std::ptrdiff_t g = 0; g < 8; g += 2) {
    const std::byte* const first = start + g * group;
    const __m128i row = places.lane == 4 ? load_half(first) : _mm_i32gather_epi32(reinterpret_cast<const int*>(first), each, 1);
    const __m128i next = places.lane == 4 ? load_half(first + group) : _mm_i32gather_epi32(reinterpret_cast<const int*>(first + group), each, 1);
    store(slot + 16 * g, _mm256_inserti128_si256(_mm256_castsi128_si256(row), next, 1));
  }
}

void store_fragment(const std::byte* slot, std::byte* start, FragmentPlaces places, std::uint32_t element_bytes) {
  const auto size = static_cast<std::ptrdiff_t>(element_bytes);
  for (std::ptrdiff_t g = 0; g < 8; ++g) {
    std::byte* const first = start + g * places.group;
    const std::byte* const row = slot + 4 * size * g;
    if (places.lane == size && size == 8) store(first, load(row));
    else if (places.lane == size) store_half(first, load_half(row));
    else
      for (std::ptrdiff_t lane = 0; lane < 4; ++lane) std::memcpy(first + lane * places.lane, row + lane * size, element_bytes);
  }
}

bool is_uniform(const std::byte* slot, std::uint32_t element_bytes) {
  const auto part_of = [&](std::uint32_t part) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(slot + 32 * part)); };
  const __m128i first = _mm256_castsi256_si128(part_of(0));
  const __m256i all = element_bytes == 8 ? _mm256_broadcastq_epi64(first) : _mm256_broadcastd_epi32(first);
  __m256i difference = _mm256_xor_si256(part_of(0), all);
  for (std::uint32_t part = 1; part < element_bytes; ++part) difference = _mm256_or_si256(difference, _mm256_xor_si256(part_of(part), all));
  return _mm256_testz_si256(difference, difference) != 0;
}

}  // namespace kforge::emulator::avx2
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
