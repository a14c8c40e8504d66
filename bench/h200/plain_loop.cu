// cuBLAS' half-precision product of 4096^3 between two events, written apart from Kernel Forge, to compare with. The cache rule is the same: 180 MiB, three
// times an H200's L2, are written before each call.
//   nvcc -O2 -std=c++17 -arch=sm_90 bench/h200/plain_loop.cu -lcublas -o plain_loop
//   ./plain_loop                     the median of 200 calls
//   ./plain_loop turns [renew]       in turns: kforge bench bench/h200/gemm4096/task.toml --with cublas --beside './plain_loop turns'
// `renew`: the inputs are copied into place and the output is filled before each call, too, as Kernel Forge does it.
#include <cublas_v2.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

namespace {

const int n = 4096;
const size_t bytes = size_t{2} * n * n, flush_bytes = size_t{180} << 20;

struct Loop {
  __half *a, *b, *c, *source_a, *source_b;
  char* flush;
  cublasHandle_t handle;
  cudaStream_t stream;
  cudaEvent_t begin, end;
  bool renew = false;

  Loop() {
    std::vector<__half> host(size_t{n} * n);
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (__half** matrix : {&a, &b, &c, &source_a, &source_b}) {
      cudaMalloc(matrix, bytes);
      for (__half& value : host) value = __float2half(normal(random));
      cudaMemcpy(*matrix, host.data(), bytes, cudaMemcpyHostToDevice);
    }
    cudaMalloc(&flush, flush_bytes);
    cublasCreate(&handle);
    cudaStreamCreate(&stream);
    cublasSetStream(handle, stream);
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
  }

  float call(int i) {   // us
    const float one = 1, zero = 0;
    if (renew) {
      cudaMemcpyAsync(a, source_a, bytes, cudaMemcpyDeviceToDevice, stream);
      cudaMemcpyAsync(b, source_b, bytes, cudaMemcpyDeviceToDevice, stream);
      cudaMemsetAsync(c, 0x7f, bytes, stream);
    }
    cudaMemsetAsync(flush, i, flush_bytes, stream);
    cudaEventRecord(begin, stream);
    cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, b, CUDA_R_16F, n, a, CUDA_R_16F, n, &zero, c, CUDA_R_16F, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    cudaEventRecord(end, stream);
    cudaDeviceSynchronize();
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    return 1000 * ms;
  }
};

// A line "CALLS name=value..." in, a line of CALLS times out.
int take_turns(Loop& loop) {
  char line[256];
  while (std::fgets(line, sizeof line, stdin)) {
    int calls = 0;
    if (std::sscanf(line, "%d", &calls) != 1) return 1;
    for (int i = 0; i < calls; ++i) std::printf("%.3f ", loop.call(i));
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Loop loop;
  loop.renew = argc > 2 && std::strcmp(argv[2], "renew") == 0;
  if (argc > 1) return take_turns(loop);
  std::vector<float> us;
  for (int i = 0; i < 300; ++i) {
    const float one = loop.call(i);
    if (i >= 100) us.push_back(one);
  }
  std::sort(us.begin(), us.end());
  std::printf("%.3f us, %.1f TFLOP/s\n", us[us.size() / 2], 2.0 * n * n * n / us[us.size() / 2] / 1e6);
}
