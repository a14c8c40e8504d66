// One block a row. Each thread keeps a running maximum and the sum of exponentials relative to it (one pass over the row), the block
// merges the pairs, and a second pass, which finds the row in the L1 cache, writes the result.
#include <cfloat>

#include <cuda_runtime.h>

namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

struct Partial {
  float largest;  // of the elements seen
  float sum;      // of exp(element - largest)
};

// FLT_MAX stands for minus infinity: exp(-FLT_MAX - finite) is 0, and the difference of two of them is 0 and no NaN.
__device__ Partial empty() { return {-FLT_MAX, 0.0f}; }

__device__ Partial merge(Partial a, Partial b) {
  const float largest = fmaxf(a.largest, b.largest);
  return {largest, a.sum * expf(a.largest - largest) + b.sum * expf(b.largest - largest)};
}

__device__ Partial merge_warp(Partial p) {
  for (int offset = 16; offset > 0; offset /= 2) {
    const Partial other = {__shfl_xor_sync(0xffffffffu, p.largest, offset), __shfl_xor_sync(0xffffffffu, p.sum, offset)};
    p = merge(p, other);
  }
  return p;
}

__device__ Partial merge_block(Partial p) {
  __shared__ float largest[kWarps];
  __shared__ float sum[kWarps];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  p = merge_warp(p);
  if (lane == 0) {
    largest[warp] = p.largest;
    sum[warp] = p.sum;
  }
  __syncthreads();
  Partial all = empty();
  if (lane < kWarps) all = {largest[lane], sum[lane]};
  return merge_warp(all);
}

__device__ float4 load4(const float* p) { return *reinterpret_cast<const float4*>(p); }
__device__ void store4(float* p, float4 v) { *reinterpret_cast<float4*>(p) = v; }

// kVector: cols is a multiple of 4, so that every row starts on a 16-byte boundary.
template <bool kVector>
__global__ void __launch_bounds__(kThreads) softmax_rows(const float* __restrict__ x, float* __restrict__ y, int cols, float scale) {
  const float* in = x + static_cast<long long>(blockIdx.x) * cols;
  float* out = y + static_cast<long long>(blockIdx.x) * cols;
  constexpr int kStep = kVector ? 4 : 1;

  Partial own = empty();
  for (int col = threadIdx.x * kStep; col < cols; col += kThreads * kStep) {
    if constexpr (kVector) {
      const float4 v = load4(in + col);
      own = merge(own, {scale * v.x, 1.0f});
      own = merge(own, {scale * v.y, 1.0f});
      own = merge(own, {scale * v.z, 1.0f});
      own = merge(own, {scale * v.w, 1.0f});
    } else {
      own = merge(own, {scale * in[col], 1.0f});
    }
  }
  const Partial row = merge_block(own);
  const float factor = 1.0f / row.sum;
  for (int col = threadIdx.x * kStep; col < cols; col += kThreads * kStep) {
    if constexpr (kVector) {
      const float4 v = load4(in + col);
      store4(out + col, {expf(scale * v.x - row.largest) * factor, expf(scale * v.y - row.largest) * factor,
                         expf(scale * v.z - row.largest) * factor, expf(scale * v.w - row.largest) * factor});
    } else {
      out[col] = expf(scale * in[col] - row.largest) * factor;
    }
  }
}

}  // namespace

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, float scale, cudaStream_t stream) {
  if (cols % 4 == 0) softmax_rows<true><<<rows, kThreads, 0, stream>>>(x, y, cols, scale);
  else softmax_rows<false><<<rows, kThreads, 0, stream>>>(x, y, cols, scale);
  return cudaGetLastError();
}
