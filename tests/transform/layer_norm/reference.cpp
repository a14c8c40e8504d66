// y = (x - mean) / sqrt(variance + 1e-5) * gain along each row.
#include <cmath>

extern "C" void layer_norm(const float* x, const float* gain, float* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    double mean = 0, variance = 0;
    for (int c = 0; c < cols; ++c) mean += x[(long long)r * cols + c];
    mean /= cols;
    for (int c = 0; c < cols; ++c) variance += (x[(long long)r * cols + c] - mean) * (x[(long long)r * cols + c] - mean);
    for (int c = 0; c < cols; ++c) y[(long long)r * cols + c] = float((x[(long long)r * cols + c] - mean) / std::sqrt(variance / cols + 1e-5) * gain[c]);
  }
}
