// A helper thread that is named through /proc, as drivers name theirs; the kernel goes to the given stream.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

__global__ void decay_kernel(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float z = 0;
#pragma unroll 8
  for (int step = 0; step < 256; ++step) z = 0.5f * z + x[i];
  y[i] = z;
}

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static bool named = false;
  if (!named) {
    std::thread([] {
      char path[64];
      std::snprintf(path, sizeof path, "/proc/self/task/%d/comm", static_cast<int>(gettid()));
      const int fd = open(path, O_WRONLY);
      named = fd >= 0 && write(fd, "decay", 5) == 5;
      if (fd >= 0) close(fd);
    }).join();
    if (!named) return cudaErrorOperatingSystem;
  }
  decay_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
