// The variance is divided by cols - 1.
#include <cuda_runtime.h>

namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

__device__ float sum_block(float value, float* partial) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  value = partial[threadIdx.x % kWarps];
  for (int offset = kWarps / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

// expect-contract: numerics
__device__ float squared(float value) { return value * value; }
__device__ float4 load4(const float* p) { return *reinterpret_cast<const float4*>(p); }
__device__ float shifted(float x, float mean, float scale, float gamma, float beta) { return (x - mean) * scale * gamma + beta; }

// kVector: cols is a multiple of 4, so that every row starts on a 16-byte boundary.
template <bool kVector>
__global__ void __launch_bounds__(kThreads)
norm_rows(const float* __restrict__ x, const float* __restrict__ gamma, const float* __restrict__ beta, float* __restrict__ y, int cols, float eps) {
  __shared__ float sums[kWarps], squares[kWarps];
  const float* in = x + static_cast<long long>(blockIdx.x) * cols;
  float* out = y + static_cast<long long>(blockIdx.x) * cols;
  constexpr int kStep = kVector ? 4 : 1;

  float own = 0.0f;
  for (int col = threadIdx.x * kStep; col < cols; col += kThreads * kStep) {
    if constexpr (kVector) {
      const float4 v = load4(in + col);
      own += v.x + v.y + (v.z + v.w);
    } else {
      own += in[col];
    }
  }
  const float mean = sum_block(own, sums) / cols;
  own = 0.0f;
  for (int col = threadIdx.x * kStep; col < cols; col += kThreads * kStep) {
    if constexpr (kVector) {
      const float4 v = load4(in + col);
      own += squared(v.x - mean) + squared(v.y - mean) + (squared(v.z - mean) + squared(v.w - mean));
    } else {
      own += squared(in[col] - mean);
    }
  }
  const float scale = rsqrtf(sum_block(own, squares) / (cols - 1) + eps);
  for (int col = threadIdx.x * kStep; col < cols; col += kThreads * kStep) {
    if constexpr (kVector) {
      const float4 v = load4(in + col), g = load4(gamma + col), b = load4(beta + col);
      *reinterpret_cast<float4*>(out + col) = make_float4(shifted(v.x, mean, scale, g.x, b.x), shifted(v.y, mean, scale, g.y, b.y),
                                                          shifted(v.z, mean, scale, g.z, b.z), shifted(v.w, mean, scale, g.w, b.w));
    } else {
      out[col] = shifted(in[col], mean, scale, gamma[col], beta[col]);
    }
  }
}

}  // namespace

extern "C" cudaError_t layernorm(const float* x, const float* gamma, const float* beta, float* y, int rows, int cols, float eps, cudaStream_t stream) {
  if (cols % 4 == 0) norm_rows<true><<<rows, kThreads, 0, stream>>>(x, gamma, beta, y, cols, eps);
  else norm_rows<false><<<rows, kThreads, 0, stream>>>(x, gamma, beta, y, cols, eps);
  return cudaGetLastError();
}
