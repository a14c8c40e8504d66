#include "emulator/matrix_wide.h"

#ifndef __clang__   // GCC 12's own header leaves the ignored operand of unmasked intrinsics unset (its bug 105593)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <algorithm>
#include <utility>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")
#endif
namespace kforge::emulator::avx512 {
namespace {

using ptx::Type;

constexpr int kTowardsZero = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
// A panel is 8 neighbours along K: for each of the 4 lanes of a row two elements. Row groups: 4 rows, two for each half of the tile.
constexpr std::size_t kMostPanels = 2, kMostGroups = 4;

// Calls with the numbers 0 to kCount - 1 as constants: shuffles want them so.
template <std::size_t... kIndex, class Body>
inline void with_each(std::index_sequence<kIndex...>, Body&& body) { (body(std::integral_constant<int, static_cast<int>(kIndex)>{}), ...); }
template <std::size_t kCount, class Body>
inline void with_each(Body&& body) { with_each(std::make_index_sequence<kCount>{}, body); }

template <int kLane> inline __m512 of_lane(__m512 x) { return _mm512_permute_ps(x, kLane * 0x55); }
template <int kLane> inline __m512i of_lane(__m512i x) { return _mm512_shuffle_epi32(x, static_cast<_MM_PERM_ENUM>(kLane * 0x55)); }

inline __m512i load(const std::byte* slot, std::size_t part) { return _mm512_loadu_si512(slot + 64 * part); }
inline __m512i magnitude(__m512 x) { return _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff)); }

// Of B's register: where the columns 2j + odd of lane `lane` of a row lie, for every row of four.
inline __m512i columns_of(int lane, int odd) {
  return _mm512_add_epi32(_mm512_set_epi32(24, 16, 8, 0, 24, 16, 8, 0, 24, 16, 8, 0, 24, 16, 8, 0), _mm512_set1_epi32(4 * odd + lane));
}

// ---- floats ----------------------------------------------------------------------------------------------------------

struct Floats {
  std::size_t panels = 0, groups = 0, panels_in_block = 0;
  __m512 a[kMostPanels][2][kMostGroups];
  __m512 b[kMostPanels][2][2];         // natural order: panel, element, columns 0 to 3 and 4 to 7
  __m512 columns[kMostPanels][4][2][2];   // panel, lane of the row, element, odd columns
  __m512 c[kMostGroups][2];            // even and odd columns
};

// Element `e` of each lane of a register of f16 or bf16, or the register of tf32.
inline __m512 element(Type type, __m512i bits, int e) {
  if (type == Type::f16) return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(e == 0 ? bits : _mm512_srli_epi32(bits, 16)));
  if (type == Type::bf16) return _mm512_castsi512_ps(e == 0 ? _mm512_slli_epi32(bits, 16) : _mm512_and_si512(bits, _mm512_set1_epi32(-65536)));
  return _mm512_castsi512_ps(_mm512_and_si512(bits, _mm512_set1_epi32(-8192)));   // tf32: the low 13 bits are not looked at
}

// The register along K of a panel's element: one register's elements, or (tf32) those of two.
inline std::size_t chunk_of(const MatrixTile& tile, std::size_t panel, std::size_t e) { return tile.a_type != Type::tf32 ? panel : 2 * panel + e; }

void read_rows(const MatrixTile& tile, Floats& x) {
  for (std::size_t p = 0; p < x.panels; ++p)
    for (std::size_t e = 0; e < 2; ++e)
      for (std::size_t g = 0; g < kMostGroups; ++g)
        x.a[p][e][g] = g < x.groups ? element(tile.a_type, load(tile.a[tile.halves * chunk_of(tile, p, e) + g / 2], g % 2), static_cast<int>(e)) : _mm512_setzero_ps();
}

void read_columns(const MatrixTile& tile, Floats& x) {
  for (std::size_t p = 0; p < x.panels; ++p)
    for (std::size_t e = 0; e < 2; ++e) {
      const std::size_t chunk = chunk_of(tile, p, e);
      for (std::size_t part = 0; part < 2; ++part) x.b[p][e][part] = element(tile.b_type, load(tile.b[chunk], part), static_cast<int>(e));
    }
  for (int lane = 0; lane < 4; ++lane)
    for (int odd = 0; odd < 2; ++odd) {
      const __m512i places = columns_of(lane, odd);
      for (std::size_t p = 0; p < x.panels; ++p)
        for (std::size_t e = 0; e < 2; ++e) x.columns[p][lane][e][odd] = _mm512_permutex2var_ps(x.b[p][e][0], places, x.b[p][e][1]);
    }
  for (std::size_t g = 0; g < x.groups; ++g)
    for (std::size_t odd = 0; odd < 2; ++odd)
      x.c[g][odd] = tile.c_is_half ? element(Type::f16, load(tile.c[g / 2], g % 2), static_cast<int>(odd)) : _mm512_castsi512_ps(load(tile.c[2 * (g / 2) + odd], g % 2));
}

void write(const MatrixTile& tile, const Floats& x) {
  for (std::size_t g = 0; g < x.groups; ++g) {
    const auto lanes = static_cast<__mmask16>(tile.written >> 16 * (g % 2));
    if (tile.d_is_half) {
      const __m512i even = _mm512_cvtepu16_epi32(_mm512_cvtps_ph(x.c[g][0], _MM_FROUND_TO_NEAREST_INT)), odd = _mm512_cvtepu16_epi32(_mm512_cvtps_ph(x.c[g][1], _MM_FROUND_TO_NEAREST_INT));
      _mm512_mask_storeu_epi32(tile.d[g / 2] + 64 * (g % 2), lanes, _mm512_or_si512(even, _mm512_slli_epi32(odd, 16)));
      continue;
    }
    for (std::size_t odd = 0; odd < 2; ++odd) _mm512_mask_storeu_ps(tile.d[2 * (g / 2) + odd] + 64 * (g % 2), lanes, x.c[g][odd]);
  }
}

inline __m512 as_half(__m512 x) { return _mm512_cvtph_ps(_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT)); }

// Of values: whether all are whole numbers, and the largest magnitude.
struct Extent {
  __mmask16 fractions;
  __m512i most;
  inline Extent() : fractions(0), most(_mm512_setzero_si512()) {}   // written out: an implicit one is not compiled for AVX-512
  inline void add(__m512 x) {
    most = _mm512_max_epi32(most, magnitude(x));
    fractions = static_cast<__mmask16>(fractions | _mm512_cmp_ps_mask(x, _mm512_cvtepi32_ps(_mm512_cvttps_epi32(x)), _CMP_NEQ_UQ));
  }
  inline bool below(float bound) const { return _mm512_cmpge_epi32_mask(most, _mm512_castps_si512(_mm512_set1_ps(bound))) == 0; }
  inline bool is_small_and_whole() const { return fractions == 0 && below(256); }   // 16 products: below 2^20
  inline int largest_exponent() const { return (_mm512_reduce_max_epi32(most) >> 23) - 127; }
};

// Small whole numbers: matrix_kernel.inc says why their sums are exact, and when an accumulator with a fraction may be added to them.
bool add_whole_numbers(const MatrixTile& tile, Floats& x, const Extent& a) {
  Extent b, sums;
  for (std::size_t p = 0; p < x.panels; ++p)
    for (std::size_t e = 0; e < 2; ++e)
      for (std::size_t part = 0; part < 2; ++part) b.add(x.b[p][e][part]);
  if (!b.is_small_and_whole()) return false;
  for (std::size_t g = 0; g < x.groups; ++g)
    for (std::size_t odd = 0; odd < 2; ++odd) sums.add(x.c[g][odd]);
  if (!sums.below(0x1p21f)) return false;
  if (sums.fractions != 0) {
    if (x.panels != x.panels_in_block || tile.d_is_half) return false;
    const __m512i least = _mm512_set1_epi32((std::max(a.largest_exponent() + b.largest_exponent() - tile.model.fraction + 23, -126) + 127) << 23);
    for (std::size_t g = 0; g < x.groups; ++g)
      for (std::size_t odd = 0; odd < 2; ++odd) {
        const __m512i size = magnitude(x.c[g][odd]);
        if ((_mm512_cmplt_epi32_mask(size, least) & _mm512_test_epi32_mask(size, size)) != 0) return false;
      }
  }
  for (std::size_t first = 0; first < x.panels; first += x.panels_in_block) {
    __m512 sum[kMostGroups][2] = {};
    for (std::size_t p = first; p < first + x.panels_in_block; ++p)
      with_each<4>([&](auto lane) {
        for (std::size_t e = 0; e < 2; ++e)
          for (std::size_t g = 0; g < kMostGroups; ++g) {
            const __m512 row = of_lane<lane>(x.a[p][e][g]);
            for (std::size_t odd = 0; odd < 2; ++odd) sum[g][odd] = _mm512_fmadd_ps(row, x.columns[p][lane][e][odd], sum[g][odd]);
          }
      });
    for (std::size_t g = 0; g < x.groups; ++g)
      for (std::size_t odd = 0; odd < 2; ++odd) {
        x.c[g][odd] = _mm512_add_round_ps(x.c[g][odd], sum[g][odd], kTowardsZero);
        if (tile.d_is_half) x.c[g][odd] = as_half(x.c[g][odd]);
      }
  }
  return true;
}

// Of magnitudes, as far as they are not 0: how far above the least moderate one the furthest lies, those below it being far above. See
// is_moderate in matrix_kernel.inc.
struct Span {
  __m512i most;
  inline Span() : most(_mm512_setzero_si512()) {}   // written out, as Extent's
  inline void add(__m512 x) {
    const __m512i size = magnitude(x);
    most = _mm512_max_epu32(most, _mm512_maskz_sub_epi32(_mm512_test_epi32_mask(size, size), size, _mm512_set1_epi32(kModerateLeast)));
  }
  inline bool is_moderate() const { return _mm512_cmpge_epu32_mask(most, _mm512_set1_epi32(kModerateSpan)) == 0; }
};

// The same of pairs of 16 bits; every finite f16 is moderate.
struct PairSpan {
  __m512i most;
  inline PairSpan() : most(_mm512_setzero_si512()) {}
  inline void add(Type type, __m512i bits) {
    const __m512i size = _mm512_and_si512(bits, _mm512_set1_epi16(0x7fff));
    most = _mm512_max_epu16(most, type == Type::f16 ? size : _mm512_maskz_sub_epi16(_mm512_test_epi16_mask(size, size), size, _mm512_set1_epi16(kModerateLeast >> 16)));
  }
  inline bool is_moderate(Type type) const {
    return _mm512_cmpge_epu16_mask(most, _mm512_set1_epi16(type == Type::f16 ? 0x7c00 : kModerateSpan >> 16)) == 0;
  }
};

constexpr short kNoExponent = -2000;   // of 0: no sum of two can win with it

// Exponent fields as of f32, at least the smallest normal one.
inline __m512i exponents(__m512 x, int smallest) {
  const __m512i size = magnitude(x), field = _mm512_max_epi32(_mm512_srli_epi32(size, 23), _mm512_set1_epi32(smallest + 127));
  return _mm512_mask_blend_epi32(_mm512_test_epi32_mask(size, size), _mm512_set1_epi32(kNoExponent), field);
}
inline __m512i pair_up(__m512i first, __m512i second) { return _mm512_or_si512(_mm512_and_si512(first, _mm512_set1_epi32(0xffff)), _mm512_slli_epi32(second, 16)); }
// Of a register of f16 or bf16.
inline __m512i pair_exponents(Type type, __m512i bits) {
  const __m512i size = _mm512_and_si512(bits, _mm512_set1_epi16(0x7fff)), one = _mm512_set1_epi16(1);
  const __m512i field = type == Type::f16 ? _mm512_add_epi16(_mm512_max_epi16(_mm512_srli_epi16(size, 10), one), _mm512_set1_epi16(112)) : _mm512_max_epi16(_mm512_srli_epi16(size, 7), one);
  return _mm512_mask_blend_epi16(_mm512_test_epi16_mask(size, size), _mm512_set1_epi16(kNoExponent), field);
}

struct Exponents {   // of two elements a lane, 16 bits each
  bool has_rows = false, rows_are_moderate = false;
  __m512i a[kMostPanels][kMostGroups], columns[kMostPanels][4][2];
};

// The sum of two 32-bit halves cut off towards zero to 24 bits; `odd`: with the last bit set where something was cut off, so that
// rounding it again is as rounding the sum.
inline __m512 to_float(__m512i first, __m512i second, bool odd) {
  const __m512i one = _mm512_set1_epi32(1), zero = _mm512_setzero_si512();
  const __m512i sum = _mm512_add_epi32(first, second), lost = _mm512_and_si512(_mm512_xor_si512(first, second), one);
  __m512i half = _mm512_add_epi32(_mm512_add_epi32(_mm512_srai_epi32(first, 1), _mm512_srai_epi32(second, 1)), _mm512_and_si512(_mm512_and_si512(first, second), one));
  half = _mm512_mask_add_epi32(half, _mm512_cmplt_epi32_mask(half, zero), half, lost);
  const __mmask16 large = _mm512_cmpge_epi32_mask(_mm512_abs_epi32(half), _mm512_set1_epi32(1 << 29));
  const __m512i kept = _mm512_mask_blend_epi32(large, sum, half);
  __m512 result = _mm512_cvt_roundepi32_ps(kept, kTowardsZero);
  if (odd) {
    const auto inexact = static_cast<__mmask16>(_mm512_cmpneq_epi32_mask(_mm512_cvttps_epi32(result), kept) | (large & _mm512_test_epi32_mask(lost, lost)));
    result = _mm512_castsi512_ps(_mm512_mask_or_epi32(_mm512_castps_si512(result), inexact, _mm512_castps_si512(result), one));
  }
  return _mm512_mask_add_ps(result, large, result, result);
}

// One block of one row group, its even and its odd columns side by side: neither waits for the other's results.
template <std::size_t kPanels>
inline void add_block(const MatrixTile& tile, Floats& x, const Exponents& power, std::size_t first, std::size_t g) {
  constexpr int kLeastSum = 254 - 100;   // of a product 0; exponents of sums are those of floats with twice the bias
  __m512i pairs[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  with_each<4 * kPanels>([&](auto step) {
    const std::size_t p = first + step / 4;
    const __m512i row = of_lane<step % 4>(power.a[p][g]);
    for (std::size_t odd = 0; odd < 2; ++odd) pairs[odd] = _mm512_max_epi16(pairs[odd], _mm512_add_epi16(row, power.columns[p][step % 4][odd]));
  });
  __m512 scale[2], unit[2];
  __m512i sums[2][2];
  for (std::size_t odd = 0; odd < 2; ++odd) {
    __m512i top = _mm512_max_epi32(_mm512_srli_epi32(pairs[odd], 16), _mm512_and_si512(pairs[odd], _mm512_set1_epi32(0xffff)));
    top = _mm512_max_epi32(top, _mm512_add_epi32(_mm512_srli_epi32(magnitude(x.c[g][odd]), 23), _mm512_set1_epi32(127)));
    top = _mm512_max_epi32(top, _mm512_set1_epi32(kLeastSum));
    scale[odd] = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_sub_epi32(_mm512_set1_epi32(tile.model.fraction + 254 + 127), top), 23));
    unit[odd] = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_sub_epi32(top, _mm512_set1_epi32(tile.model.fraction + 127)), 23));
    sums[odd][0] = _mm512_cvttps_epi32(_mm512_mul_ps(x.c[g][odd], scale[odd]));
    sums[odd][1] = _mm512_setzero_si512();
  }
  with_each<8 * kPanels>([&](auto step) {
    constexpr std::size_t kPanel = step / 8, kLane = step / 2 % 4, kElement = step % 2;
    const __m512 row = of_lane<kLane>(x.a[first + kPanel][kElement][g]);
    for (std::size_t odd = 0; odd < 2; ++odd) {
      const __m512 product = _mm512_mul_ps(row, x.columns[first + kPanel][kLane][kElement][odd]);   // exact
      sums[odd][kPanel] = _mm512_add_epi32(sums[odd][kPanel], _mm512_cvttps_epi32(_mm512_mul_ps(product, scale[odd])));
    }
  });
  // Halves below 2^30 have a sum of 32 bits.
  const __m512i sizes = _mm512_or_si512(_mm512_or_si512(_mm512_abs_epi32(sums[0][0]), _mm512_abs_epi32(sums[0][1])), _mm512_or_si512(_mm512_abs_epi32(sums[1][0]), _mm512_abs_epi32(sums[1][1])));
  const bool is_short = !tile.d_is_half && _mm512_test_epi32_mask(sizes, _mm512_set1_epi32(-(1 << 30))) == 0;
  for (std::size_t odd = 0; odd < 2; ++odd) {
    const __m512 sum = is_short ? _mm512_cvt_roundepi32_ps(_mm512_add_epi32(sums[odd][0], sums[odd][1]), kTowardsZero) : to_float(sums[odd][0], sums[odd][1], tile.d_is_half);
    x.c[g][odd] = _mm512_mul_ps(sum, unit[odd]);
  }
}

void take_rows(const MatrixTile& tile, const Floats& x, Exponents& power) {
  power.has_rows = true;
  if (tile.a_type != Type::tf32) {
    PairSpan span;
    for (std::size_t p = 0; p < x.panels; ++p)
      for (std::size_t g = 0; g < x.groups; ++g) {
        const __m512i bits = load(tile.a[tile.halves * p + g / 2], g % 2);
        span.add(tile.a_type, bits);
        power.a[p][g] = pair_exponents(tile.a_type, bits);
      }
    power.rows_are_moderate = span.is_moderate(tile.a_type);
    return;
  }
  const int smallest = smallest_exponent(tile.a_type);
  Span span;
  for (std::size_t p = 0; p < x.panels; ++p)
    for (std::size_t g = 0; g < x.groups; ++g) {
      span.add(x.a[p][0][g]);
      span.add(x.a[p][1][g]);
      power.a[p][g] = pair_up(exponents(x.a[p][0][g], smallest), exponents(x.a[p][1][g], smallest));
    }
  power.rows_are_moderate = span.is_moderate();
}

// Whether B's values are moderate; their exponents.
bool take_columns(const MatrixTile& tile, const Floats& x, Exponents& power) {
  const int smallest = smallest_exponent(tile.b_type);
  const bool is_paired = tile.b_type != Type::tf32;
  Span span;
  PairSpan pairs;
  for (std::size_t p = 0; p < x.panels; ++p) {
    __m512i b[2];
    for (std::size_t part = 0; part < 2; ++part) {
      if (is_paired) {
        const __m512i bits = load(tile.b[p], part);
        pairs.add(tile.b_type, bits);
        b[part] = pair_exponents(tile.b_type, bits);
        continue;
      }
      span.add(x.b[p][0][part]);
      span.add(x.b[p][1][part]);
      b[part] = pair_up(exponents(x.b[p][0][part], smallest), exponents(x.b[p][1][part], smallest));
    }
    for (int lane = 0; lane < 4; ++lane)
      for (int odd = 0; odd < 2; ++odd) power.columns[p][lane][odd] = _mm512_permutex2var_epi32(b[0], columns_of(lane, odd), b[1]);
  }
  return is_paired ? pairs.is_moderate(tile.b_type) : span.is_moderate();
}

bool add_fractions(const MatrixTile& tile, Floats& x, Exponents& power) {
  if (!power.has_rows) take_rows(tile, x, power);
  if (!power.rows_are_moderate || !take_columns(tile, x, power)) return false;
  Span accumulators;
  for (std::size_t g = 0; g < x.groups; ++g)
    for (std::size_t odd = 0; odd < 2; ++odd) accumulators.add(x.c[g][odd]);
  if (!accumulators.is_moderate()) return false;
  for (std::size_t first = 0; first < x.panels; first += x.panels_in_block) {
    for (std::size_t g = 0; g < x.groups; ++g) x.panels_in_block == 2 ? add_block<2>(tile, x, power, first, g) : add_block<1>(tile, x, power, first, g);
    if (!tile.d_is_half) continue;
    Span halves;
    for (std::size_t g = 0; g < x.groups; ++g)
      for (std::size_t odd = 0; odd < 2; ++odd) halves.add(x.c[g][odd] = as_half(x.c[g][odd]));
    if (first + x.panels_in_block < x.panels && !halves.is_moderate()) return false;   // an infinity goes into the next block
  }
  return true;
}

std::uint32_t multiply_floats(const MatrixTile& first, std::uint32_t tiles) {
  Floats x;
  x.panels = first.k / 8;
  x.groups = 2 * first.halves;
  x.panels_in_block = std::min(first.model.width, first.k) / 8;
  if (first.k % 8 != 0 || x.panels > kMostPanels || x.panels_in_block == 0 || first.model.fraction < 23 || (first.d_is_half && first.satfinite)) return 0;
  read_rows(first, x);
  Extent rows;
  for (std::size_t p = 0; p < x.panels && rows.fractions == 0; ++p)   // of fractions the first one says enough
    for (std::size_t e = 0; e < 2; ++e)
      for (std::size_t g = 0; g < x.groups; ++g) rows.add(x.a[p][e][g]);
  Exponents power;
  const TileStep step(first);
  MatrixTile tile = first;
  for (std::uint32_t index = 0; index < tiles; ++index, step.advance(tile)) {
    read_columns(tile, x);
    const bool whole = rows.is_small_and_whole() && add_whole_numbers(tile, x, rows);
    if (!whole && !add_fractions(tile, x, power)) return index;
    write(tile, x);
  }
  return tiles;
}

// ---- 8-bit integers ----------------------------------------------------------------------------------------------------

// Every second byte as 16 bits.
inline __m512i even_bytes(__m512i x, bool is_signed) { return is_signed ? _mm512_srai_epi16(_mm512_slli_epi16(x, 8), 8) : _mm512_and_si512(x, _mm512_set1_epi16(0xff)); }
inline __m512i odd_bytes(__m512i x, bool is_signed) { return is_signed ? _mm512_srai_epi16(x, 8) : _mm512_srli_epi16(x, 8); }

inline __m512i saturating_sum(__m512i x, __m512i y) {
  const __m512i sum = _mm512_add_epi32(x, y), limit = _mm512_xor_si512(_mm512_srai_epi32(x, 31), _mm512_set1_epi32(0x7fffffff));
  const __m512i over = _mm512_andnot_si512(_mm512_xor_si512(x, y), _mm512_xor_si512(x, sum));
  return _mm512_mask_blend_epi32(_mm512_movepi32_mask(over), sum, limit);
}

bool multiply_bytes(const MatrixTile& tile) {
  const bool a_signed = tile.a_type == Type::s8, b_signed = tile.b_type == Type::s8;
  const std::size_t groups = 2 * tile.halves, chunks = tile.k / 16;
  __m512i sum[kMostGroups][2] = {};
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    __m512i rows[2][kMostGroups] = {};
    for (std::size_t g = 0; g < groups; ++g) {
      const __m512i bytes = load(tile.a[tile.halves * chunk + g / 2], g % 2);
      rows[0][g] = even_bytes(bytes, a_signed);
      rows[1][g] = odd_bytes(bytes, a_signed);
    }
    const __m512i low = load(tile.b[chunk], 0), high = load(tile.b[chunk], 1);
    with_each<4>([&](auto lane) {
      for (int odd = 0; odd < 2; ++odd) {
        const __m512i bytes = _mm512_permutex2var_epi32(low, columns_of(lane, odd), high), even = even_bytes(bytes, b_signed), second = odd_bytes(bytes, b_signed);
        for (std::size_t g = 0; g < kMostGroups; ++g)
          sum[g][odd] = _mm512_add_epi32(sum[g][odd], _mm512_add_epi32(_mm512_madd_epi16(of_lane<lane>(rows[0][g]), even), _mm512_madd_epi16(of_lane<lane>(rows[1][g]), second)));
      }
    });
  }
  for (std::size_t g = 0; g < groups; ++g)
    for (std::size_t odd = 0; odd < 2; ++odd) {
      const __m512i c = load(tile.c[2 * (g / 2) + odd], g % 2);
      sum[g][odd] = tile.satfinite ? saturating_sum(c, sum[g][odd]) : _mm512_add_epi32(c, sum[g][odd]);
    }
  for (std::size_t g = 0; g < groups; ++g)
    for (std::size_t odd = 0; odd < 2; ++odd)
      _mm512_mask_storeu_epi32(tile.d[2 * (g / 2) + odd] + 64 * (g % 2), static_cast<__mmask16>(tile.written >> 16 * (g % 2)), sum[g][odd]);
  return true;
}

// ---- f64 ---------------------------------------------------------------------------------------------------------------

inline __m512d load_doubles(const std::byte* slot, std::size_t part) { return _mm512_loadu_pd(slot + 64 * part); }

// 8 lanes are 2 rows by 4 lanes of a row.
template <std::size_t kHalves, std::size_t kChunks>
bool doubles(const MatrixTile& tile) {
  constexpr std::size_t kPairs = 4 * kHalves;
  __m512d sum[kPairs][2];
  for (std::size_t g = 0; g < kPairs; ++g)
    for (std::size_t odd = 0; odd < 2; ++odd) sum[g][odd] = load_doubles(tile.c[2 * (g / 4) + odd], g % 4);
  for (std::size_t chunk = 0; chunk < kChunks; ++chunk) {
    __m512d a[kPairs], b[4];
    for (std::size_t g = 0; g < kPairs; ++g) a[g] = load_doubles(tile.a[kHalves * chunk + g / 4], g % 4);
    for (std::size_t part = 0; part < 4; ++part) b[part] = load_doubles(tile.b[chunk], part);
    // 128 bits are two neighbouring parts' element along K: 0 (or 1) of their first columns, 2 (3) of those, 0 (1) and 2 (3) of their second ones.
    const __m512d two[4] = {_mm512_unpacklo_pd(b[0], b[1]), _mm512_unpackhi_pd(b[0], b[1]), _mm512_unpacklo_pd(b[2], b[3]), _mm512_unpackhi_pd(b[2], b[3])};
    with_each<4>([&](auto lane) {
      __m512d columns[2];
      for (int odd = 0; odd < 2; ++odd) {
        const int at = 2 * (lane / 2) + 4 * odd;
        const __m512i places = _mm512_add_epi64(_mm512_set_epi64(9, 8, 1, 0, 9, 8, 1, 0), _mm512_set1_epi64(at));
        columns[odd] = _mm512_permutex2var_pd(two[lane % 2], places, two[2 + lane % 2]);
      }
      for (std::size_t g = 0; g < kPairs; ++g) {
        const __m512d row = _mm512_permutex_pd(a[g], decltype(lane)::value * 0x55);
        for (std::size_t odd = 0; odd < 2; ++odd) sum[g][odd] = _mm512_fmadd_pd(row, columns[odd], sum[g][odd]);
      }
    });
  }
  __mmask8 nan = 0;
  for (std::size_t g = 0; g < kPairs; ++g) nan = static_cast<__mmask8>(nan | _mm512_cmp_pd_mask(sum[g][0], sum[g][1], _CMP_UNORD_Q));
  if (nan != 0) return false;
  for (std::size_t g = 0; g < kPairs; ++g)
    for (std::size_t odd = 0; odd < 2; ++odd) _mm512_mask_storeu_pd(tile.d[2 * (g / 4) + odd] + 64 * (g % 4), static_cast<__mmask8>(tile.written >> 8 * (g % 4)), sum[g][odd]);
  return true;
}

template <std::size_t kHalves>
bool doubles_of_depth(const MatrixTile& tile) {
  return tile.k == 4 ? doubles<kHalves, 1>(tile) : tile.k == 8 ? doubles<kHalves, 2>(tile) : tile.k == 16 && doubles<kHalves, 4>(tile);
}

}  // namespace

bool multiply_doubles(const MatrixTile& tile) {
  if (tile.rounding != ptx::Rounding::rn && tile.rounding != ptx::Rounding::none) return false;
  return tile.halves == 1 ? doubles_of_depth<1>(tile) : doubles_of_depth<2>(tile);
}

bool knows(const MatrixTile& tile) {
  const bool bytes = (tile.a_type == Type::s8 || tile.a_type == Type::u8) && tile.k % 16 == 0;
  return bytes || tile.a_type == Type::f16 || tile.a_type == Type::bf16 || tile.a_type == Type::tf32 || tile.a_type == Type::f64;
}

std::uint32_t multiply_tiles(const MatrixTile& first, std::uint32_t tiles) {
  if (!knows(first)) return 0;
  if (first.a_type == Type::f16 || first.a_type == Type::bf16 || first.a_type == Type::tf32) return multiply_floats(first, tiles);
  const bool bytes = first.a_type != Type::f64;
  const auto multiply = bytes ? &multiply_bytes : &multiply_doubles;
  if (tiles == 1) return multiply(first) ? 1 : 0;
  const TileStep step(first);
  MatrixTile tile = first;
  for (std::uint32_t done = 0; done < tiles; ++done, step.advance(tile))
    if (!multiply(tile)) return done;
  return tiles;
}

}  // namespace kforge::emulator::avx512
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace kforge::emulator {

bool has_avx512() {
  static const bool found = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return found;
}

}  // namespace kforge::emulator
