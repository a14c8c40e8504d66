// Asks for a workspace, uploads a table of constants and chooses a kernel's shape while it is loaded, where the task allows it; the answers are each call's own.
#include "decay.cuh"
__device__ float halves[2];
static float* room = nullptr;
static constexpr int kRoom = 1 << 20;
static int block = 0;
static __global__ void scaled(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = halves[1] * (halves[0] * x[i]);
}
__attribute__((constructor)) static void set_up() {
  const float table[2] = {0.5f, 4.0f};
  int least = 0;
  cudaOccupancyMaxPotentialBlockSize(&least, &block, scaled, 0, 256);
  cudaMalloc(&room, sizeof(float) * kRoom);
  cudaMemcpyToSymbol(halves, table, sizeof table);
}
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  if (n <= 0) return cudaSuccess;
  if (n > kRoom || block <= 0) return work(x, y, n, stream);
  scaled<<<(n + block - 1) / block, block, 0, stream>>>(x, room, n);
  return cudaMemcpyAsync(y, room, sizeof(float) * n, cudaMemcpyDeviceToDevice, stream);
}
