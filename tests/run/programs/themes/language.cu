// What C++ allows on the device: recursion, virtual functions, pointers to functions, lambdas, templates, memory from the heap.
#include <cassert>
#include <cstdint>
#include <new>

#include <cuda/std/array>
#include <cuda/std/optional>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>

#include "self_check.h"

// ---- recursion -----------------------------------------------------------------------------------------------------

__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ int ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
__device__ bool is_odd(int n);
__device__ __noinline__ bool is_even(int n) { return n == 0 || is_odd(n - 1); }
__device__ __noinline__ bool is_odd(int n) { return n != 0 && is_even(n - 1); }
__device__ void sort(int* data, int low, int high) {
  if (low >= high) return;
  const int pivot = data[(low + high) / 2];
  int i = low, j = high;
  while (i <= j) {
    while (data[i] < pivot) ++i;
    while (data[j] > pivot) --j;
    if (i <= j) {
      const int swapped = data[i];
      data[i++] = data[j];
      data[j--] = swapped;
    }
  }
  sort(data, low, j);
  sort(data, i, high);
}
__device__ int count_queens(int n, int row, unsigned columns, unsigned up, unsigned down) {
  if (row == n) return 1;
  int found = 0;
  for (unsigned free = ~(columns | up | down) & ((1u << n) - 1); free != 0; free &= free - 1) {
    const unsigned bit = free & -free;
    found += count_queens(n, row + 1, columns | bit, (up | bit) << 1, (down | bit) >> 1);
  }
  return found;
}
__global__ void recurse(int* out, int* data, int count) {
  const int t = threadIdx.x;
  out[t] = fibonacci(t % 12);
  out[32 + t] = ackermann(2, t % 5);
  out[64 + t] = is_even(t);
  if (t < 4) sort(data + t * count, 0, count - 1);
  out[96 + t] = count_queens(4 + t % 4, 0, 0, 0, 0);
}

// ---- virtual functions, pointers to functions -------------------------------------------------------------------------

struct Shape {
  __device__ virtual ~Shape() {}
  __device__ virtual float area() const = 0;
  __device__ virtual int sides() const { return 0; }
};
struct Square : Shape {
  float side;
  __device__ explicit Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
  __device__ int sides() const override { return 4; }
};
struct Circle : Shape {
  float radius;
  __device__ explicit Circle(float r) : radius(r) {}
  __device__ float area() const override { return 3 * radius * radius; }
};
struct Cube : Square {
  using Square::Square;
  __device__ float area() const override { return 6 * Square::area(); }
};

__global__ void make_shapes(Shape** shapes, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  if (i % 3 == 0) shapes[i] = new Square(static_cast<float>(i));
  if (i % 3 == 1) shapes[i] = new Circle(static_cast<float>(i));
  if (i % 3 == 2) shapes[i] = new Cube(static_cast<float>(i));
}
__global__ void measure_shapes(Shape** shapes, int count, float* areas, int* sides) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  areas[i] = shapes[i]->area();
  sides[i] = shapes[i]->sides();
}
__global__ void delete_shapes(Shape** shapes, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) delete shapes[i];
}

using Binary = int (*)(int, int);
__device__ int add(int a, int b) { return a + b; }
__device__ int subtract(int a, int b) { return a - b; }
__device__ int multiply(int a, int b) { return a * b; }
__device__ Binary g_operations[] = {add, subtract, multiply};
__device__ Binary g_chosen = multiply;

__global__ void call_pointers(int* out, Binary handed) {
  const int t = threadIdx.x;
  out[t] = g_operations[t % 3](t, 7);
  out[32 + t] = handed(t, t + 1);
}

// ---- templates ---------------------------------------------------------------------------------------------------------

template <class T>
__device__ T describe(T value) {
  if constexpr (cuda::std::is_integral_v<T>) {
    return value * 2;
  } else if constexpr (sizeof(T) == 8) {
    return value / 2;
  } else {
    return value + T{0.25};
  }
}
template <class... Ts>
__device__ auto sum_all(Ts... values) { return (values + ... + 0); }
template <class Derived>
struct Base {
  __device__ int twice() const { return 2 * static_cast<const Derived*>(this)->value(); }
};
struct Leaf : Base<Leaf> {
  int held = 21;
  __device__ int value() const { return held; }
};
template <int N>
struct Factorial {
  static constexpr long long value = N * Factorial<N - 1>::value;
};
template <>
struct Factorial<0> {
  static constexpr long long value = 1;
};
template <class F>
__global__ void apply(F f, int* out, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) out[i] = f(i);
}
template <class T, int kRows, int kColumns>
struct Matrix {
  T cells[kRows][kColumns];
  __device__ Matrix<T, kColumns, kRows> transposed() const {
    Matrix<T, kColumns, kRows> result;
    for (int i = 0; i < kRows; ++i)
      for (int j = 0; j < kColumns; ++j) result.cells[j][i] = cells[i][j];
    return result;
  }
};
enum class Colour : std::uint8_t { red, green = 7, blue };
struct Bits {
  unsigned low : 3;
  int middle : 7;
  unsigned long long high : 40;
};
union Overlay {
  float real;
  unsigned bits;
  unsigned char bytes[4];
};

__global__ void use_templates(double* out, long long* whole) {
  out[0] = describe(21);
  out[1] = describe(5.0);
  out[2] = describe(1.0f);
  out[3] = sum_all(1, 2.5, 3.0f, 4ull);
  out[4] = Leaf{}.twice();
  Matrix<double, 3, 5> m;
  for (int i = 0; i < 15; ++i) m.cells[i / 5][i % 5] = i;
  out[5] = m.transposed().cells[4][2];
  const auto [whole_part, rest] = cuda::std::make_pair(7, 0.5);
  out[6] = whole_part + rest;
  cuda::std::array<int, 6> list{5, 3, 8, 1, 9, 2};
  int best = list[0];
  for (const int value : list) best = value > best ? value : best;
  out[7] = best;
  cuda::std::optional<int> nothing, something = 11;
  out[8] = nothing.value_or(4) + *something;
  const auto bundle = cuda::std::make_tuple(1, 2.5, 'c');
  out[9] = cuda::std::get<1>(bundle) + cuda::std::get<2>(bundle);
  out[10] = static_cast<int>(Colour::blue);
  Bits bits{5, -20, 0x123456789aull};
  bits.middle += 3;
  out[11] = bits.middle;
  Overlay overlay;
  overlay.real = 1.0f;
  out[12] = overlay.bits >> 23;
  out[13] = overlay.bytes[3];
  whole[0] = Factorial<20>::value;
  whole[1] = bits.high;
  whole[2] = static_cast<std::int8_t>(200) >> 1;
  whole[3] = (-7) / 2 * 10 + (-7) % 3;
  whole[4] = static_cast<long long>(static_cast<unsigned long long>(-3) / 10);
  whole[5] = __int128(1) << 100 >> 70;
}

// ---- the heap ------------------------------------------------------------------------------------------------------------

struct Node {
  int value;
  Node* next;
};
__global__ void build_lists(Node** heads, int length) {
  Node* head = nullptr;
  for (int i = 0; i < length; ++i) {
    auto* node = static_cast<Node*>(malloc(sizeof(Node)));
    if (node == nullptr) return;
    node->value = i + static_cast<int>(threadIdx.x);
    node->next = head;
    head = node;
  }
  heads[threadIdx.x] = head;
}
__global__ void sum_lists(Node** heads, int* sums) {
  int sum = 0;
  for (const Node* node = heads[threadIdx.x]; node != nullptr; node = node->next) sum += node->value;
  sums[threadIdx.x] = sum;
}
__global__ void free_lists(Node** heads) {
  for (Node* node = heads[threadIdx.x]; node != nullptr;) {
    Node* next = node->next;
    free(node);
    node = next;
  }
}
struct Counted {
  int* counter;
  __device__ explicit Counted(int* c) : counter(c) { atomicAdd(counter, 1); }
  __device__ ~Counted() { atomicAdd(counter, 1000); }
};
__global__ void use_new(int* counter, int* out) {
  {
    Counted local(counter);
    alignas(Counted) unsigned char room[sizeof(Counted)];
    auto* placed = new (room) Counted(counter);
    placed->~Counted();
  }
  int* array = new int[threadIdx.x + 1];
  for (unsigned i = 0; i <= threadIdx.x; ++i) array[i] = i;
  int sum = 0;
  for (unsigned i = 0; i <= threadIdx.x; ++i) sum += array[i];
  out[threadIdx.x] = sum;
  delete[] array;
}

// ---- control flow --------------------------------------------------------------------------------------------------------

__global__ void control(int* out) {
  const int t = threadIdx.x;
  int value = 0;
  switch (t % 11) {
    case 0: value = 100; break;
    case 1: value = 7;   // falls through
    case 2: value += 5; break;
    case 3: case 4: value = t * t; break;
    case 5: value = -1; break;
    case 6: value = t << 3; break;
    case 7: value = ~t; break;
    case 8: value = 0x55; break;
    default: value = 9;
  }
  for (int i = 0; i < t; ++i) {
    if (i == 3) continue;
    if (i > 20) break;
    for (int j = 0; j < 3; ++j) {
      if ((i + j) % 5 == 4) goto next;
      value += j;
    }
  next:;
  }
  int n = t + 1, steps = 0;
  do {
    n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    ++steps;
  } while (n != 1 && n != 4);
  int local[64];
  for (int i = 0; i < 64; ++i) local[i] = i ^ t;
  out[t] = value + 1000 * steps + 100000 * local[(t * 7) % 64];
}
int expected_control(int t) {
  int value = 0;
  switch (t % 11) {
    case 0: value = 100; break;
    case 1: value = 12; break;
    case 2: value = 5; break;
    case 3: case 4: value = t * t; break;
    case 5: value = -1; break;
    case 6: value = t << 3; break;
    case 7: value = ~t; break;
    case 8: value = 0x55; break;
    default: value = 9;
  }
  for (int i = 0; i < t && i <= 20; ++i) {
    if (i == 3) continue;
    for (int j = 0; j < 3 && (i + j) % 5 != 4; ++j) value += j;
  }
  int n = t + 1, steps = 0;
  do {
    n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    ++steps;
  } while (n != 1 && n != 4);
  return value + 1000 * steps + 100000 * (((t * 7) % 64) ^ t);
}

int host_fibonacci(int n) { return n < 2 ? n : host_fibonacci(n - 1) + host_fibonacci(n - 2); }

int main() {
  CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
  int *out = managed<int>(128), *data = managed<int>(4 * 50);
  for (int i = 0; i < 200; ++i) data[i] = i * 7919 % 211;
  recurse<<<1, 32>>>(out, data, 50);
  CHECK(cudaDeviceSynchronize());
  const int queens[] = {2, 10, 4, 40};
  for (int t = 0; t < 32; ++t) {
    EXPECT_EQ(out[t], host_fibonacci(t % 12));
    EXPECT_EQ(out[32 + t], 2 * (t % 5) + 3);
    EXPECT_EQ(out[64 + t], t % 2 == 0);
    EXPECT_EQ(out[96 + t], queens[t % 4]);
  }
  for (int i = 0; i < 200; ++i) EXPECT(i % 50 == 0 || data[i - 1] <= data[i]);

  const int count = 100;
  Shape** shapes = managed<Shape*>(count);
  float* areas = managed<float>(count);
  int* sides = managed<int>(count);
  make_shapes<<<2, 64>>>(shapes, count);
  measure_shapes<<<4, 32>>>(shapes, count, areas, sides);
  delete_shapes<<<1, 128>>>(shapes, count);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < count; ++i) {
    const float factors[] = {1, 3, 6};
    EXPECT_EQ(areas[i], factors[i % 3] * i * i);
    EXPECT_EQ(sides[i], i % 3 == 1 ? 0 : 4);
  }
  Binary chosen = nullptr;
  CHECK(cudaMemcpyFromSymbol(&chosen, g_chosen, sizeof chosen));
  call_pointers<<<1, 32>>>(out, chosen);
  CHECK(cudaDeviceSynchronize());
  for (int t = 0; t < 32; ++t) {
    const int results[] = {t + 7, t - 7, t * 7};
    EXPECT_EQ(out[t], results[t % 3]);
    EXPECT_EQ(out[32 + t], t * (t + 1));
  }

  double* reals = managed<double>(16);
  long long* whole = managed<long long>(8);
  use_templates<<<1, 1>>>(reals, whole);
  CHECK(cudaDeviceSynchronize());
  const double expected[] = {42, 2.5, 1.25, 10.5, 42, 14, 7.5, 9, 15, 101.5, 8, -17, 127, 63};
  for (int i = 0; i < 14; ++i) EXPECT_EQ(reals[i], expected[i]);
  EXPECT(whole[0] == 2432902008176640000ll);
  EXPECT(whole[1] == 0x123456789all);
  EXPECT_EQ(whole[2], -28);
  EXPECT_EQ(whole[3], -31);
  EXPECT(whole[4] == 1844674407370955161ll);
  EXPECT(whole[5] == 1ll << 30);
  const int offset = 13;
  apply<<<1, 32>>>([=] __device__(int i) { return i * i + offset; }, out, 100);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(out[i], i * i + 13);

  Node** heads = managed<Node*>(64);
  build_lists<<<1, 64>>>(heads, 20);
  sum_lists<<<1, 64>>>(heads, out);
  free_lists<<<1, 64>>>(heads);
  CHECK(cudaDeviceSynchronize());
  for (int t = 0; t < 64; ++t) EXPECT_EQ(out[t], 190 + 20 * t);
  int* counter = managed<int>();
  use_new<<<1, 32>>>(counter, out);
  CHECK(cudaDeviceSynchronize());
  EXPECT_EQ(*counter, 32 * 2002);
  for (int t = 0; t < 32; ++t) EXPECT_EQ(out[t], t * (t + 1) / 2);
  control<<<1, 64>>>(out);
  CHECK(cudaDeviceSynchronize());
  for (int t = 0; t < 64; ++t) EXPECT_EQ(out[t], expected_control(t));
  return finish();
}
