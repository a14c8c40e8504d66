// Accelerations of n bodies in double precision; bodies pass through shared memory 256 at a time.
extern "C" __global__ void nbody(const double* x, const double* y, const double* z, const double* mass, double* ax, double* ay, double* az, int n) {
  __shared__ double sx[256], sy[256], sz[256], sm[256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  const double px = x[i], py = y[i], pz = z[i];
  double fx = 0, fy = 0, fz = 0;
  for (int start = 0; start < n; start += 256) {
    sx[threadIdx.x] = x[start + threadIdx.x];
    sy[threadIdx.x] = y[start + threadIdx.x];
    sz[threadIdx.x] = z[start + threadIdx.x];
    sm[threadIdx.x] = mass[start + threadIdx.x];
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < 256; ++k) {
      const double dx = sx[k] - px, dy = sy[k] - py, dz = sz[k] - pz;
      const double square = dx * dx + dy * dy + dz * dz + 1e-9;
      const double inverse = rsqrt(square);
      const double pull = sm[k] * inverse * inverse * inverse;
      fx += pull * dx;
      fy += pull * dy;
      fz += pull * dz;
    }
    __syncthreads();
  }
  ax[i] = fx;
  ay[i] = fy;
  az[i] = fz;
}
