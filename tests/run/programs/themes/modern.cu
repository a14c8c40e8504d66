// C++20 on the device: concepts, constexpr tables, spaceship, designated initialisers, lambdas with templates; curand's device API; libcu++'s chrono and span.
#include <cuda/std/chrono>
#include <cuda/std/cmath>
#include <cuda/std/complex>
#include <cuda/std/concepts>
#include <cuda/std/limits>
#include <cuda/std/span>
#include <curand_kernel.h>

#include <compare>
#include <concepts>

#include "self_check.h"

template <class T>
concept Number = std::integral<T> || std::floating_point<T>;

template <Number T>
__host__ __device__ constexpr T power(T base, int exponent) {
  T result = 1;
  for (; exponent > 0; --exponent) result *= base;
  return result;
}
struct Table {
  unsigned cells[256];
  constexpr Table() : cells{} {
    for (unsigned i = 0; i < 256; ++i) {
      unsigned c = i;
      for (int k = 0; k < 8; ++k) c = (c & 1) != 0 ? 0xedb88320u ^ (c >> 1) : c >> 1;
      cells[i] = c;
    }
  }
};
__constant__ constexpr Table c_crc{};
struct Version {
  int major, minor;
  __host__ __device__ constexpr bool operator==(const Version&) const = default;
  __host__ __device__ constexpr auto operator<=>(const Version& other) const {
    return major != other.major ? major <=> other.major : minor <=> other.minor;
  }
};
__global__ void crc(const unsigned char* text, int size, unsigned* out) {
  unsigned value = ~0u;
  for (int i = 0; i < size; ++i) value = c_crc.cells[(value ^ text[i]) & 0xff] ^ (value >> 8);
  *out = ~value;
}
__global__ void features(double* out, cuda::std::span<int> numbers) {
  out[0] = power(3, 4) + power(0.5, 2);
  out[1] = Version{.major = 1, .minor = 2} < Version{.major = 1, .minor = 10};
  const auto twice = []<class T>(T value) { return value + value; };
  out[2] = twice(4) + twice(0.25);
  int sum = 0;
  for (const int n : numbers.subspan(1, 3)) sum += n;
  out[3] = sum;
  const cuda::std::complex<double> z(1, 1);
  out[4] = cuda::std::norm(z * z);
  out[5] = cuda::std::numeric_limits<float>::max();
  out[6] = cuda::std::chrono::duration_cast<cuda::std::chrono::milliseconds>(cuda::std::chrono::seconds(3)).count();
}
template <class State>
__global__ void estimate_pi(unsigned long long* inside, int draws) {
  State state;
  curand_init(1234, blockIdx.x * blockDim.x + threadIdx.x, 0, &state);
  unsigned hits = 0;
  for (int i = 0; i < draws; ++i) {
    const float x = curand_uniform(&state), y = curand_uniform(&state);
    hits += x * x + y * y <= 1;
  }
  atomicAdd(inside, static_cast<unsigned long long>(hits));
}
__global__ void normals(double* sums) {
  curandStatePhilox4_32_10_t state;
  curand_init(7, threadIdx.x, 0, &state);
  double sum = 0, squares = 0;
  for (int i = 0; i < 50; ++i) {
    const float4 four = curand_normal4(&state);
    sum += four.x + four.y + four.z + four.w;
    squares += four.x * four.x + four.y * four.y + four.z * four.z + four.w * four.w;
  }
  atomicAdd(&sums[0], sum);
  atomicAdd(&sums[1], squares);
}

int main() {
  auto* text = managed<unsigned char>(9);
  for (int i = 0; i < 9; ++i) text[i] = static_cast<unsigned char>('1' + i);
  unsigned* check = managed<unsigned>();
  crc<<<1, 1>>>(text, 9, check);
  double* out = managed<double>(8);
  int* numbers = managed<int>(5);
  for (int i = 0; i < 5; ++i) numbers[i] = 10 * i;
  features<<<1, 1>>>(out, cuda::std::span<int>(numbers, 5));
  CHECK(cudaDeviceSynchronize());
  EXPECT_EQ(*check, 0xcbf43926u);
  const double expected[] = {81.25, 1, 8.5, 60, 4, 3.4028234663852886e38, 3000};
  for (int i = 0; i < 7; ++i) EXPECT_EQ(out[i], expected[i]);
  auto* inside = managed<unsigned long long>();
  estimate_pi<curandState><<<2, 64>>>(inside, 200);
  CHECK(cudaDeviceSynchronize());
  EXPECT_NEAR(4.0 * *inside / (128 * 200), 3.14159, 0.05);
  *inside = 0;
  estimate_pi<curandStateMRG32k3a><<<2, 64>>>(inside, 100);
  CHECK(cudaDeviceSynchronize());
  EXPECT_NEAR(4.0 * *inside / (128 * 100), 3.14159, 0.07);
  double* sums = managed<double>(2);
  normals<<<1, 64>>>(sums);
  CHECK(cudaDeviceSynchronize());
  EXPECT_NEAR(sums[0] / 12800, 0, 0.04);
  EXPECT_NEAR(sums[1] / 12800, 1, 0.05);
  return finish();
}
