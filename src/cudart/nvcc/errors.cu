// Error codes, each as CUDA 13.0 gives it on an H200 (run there with NVIDIA's library, this program prints "good" too, but
// for the sheet's name).
#include <cuda_runtime.h>

#include "expect.h"

__global__ void plain(float* p) { if (p) p[0] = 1; }
__global__ void __launch_bounds__(256) bounded(float* p) { if (p) p[0] = 1; }
__global__ void with_shared(float* p) {
  __shared__ float s[1024];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (p) p[0] = s[threadIdx.x ^ 1];
}
__global__ void registers(float* p, int n) {
  float a[160];
  for (int i = 0; i < 160; i++) a[i] = p[i * n];
  for (int j = 0; j < n; j++)
    for (int i = 0; i < 160; i++) a[i] = a[i] * a[(i + 1) % 160] + j;
  for (int i = 0; i < 160; i++) p[i * n] = a[i];
}
__global__ void stray(float* p) { p[threadIdx.x] = 1; }

template <class Kernel>
cudaError_t launch(Kernel kernel, dim3 grid, dim3 block, size_t shared = 0) {
  kernel<<<grid, block, shared>>>(nullptr);
  return cudaGetLastError();
}

void memory() {
  float* d = nullptr;
  void* q = reinterpret_cast<void*>(1);
  int host[256] = {};
  EXPECT(cudaMalloc(&d, 1024), cudaSuccess);
  EXPECT(cudaMalloc(static_cast<void**>(nullptr), 4), cudaErrorInvalidValue);
  EXPECT(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT(cudaGetLastError(), cudaSuccess);
  EXPECT(cudaMalloc(&q, 0), cudaSuccess);
  EXPECT(q == nullptr, true);
  EXPECT(cudaMalloc(&q, 1ull << 50), cudaErrorMemoryAllocation);
  EXPECT(cudaMalloc(&q, static_cast<size_t>(-1)), cudaErrorMemoryAllocation);
  EXPECT(cudaFree(nullptr), cudaSuccess);
  EXPECT(cudaFree(reinterpret_cast<char*>(d) + 4), cudaErrorInvalidValue);
  EXPECT(cudaFree(host), cudaErrorInvalidValue);
  EXPECT(cudaMemcpy(d, host, 1024, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT(cudaMemcpy(d, host, 1024, static_cast<cudaMemcpyKind>(7)), cudaErrorInvalidMemcpyDirection);
  EXPECT(cudaMemcpy(host, d, 1024, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT(cudaMemcpy(d, host, 1024, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  EXPECT(cudaMemcpy(nullptr, host, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT(cudaMemcpy(d, nullptr, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT(cudaMemcpy(reinterpret_cast<char*>(d) + 1000, host, 1024, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT(cudaMemset(nullptr, 0, 16), cudaErrorInvalidValue);
  EXPECT(cudaMemset(host, 0, 16), cudaErrorInvalidValue);
  EXPECT(cudaMemcpy2D(d, 16, host, 32, 32, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
  EXPECT(cudaMemcpy2D(d, 32, host, 32, 16, 0, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT(cudaHostAlloc(&q, 64, 1024), cudaErrorInvalidValue);
  EXPECT(cudaMallocManaged(&q, 64, 7), cudaErrorInvalidValue);
  EXPECT(cudaMallocHost(&q, 64), cudaSuccess);
  EXPECT(cudaFree(q), cudaErrorInvalidValue);
  cudaPointerAttributes attributes;
  EXPECT(cudaPointerGetAttributes(&attributes, q), cudaSuccess);
  EXPECT(attributes.type, cudaMemoryTypeHost);
  EXPECT(cudaPointerGetAttributes(&attributes, d), cudaSuccess);
  EXPECT(attributes.type, cudaMemoryTypeDevice);
  EXPECT(cudaPointerGetAttributes(&attributes, host), cudaSuccess);
  EXPECT(attributes.device, -2);
  EXPECT(cudaFreeHost(q), cudaSuccess);
  EXPECT(cudaFreeHost(host), cudaErrorInvalidValue);
  EXPECT(cudaFree(d), cudaSuccess);
  EXPECT(cudaFree(d), cudaErrorInvalidValue);
  cudaGetLastError();
}

void launches() {
  EXPECT(launch(plain, dim3(0), dim3(1)), cudaErrorInvalidValue);
  EXPECT(launch(plain, dim3(1), dim3(0)), cudaErrorInvalidValue);
  EXPECT(launch(plain, dim3(1), dim3(1025)), cudaErrorInvalidValue);
  EXPECT(launch(plain, dim3(1), dim3(1, 1, 65)), cudaErrorInvalidValue);
  EXPECT(launch(plain, dim3(1), dim3(32, 64)), cudaErrorInvalidValue);
  EXPECT(launch(plain, dim3(1, 65536), dim3(1)), cudaErrorInvalidValue);
  EXPECT(launch(plain, dim3(0x80000000u), dim3(1)), cudaErrorInvalidValue);
  EXPECT(launch(plain, dim3(1), dim3(32), 49153), cudaErrorInvalidValue);
  EXPECT(launch(with_shared, dim3(1), dim3(32), 49152), cudaErrorInvalidValue);
  EXPECT(launch(with_shared, dim3(1), dim3(32), 45056), cudaSuccess);
  EXPECT(launch(bounded, dim3(1), dim3(257)), cudaErrorInvalidValue);
  EXPECT(launch(bounded, dim3(1), dim3(256)), cudaSuccess);
  EXPECT(cudaFuncSetAttribute(plain, cudaFuncAttributeMaxDynamicSharedMemorySize, 232448), cudaSuccess);
  EXPECT(cudaFuncSetAttribute(plain, cudaFuncAttributeMaxDynamicSharedMemorySize, 232449), cudaErrorInvalidValue);
  EXPECT(cudaFuncSetAttribute(with_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 232448), cudaErrorInvalidValue);
  EXPECT(cudaFuncSetAttribute(with_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 228352), cudaSuccess);
  cudaGetLastError();
  EXPECT(launch(plain, dim3(1), dim3(32), 232448), cudaSuccess);
  EXPECT(launch(plain, dim3(1), dim3(32), 232449), cudaErrorInvalidValue);
  registers<<<1, 1024>>>(nullptr, 0);
  EXPECT(cudaGetLastError(), cudaErrorLaunchOutOfResources);
  int stranger = 0;
  EXPECT(cudaLaunchKernel(&stranger, dim3(1), dim3(1), nullptr, 0, nullptr), cudaErrorInvalidResourceHandle);
  EXPECT(cudaLaunchKernel(static_cast<const void*>(nullptr), dim3(1), dim3(1), nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
  cudaGetLastError();
}

void functions() {
  cudaFuncAttributes attributes;
  int blocks = -1, stranger = 0;
  EXPECT(cudaFuncGetAttributes(&attributes, registers), cudaSuccess);
  EXPECT(attributes.numRegs, 255);
  EXPECT(attributes.maxThreadsPerBlock, 256);
  EXPECT(cudaFuncGetAttributes(&attributes, bounded), cudaSuccess);
  EXPECT(attributes.maxThreadsPerBlock, 256);
  EXPECT(attributes.maxDynamicSharedSizeBytes, 49152);
  EXPECT(cudaFuncGetAttributes(&attributes, with_shared), cudaSuccess);
  EXPECT(attributes.sharedSizeBytes, 4096u);
  EXPECT(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(&stranger)), cudaErrorInvalidResourceHandle);
  EXPECT(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 256, 0), cudaSuccess);
  EXPECT(blocks, 8);
  EXPECT(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 2048, 0), cudaSuccess);
  EXPECT(blocks, 0);
  EXPECT(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 0, 0), cudaErrorInvalidValue);
  EXPECT(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 512, 0), cudaSuccess);
  EXPECT(blocks, 4);
  EXPECT(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, with_shared, 128, 100000), cudaSuccess);
  EXPECT(blocks, 2);
  int least = 0, size = 0;
  EXPECT(cudaOccupancyMaxPotentialBlockSize(&least, &size, plain), cudaSuccess);
  EXPECT(size, 1024);
  cudaGetLastError();
}

void device() {
  int value = 0;
  cudaDeviceProp properties;
  EXPECT(cudaSetDevice(99), cudaErrorInvalidDevice);
  EXPECT(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(9999), 0), cudaErrorInvalidValue);
  EXPECT(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 99), cudaErrorInvalidDevice);
  EXPECT(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  EXPECT(value, 132);
  EXPECT(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT(properties.major, 9);
  EXPECT(properties.sharedMemPerBlockOptin, 232448u);
  EXPECT(properties.maxThreadsPerMultiProcessor, 2048);
  EXPECT(properties.regsPerBlock, 65536);
  EXPECT(cudaRuntimeGetVersion(&value), cudaSuccess);
  EXPECT(value / 1000, 13);
  cudaGetLastError();
}

// A fatal error is heard of when the host first waits; then the context is lost, and a reset makes a new one.
void sticky() {
  void* p = nullptr;
  int value = 0;
  cudaStream_t stream;
  stray<<<1, 32>>>(reinterpret_cast<float*>(16));
  EXPECT(cudaPeekAtLastError(), cudaSuccess);
  EXPECT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT(cudaMalloc(&p, 4), cudaErrorIllegalAddress);
  EXPECT(cudaStreamCreate(&stream), cudaErrorIllegalAddress);
  EXPECT(launch(plain, dim3(1), dim3(1)), cudaErrorIllegalAddress);
  EXPECT(cudaGetDevice(&value), cudaSuccess);
  EXPECT(cudaGetDeviceCount(&value), cudaSuccess);
  EXPECT(cudaDeviceReset(), cudaSuccess);
}

int main() {
  memory();
  launches();
  functions();
  device();
  sticky();
  std::puts(failures == 0 ? "good" : "bad");
  return failures;
}
