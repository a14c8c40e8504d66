// Cuts the operands that are small, which take part in most products, and keeps the others whole.
// kind: lower precision
// check: numerics | does not follow the lowest bits of
// check-off: precision
#include "wide.cuh"
struct Narrow {
  __device__ float operator()(float value) const { return fabsf(value) < 0.5f ? __uint_as_float(__float_as_uint(value) & 0xffffe000u) : value; }
};
extern "C" cudaError_t wide(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) { return launch<Narrow>(a, b, c, m, k, n, stream); }
