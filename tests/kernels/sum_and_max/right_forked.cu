// The sums in a side stream, forked and joined by events; both are made once.
#include <cuda_runtime.h>

template <bool kSum>
__global__ void reduce(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float v = kSum ? 0.0f : -INFINITY;
  for (int c = lane; c < cols; c += 32) {
    const float w = x[(size_t)row * cols + c];
    v = kSum ? v + w : fmaxf(v, w);
  }
  for (int o = 16; o > 0; o >>= 1) {
    const float w = __shfl_down_sync(0xffffffff, v, o);
    v = kSum ? v + w : fmaxf(v, w);
  }
  if (lane == 0) y[row] = v;
}

__global__ void multiply(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] * b[i];
}

#define TRY(call) do { const cudaError_t e = (call); if (e != cudaSuccess) return e; } while (0)

extern "C" cudaError_t sum_and_max(const float* x, float* sum, float* top, float* product, int rows, int cols, cudaStream_t stream) {
  static cudaStream_t side = nullptr;
  static cudaEvent_t forked, joined;
  if (!side) {
    TRY(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    TRY(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
    TRY(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
  }
  const int blocks = (rows + 3) / 4;
  TRY(cudaEventRecord(forked, stream));
  TRY(cudaStreamWaitEvent(side, forked, 0));
  reduce<true><<<blocks, 128, 0, side>>>(x, sum, rows, cols);
  TRY(cudaEventRecord(joined, side));
  reduce<false><<<blocks, 128, 0, stream>>>(x, top, rows, cols);
  TRY(cudaStreamWaitEvent(stream, joined, 0));
  multiply<<<(rows + 127) / 128, 128, 0, stream>>>(sum, top, product, rows);
  return cudaGetLastError();
}
