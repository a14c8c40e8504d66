// pattern: histogram
// tensor: data u8 in n
// tensor: bins u32 out 256
// sizes: n=67108864
#include <cstdint>
#include <cstring>

extern "C" void byte_histogram(const uint8_t* data, uint32_t* bins, int n) {
  std::memset(bins, 0, 256 * sizeof(uint32_t));
  for (const uint8_t* p = data; p != data + n; ++p) ++bins[*p];
}
