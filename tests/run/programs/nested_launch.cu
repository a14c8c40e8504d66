// Dynamic parallelism.
#include <cstdio>

#include <cuda_runtime.h>

__global__ void child(int* data) { data[threadIdx.x] += 1; }

__global__ void parent(int* data) {
  if (threadIdx.x == 0) child<<<1, 32>>>(data);
}

int main() {
  int* data = nullptr;
  cudaMalloc(&data, 32 * sizeof(int));
  parent<<<1, 32>>>(data);
  std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  return 0;
}
