// Single precision throughout.
#include "wide.cuh"

extern "C" cudaError_t wide(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) { return launch<Whole>(a, b, c, m, k, n, stream); }
