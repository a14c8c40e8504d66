#include <cstdint>

extern "C" void histogram(const std::uint8_t* x, std::uint32_t* bins, int n) {
  for (int b = 0; b < 256; ++b) bins[b] = 0;
  for (int i = 0; i < n; ++i) bins[x[i]] += 1;
}
