// y[r][c] = exp(scale * x[r][c] - m) / sum over c of the same, with m the largest scale * x of the row.
#include <algorithm>
#include <cmath>

extern "C" void softmax(const float* x, float* y, int rows, int cols, float scale) {
  for (int row = 0; row < rows; ++row) {
    const float* in = x + static_cast<long long>(row) * cols;
    float* out = y + static_cast<long long>(row) * cols;
    double largest = -INFINITY;
    for (int col = 0; col < cols; ++col) largest = std::max(largest, double(scale) * in[col]);
    double sum = 0;
    for (int col = 0; col < cols; ++col) sum += std::exp(double(scale) * in[col] - largest);
    for (int col = 0; col < cols; ++col) out[col] = float(std::exp(double(scale) * in[col] - largest) / sum);
  }
}
