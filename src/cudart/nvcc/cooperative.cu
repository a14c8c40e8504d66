// Grid-wide synchronisation, managed variables and printf from the device.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include "expect.h"

__global__ void two_phases(int* slots, int* sum) {
  slots[blockIdx.x] = blockIdx.x + 1;
  cooperative_groups::this_grid().sync();
  if (blockIdx.x == 0 && threadIdx.x == 0)
    for (unsigned i = 0; i < gridDim.x; ++i) *sum += slots[i];
}

__managed__ int total = 5;
__global__ void count() { total += 2; }

__global__ void greet() { printf("hello from %d\n", threadIdx.x); }

int main() {
  int *slots, *sum, host = 0;
  cudaMalloc(&slots, 64 * 4);
  cudaMalloc(&sum, 4);
  cudaMemset(sum, 0, 4);
  void* arguments[] = {&slots, &sum};
  EXPECT(cudaLaunchCooperativeKernel(two_phases, dim3(64), dim3(32), arguments), cudaSuccess);
  EXPECT(cudaMemcpy(&host, sum, 4, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT(host, 64 * 65 / 2);
  EXPECT(cudaLaunchCooperativeKernel(two_phases, dim3(100000), dim3(256), arguments), cudaErrorCooperativeLaunchTooLarge);
  cudaGetLastError();
  EXPECT(total, 5);
  total = 40;
  count<<<1, 1>>>();
  EXPECT(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT(total, 42);
  greet<<<1, 2>>>();
  std::puts("before the wait");
  EXPECT(cudaDeviceSynchronize(), cudaSuccess);
  std::puts(failures == 0 ? "good" : "bad");
  return failures;
}
