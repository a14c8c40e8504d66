// No padding: the strides meet in few banks.
#include <cuda_runtime.h>

constexpr int kN = 1024;
__device__ int at(int i) { return i; }

__global__ void scan_kernel(const int* x, int* y, int n) {
  __shared__ int s[kN + kN / 32];
  const int t = threadIdx.x;
  x += blockIdx.x * n;
  y += blockIdx.x * n;
  for (int i = t; i < kN; i += kN / 2) s[at(i)] = i < n ? x[i] : 0;
  int offset = 1;
  for (int d = kN / 2; d > 0; d /= 2, offset *= 2) {
    __syncthreads();
    if (t < d) s[at(offset * (2 * t + 2) - 1)] += s[at(offset * (2 * t + 1) - 1)];  // expect: shared.banks
  }
  if (t == 0) s[at(kN - 1)] = 0;
  for (int d = 1; d < kN; d *= 2) {
    offset /= 2;
    __syncthreads();
    if (t < d) {
      const int a = at(offset * (2 * t + 1) - 1), b = at(offset * (2 * t + 2) - 1);
      const int v = s[a];
      s[a] = s[b];
      s[b] += v;
    }
  }
  __syncthreads();
  for (int i = t; i < n; i += kN / 2) y[i] = s[at(i)];
}

extern "C" cudaError_t scan_block(const int* x, int* y, int rows, int n, cudaStream_t stream) {
  scan_kernel<<<rows, kN / 2, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
