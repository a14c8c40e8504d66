// Single precision, a thread an element.
#include "product.cuh"

struct AsIs { __device__ float operator()(float value) const { return value; } };

extern "C" cudaError_t product(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) { return launch<AsIs>(a, b, c, m, k, n, stream); }
