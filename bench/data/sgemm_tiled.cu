// Register-tiled SGEMM: 64x64 of C per block of 16x16 threads, 4x4 per thread, tiles of 16 along K. n: a multiple of 64.
extern "C" __global__ void sgemm_tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float as[16][64];
  __shared__ float bs[16][64];
  const int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx;
  const int row = blockIdx.y * 64, col = blockIdx.x * 64;
  float sum[4][4] = {};
  for (int k = 0; k < n; k += 16) {
    for (int i = 0; i < 4; ++i) {
      const int e = t + 256 * i;
      as[e % 16][e / 16] = a[(row + e / 16) * n + k + e % 16];
      bs[e / 64][e % 64] = b[(k + e / 64) * n + col + e % 64];
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < 16; ++q) {
      float x[4], y[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) x[i] = as[q][ty * 4 + i];
#pragma unroll
      for (int j = 0; j < 4; ++j) y[j] = bs[q][tx + 16 * j];
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] += x[i] * y[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) c[(row + ty * 4 + i) * n + col + tx + 16 * j] = sum[i][j];
}
