// pattern: reduction
// tensor: a f32 in rows,cols
// tensor: top f32 out cols
// sizes: rows=4096 cols=4096
#include <algorithm>
#include <limits>

// Rows outside, columns inside: the results are updated in memory.
extern "C" void column_max(const float* a, float* top, int rows, int cols) {
  std::fill(top, top + cols, -std::numeric_limits<float>::infinity());
  const float* p = a;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j, ++p)
      if (*p > top[j]) top[j] = *p;
}
