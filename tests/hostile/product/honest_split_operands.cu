// Each operand as the sum of three bfloat16 values: narrow operands that reach single precision.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

static __device__ float3 split(float value) {
  const float high = __bfloat162float(__float2bfloat16(value)), middle = __bfloat162float(__float2bfloat16(value - high));
  return make_float3(high, middle, __bfloat162float(__float2bfloat16(value - high - middle)));
}

static __global__ void product_kernel(const float* a, const float* b, float* c, int m, int k, int n) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= m || j >= n) return;
  float sum = 0;
  for (int l = 0; l < k; ++l) {
    const float3 x = split(a[i * k + l]), y = split(b[l * n + j]);
    const float small = fmaf(x.x, y.z, fmaf(x.y, y.y, x.z * y.x));
    sum = fmaf(x.x, y.x, sum + fmaf(x.x, y.y, fmaf(x.y, y.x, small)));
  }
  c[i * n + j] = sum;
}

extern "C" cudaError_t product(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  product_kernel<<<dim3((n + 31) / 32, (m + 3) / 4), dim3(32, 4), 0, stream>>>(a, b, c, m, k, n);
  return cudaGetLastError();
}
