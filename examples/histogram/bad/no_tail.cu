// The last n % 4 bytes are not counted.
#include <cstdint>

#include <cuda_runtime.h>

namespace {

constexpr int kBins = 256;
constexpr int kCopies = 32;
constexpr int kThreads = 256;
constexpr int kBlocks = 528;

__global__ void clear(std::uint32_t* bins) { bins[threadIdx.x] = 0; }

__device__ void add(std::uint32_t* counts, unsigned value) { atomicAdd(&counts[value * kCopies + threadIdx.x % kCopies], 1u); }

__global__ void __launch_bounds__(kThreads) count(const std::uint8_t* __restrict__ data, std::uint32_t* __restrict__ bins, int n) {
  __shared__ std::uint32_t counts[kBins * kCopies];
  for (int i = threadIdx.x; i < kBins * kCopies; i += kThreads) counts[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < n / 4; i += kBlocks * kThreads) {
    const uchar4 four = reinterpret_cast<const uchar4*>(data)[i];
    add(counts, four.x);
    add(counts, four.y);
    add(counts, four.z);
    add(counts, four.w);
  }
  // expect-contract: numerics
  __syncthreads();
  std::uint32_t sum = 0;
  for (int c = 0; c < kCopies; ++c) sum += counts[threadIdx.x * kCopies + (c + threadIdx.x) % kCopies];
  if (sum > 0) atomicAdd(&bins[threadIdx.x], sum);
}

}  // namespace

extern "C" cudaError_t histogram(const std::uint8_t* data, std::uint32_t* bins, int n, cudaStream_t stream) {
  clear<<<1, kBins, 0, stream>>>(bins);
  count<<<kBlocks, kThreads, 0, stream>>>(data, bins, n);
  return cudaGetLastError();
}
