#include <cstdint>
extern "C" void argmax(const float* x, std::int32_t* index, float* value, bool* positive, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    int best = 0;
    for (int c = 1; c < cols; ++c)
      if (x[(long long)r * cols + c] > x[(long long)r * cols + best]) best = c;
    index[r] = best;
    value[r] = x[(long long)r * cols + best];
    positive[r] = value[r] > 1.5f;
  }
}
