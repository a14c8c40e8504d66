// Products are rounded to half precision.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

constexpr int kRows = 128, kDepth = 16, kChoices = 8;

__global__ void choose(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y, int rows) {
  __shared__ float tile[kDepth][kRows + 2], factors[kDepth][kChoices], out[kChoices][kRows + 4];
  const int t = threadIdx.x;
  x += (long long)blockIdx.x * kRows * kDepth;
  y += (long long)blockIdx.x * kRows * kChoices;
  for (int i = t; i < kRows * kDepth; i += kRows) tile[i % kDepth][i / kDepth] = x[i];
  factors[t / kChoices][t % kChoices] = w[t];
  __syncthreads();
  float score[kChoices] = {}, top = -INFINITY, sum = 0;
  for (int k = 0; k < kDepth; ++k)
    for (int j = 0; j < kChoices; ++j) score[j] += __half2float(__float2half(tile[k][t] * factors[k][j]));
  for (int j = 0; j < kChoices; ++j) top = fmaxf(top, score[j]);
  for (int j = 0; j < kChoices; ++j) sum += score[j] = expf(score[j] - top);
  for (int j = 0; j < kChoices; ++j) out[j][t] = score[j] / sum;
  __syncthreads();
  for (int i = t; i < kRows * kChoices; i += kRows) y[i] = out[i % kChoices][i / kChoices];  // expect: numerics
}

extern "C" cudaError_t soft_choice(const float* x, const float* w, float* y, int rows, cudaStream_t stream) {
  choose<<<rows / kRows, kRows, 0, stream>>>(x, w, y, rows);
  return cudaPeekAtLastError();
}
