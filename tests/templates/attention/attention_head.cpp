#include <algorithm>
#include <cmath>

extern "C" void attend(const float* q, const float* k, const float* v, float* o, int heads, int length) {
  for (int h = 0; h < heads; ++h)
    for (int i = 0; i < length; ++i) {
      auto score = [&](int j) {
        double dot = 0;
        for (int l = 0; l < 64; ++l) dot += double(q[(h * length + i) * 64 + l]) * double(k[(h * length + j) * 64 + l]);
        return dot * 0.125;
      };
      double peak = -INFINITY;
      for (int j = 0; j < i + 1; ++j) peak = std::max(peak, score(j));
      double total = 0;
      for (int j = 0; j < i + 1; ++j) total += std::exp(score(j) - peak);
      for (int e = 0; e < 64; ++e) {
        double sum = 0;
        for (int j = 0; j < i + 1; ++j) sum += std::exp(score(j) - peak) * double(v[(h * length + j) * 64 + e]);
        o[(h * length + i) * 64 + e] = float(sum / total);
      }
    }
}
