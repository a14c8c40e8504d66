// pattern: histogram
// tensor: v f32 in n
// tensor: hist i32 out bins
// scalar: low f32 0.0
// scalar: high f32 1.0
// sizes: n=10000000 bins=128
#include <algorithm>

extern "C" void bin_values(const float* v, int* hist, int n, int bins, float low, float high) {
  std::fill(hist, hist + bins, 0);
  for (int i = 0; i < n; ++i) {
    int bin = int((v[i] - low) / (high - low) * bins);
    if (bin < 0) bin = 0;
    if (bin >= bins) bin = bins - 1;
    hist[bin] += 1;
  }
}
