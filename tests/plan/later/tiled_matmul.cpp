// pattern: gemm
// tensor: a f64 in n,n
// tensor: b f64 in n,n
// tensor: c f64 out n,n
// sizes: n=1024
#include <algorithm>

extern "C" void tiled_matmul(const double* a, const double* b, double* c, int n) {
  const int tile = 32;
  for (long long i = 0; i < (long long)n * n; ++i) c[i] = 0;
  for (int ii = 0; ii < n; ii += tile)
    for (int kk = 0; kk < n; kk += tile)
      for (int jj = 0; jj < n; jj += tile)
        for (int i = ii; i < std::min(ii + tile, n); ++i)
          for (int k = kk; k < std::min(kk + tile, n); ++k)
            for (int j = jj; j < std::min(jj + tile, n); ++j) c[(long long)i * n + j] += a[(long long)i * n + k] * b[(long long)k * n + j];
}
