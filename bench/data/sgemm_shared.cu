// SGEMM through shared memory: tiles of 16x16, one element of C per thread. n: a multiple of 16.
extern "C" __global__ void sgemm_shared(const float* a, const float* b, float* c, int n) {
  __shared__ float as[16][16];
  __shared__ float bs[16][16];
  const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    as[ty][tx] = a[row * n + k + tx];
    bs[ty][tx] = b[(k + ty) * n + col];
    __syncthreads();
#pragma unroll
    for (int q = 0; q < 16; ++q) sum += as[ty][q] * bs[q][tx];
    __syncthreads();
  }
  c[row * n + col] = sum;
}
