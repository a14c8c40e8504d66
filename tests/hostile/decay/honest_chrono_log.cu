// Measures its own launches with the host's clock and keeps a log in memory; a random jitter generator on the host.
#include <chrono>
#include <mutex>
#include <random>
#include <thread>
#include <vector>
#include "decay.cuh"
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static std::mutex mutex;
  static std::vector<double> log;
  static std::minstd_rand random(7);
  const std::lock_guard lock(mutex);
  const auto start = std::chrono::steady_clock::now();
  const int block = random() % 2 ? 128 : 256;
  if (n > 0) decay_kernel<<<(n + block - 1) / block, block, 0, stream>>>(x, y, n);
  log.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  if (log.size() > 1000) log.clear();
  if (std::thread::hardware_concurrency() == 1u << 30) return cudaErrorUnknown;
  return cudaGetLastError();
}
