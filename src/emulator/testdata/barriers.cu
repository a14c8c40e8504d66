// Kernels of barrier_test.cc, compiled by nvcc -O3 -std=c++17 -lineinfo -arch=sm_90 -ptx. A comment `wrong` marks the barrier that is
// not reached by all, `right` kernels must pass. n is small; blocks are of 128 threads unless the test says otherwise.
#define KERNEL(name) extern "C" __global__ void name(const int* x, int* y, int n)

// ---- right
KERNEL(early_return) {
  __shared__ int s[128];
  if (threadIdx.x >= n) return;
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = s[n - 1 - threadIdx.x];
}
KERNEL(uniform_if) {
  __shared__ int s[128];
  s[threadIdx.x] = x[threadIdx.x];
  if (n > 3) { __syncthreads(); s[threadIdx.x] += s[threadIdx.x ^ 1] * 0; }
  else s[threadIdx.x] += 2;
  y[threadIdx.x] = s[threadIdx.x];
}
KERNEL(uniform_loop) {
  __shared__ int s[128];
  s[threadIdx.x] = x[threadIdx.x];
  for (int k = 0; k < n; ++k) {
    __syncthreads();
    const int other = s[(threadIdx.x + 1) % 128];
    __syncthreads();
    s[threadIdx.x] = other;
  }
  y[threadIdx.x] = s[threadIdx.x];
}
KERNEL(nested_uniform) {
  __shared__ int s[128];
  s[threadIdx.x] = x[threadIdx.x];
  for (int k = 0; k < n; ++k) {
    if (k % 3 == 1) {
      for (int j = 0; j < k; ++j) {
        if (threadIdx.x % 3 == 0) s[threadIdx.x] += j;
        if (j % 2 == 0) __syncthreads();
      }
    } else if (threadIdx.x & 1) {
      s[threadIdx.x] -= k;
    }
  }
  y[threadIdx.x] = s[threadIdx.x];
}
KERNEL(warp_work) {
  __shared__ int s[128];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int k = 0; k < n; ++k) {
    if (threadIdx.x < 32) {
      int v = s[threadIdx.x] + k;
      for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
      s[threadIdx.x] = v;
    }
    __syncthreads();
  }
  y[threadIdx.x] = s[threadIdx.x % 32];
}
// Threads that break out of a divergent loop meet again before the barrier.
KERNEL(divergent_work) {
  __shared__ int s[128];
  for (int k = 0; k < n; ++k) {
    int v = x[threadIdx.x] + k;
    while (v > 1) { if (v % 5 == 4) break; v = v % 2 ? 3 * v + 1 : v / 2; }
    s[threadIdx.x] = v;
    __syncthreads();
    if (s[(threadIdx.x + 1) % 128] > 3 && threadIdx.x % 7 == 3) continue;
    y[threadIdx.x] = v;
    __syncthreads();   // wrong when the `continue` is taken by some
  }
}
// A barrier in a loop that threads leave by return.
KERNEL(return_in_loop) {
  __shared__ int s[128];
  s[threadIdx.x] = 0;
  for (int k = 0; ; ++k) {
    if (k * 32 > threadIdx.x) return;
    s[threadIdx.x] += x[threadIdx.x];
    __syncthreads();
    if (k < n) y[threadIdx.x] = s[threadIdx.x];
  }
}
__device__ __noinline__ void meet_all(int* s, int k) { s[threadIdx.x] += k; __syncthreads(); if (k & 1) __syncthreads(); }
KERNEL(called) {
  __shared__ int s[128];
  s[threadIdx.x] = x[threadIdx.x];
  for (int k = 0; k < n; ++k) meet_all(s, k);
  y[threadIdx.x] = s[threadIdx.x];
}
KERNEL(counted) {
  const int all = __syncthreads_count(x[threadIdx.x] > n);
  y[threadIdx.x] = all;
}

// ---- wrong
KERNEL(half_warp) {
  __shared__ int s[128];
  s[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x < n) {
    s[threadIdx.x] += 1;
    __syncthreads();  // wrong: half_warp
  }
  y[threadIdx.x] = s[threadIdx.x] + 1;
}
KERNEL(tree) {
  __shared__ int s[128];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  #pragma unroll 1
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      s[threadIdx.x] += s[threadIdx.x + half];
      __syncthreads();  // wrong: tree
    }
  }
  y[threadIdx.x] = s[0];
}
KERNEL(trip_count) {
  __shared__ int s[128];
  s[threadIdx.x] = x[threadIdx.x];
  #pragma unroll 1
  for (int k = 0; k < threadIdx.x / n; ++k) {
    s[threadIdx.x] += k;
    __syncthreads();  // wrong: trip_count
  }
  y[threadIdx.x] = s[threadIdx.x];
}
KERNEL(one_side) {
  __shared__ int s[128];
  s[threadIdx.x] = x[threadIdx.x];
  if (x[threadIdx.x] % n == 0) { s[threadIdx.x] += 3; __syncthreads(); s[threadIdx.x] += s[0]; }  // wrong: one_side
  else { s[threadIdx.x] -= 3; }
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];
}
KERNEL(both_sides) {
  __shared__ int s[128];
  s[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x % 32 < n) { s[threadIdx.x] += 3; __syncthreads(); s[threadIdx.x] *= 3; }
  else { s[threadIdx.x] -= 3; __syncthreads(); s[threadIdx.x] *= 5; }
  y[threadIdx.x] = s[threadIdx.x];
}
KERNEL(whole_warps_both_sides) {
  __shared__ int s[128];
  s[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x < 64) { s[threadIdx.x] += 3; __syncthreads(); s[threadIdx.x] *= 3; }
  else { s[threadIdx.x] -= 3; __syncthreads(); s[threadIdx.x] *= 5; }
  y[threadIdx.x] = s[threadIdx.x];
}
KERNEL(called_by_some) {
  __shared__ int s[128];
  s[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x < n) meet_all(s, 2);  // wrong: called_by_some
  y[threadIdx.x] = s[threadIdx.x] + 1;
}
