// y[r][c] = (x[r][c] - mean of the row) / sqrt(variance of the row + eps) * gamma[c] + beta[c]; the variance is over cols, not cols - 1.
#include <cmath>

extern "C" void layernorm(const float* x, const float* gamma, const float* beta, float* y, int rows, int cols, float eps) {
  for (int row = 0; row < rows; ++row) {
    const float* in = x + static_cast<long long>(row) * cols;
    float* out = y + static_cast<long long>(row) * cols;
    double sum = 0;
    for (int col = 0; col < cols; ++col) sum += in[col];
    const double mean = sum / cols;
    double squares = 0;
    for (int col = 0; col < cols; ++col) squares += (in[col] - mean) * (in[col] - mean);
    const double scale = 1 / std::sqrt(squares / cols + eps);
    for (int col = 0; col < cols; ++col) out[col] = float((in[col] - mean) * scale * gamma[col] + beta[col]);
  }
}
