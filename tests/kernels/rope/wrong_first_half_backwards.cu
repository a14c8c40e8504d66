// The first of a pair turned the other way: two lines store halves of each row.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void kernel(__half* x, const int* place, const float* cosine, const float* sine, int tokens, int heads, int half) {
  const size_t pairs = (size_t)tokens * heads * half;
  for (size_t at = blockIdx.x * (size_t)blockDim.x + threadIdx.x; at < pairs; at += (size_t)gridDim.x * blockDim.x) {
    const int i = at % half;
    const size_t row = at / half;
    const int token = row / heads;
    const size_t angle = (size_t)place[token] * half + i;
    const float c = cosine[angle], s = sine[angle];
    __half* p = x + row * 2 * half + i;
    const float a = __half2float(p[0]), b = __half2float(p[half]);
    p[0] = __float2half_rn(a * c + b * s);  // expect: numerics
    p[half] = __float2half_rn(b * c + a * s);
  }
}

extern "C" cudaError_t rope(__half* x, const int* place, const float* cosine, const float* sine, int tokens, int heads, int half, int places, cudaStream_t stream) {
  (void)places;
  kernel<<<32, 256, 0, stream>>>(x, place, cosine, sine, tokens, heads, half);
  return cudaGetLastError();
}
