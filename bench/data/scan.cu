// Inclusive scan of each row of 1,024 elements: shuffles inside a warp, shared memory between warps. One block of 256 a row.
extern "C" __global__ void scan(const float* x, float* y, int cols) {
  __shared__ float totals[8];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const float* from = x + static_cast<long long>(blockIdx.x) * cols;
  float* to = y + static_cast<long long>(blockIdx.x) * cols;
  float carry = 0;
  for (int start = 0; start < cols; start += 256) {
    float value = from[start + threadIdx.x];
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const float other = __shfl_up_sync(0xffffffffu, value, distance);
      if (lane >= distance) value += other;
    }
    if (lane == 31) totals[warp] = value;
    __syncthreads();
    float before = carry, all = carry;
#pragma unroll
    for (int w = 0; w < 8; ++w) {
      if (w < warp) before += totals[w];
      all += totals[w];
    }
    to[start + threadIdx.x] = value + before;
    carry = all;
    __syncthreads();
  }
}
