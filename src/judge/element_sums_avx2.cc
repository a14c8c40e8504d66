// Four elements at once, in the registers of AVX2, with the same operations in the same order as one by one: the sums are the same to the last bit.
// No fused operations, which would round once where the other way rounds twice. Nothing inline of others is used here: it would be compiled for AVX2
// and might be taken elsewhere.
#pragma GCC target("avx2")

#include <immintrin.h>

#include "judge/element_sums_avx2.h"

namespace kforge::judge {
namespace {

__m256d magnitude(__m256d x) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), x); }

}  // namespace

std::size_t add_references_avx2(const double* values, std::size_t count, double most, ReferenceLanes& lanes) {
  __m256d squares = _mm256_loadu_pd(lanes.squares), lowest = _mm256_loadu_pd(lanes.lowest), highest = _mm256_loadu_pd(lanes.highest), strange = _mm256_setzero_pd();
  const __m256d limit = _mm256_set1_pd(most);
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const __m256d value = _mm256_loadu_pd(values + i);
    squares = _mm256_add_pd(squares, _mm256_mul_pd(value, value));
    lowest = _mm256_min_pd(value, lowest);
    highest = _mm256_max_pd(value, highest);
    strange = _mm256_or_pd(strange, _mm256_cmp_pd(magnitude(value), limit, _CMP_NLE_UQ));
  }
  _mm256_storeu_pd(lanes.squares, squares);
  _mm256_storeu_pd(lanes.lowest, lowest);
  _mm256_storeu_pd(lanes.highest, highest);
  lanes.strange |= _mm256_movemask_pd(strange) != 0;
  return i;
}

std::size_t add_elements_avx2(const float* out, const double* references, std::size_t count, const ElementLimits& l, ElementLanes& lanes) {
  const __m256d factor = _mm256_set1_pd(l.factor), relative = _mm256_set1_pd(l.relative), absolute = _mm256_set1_pd(l.absolute), floor = _mm256_set1_pd(l.floor),
                most = _mm256_set1_pd(l.most), known_relative = _mm256_set1_pd(l.known_relative), known_excess = _mm256_set1_pd(l.known_excess),
                finite = _mm256_set1_pd(0x1.fffffffffffffp1023), zero = _mm256_setzero_pd();
  __m256d error_sum = _mm256_loadu_pd(lanes.error), squares_error = _mm256_loadu_pd(lanes.squares_error), squares_out = _mm256_loadu_pd(lanes.squares_out),
          squares_reference = _mm256_loadu_pd(lanes.squares_reference), dot = _mm256_loadu_pd(lanes.dot), largest = _mm256_loadu_pd(lanes.largest), strange = zero;
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const __m256d value = _mm256_cvtps_pd(_mm_loadu_ps(out + i)), reference = _mm256_loadu_pd(references + i), size = magnitude(reference), error = magnitude(_mm256_sub_pd(value, reference));
    const __m256d bound = _mm256_add_pd(_mm256_mul_pd(factor, _mm256_add_pd(_mm256_mul_pd(relative, size), absolute)), floor);
    const __m256d beyond = _mm256_or_pd(_mm256_cmp_pd(size, most, _CMP_NLE_UQ), _mm256_or_pd(_mm256_cmp_pd(magnitude(value), finite, _CMP_NLE_UQ), _mm256_cmp_pd(error, bound, _CMP_NLE_UQ)));
    const __m256d fresh = _mm256_or_pd(_mm256_cmp_pd(error, _mm256_mul_pd(known_relative, size), _CMP_NLT_UQ), _mm256_cmp_pd(error, _mm256_mul_pd(known_excess, bound), _CMP_NLT_UQ));
    strange = _mm256_or_pd(strange, _mm256_or_pd(beyond, _mm256_and_pd(_mm256_cmp_pd(error, zero, _CMP_GT_OQ), fresh)));
    error_sum = _mm256_add_pd(error_sum, error);
    squares_error = _mm256_add_pd(squares_error, _mm256_mul_pd(error, error));
    squares_out = _mm256_add_pd(squares_out, _mm256_mul_pd(value, value));
    squares_reference = _mm256_add_pd(squares_reference, _mm256_mul_pd(reference, reference));
    dot = _mm256_add_pd(dot, _mm256_mul_pd(value, reference));
    largest = _mm256_max_pd(error, largest);
  }
  _mm256_storeu_pd(lanes.error, error_sum);
  _mm256_storeu_pd(lanes.squares_error, squares_error);
  _mm256_storeu_pd(lanes.squares_out, squares_out);
  _mm256_storeu_pd(lanes.squares_reference, squares_reference);
  _mm256_storeu_pd(lanes.dot, dot);
  _mm256_storeu_pd(lanes.largest, largest);
  lanes.strange |= _mm256_movemask_pd(strange) != 0;
  return i;
}

}  // namespace kforge::judge
