// What the programs of this folder check themselves with: a line for each expectation that fails, and an exit status.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

inline int g_failures = 0;

#define EXPECT(condition)                                                            \
  do {                                                                               \
    if (!(condition)) {                                                              \
      ++g_failures;                                                                  \
      std::printf("FAIL %s:%d: %s\n", __FILE__, __LINE__, #condition);               \
    }                                                                                \
  } while (false)

#define EXPECT_EQ(a, b)                                                              \
  do {                                                                               \
    const auto left_ = (a);                                                          \
    const auto right_ = (b);                                                         \
    if (!(left_ == right_)) {                                                        \
      ++g_failures;                                                                  \
      std::printf("FAIL %s:%d: %s is %.17g, not %.17g\n", __FILE__, __LINE__, #a, static_cast<double>(left_), static_cast<double>(right_)); \
    }                                                                                \
  } while (false)

#define EXPECT_NEAR(a, b, tolerance)                                                 \
  do {                                                                               \
    const double left_ = (a), right_ = (b);                                          \
    if (!(std::fabs(left_ - right_) <= (tolerance))) {                               \
      ++g_failures;                                                                  \
      std::printf("FAIL %s:%d: %s is %.17g, not %.17g\n", __FILE__, __LINE__, #a, left_, right_); \
    }                                                                                \
  } while (false)

#define CHECK(call)                                                                  \
  do {                                                                               \
    const cudaError_t status_ = (call);                                              \
    if (status_ != cudaSuccess) {                                                    \
      std::printf("FAIL %s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(status_)); \
      std::exit(1);                                                                  \
    }                                                                                \
  } while (false)

// Managed memory for `count` elements, zeroed.
template <class T>
T* managed(std::size_t count = 1) {
  T* data = nullptr;
  CHECK(cudaMallocManaged(&data, count * sizeof(T)));
  CHECK(cudaMemset(data, 0, count * sizeof(T)));
  CHECK(cudaDeviceSynchronize());
  return data;
}

// To be returned by main.
inline int finish() {
  CHECK(cudaDeviceSynchronize());
  std::printf("%s\n", g_failures == 0 ? "PASS" : "FAIL");
  return g_failures == 0 ? 0 : 1;
}
