#include <cmath>
extern "C" void cross_entropy(const float* x, const int* label, float* loss, float* grad, int rows, int classes) {
  for (int r = 0; r < rows; ++r) {
    const float* row = x + (long long)r * classes;
    double top = row[0], sum = 0;
    for (int c = 1; c < classes; ++c) top = std::fmax(top, row[c]);
    for (int c = 0; c < classes; ++c) sum += std::exp(row[c] - top);
    loss[r] = (float)(top + std::log(sum) - row[label[r]]);
    for (int c = 0; c < classes; ++c) grad[(long long)r * classes + c] = (float)(std::exp(row[c] - top) / sum - (c == label[r]));
  }
}
