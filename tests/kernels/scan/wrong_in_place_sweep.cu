// Hillis-Steele in shared memory with one buffer: a thread adds what its neighbour may already have replaced.
#include <cuda_runtime.h>

constexpr int kThreads = 1024;

__global__ void scan_kernel(const int* x, int* y, int n) {
  __shared__ int s[kThreads];
  int carry = 0;
  for (int first = 0; first < n; first += kThreads) {
    const int i = first + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (int o = 1; o < kThreads; o *= 2) {
      if (threadIdx.x >= o) s[threadIdx.x] += s[threadIdx.x - o];  // expect: safety.races
      __syncthreads();
    }
    if (i < n) y[i] = carry + s[threadIdx.x];
    carry += s[kThreads - 1];
    __syncthreads();
  }
}

extern "C" cudaError_t scan(const int* x, int* y, int n, cudaStream_t stream) {
  scan_kernel<<<1, kThreads, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
