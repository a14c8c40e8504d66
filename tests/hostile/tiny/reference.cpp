#include <cmath>

// y = exp(x) / sum of exp(x) over the row.
extern "C" void tiny(const float* x, float* y, int rows, int cols) {
  for (int row = 0; row < rows; ++row) {
    double sum = 0;
    for (int col = 0; col < cols; ++col) sum += std::exp(static_cast<double>(x[row * cols + col]));
    for (int col = 0; col < cols; ++col) y[row * cols + col] = static_cast<float>(std::exp(static_cast<double>(x[row * cols + col])) / sum);
  }
}
