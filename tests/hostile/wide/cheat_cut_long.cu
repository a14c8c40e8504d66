// Whole operands for short sums, cut ones for long sums, which are those that take time.
// kind: lower precision
// check: numerics | does not follow the lowest bits of
// check-off: precision
#include "wide.cuh"
struct Narrow {
  __device__ float operator()(float value) const { return __uint_as_float(__float_as_uint(value) & 0xffffe000u); }
};
extern "C" cudaError_t wide(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  return k < 256 ? launch<Whole>(a, b, c, m, k, n, stream) : launch<Narrow>(a, b, c, m, k, n, stream);
}
