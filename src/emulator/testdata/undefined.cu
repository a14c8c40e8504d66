// Kernels of undefined_test.cc, compiled by nvcc -O3 -std=c++17 -lineinfo -arch=sm_90 -ptx.
#include <cuda_pipeline.h>

// ---- atomics on memory that nobody wrote

extern "C" __global__ void shared_counter(int* x, int* y, int n) {
  __shared__ int counts[32];
  const int t = threadIdx.x;
  if (t < n) counts[t] = 0;
  __syncwarp();
  atomicAdd(&counts[x[t] % 32], 1);  // counts
  __syncwarp();
  if (counts[t] > 0) y[t] = 1;
  else y[t] = 2;
}

extern "C" __global__ void global_counter(int* x, int* y, int n) {
  if (n == 0) atomicAdd(&y[threadIdx.x / 4], x[threadIdx.x]);  // adds to y
  else if (n == 1) atomicExch(&y[threadIdx.x], x[threadIdx.x]);
  else y[threadIdx.x] = atomicCAS(&x[threadIdx.x], 1, 2);  // compares x
}

extern "C" __global__ void undefined_addend(int* x, int* y, int n) {
  __shared__ int s[32];
  if (threadIdx.x < n) s[threadIdx.x] = 1;
  __syncwarp();
  atomicAdd(&y[0], s[31 - threadIdx.x]);  // addend
  (void)x;
}

// ---- stores of undefined bytes

struct alignas(8) Padded {
  char letter;
  int number;
};

// x serves as workspace: it holds the padding of what was in shared memory.
extern "C" __global__ void copies_padding(int* x, int* y, int n) {
  __shared__ Padded s[32];
  const int t = threadIdx.x;
  s[t].letter = static_cast<char>(t);
  s[t].number = n;
  __syncwarp();
  reinterpret_cast<long long*>(x)[t] = *reinterpret_cast<volatile long long*>(&s[31 - t]);  // padding
  const volatile Padded* copy = reinterpret_cast<const volatile Padded*>(x) + t;
  y[t] = copy->letter + copy->number;
}

extern "C" __global__ void stores_twice(int* x, int* y, int n) {
  __shared__ int s[32];
  s[threadIdx.x] = 0;
  __shared__ int unwritten[32];
  *reinterpret_cast<volatile int*>(&y[threadIdx.x]) = *reinterpret_cast<volatile int*>(&unwritten[threadIdx.x]);  // first value
  if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] + s[threadIdx.x];
}

// ---- calls

__device__ __noinline__ int negated(int v) { return -v; }

extern "C" __global__ void through_a_call(int* x, int* y, int n) {
  __shared__ int s[64];
  if (threadIdx.x < n) s[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  y[threadIdx.x] = negated(*reinterpret_cast<volatile int*>(&s[31 - threadIdx.x]));  // argument
}

// ---- asynchronous copies

extern "C" __global__ void async_copy(int* x, int* y, int n) {
  __shared__ __align__(16) int s[256];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&s[4 * t], &x[4 * t], 16);  // copy
  __pipeline_commit();
  if (n != 1) __pipeline_wait_prior(n == 2 ? 1 : 0);
  __syncthreads();
  y[t] = s[255 - 4 * t];  // read
}

// Two buffers: the copy of the next part is in flight while this one is used.
extern "C" __global__ void async_pipeline(int* x, int* y, int n) {
  __shared__ int s[2][64];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&s[0][t], &x[t], 4);
  __pipeline_commit();
  int sum = 0;
  for (int part = 0; part < 8; ++part) {
    if (part + 1 < 8) __pipeline_memcpy_async(&s[(part + 1) % 2][t], &x[64 * (part + 1) + t], 4);  // next part
    __pipeline_commit();
    __pipeline_wait_prior(n & 1 ? 2 : 1);
    __syncthreads();
    sum += s[part % 2][63 - t];  // use
    if ((n & 2) == 0) __syncthreads();
  }
  y[t] = sum;
}
