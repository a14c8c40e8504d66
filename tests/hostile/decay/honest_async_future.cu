// Host work by std::async, waited for before the launch.
#include <future>
#include "decay.cuh"
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  auto blocks = std::async(std::launch::async, [n] { return (n + 127) / 128; });
  const int count = blocks.get();
  if (n > 0) decay_kernel<<<count, 128, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
