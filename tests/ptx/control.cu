// Calls, recursion, function pointers, lambdas, switches, printf, assert, trap, malloc, inline asm with nested scopes.
#include <cassert>
#include <cstdio>

struct Shape { virtual __device__ float area() const = 0; };
struct Square : Shape { float a; __device__ explicit Square(float x) : a(x) {} __device__ float area() const override { return a * a; } };
struct Circle : Shape { float r; __device__ explicit Circle(float x) : r(x) {} __device__ float area() const override { return 3.f * r * r; } };

__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ float twice(float x) { return x + x; }
__device__ __noinline__ float thrice(float x) { return x * 3; }
__device__ float (*const table[])(float) = {twice, thrice};
__device__ float (*chosen)(float) = thrice;
__device__ int numbers[5] = {1, 2, 3};
__device__ int* middle = numbers + 2;
__constant__ float weights[4] = {0.5f, 1.5f};
__managed__ int managed_counter = 7;
__device__ const char* text = "hello";
struct Pair { long long a; double b; char tail[5]; };
__device__ __noinline__ Pair make(Pair p, int x) { p.a += x; p.tail[x & 3] = 1; return p; }

__device__ int nested_scopes(int x, unsigned y) {
  int r;
  asm volatile("{\n .reg .pred p;\n .reg .b32 t;\n setp.lt.s32 p, %1, 7;\n mov.b32 t, 5;\n {\n .reg .b32 t;\n mov.u32 t, %2;\n add.s32 %0, t, %1;\n }\n"
               " @p bra DONE;\n add.s32 %0, %0, t;\nDONE:\n}" : "=r"(r) : "r"(x), "r"(y));
  asm("{ .reg .u32 lo, hi; mov.b64 {lo, hi}, %1; lop3.b32 %0, lo, hi, %0, 0x96; }" : "+r"(r) : "l"((long long)x << 20));
  return r;
}
template <class F> __device__ __forceinline__ int apply(F f, int x) { return f(x) + 1; }

__global__ void __launch_bounds__(128, 2) kernel(float* x, int n, Pair s) {
  __shared__ int shared[32];
  extern __shared__ float dynamic[];
  const int i = threadIdx.x;
  shared[i & 31] = n;
  __syncthreads();
  int v = apply([=](int q) { return apply([=](int z) { return z * shared[z & 31]; }, q); }, i);
  if (x[i] > 3.f) printf("%d %f %s\n", v, x[i], text);
  assert(n > 0);
  if (n == 77) __trap();
  switch (n) {
    case 0: v += 3; break; case 1: v *= 5; break; case 2: v -= 7; break; case 3: v ^= 9; break; case 4: v |= 123; break;
    case 5: v = __popc(v); break; case 6: v = fib(v); break; case 7: v = nested_scopes(v, n); break; case 8: v = -v; break;
  }
  Pair p = make(s, v);
  float* heap = static_cast<float*>(malloc(n * sizeof(float)));
  heap[0] = chosen(x[i]) + table[n & 1](x[i]) + *middle + weights[i & 3] + p.tail[2] + managed_counter + dynamic[i];
  Shape* shape = n & 1 ? static_cast<Shape*>(new Square(2)) : new Circle(1);
  x[i] = heap[0] + shape->area() + clock() + (float)clock64();
  delete shape;
  free(heap);
}
