// A function that promises a value and ends without it, as error checks of many programs do.
#include <cstdio>
#include <string>
#include <vector>

#include <cuda_runtime.h>

static int check(const char* what) {
  const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess) std::printf("%s: %s\n", what, cudaGetErrorString(status));
}

__global__ void fill(int* data) { data[threadIdx.x] = threadIdx.x; }

int main() {
  const std::string name(40, 'k');
  int* data = nullptr;
  cudaMallocManaged(&data, 32 * sizeof(int));
  fill<<<1, 32>>>(data);
  check(name.c_str());
  cudaDeviceSynchronize();
  check(name.c_str());
  std::printf("%d\n", data[31]);
  return 0;
}
