#include <cstdint>
extern "C" void warp_min(const std::int32_t* x, std::int32_t* low, bool* any, int rows) {
  for (int r = 0; r < rows; ++r) {
    low[r] = x[r * 32];
    any[r] = false;
    for (int c = 0; c < 32; ++c) {
      if (x[r * 32 + c] < low[r]) low[r] = x[r * 32 + c];
      any[r] |= x[r * 32 + c] > 90000;
    }
  }
}
