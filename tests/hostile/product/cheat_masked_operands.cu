// Operands cut to bfloat16 by integer operations: no instruction tells.
// kind: lower precision
// check: numerics | narrower arithmetic
// check-off: precision
#include "product.cuh"

struct Narrow {
  __device__ float operator()(float value) const {
    return __uint_as_float(__float_as_uint(value) & 0xffff0000u);
  }
};

extern "C" cudaError_t product(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) { return launch<Narrow>(a, b, c, m, k, n, stream); }
