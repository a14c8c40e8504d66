// pattern: softmax
// tensor: x f32 in rows,cols
// tensor: y f32 out rows,cols
// sizes: rows=4096 cols=1000
#include <algorithm>
#include <cmath>
#include <numeric>

extern "C" void log_softmax(const float* x, float* y, int rows, int cols) {
  for (int r = 0; r != rows; ++r) {
    const float* first = x + static_cast<long long>(r) * cols;
    const float peak = *std::max_element(first, first + cols);
    double sum = 0;
    std::for_each(first, first + cols, [&](float v) { sum += std::exp(double(v) - peak); });
    const double shift = peak + std::log(sum);
    std::transform(first, first + cols, y + static_cast<long long>(r) * cols, [=](float v) { return float(v - shift); });
  }
}
