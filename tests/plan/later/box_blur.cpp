// pattern: stencil
// tensor: image u8 in height,width
// tensor: out u8 out height,width
// sizes: height=2160 width=3840
#include <algorithm>
#include <cstdint>

extern "C" void box_blur(const uint8_t* image, uint8_t* out, int height, int width) {
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      int sum = 0;
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          const int row = std::min(std::max(y + dy, 0), height - 1), col = std::min(std::max(x + dx, 0), width - 1);
          sum += image[(long long)row * width + col];
        }
      out[(long long)y * width + x] = uint8_t(sum / 9);
    }
}
