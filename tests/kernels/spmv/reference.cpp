#include <cstdint>
extern "C" void spmv(const float* value, const std::int32_t* column, const float* x, float* y, int rows) {
  for (int r = 0; r < rows; ++r) {
    double s = 0;
    for (int k = 8 * r; k < 8 * r + 8; ++k) s += double(value[k]) * x[column[k]];
    y[r] = float(s);
  }
}
