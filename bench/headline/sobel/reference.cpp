#include <algorithm>
#include <cstdint>
#include <cstdlib>

extern "C" void sobel(const std::uint8_t* image, std::uint8_t* edges, int height, int width) {
  const auto at = [&](int row, int col) { return static_cast<int>(image[static_cast<long long>(std::clamp(row, 0, height - 1)) * width + std::clamp(col, 0, width - 1)]); };
  for (int r = 0; r < height; ++r)
    for (int c = 0; c < width; ++c) {
      const int gx = at(r - 1, c + 1) + 2 * at(r, c + 1) + at(r + 1, c + 1) - at(r - 1, c - 1) - 2 * at(r, c - 1) - at(r + 1, c - 1);
      const int gy = at(r + 1, c - 1) + 2 * at(r + 1, c) + at(r + 1, c + 1) - at(r - 1, c - 1) - 2 * at(r - 1, c) - at(r - 1, c + 1);
      edges[static_cast<long long>(r) * width + c] = static_cast<std::uint8_t>(std::min(std::abs(gx) + std::abs(gy), 255));
    }
}
