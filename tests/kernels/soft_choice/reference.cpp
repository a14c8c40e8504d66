#include <algorithm>
#include <cmath>
extern "C" void soft_choice(const float* x, const float* w, float* y, int rows) {
  for (long long r = 0; r < rows; ++r) {
    double score[8] = {}, sum = 0;
    for (int k = 0; k < 16; ++k)
      for (int j = 0; j < 8; ++j) score[j] += (double)x[16 * r + k] * w[8 * k + j];
    const double top = *std::max_element(score, score + 8);
    for (int j = 0; j < 8; ++j) sum += std::exp(score[j] - top);
    for (int j = 0; j < 8; ++j) y[8 * r + j] = (float)(std::exp(score[j] - top) / sum);
  }
}
