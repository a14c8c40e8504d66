#include <cstdint>

extern "C" void scan(const std::int32_t* x, std::int32_t* y, int n) {
  std::int32_t sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += x[i];
    y[i] = sum;
  }
}
