// One fault for each argument; "none" has none. Loops are bounded, sizes small.
#include <cuda_runtime.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void write_at(int* data, int index) {
  data[index] = 1;   // here
}

__global__ void sum_unordered(int* out) {
  __shared__ int values[64];
  values[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = values[63 - threadIdx.x];
}

__global__ void use_unwritten(const int* data, int* out) {
  if (data[threadIdx.x] > 3) out[threadIdx.x] = 1;
}

__global__ void assert_small(int value) { assert(value < 3); }

__global__ void wait_for_ever(volatile int* flag) {
  while (*flag == 0) {
  }
}

__global__ void work(float* data, int rounds) {
  float value = threadIdx.x;
  for (int i = 0; i < rounds; ++i) value = value * 0.5f + 1;
  data[threadIdx.x] = value;
}

int main(int argc, char** argv) {
  const char* fault = argc > 1 ? argv[1] : "none";
  const auto is = [&](const char* name) { return std::strcmp(fault, name) == 0; };
  int *data = nullptr, *out = nullptr, host[64] = {};
  cudaMalloc(&data, 64 * sizeof(int));   // allocated
  cudaMalloc(&out, 64 * sizeof(int));
  if (is("none")) write_at<<<1, 1>>>(data, 63);
  if (is("bounds")) write_at<<<1, 1>>>(data, 64);
  if (is("host-pointer")) write_at<<<1, 1>>>(host, 0);
  if (is("race")) sum_unordered<<<1, 64>>>(out);
  if (is("uninitialised")) use_unwritten<<<1, 64>>>(data, out);
  if (is("assert")) assert_small<<<1, 1>>>(7);
  if (is("hang")) cudaMemset(data, 0, 4), wait_for_ever<<<1, 1>>>(data);
  if (is("work")) work<<<64, 64>>>(reinterpret_cast<float*>(data), 100000);
  if (is("launch")) write_at<<<1, 2000>>>(data, 0);
  if (is("crash")) *reinterpret_cast<volatile int*>(data) = 1;
  if (is("copy")) cudaMemcpy(host, data, 65 * sizeof(int), cudaMemcpyDeviceToHost);
  const cudaError_t status = cudaDeviceSynchronize();
  std::printf("%s: %s\n", fault, cudaGetErrorName(status));
  if (is("leak")) return 0;
  cudaFree(data);
  if (is("double-free")) cudaFree(data);   // again
  if (is("use-after-free")) write_at<<<1, 1>>>(data, 0);
  cudaDeviceSynchronize();
  cudaFree(out);
  return is("exit-code") ? 7 : 0;
}
