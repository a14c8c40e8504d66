// pattern: elementwise
// tensor: re f64 inout n
// tensor: im f64 inout n
// tensor: angle f64 in n
// sizes: n=4000000
#include <cmath>

// Pointers walk side by side; both parts are changed in place.
extern "C" void complex_rotate(double* re, double* im, const double* angle, int n) {
  double *a = re, *b = im;
  const double* end = angle + n;
  for (; angle != end; ++angle, ++a, ++b) {
    const double c = cos(*angle), s = sin(*angle), old = *a;
    *a = old * c - *b * s;
    *b = old * s + *b * c;
  }
}
