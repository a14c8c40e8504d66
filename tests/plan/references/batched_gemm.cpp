// pattern: gemm
// tensor: x f16 in batch,m,k
// tensor: w f16 in batch,k,n
// tensor: y f16 inout batch,m,n
// scalar: alpha f32 1.0
// scalar: beta f32 0.5
// sizes: batch=16 m=512 k=512 n=512
#include <cstddef>
#include <vector>

extern "C" void batched_gemm(const float* x, const float* w, float* y, int batch, int m, int k, int n, float alpha, float beta) {
  for (int g = 0; g < batch; ++g) {
    std::vector<double> acc((std::size_t)m * n, 0.0);
    const float* xg = x + (long long)g * m * k;
    const float* wg = w + (long long)g * k * n;
    for (int p = 0; p < k; ++p)
      for (int i = 0; i < m; ++i) {
        const double xi = xg[(long long)i * k + p];
        for (int j = 0; j < n; ++j) acc[(std::size_t)i * n + j] += xi * wg[(long long)p * n + j];
      }
    float* yg = y + (long long)g * m * n;
    for (long long e = 0; e < (long long)m * n; ++e) yg[e] = float(alpha * acc[e] + beta * yg[e]);
  }
}
