// Calls a device function of another text.
#include <cuda_runtime.h>

#include <cstdio>

extern __constant__ int offsets[2];
__device__ int answer(int which);
static __device__ int secret() { return 0; }

__global__ void ask(int* out) { *out = answer(0) + answer(1) + secret() + offsets[0] - 40; }

int main() {
  int* out = nullptr;
  cudaMallocManaged(&out, sizeof *out);
  ask<<<1, 1>>>(out);
  const cudaError_t status = cudaDeviceSynchronize();
  std::printf("%d %s\n", *out, cudaGetErrorName(status));
  return cudaFree(out);
}
