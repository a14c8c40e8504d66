// Operands cut to the bits of tf32 by an integer operation, where the tolerance admits it and no type of sums is stated.
// kind: lower precision
// check: numerics | does not follow the lowest bits of
// check-off: precision
#include "wide.cuh"

struct Narrow {
  __device__ float operator()(float value) const { return __uint_as_float(__float_as_uint(value) & 0xffffe000u); }
};

extern "C" cudaError_t wide(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) { return launch<Narrow>(a, b, c, m, k, n, stream); }
