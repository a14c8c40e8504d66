#include <algorithm>

extern "C" void relax(const int* a, const int* b, const int* c, int* best, int n) {
  for (int i = 0; i < n; ++i) best[i] = std::max(a[i] + b[i], c[i]);
}
