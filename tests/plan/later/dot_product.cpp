// pattern: reduction
// tensor: a f64 in n
// tensor: b f64 in n
// tensor: out f64 out 1
// sizes: n=16777216
#include <numeric>

extern "C" void dot_product(const double* a, const double* b, double* out, int n) { *out = std::inner_product(a, a + n, b, 0.0); }
