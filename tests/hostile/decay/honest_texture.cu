// The input through a texture object, made and destroyed in the call.
#include "decay.cuh"

static __global__ void through_texture(cudaTextureObject_t x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = decayed(tex1Dfetch<float>(x, i));
}

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  if (n <= 0) return cudaSuccess;
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = const_cast<float*>(x);
  resource.res.linear.desc = cudaCreateChannelDesc<float>();
  resource.res.linear.sizeInBytes = sizeof(float) * n;
  cudaTextureDesc description = {};
  description.readMode = cudaReadModeElementType;
  cudaTextureObject_t texture = 0;
  if (cudaError_t error = cudaCreateTextureObject(&texture, &resource, &description, nullptr)) return error;
  through_texture<<<(n + 255) / 256, 256, 0, stream>>>(texture, y, n);
  cudaStreamSynchronize(stream);
  return cudaDestroyTextureObject(texture);
}
