// Eight blocks walk over everything: most of the machine has nothing to do.
#include <cuda_runtime.h>

__global__ void saxpy_kernel(const float* x, float* y, int n, float a) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}

extern "C" cudaError_t saxpy(const float* x, float* y, int n, float a, cudaStream_t stream) {
  saxpy_kernel<<<8, 256, 0, stream>>>(x, y, n, a);
  return cudaGetLastError();
}
