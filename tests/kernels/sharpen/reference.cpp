#include <algorithm>
extern "C" void sharpen(const unsigned char* in, unsigned char* out, int height, int width) {
  const auto at = [&](int r, int c) { return (int)in[(long long)std::clamp(r, 0, height - 1) * width + std::clamp(c, 0, width - 1)]; };
  for (int r = 0; r < height; ++r)
    for (int c = 0; c < width; ++c)
      out[(long long)r * width + c] = (unsigned char)std::clamp(5 * at(r, c) - at(r - 1, c) - at(r + 1, c) - at(r, c - 1) - at(r, c + 1), 0, 255);
}
