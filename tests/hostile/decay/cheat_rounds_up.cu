// Leaves the processor rounding upwards and flushing what is tiny.
// kind: state left behind
// check: interface | processor rounding
// check-off: manners
#include <cfenv>
#include <xmmintrin.h>
#include "decay.cuh"
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  std::fesetround(FE_UPWARD);
  _mm_setcsr(_mm_getcsr() | 0x8040);
  return work(x, y, n, stream);
}
