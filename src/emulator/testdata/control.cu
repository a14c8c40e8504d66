// Kernels of control_test.cc, compiled by nvcc -O3 -std=c++17 -lineinfo -arch=sm_90 -ptx.
#include <assert.h>
#include <stdio.h>

// ---- control flow
extern "C" __global__ void nested(const int* x, int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = x[i], steps = 0;
  while (v > 1) {
    if (v % 2 == 0) v /= 2;
    else if (v % 3 == 0) v /= 3;
    else v = v * 3 + 1;
    ++steps;
    if (steps > 1000) break;
  }
  y[i] = steps;
}

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
extern "C" __global__ void recursion(const int* x, int* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = fibonacci(x[threadIdx.x]); }

__device__ __noinline__ int endless(int n, int* y) { y[0] = n; return endless(n + 1, y) + y[1]; }
extern "C" __global__ void overflow(const int* x, int* y, int n) { y[2] = endless(n, y); }

__device__ __noinline__ int twice(int a) { return 2 * a; }
__device__ __noinline__ int square(int a) { return a * a; }
__device__ __noinline__ int negate(int a) { return -a; }
__device__ int (*const kTable[3])(int) = {twice, square, negate};
extern "C" __global__ void indirect(const int* x, int* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = kTable[x[threadIdx.x] % 3](x[threadIdx.x]); }

// Every lane takes the lock in turn: lanes of one warp too.
__device__ int lock_word = 0;
extern "C" __global__ void lock(const int*, int* y, int) {
  bool done = false;
  while (!done) {
    if (atomicCAS(&lock_word, 0, 1) == 0) {
      __threadfence();
      *(volatile int*)y = *(volatile int*)y + 1;
      __threadfence();
      atomicExch(&lock_word, 0);
      done = true;
    }
  }
}

// Each block waits for the one before it.
extern "C" __global__ void chain(const int* x, int* y, int n) {
  if (threadIdx.x == 0) {
    int before = 0;
    if (blockIdx.x > 0) while ((before = atomicAdd(&y[blockIdx.x - 1], 0)) == 0) { }
    atomicExch(&y[blockIdx.x], before + x[blockIdx.x]);
  }
}

// All blocks meet: needs every block resident.
__device__ unsigned arrived = 0;
extern "C" __global__ void meet(const int* x, int* y, int n) {
  __shared__ int seen;
  if (threadIdx.x == 0) {
    y[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    atomicAdd(&arrived, 1);
    while (*(volatile unsigned*)&arrived < gridDim.x) { }
    __threadfence();
    seen = ((volatile int*)y)[(blockIdx.x + 1) % gridDim.x];
  }
  __syncthreads();
  if (threadIdx.x == 1) y[gridDim.x + blockIdx.x] = seen;
}

// ---- ends
extern "C" __global__ void forever(const int*, int*, int) { while (true) { asm volatile(""); } }
extern "C" __global__ void wait_flag(const int*, int* y, int) { while (*(volatile int*)y == 0) { } }
extern "C" __global__ void counts(const int*, int* y, int) { for (unsigned long long i = 0; i < 1ull << 50; ++i) asm volatile("" :: "l"(i)); y[0] = 1; }
extern "C" __global__ void split_barrier(const int* x, int* y, int n) {
  __shared__ int s[32];
  s[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x % 2) __syncthreads();
  else { s[threadIdx.x] += 1; __syncthreads(); s[threadIdx.x] += 2; }
  y[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void asserts(const int* x, int* y, int n) { assert(x[threadIdx.x] < 5); y[threadIdx.x] = 1; }
extern "C" __global__ void traps(const int*, int*, int) { __trap(); }

// ---- faults
extern "C" __global__ void past_end(const int* x, int* y, int n) { y[threadIdx.x] = x[threadIdx.x + n]; }
extern "C" __global__ void shared_past_end(const int* x, int* y, int n) { __shared__ int s[32]; s[threadIdx.x + n] = x[threadIdx.x]; __syncthreads(); y[threadIdx.x] = s[31 - threadIdx.x]; }
extern "C" __global__ void misaligned(const int* x, int* y, int n) { y[threadIdx.x] = *(const int*)((const char*)x + n); }
extern "C" __global__ void unwritten_shared(const int* x, int* y, int n) { __shared__ int s[64]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); y[threadIdx.x] = s[threadIdx.x + n]; }
extern "C" __global__ void unwritten_branch(const int* x, int* y, int n) { if (x[threadIdx.x + n] > 3) y[threadIdx.x] = 1; else y[threadIdx.x] = 2; }
extern "C" __global__ void missing_barrier(const int* x, int* y, int n) { __shared__ int s[64]; s[threadIdx.x] = x[threadIdx.x]; if (n > 0) __syncthreads(); y[threadIdx.x] = s[63 - threadIdx.x]; }
extern "C" __global__ void partial_shuffle(const int* x, int* y, int n) { int v = x[threadIdx.x]; if (threadIdx.x < n) v = __shfl_down_sync(0xffffffffu >> (32 - n), v, 1); y[threadIdx.x] = v; }
extern "C" __global__ void shuffle_exited(const int* x, int* y, int n) { int v = x[threadIdx.x]; if (threadIdx.x >= n) return; y[threadIdx.x] = __shfl_sync(0xffffffffu, v, 31); }

// ---- library
extern "C" __global__ void prints(const int* x, int* y, int n) {
  if (threadIdx.x == 1) y[0] = printf("%d %5u|%-4x|%lld %s %c %.3f %e %% %p\n", -3, 7u, 255u, 1ll << 40, "text", 'z', 1.5f, 2.0, (void*)16);
}
__constant__ int kWeights[4] = {1, 2, 3, 4};
__device__ int kNumbers[4] = {10, 20, 30, 40};
extern "C" __global__ void variables(const int* x, int* y, int n) { const int i = threadIdx.x % 4; y[threadIdx.x] = kWeights[i] * kNumbers[i]; if (threadIdx.x == 0) kNumbers[0] = 5; }
extern "C" __global__ void heap(const int* x, int* y, int n) {
  int* p = (int*)malloc(n * sizeof(int));
  if (p == nullptr) { y[threadIdx.x] = -1; return; }
  for (int i = 0; i < n; ++i) p[i] = i + x[threadIdx.x];
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += p[i];
  free(p);
  y[threadIdx.x] = sum;
}
extern "C" __global__ void local_array(const int* x, int* y, int n) {
  int a[16];
  for (int i = 0; i < 16; ++i) a[i] = x[threadIdx.x] + i;
  y[threadIdx.x] = a[n & 15] + a[(n * x[threadIdx.x]) & 15];
}
extern "C" __global__ void votes(const int* x, int* y, int n) {
  const int v = x[threadIdx.x];
  const unsigned b = __ballot_sync(0xffffffffu, v > n), m = __match_any_sync(0xffffffffu, v % 3);
  y[threadIdx.x] = __popc(b) + (__any_sync(0xffffffffu, v == n) ? 100 : 0) + (__all_sync(0xffffffffu, v >= 0) ? 1000 : 0) + 10000 * __popc(m);
}
extern "C" __global__ void reduces(const int* x, int* y, int n) {
  y[threadIdx.x] = __reduce_add_sync(0xffffffffu, x[threadIdx.x]) + 1000 * __reduce_max_sync(0xffffffffu, x[threadIdx.x]) + __syncthreads_count(x[threadIdx.x] > n) * 1000000;
}
extern "C" __global__ void histogram(const int* x, int* y, int n) {
  __shared__ int bins[8];
  if (threadIdx.x < 8) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[x[i] & 7], 1);
  __syncthreads();
  if (threadIdx.x < 8) atomicAdd(&y[threadIdx.x], bins[threadIdx.x]);
}
