#include <algorithm>
#include <cmath>

extern "C" void cross_entropy(const float* logits, const int* labels, float* loss, int rows, int cols) {
  for (int row = 0; row < rows; ++row) {
    const float* x = logits + static_cast<long long>(row) * cols;
    double greatest = x[0], sum = 0;
    for (int col = 1; col < cols; ++col) greatest = std::max(greatest, double(x[col]));
    for (int col = 0; col < cols; ++col) sum += std::exp(x[col] - greatest);
    loss[row] = static_cast<float>(std::log(sum) + greatest - x[labels[row]]);
  }
}
