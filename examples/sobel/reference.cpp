#include <algorithm>
#include <cmath>

extern "C" void sobel(const float* image, float* edges, int height, int width) {
  const auto at = [&](int row, int col) {
    row = std::clamp(row, 0, height - 1);
    col = std::clamp(col, 0, width - 1);
    return double(image[static_cast<long long>(row) * width + col]);
  };
  for (int r = 0; r < height; ++r) {
    for (int c = 0; c < width; ++c) {
      const double gx = at(r - 1, c + 1) + 2 * at(r, c + 1) + at(r + 1, c + 1) - at(r - 1, c - 1) - 2 * at(r, c - 1) - at(r + 1, c - 1);
      const double gy = at(r + 1, c - 1) + 2 * at(r + 1, c) + at(r + 1, c + 1) - at(r - 1, c - 1) - 2 * at(r - 1, c) - at(r - 1, c + 1);
      edges[static_cast<long long>(r) * width + c] = float(std::sqrt(gx * gx + gy * gy));
    }
  }
}
