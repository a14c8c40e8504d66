// Random numbers of cuRAND's device headers: Philox against its published known answers, and of every generator that a sequence may be
// entered anywhere, that its threads differ, and that its distributions have the moments that they should.
#include <cstdint>

#include "self_check.h"

#if __has_include(<curand_kernel.h>)
#include <curand_kernel.h>

// Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (2011), Random123's known answers of philox4x32-10.
__global__ void philox(uint4* out) {
  curandStatePhilox4_32_10_t state;
  curand_init(0, 0, 0, &state);
  out[0] = curand4(&state);
}

template <class State>
__global__ void entered_anywhere(int* wrong) {
  State whole, part;
  curand_init(1234, threadIdx.x, 0, &whole);
  std::uint32_t first = 0;
  for (int k = 0; k < 40; ++k) {
    if (k % 13 == 0) curand_init(1234, threadIdx.x, k, &part);
    const std::uint32_t a = curand(&whole), b = curand(&part);
    if (k == 0) first = a;
    if (a != b) atomicAdd(wrong, 1);
  }
  if (__any_sync(0xffffffffu, __popc(__match_any_sync(0xffffffffu, first)) > 1)) atomicAdd(wrong, 1);
}

// Sums of x and x^2: uniform, normal in f32 and f64, lognormal, Poisson.
template <class State>
__global__ void moments(double* sums, int each) {
  State state;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  curand_init(99, i, 0, &state);
  double sum[10] = {};
  for (int k = 0; k < each; ++k) {
    const double x[5] = {curand_uniform(&state), curand_normal(&state), curand_normal_double(&state), curand_log_normal(&state, 0.0f, 0.5f), static_cast<double>(curand_poisson(&state, 4.0))};
    for (int d = 0; d < 5; ++d) sum[2 * d] += x[d], sum[2 * d + 1] += x[d] * x[d];
    if (!(x[0] > 0 && x[0] <= 1)) sum[0] += 1e9;
  }
  for (int d = 0; d < 10; ++d) atomicAdd(&sums[d], sum[d]);
}

template <class State>
void generator() {
  int* wrong = managed<int>();
  entered_anywhere<State><<<1, 32>>>(wrong);
  CHECK(cudaDeviceSynchronize());
  EXPECT_EQ(*wrong, 0);
  double* sums = managed<double>(10);
  constexpr int kEach = 64, kThreads = 512;
  moments<State><<<kThreads / 128, 128>>>(sums, kEach);
  CHECK(cudaDeviceSynchronize());
  constexpr double kCount = static_cast<double>(kEach) * kThreads;
  const double log_mean = std::exp(0.125), log_square = std::exp(0.5);
  const double expected[10] = {0.5, 1.0 / 3, 0, 1, 0, 1, log_mean, log_square, 4, 20};
  const double tolerance[10] = {0.01, 0.01, 0.03, 0.05, 0.03, 0.05, 0.03, 0.08, 0.06, 0.6};   // five standard errors and more
  for (int d = 0; d < 10; ++d) EXPECT_NEAR(sums[d] / kCount, expected[d], tolerance[d]);
}

int main() {
  uint4* answers = managed<uint4>();
  philox<<<1, 1>>>(answers);
  CHECK(cudaDeviceSynchronize());
  EXPECT_EQ(answers[0].x, 0x6627e8d5u);
  EXPECT_EQ(answers[0].y, 0xe169c58du);
  EXPECT_EQ(answers[0].z, 0xbc57ac4cu);
  EXPECT_EQ(answers[0].w, 0x9b00dbd8u);
  generator<curandStateXORWOW_t>();
  generator<curandStatePhilox4_32_10_t>();
  generator<curandStateMRG32k3a_t>();
  return finish();
}
#else
int main() {
  std::printf("SKIP: the toolkit has no curand_kernel.h\nPASS\n");
  return 0;
}
#endif
