// The staged row is read without a wait.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;
constexpr int kCols = 512, kThreads = 128;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void kernel(const float* x, float* y, int rows) {
  __shared__ alignas(16) float stage[2][kCols];
  __shared__ float tops[kThreads / 32];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier full[2];
  const auto block = cg::this_thread_block();
  if (threadIdx.x < 2) init(&full[threadIdx.x], kThreads);
  block.sync();
  int row = blockIdx.x;
  if (row < rows) cuda::memcpy_async(block, stage[0], x + (size_t)row * kCols, cuda::aligned_size_t<16>(sizeof(stage[0])), full[0]);
  for (int b = 0; row < rows; row += gridDim.x, b ^= 1) {
    const int next = row + gridDim.x;
    if (next < rows) cuda::memcpy_async(block, stage[b ^ 1], x + (size_t)next * kCols, cuda::aligned_size_t<16>(sizeof(stage[0])), full[b ^ 1]);
    (void)full[b].arrive();
    float top = 0;
    for (int c = threadIdx.x; c < kCols; c += kThreads) top = fmaxf(top, fabsf(stage[b][c]));  // expect: safety.async safety.uninitialised safety.races
    for (int o = 16; o; o >>= 1) top = fmaxf(top, __shfl_xor_sync(~0u, top, o));
    if (threadIdx.x % 32 == 0) tops[threadIdx.x / 32] = top;
    __syncthreads();
    top = fmaxf(fmaxf(tops[0], tops[1]), fmaxf(tops[2], tops[3]));
    for (int c = threadIdx.x; c < kCols; c += kThreads) y[(size_t)row * kCols + c] = top > 0 ? stage[b][c] / top : 0.0f;
    __syncthreads();
  }
}

extern "C" cudaError_t scale_rows(const float* x, float* y, int rows, cudaStream_t stream) {
  kernel<<<rows < 24 ? rows : 24, kThreads, 0, stream>>>(x, y, rows);
  return cudaGetLastError();
}
