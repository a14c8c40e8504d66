#include <cstdint>
static std::uint32_t mix(std::uint32_t v, int odd) {
  for (int k = 0; k < 16; ++k) v = odd ? v * 2654435761u ^ (v >> 15) : (v ^ (v << 7)) * 40503u;
  return v;
}
extern "C" void collatz(const std::uint32_t* x, std::uint32_t* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = mix(x[i], i / 32 % 2);
}
