#include <algorithm>
#include <cstdint>

extern "C" void sort_rows(const std::uint32_t* keys, std::uint32_t* sorted, int rows) {
  for (int r = 0; r < rows; ++r) {
    std::copy(keys + r * 256, keys + (r + 1) * 256, sorted + r * 256);
    std::sort(sorted + r * 256, sorted + (r + 1) * 256);
  }
}
