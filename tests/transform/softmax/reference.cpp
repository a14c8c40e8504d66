#include <algorithm>
#include <cmath>

extern "C" void softmax(const float* x, float* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    const float* in = x + (long long)r * cols;
    double largest = in[0], sum = 0;
    for (int c = 0; c < cols; ++c) largest = std::max<double>(largest, in[c]);
    for (int c = 0; c < cols; ++c) sum += std::exp(in[c] - largest);
    for (int c = 0; c < cols; ++c) y[(long long)r * cols + c] = float(std::exp(in[c] - largest) / sum);
  }
}
