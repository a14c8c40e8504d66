// Operands in TensorFloat-32, as tensor cores would take them.
// kind: lower precision
// check: numerics | narrower arithmetic
// check-off: precision
#include "product.cuh"

struct Narrow {
  __device__ float operator()(float value) const {
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    return __uint_as_float(bits);
  }
};

extern "C" cudaError_t product(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) { return launch<Narrow>(a, b, c, m, k, n, stream); }
