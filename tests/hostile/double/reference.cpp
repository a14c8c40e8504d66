#include <cmath>

// y = sqrt(x) + 1 / x for every element.
extern "C" void map(const double* x, double* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = std::sqrt(x[i]) + 1 / x[i];
}
