// Virtual functions, recursion and templates on the device.
#include "decay.cuh"
struct Step { __device__ virtual float next(float z, float x) const = 0; };
struct Halve : Step { __device__ float next(float z, float x) const override { return 0.5f * z + x; } };
static __device__ __noinline__ float repeat(const Step& step, float z, float x, int times) { return times == 0 ? z : repeat(step, step.next(z, x), x, times - 1); }
static __global__ void polymorphic(const float* x, float* y, int n) {
  const Halve step;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float z = 0;
  for (int part = 0; part < 32; ++part) z = repeat(step, z, x[i], 8);
  y[i] = z;
}
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  if (n > 0) polymorphic<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
