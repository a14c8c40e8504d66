#include <cuda_runtime.h>

__global__ void gather(const float* table, const int* index, const float* weight, float* out, int entries, int dim, int bags, int hits) {
  const int bag = blockIdx.x * blockDim.x + threadIdx.x, d = blockIdx.y;
  if (bag >= bags) return;
  float sum = 0.0f;
  for (int j = 0; j < hits; ++j) {
    const long long at = static_cast<long long>(bag) * hits + j;
    sum += weight[at] * table[static_cast<long long>(index[at]) * dim + d];
  }
  out[static_cast<long long>(d) * bags + bag] = sum;
}

extern "C" cudaError_t gather_reduce(const float* table, const int* index, const float* weight, float* out, int entries, int dim, int bags, int hits, cudaStream_t stream) {
  gather<<<dim3((bags + 127) / 128, dim), 128, 0, stream>>>(table, index, weight, out, entries, dim, bags, hits);
  return cudaGetLastError();
}
