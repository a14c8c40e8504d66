// The copy is not in the given stream.
#include <cuda_runtime.h>

__constant__ float coefficients[16];

__global__ void kernel(const float* __restrict__ x, float* __restrict__ y, int n, int taps) {
  extern __shared__ float window[];
  const int first = blockIdx.x * blockDim.x;
  for (int i = threadIdx.x; i < blockDim.x + taps - 1; i += blockDim.x) {
    const int at = first - (taps - 1) + i;
    window[i] = at >= 0 && at < n ? x[at] : 0.0f;
  }
  __syncthreads();
  const int i = first + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int t = 0; t < taps; ++t) sum += coefficients[t] * window[threadIdx.x + taps - 1 - t];
  y[i] = sum;
}

extern "C" cudaError_t fir(const float* x, const float* tap, float* y, int n, int taps, cudaStream_t stream) {
  const cudaError_t copied = cudaMemcpyToSymbolAsync(coefficients, tap, taps * sizeof(float), 0, cudaMemcpyDeviceToDevice, nullptr);  // expect: interface
  if (copied != cudaSuccess) return copied;
  kernel<<<(n + 255) / 256, 256, (256 + taps - 1) * sizeof(float), stream>>>(x, y, n, taps);
  return cudaGetLastError();
}
