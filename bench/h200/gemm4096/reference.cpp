// C = A * B, row-major; on several threads and eight rows at a time, so that a product of some thousand a side takes seconds.
#include <algorithm>
#include <thread>
#include <vector>

namespace {

// The compiler's usual level leaves this loop scalar.
__attribute__((optimize("O3"), target_clones("avx512f", "avx2", "default"))) void add(double* __restrict to, const float* __restrict from, double factor, int count) {
  for (int i = 0; i < count; ++i) to[i] += factor * from[i];
}

void some_rows(const float* a, const float* b, float* c, int k, int n, int first, int last) {
  constexpr int kRows = 8, kColumns = 512;
  std::vector<double> sums(kRows * kColumns);
  for (int i = first; i < last; i += kRows)
    for (int j = 0; j < n; j += kColumns) {
      const int rows = std::min(kRows, last - i), columns = std::min(kColumns, n - j);
      std::fill(sums.begin(), sums.end(), 0.0);
      for (int l = 0; l < k; ++l)
        for (int r = 0; r < rows; ++r) add(sums.data() + r * kColumns, b + static_cast<long>(l) * n + j, a[static_cast<long>(i + r) * k + l], columns);
      for (int r = 0; r < rows; ++r)
        for (int q = 0; q < columns; ++q) c[static_cast<long>(i + r) * n + j + q] = static_cast<float>(sums[r * kColumns + q]);
    }
}

}  // namespace

extern "C" void gemm(const float* a, const float* b, float* c, int m, int k, int n) {
  const int threads = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 8);
  std::vector<std::thread> helpers;
  for (int t = 0; t < threads; ++t) helpers.emplace_back(some_rows, a, b, c, k, n, static_cast<int>(static_cast<long>(m) * t / threads), static_cast<int>(static_cast<long>(m) * (t + 1) / threads));
  for (std::thread& helper : helpers) helper.join();
}
