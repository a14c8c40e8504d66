// Operands in half precision.
// kind: lower precision
// check: numerics | narrower arithmetic
// check-off: precision
#include "product.cuh"

#include <cuda_fp16.h>

struct Narrow {
  __device__ float operator()(float value) const {
    return __half2float(__float2half(value));
  }
};

extern "C" cudaError_t product(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) { return launch<Narrow>(a, b, c, m, k, n, stream); }
