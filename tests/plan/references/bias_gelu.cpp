// pattern: elementwise
// tensor: x f32 in rows,cols
// tensor: bias f32 in cols
// tensor: y f32 out rows,cols
// sizes: rows=4096 cols=1024
#include <cmath>

static double gelu(double v) { return 0.5 * v * (1.0 + std::erf(v / std::sqrt(2.0))); }

extern "C" void bias_gelu(const float* x, const float* bias, float* y, int rows, int cols) {
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < cols; c++) {
      const long long at = (long long)r * cols + c;
      y[at] = (float)gelu((double)x[at] + bias[c]);
    }
}
