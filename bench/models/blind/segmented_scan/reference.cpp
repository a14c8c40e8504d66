#include <cstdint>

extern "C" void segmented_scan(const std::int32_t* values, const std::uint8_t* flags, std::int32_t* sums, int rows, int n) {
  for (int row = 0; row < rows; ++row) {
    std::int32_t sum = 0;
    for (long long at = static_cast<long long>(row) * n; at < static_cast<long long>(row + 1) * n; ++at) {
      sum = flags[at] == 0 ? values[at] : sum + values[at];
      sums[at] = sum;
    }
  }
}
