#include <algorithm>

extern "C" void bias_relu(const float* x, const float* bias, float* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) y[(long long)r * cols + c] = std::max(x[(long long)r * cols + c] + bias[c], 0.0f);
}
