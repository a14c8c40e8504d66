// One cooperative launch; the grid meets between the sweeps.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

__device__ void sweep(const double* from, double* to, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    to[i] = i == 0 || i == n - 1 ? from[i] : 0.5 * (from[i - 1] + from[i + 1]);
}

__global__ void sweeps(const double* x, double* y, double* scratch, int n) {
  const auto grid = cooperative_groups::this_grid();
  sweep(x, scratch, n);
  grid.sync();
  sweep(scratch, y, n);
  grid.sync();
  sweep(y, scratch, n);
  grid.sync();
  sweep(scratch, y, n);
}

extern "C" cudaError_t jacobi(const double* x, double* y, double* scratch, int n, cudaStream_t stream) {
  void* arguments[] = {&x, &y, &scratch, &n};
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(sweeps), dim3(32), dim3(128), arguments, 0, stream);
}
