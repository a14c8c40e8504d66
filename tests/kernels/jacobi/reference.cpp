// scratch holds the third sweep.
extern "C" void jacobi(const double* x, double* y, double* scratch, int n) {
  const double* from = x;
  double* const to[4] = {scratch, y, scratch, y};
  for (int sweep = 0; sweep < 4; ++sweep) {
    for (int i = 0; i < n; ++i) to[sweep][i] = i == 0 || i == n - 1 ? from[i] : 0.5 * (from[i - 1] + from[i + 1]);
    from = to[sweep];
  }
}
