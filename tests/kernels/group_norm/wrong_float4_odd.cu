// Loads of 16 bytes where a group need not begin at one.
#include <cuda_runtime.h>

struct Moments { float mean, squares, count; };

__device__ Moments merge(Moments a, Moments b) {
  const float n = a.count + b.count;
  if (n == 0) return a;
  const float d = b.mean - a.mean, f = b.count / n;
  return {a.mean + d * f, a.squares + b.squares + d * d * a.count * f, n};
}

__device__ Moments shuffled(Moments m, int o) {
  return {__shfl_xor_sync(0xffffffff, m.mean, o), __shfl_xor_sync(0xffffffff, m.squares, o), __shfl_xor_sync(0xffffffff, m.count, o)};
}

extern __shared__ unsigned char raw[];

__global__ void kernel(const float* x, const float* gain, const float* shift, float* y, float* mean, float* inverse, int groups, int channels, int pixels, float epsilon) {
  Moments* partial = reinterpret_cast<Moments*>(raw);
  float* both = reinterpret_cast<float*>(partial + blockDim.x / 32);
  const int n = channels * pixels, g = blockIdx.x % groups, t = threadIdx.x;
  x += (size_t)blockIdx.x * n;
  y += (size_t)blockIdx.x * n;
  Moments m{0, 0, 0};
  const int fours = n / 4 * 4;
  for (int i = 4 * t; i < fours; i += 4 * blockDim.x) {
    const float4 v = *reinterpret_cast<const float4*>(x + i);  // expect: safety.bounds
    m = merge(merge(merge(merge(m, {v.x, 0, 1}), {v.y, 0, 1}), {v.z, 0, 1}), {v.w, 0, 1});
  }
  for (int i = fours + t; i < n; i += blockDim.x) m = merge(m, {x[i], 0, 1});
  for (int o = 16; o > 0; o >>= 1) m = merge(m, shuffled(m, o));
  if (t % 32 == 0) partial[t / 32] = m;
  __syncthreads();
  if (t < 32) {
    m = t < blockDim.x / 32 ? partial[t] : Moments{0, 0, 0};
    for (int o = 16; o > 0; o >>= 1) m = merge(m, shuffled(m, o));
    if (t == 0) {
      both[0] = m.mean;
      both[1] = rsqrtf(m.squares / n + epsilon);
      mean[blockIdx.x] = both[0];
      inverse[blockIdx.x] = both[1];
    }
  }
  __syncthreads();
  const float mu = both[0], r = both[1];
  for (int i = t; i < n; i += blockDim.x) {
    const int c = g * channels + i / pixels;
    y[i] = (x[i] - mu) * r * gain[c] + shift[c];
  }
}

extern "C" cudaError_t group_norm(const float* x, const float* gain, const float* shift, float* y, float* mean, float* inverse, int images, int groups, int channels, int pixels, float epsilon,
                                  cudaStream_t stream) {
  constexpr int kThreads = 192;
  const size_t shared = kThreads / 32 * sizeof(Moments) + 2 * sizeof(float);
  kernel<<<images * groups, kThreads, shared, stream>>>(x, gain, shift, y, mean, inverse, groups, channels, pixels, epsilon);
  return cudaGetLastError();
}
