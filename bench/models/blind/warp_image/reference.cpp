#include <algorithm>
#include <cstdint>

// A displacement is x, then y, in 256ths of a pixel; places beyond an edge take the edge's pixel.
extern "C" void warp_image(const float* image, const std::int32_t* flow, float* out, int channels, int h, int w) {
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) {
      const long long pixel = static_cast<long long>(y) * w + x;
      const int px = x * 256 + flow[pixel * 2], py = y * 256 + flow[pixel * 2 + 1];
      const double fx = (px & 255) / 256.0, fy = (py & 255) / 256.0;
      const int x0 = std::clamp(px >> 8, 0, w - 1), x1 = std::clamp((px >> 8) + 1, 0, w - 1);
      const int y0 = std::clamp(py >> 8, 0, h - 1), y1 = std::clamp((py >> 8) + 1, 0, h - 1);
      for (int c = 0; c < channels; ++c) {
        const float* plane = image + static_cast<long long>(c) * h * w;
        const double top = plane[static_cast<long long>(y0) * w + x0] * (1 - fx) + plane[static_cast<long long>(y0) * w + x1] * fx;
        const double bottom = plane[static_cast<long long>(y1) * w + x0] * (1 - fx) + plane[static_cast<long long>(y1) * w + x1] * fx;
        out[pixel * channels + c] = static_cast<float>(top * (1 - fy) + bottom * fy);
      }
    }
}
