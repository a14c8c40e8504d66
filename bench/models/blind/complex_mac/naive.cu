#include <cuda_runtime.h>

__global__ void accumulate(const float* x, const float* w, float* acc, int batch, int channels, int freqs) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x, f = blockIdx.y * blockDim.y + threadIdx.y;
  if (c >= channels || f >= freqs) return;
  float re = 0.0f, im = 0.0f;
  for (int b = 0; b < batch; ++b) {
    const float* p = x + ((static_cast<long long>(b) * channels + c) * freqs + f) * 2;
    const float* q = w + (static_cast<long long>(b) * freqs + f) * 2;
    re += p[0] * q[0] + p[1] * q[1];
    im += p[1] * q[0] - p[0] * q[1];
  }
  acc[(static_cast<long long>(f) * channels + c) * 2] = re;
  acc[(static_cast<long long>(f) * channels + c) * 2 + 1] = im;
}

extern "C" cudaError_t complex_mac(const float* x, const float* w, float* acc, int batch, int channels, int freqs, cudaStream_t stream) {
  accumulate<<<dim3((channels + 31) / 32, (freqs + 7) / 8), dim3(32, 8), 0, stream>>>(x, w, acc, batch, channels, freqs);
  return cudaGetLastError();
}
