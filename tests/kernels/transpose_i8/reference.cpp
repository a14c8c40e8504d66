#include <cstdint>
extern "C" void transpose_i8(const std::int8_t* x, std::int8_t* y, int h, int w) {
  for (int i = 0; i < h; ++i)
    for (int j = 0; j < w; ++j) y[(long long)j * h + i] = x[(long long)i * w + j];
}
