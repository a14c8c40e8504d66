#include <algorithm>

extern "C" void pool_max(const float* x, float* y, int images, int rows, int cols) {
  for (int n = 0; n < images; ++n) {
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < cols; ++c) {
        double most = x[((long long)n * (2 * rows) + 2 * r) * (2 * cols) + 2 * c];
        for (int dy = 0; dy < 2; ++dy)
          for (int dx = 0; dx < 2; ++dx) most = std::max(most, double(x[((long long)n * (2 * rows) + 2 * r + dy) * (2 * cols) + 2 * c + dx]));
        y[((long long)n * rows + r) * cols + c] = float(most);
      }
    }
  }
}
