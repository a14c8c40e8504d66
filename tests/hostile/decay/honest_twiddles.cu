// Constants that a kernel computes once into memory that is kept, as a transform keeps its twiddle factors.
#include "decay.cuh"

static __global__ void prepare(float* kept) { kept[threadIdx.x] = decayed(1.0f + threadIdx.x * 0.0f); }

static __global__ void apply(const float* x, float* y, const float* kept, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = kept[threadIdx.x % 64] * x[i];
}

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static float* kept = nullptr;
  if (!kept) {
    if (cudaError_t error = cudaMalloc(&kept, sizeof(float) * 64)) return error;
    prepare<<<1, 64, 0, stream>>>(kept);
  }
  apply<<<(n + 255) / 256, 256, 0, stream>>>(x, y, kept, n);
  return cudaGetLastError();
}
