// pattern: rms_norm
// tensor: x bf16 in n,d
// tensor: weight bf16 in d
// tensor: out bf16 out n,d
// sizes: n=4096 d=8192
#include <cmath>

static double mean_square(const float* row, int d) {
  double total = 0.0;
  int i = 0;
  while (i < d) {
    total += double(row[i]) * double(row[i]);
    ++i;
  }
  return total / d;
}

extern "C" void rms_norm_rows(const float* x, const float* weight, float* out, int n, int d) {
  for (int r = 0; r < n; ++r, x += d, out += d) {
    const double scale = 1.0 / std::sqrt(mean_square(x, d) + 1e-6);
    for (int i = 0; i < d; ++i) out[i] = float(x[i] * scale * weight[i]);
  }
}
