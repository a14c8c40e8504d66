// cuBLAS' half-precision product of 4096^3 between two events, cold L2, median of 200 calls: written apart from Kernel Forge, to compare with.
//   nvcc -O2 -std=c++17 -arch=sm_90 bench/h200/plain_loop.cu -lcublas -o plain_loop
#include <cublas_v2.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

int main() {
  const int n = 4096;
  const size_t bytes = size_t{2} * n * n, flush_bytes = size_t{180} << 20;
  std::vector<__half> host(size_t{n} * n);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  __half *a, *b, *c;
  char* flush;
  cudaMalloc(&a, bytes);
  cudaMalloc(&b, bytes);
  cudaMalloc(&c, bytes);
  cudaMalloc(&flush, flush_bytes);
  for (__half* matrix : {a, b}) {
    for (__half& value : host) value = __float2half(normal(random));
    cudaMemcpy(matrix, host.data(), bytes, cudaMemcpyHostToDevice);
  }
  cublasHandle_t handle;
  cublasCreate(&handle);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cublasSetStream(handle, stream);
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  const float one = 1, zero = 0;
  std::vector<float> us;
  for (int i = 0; i < 300; ++i) {
    cudaMemsetAsync(flush, i, flush_bytes, stream);
    cudaEventRecord(begin, stream);
    cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, b, CUDA_R_16F, n, a, CUDA_R_16F, n, &zero, c, CUDA_R_16F, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    cudaEventRecord(end, stream);
    cudaDeviceSynchronize();
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    if (i >= 100) us.push_back(1000 * ms);
  }
  std::sort(us.begin(), us.end());
  std::printf("%.3f us, %.1f TFLOP/s\n", us[us.size() / 2], 2.0 * n * n * n / us[us.size() / 2] / 1e6);
}
