// pattern: stencil
// tensor: u f64 in ny,nx
// tensor: v f64 out ny,nx
// scalar: alpha f64 0.1
// sizes: ny=4096 nx=4096
extern "C" void heat_step(const double* u, double* v, int ny, int nx, double alpha) {
  for (int j = 0; j < ny; ++j) {
    for (int i = 0; i < nx; ++i) {
      const long long k = (long long)j * nx + i;
      v[k] = u[k];
      if (i == 0 || j == 0 || i == nx - 1 || j == ny - 1) continue;
      v[k] += alpha * (u[k - 1] + u[k + 1] + u[k - nx] + u[k + nx] - 4.0 * u[k]);
    }
  }
}
