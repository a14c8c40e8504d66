#include <cstdint>

// Bits 4j to 4j + 3 of word w hold column 8w + order[j], as a number from -8 to 7 with 8 added.
extern "C" void int4_matvec(const std::uint32_t* packed, const float* scale, const float* x, float* y, int words, int rows) {
  constexpr int order[8] = {0, 4, 1, 5, 2, 6, 3, 7};
  for (int row = 0; row < rows; ++row) {
    double sum = 0;
    for (int w = 0; w < words; ++w)
      for (int j = 0; j < 8; ++j) {
        const int value = static_cast<int>(packed[static_cast<long long>(w) * rows + row] >> (4 * j) & 15u) - 8;
        sum += double(value) * scale[static_cast<long long>(row) * (words / 8) + w / 8] * x[w * 8 + order[j]];
      }
    y[row] = static_cast<float>(sum);
  }
}
