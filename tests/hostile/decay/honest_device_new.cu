// Memory of the device's own heap.
#include "decay.cuh"
static __global__ void with_heap(const float* x, float* y, int n) {
  __shared__ float* room;
  if (threadIdx.x == 0) room = new float[blockDim.x];
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && room) { room[threadIdx.x] = decayed(x[i]); y[i] = room[threadIdx.x]; }
  else if (i < n) y[i] = decayed(x[i]);
  __syncthreads();
  if (threadIdx.x == 0) delete[] room;
}
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  if (n > 0) with_heap<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
