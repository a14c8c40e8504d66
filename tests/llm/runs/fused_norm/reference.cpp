#include <cmath>
#include <vector>

extern "C" void fused_norm(const float* x, const float* bias, const float* residual, const float* gamma, const float* beta, float* y, int rows, int cols, float eps) {
  std::vector<double> h(static_cast<std::size_t>(cols));
  for (int row = 0; row < rows; ++row) {
    const long long first = static_cast<long long>(row) * cols;
    double mean = 0, squares = 0;
    for (int col = 0; col < cols; ++col) {
      const double t = double(x[first + col]) + bias[col];
      h[col] = residual[first + col] + 0.5 * t * (1 + std::erf(t * 0.70710678118654752));
      mean += h[col];
    }
    mean /= cols;
    for (int col = 0; col < cols; ++col) squares += (h[col] - mean) * (h[col] - mean);
    const double scale = 1 / std::sqrt(squares / cols + eps);
    for (int col = 0; col < cols; ++col) y[first + col] = static_cast<float>((h[col] - mean) * scale * gamma[col] + beta[col]);
  }
}
