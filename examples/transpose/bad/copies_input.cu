// Copies the input: right for one row or one column, wrong for all else.
#include <cuda_runtime.h>

__global__ void copy(const float* in, float* out, long long elements) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < elements) out[i] = in[i];  // expect: numerics
}

extern "C" cudaError_t transpose(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
  const long long elements = static_cast<long long>(rows) * cols;
  copy<<<static_cast<unsigned>((elements + 255) / 256), 256, 0, stream>>>(in, out, elements);
  return cudaGetLastError();
}
