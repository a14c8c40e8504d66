#include <cmath>

extern "C" void layer_norm(const float* x, float* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    double mean = 0, variance = 0;
    for (int c = 0; c < cols; ++c) mean += x[r * cols + c];
    mean /= cols;
    for (int c = 0; c < cols; ++c) variance += (x[r * cols + c] - mean) * (x[r * cols + c] - mean);
    variance /= cols;
    for (int c = 0; c < cols; ++c) y[r * cols + c] = float((x[r * cols + c] - mean) / std::sqrt(variance + 1e-5));
  }
}
