// Arguments by value: large structs, alignment, padding, nested arrays, vectors of every type, more than 4 KB of parameters.
#include <cuComplex.h>

#include "self_check.h"

struct Mixed {
  char a;
  double b;
  short c;
  int d[3];
  long long e;
  bool f;
};
struct alignas(32) Wide {
  float4 parts[2];
  Mixed inner;
};
struct Large {
  double values[400];   // 3,200 bytes
  int size;
};
struct Huge {
  int values[4000];     // 16,000 bytes
};
struct Empty {};
struct Bytes3 {
  unsigned char x, y, z;
};

__global__ void take_mixed(char first, Mixed mixed, short second, Wide wide, Bytes3 bytes, Empty, double3 vector, double* out) {
  out[0] = first + mixed.a + mixed.b + mixed.c + mixed.d[2] + mixed.e + mixed.f;
  out[1] = second + wide.parts[1].w + wide.inner.b + wide.inner.d[threadIdx.x];
  out[2] = bytes.x * 10000 + bytes.y * 100 + bytes.z;
  out[3] = vector.x + vector.y * vector.z;
}
__global__ void take_large(const Large large, double* out) { out[threadIdx.x] = large.values[threadIdx.x * 7 % large.size]; }
__global__ void change_large(Large large, double* out) {
  for (int i = threadIdx.x; i < large.size; i += blockDim.x) large.values[i] = large.values[i] * 2 + 1;
  double sum = 0;
  for (int i = threadIdx.x; i < large.size; i += blockDim.x) sum += large.values[i];
  out[threadIdx.x] = sum;
}
__global__ void take_constant(const __grid_constant__ Huge huge, const int* which, int* out) { out[threadIdx.x] = huge.values[which[threadIdx.x]]; }

__device__ __noinline__ Mixed make(int seed) { return {static_cast<char>(seed), seed * 0.5, static_cast<short>(-seed), {seed, seed + 1, seed + 2}, 1ll << (seed % 40), seed % 2 == 1}; }
__device__ __noinline__ double use(Wide wide, const Mixed& mixed, Large* large) { return wide.parts[0].x + mixed.b + large->values[3]; }
__global__ void pass_on(double* out) {
  const int t = threadIdx.x;
  Mixed mixed = make(t);
  Wide wide{};
  wide.parts[0].x = t;
  wide.inner = mixed;
  Large large;
  for (int i = 0; i < 8; ++i) large.values[i] = i * t;
  out[t] = use(wide, mixed, &large) + mixed.d[t % 3] + (mixed.f ? 1000 : 0) + mixed.c;
}

template <class V, class T>
__global__ void copy_vectors(const V* in, V* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  V value = in[count - 1 - i];
  value.x = static_cast<T>(value.x + 1);
  out[i] = value;
}
template <class V, class T>
void check_vectors() {
  const int count = 100;
  V *in = managed<V>(count), *out = managed<V>(count);
  auto* raw = reinterpret_cast<unsigned char*>(in);
  for (unsigned i = 0; i < count * sizeof(V); ++i) raw[i] = static_cast<unsigned char>(i % 61);
  copy_vectors<V, T><<<4, 32>>>(in, out, count);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < count; ++i) EXPECT(out[i].x == static_cast<T>(in[count - 1 - i].x + 1));
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
}

__global__ void complex_numbers(cuDoubleComplex a, cuFloatComplex b, double* out) {
  const cuDoubleComplex product = cuCmul(a, a), quotient = cuCdiv(a, make_cuDoubleComplex(0.5, -1));
  out[0] = cuCreal(product);
  out[1] = cuCimag(product);
  out[2] = cuCreal(quotient);
  out[3] = cuCabs(a);
  out[4] = cuCabsf(b);
  out[5] = cuCimagf(cuConjf(b));
}

int main() {
  double* out = managed<double>(512);
  const Mixed mixed{1, 2.5, -3, {4, 5, 6}, 7ll << 40, true};
  Wide wide{};
  wide.parts[1].w = 8;
  wide.inner = mixed;
  take_mixed<<<1, 1>>>(9, mixed, 10, wide, Bytes3{1, 2, 3}, Empty{}, double3{1, 2, 3}, out);
  CHECK(cudaDeviceSynchronize());
  EXPECT_EQ(out[0], 9 + 1 + 2.5 - 3 + 6 + static_cast<double>(7ll << 40) + 1);
  EXPECT_EQ(out[1], 10 + 8 + 2.5 + 4);
  EXPECT_EQ(out[2], 10203);
  EXPECT_EQ(out[3], 7);
  Large large;
  large.size = 400;
  for (int i = 0; i < 400; ++i) large.values[i] = i * 1.5;
  take_large<<<1, 128>>>(large, out);
  CHECK(cudaDeviceSynchronize());
  for (int t = 0; t < 128; ++t) EXPECT_EQ(out[t], t * 7 % 400 * 1.5);
  change_large<<<1, 64>>>(large, out);
  CHECK(cudaDeviceSynchronize());
  for (int t = 0; t < 64; ++t) {
    double sum = 0;
    for (int i = t; i < 400; i += 64) sum += i * 3.0 + 1;
    EXPECT_EQ(out[t], sum);
  }
  static Huge huge;
  for (int i = 0; i < 4000; ++i) huge.values[i] = i ^ 0x55;
  int *which = managed<int>(32), *found = managed<int>(32);
  for (int i = 0; i < 32; ++i) which[i] = i * 129 % 4000;
  take_constant<<<1, 32>>>(huge, which, found);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 32; ++i) EXPECT_EQ(found[i], which[i] ^ 0x55);
  pass_on<<<1, 32>>>(out);
  CHECK(cudaDeviceSynchronize());
  for (int t = 0; t < 32; ++t) EXPECT_EQ(out[t], t + t * 0.5 + 3 * t + (t + t % 3) + (t % 2 == 1 ? 1000 : 0) - t);
  check_vectors<char2, signed char>();
  check_vectors<uchar3, unsigned char>();
  check_vectors<char4, signed char>();
  check_vectors<short2, short>();
  check_vectors<ushort3, unsigned short>();
  check_vectors<short4, short>();
  check_vectors<int2, int>();
  check_vectors<uint3, unsigned>();
  check_vectors<int4, int>();
  check_vectors<longlong2, long long>();
  check_vectors<ulonglong3, unsigned long long>();
  complex_numbers<<<1, 1>>>(make_cuDoubleComplex(1, 2), make_cuFloatComplex(3, 4), out);
  CHECK(cudaDeviceSynchronize());
  EXPECT_EQ(out[0], -3);
  EXPECT_EQ(out[1], 4);
  EXPECT_NEAR(out[2], -1.2, 1e-15);
  EXPECT_NEAR(out[3], std::sqrt(5.0), 1e-15);
  EXPECT_EQ(out[4], 5);
  EXPECT_EQ(out[5], -4);
  return finish();
}
