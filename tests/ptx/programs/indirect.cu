// Calls through pointers and tables, virtual functions, dense switches, recursion, alloca, memory from the device's heap.
#include <cstdio>

#include "../../../src/cudart/nvcc/expect.h"

using Operation = int (*)(int, int);
__device__ int plus(int a, int b) { return a + b; }
__device__ int minus(int a, int b) { return a - b; }
__device__ int times(int a, int b) { return a * b; }
__device__ Operation table[] = {plus, minus, times};
__constant__ Operation constant_table[] = {times, plus};

struct Shape {
  __device__ virtual ~Shape() {}
  __device__ virtual int area() const = 0;
  __device__ virtual const char* name() const { return "shape"; }
};
struct Square : Shape {
  int side;
  __device__ explicit Square(int s) : side(s) {}
  __device__ int area() const override { return side * side; }
  __device__ const char* name() const override { return "square"; }
};
struct Rectangle : Square {
  int other;
  __device__ Rectangle(int a, int b) : Square(a), other(b) {}
  __device__ int area() const override { return side * other; }
};

__noinline__ __device__ int ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }

struct Big { int values[20]; };
__noinline__ __device__ Big rotated(Big b, int by) {
  Big r;
  for (int i = 0; i < 20; ++i) r.values[i] = b.values[(i + by) % 20];
  return r;
}

__device__ int by_switch(int what, int x) {
  switch (what) {
    case 0: return x + 1;
    case 1: return x * 3;
    case 2: return x - 7;
    case 3: return x ^ 0x55;
    case 4: return x << 2;
    case 5: return -x;
    case 6: return x / 3;
    case 7: return x % 5;
    case 8: return x | 64;
    default: return 99;
  }
}

__global__ void calls(int* out, int threads) {
  const int t = threadIdx.x;
  if (t >= threads) return;
  int* own = out + 8 * t;
  own[0] = table[t % 3](t, 5);
  own[1] = constant_table[t % 2](t, 2);
  Shape* shape = t % 2 == 0 ? new Square(t) : static_cast<Shape*>(new Rectangle(t, t + 1));
  own[2] = shape->area();
  own[3] = shape->name()[1];
  delete shape;
  own[4] = ackermann(2, t % 4);
  own[5] = by_switch(t % 10, t);
  Big big;
  for (int i = 0; i < 20; ++i) big.values[i] = i * t;
  own[6] = rotated(big, t).values[3];
  int* stack = static_cast<int*>(alloca(4 * (t + 1)));
  for (int i = 0; i <= t; ++i) stack[i] = i;
  int sum = 0;
  for (int i = t; i >= 0; --i) sum += stack[i];
  own[7] = sum;
}

struct Node { int value; Node* next; };
__global__ void lists(int* out) {
  Node* head = nullptr;
  for (int i = 0; i < 10; ++i) {
    Node* node = static_cast<Node*>(malloc(sizeof(Node)));
    *node = {i * static_cast<int>(threadIdx.x), head};
    head = node;
  }
  int sum = 0;
  while (head != nullptr) {
    Node* next = head->next;
    sum += head->value;
    free(head);
    head = next;
  }
  out[threadIdx.x] = sum;
}

static int host_switch(int what, int x) {
  const int all[] = {x + 1, x * 3, x - 7, x ^ 0x55, x << 2, -x, x / 3, x % 5, x | 64};
  return what < 9 ? all[what] : 99;
}

int main() {
  constexpr int kThreads = 40;
  int *out, host[8 * kThreads];
  cudaMalloc(&out, sizeof host);
  calls<<<1, 64>>>(out, kThreads);
  EXPECT(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost), cudaSuccess);
  for (int t = 0; t < kThreads; ++t) {
    const int operations[] = {t + 5, t - 5, t * 5}, ackermanns[] = {3, 5, 7, 9};
    EXPECT(host[8 * t], operations[t % 3]);
    EXPECT(host[8 * t + 1], t % 2 == 0 ? t * 2 : t + 2);
    EXPECT(host[8 * t + 2], t % 2 == 0 ? t * t : t * (t + 1));
    EXPECT(host[8 * t + 3], 'q');
    EXPECT(host[8 * t + 4], ackermanns[t % 4]);
    EXPECT(host[8 * t + 5], host_switch(t % 10, t));
    EXPECT(host[8 * t + 6], (3 + t) % 20 * t);
    EXPECT(host[8 * t + 7], t * (t + 1) / 2);
  }
  lists<<<1, 32>>>(out);
  EXPECT(cudaMemcpy(host, out, 32 * 4, cudaMemcpyDeviceToHost), cudaSuccess);
  for (int t = 0; t < 32; ++t) EXPECT(host[t], 45 * t);
  std::puts(failures == 0 ? "good" : "bad");
  return failures;
}
