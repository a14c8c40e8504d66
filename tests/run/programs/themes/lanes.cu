// Warps of which some lanes are missing, have left or wait: blocks of any size, addresses that follow no pattern in every memory and width, and
// conversions and sums of bytes lane by lane.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "self_check.h"

__host__ __device__ inline std::uint32_t mix(std::uint32_t x) {
  x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu;
  return x ^ x >> 16;
}

// ---- blocks of any size --------------------------------------------------------------------------------------------

__host__ __device__ inline std::uint32_t chain(std::uint32_t i) {
  float f = 1.0f + i;
  std::uint32_t x = i;
  for (int k = 0; k < 40; ++k) {
    x = mix(x + k);
    f = f * 0.5f + static_cast<float>(x >> 20);   // the product is exact: a fused sum is none other
    if ((x & 7) == 3) x += static_cast<std::uint32_t>(f);
  }
  return x;
}

__global__ void run_chain(std::uint32_t* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = chain(i);
}

void blocks_of_any_size() {
  constexpr int kThreads[] = {1, 2, 31, 33, 37, 100, 255};
  std::uint32_t* out = managed<std::uint32_t>(1000);
  for (const int threads : kThreads) {
    CHECK(cudaMemset(out, 0, 4000));
    run_chain<<<(1000 + threads - 1) / threads, threads>>>(out, 1000);
    CHECK(cudaDeviceSynchronize());
    int wrong = 0;
    for (int i = 0; i < 1000; ++i) wrong += out[i] != chain(i);
    EXPECT_EQ(wrong, 0);
  }
}

// ---- addresses without a pattern -----------------------------------------------------------------------------------

// Each thread sorts its own random values in local memory, then scatters through shared memory and a generic pointer.
template <class T>
__global__ void scatter(const T* in, T* out, const std::uint32_t* order) {
  __shared__ T table[96];
  T own[12];
  const std::uint32_t t = threadIdx.x;
  for (int k = 0; k < 12; ++k) own[(k * 7 + t) % 12] = in[(t * 12 + k) % 96];
  for (int a = 0; a < 12; ++a)
    for (int b = a + 1; b < 12; ++b)
      if (own[b] < own[a]) {
        const T x = own[a];
        own[a] = own[b], own[b] = x;
      }
  if (order[t] % 3 != 0) table[order[t]] = own[t % 12];
  __syncthreads();
  if (order[t] % 3 == 0) table[order[t]] = own[0];
  __syncthreads();
  const T* from = order[t] % 2 == 0 ? &table[order[order[t]]] : order[t] % 3 == 0 ? &in[order[t]] : &own[order[t] % 12];
  out[order[t]] = *from;
}

template <class T>
void scattered() {
  T* in = managed<T>(96);
  T* out = managed<T>(96);
  std::uint32_t* order = managed<std::uint32_t>(96);
  for (std::uint32_t i = 0; i < 96; ++i) in[i] = static_cast<T>(mix(i + 17)), order[i] = i;
  for (std::uint32_t i = 95; i > 0; --i) std::swap(order[i], order[mix(i) % (i + 1)]);
  scatter<<<1, 96>>>(in, out, order);
  CHECK(cudaDeviceSynchronize());
  std::vector<std::vector<T>> own(96, std::vector<T>(12));
  std::vector<T> table(96);
  for (std::uint32_t t = 0; t < 96; ++t) {
    for (std::uint32_t k = 0; k < 12; ++k) own[t][(k * 7 + t) % 12] = in[(t * 12 + k) % 96];
    std::sort(own[t].begin(), own[t].end());
    table[order[t]] = order[t] % 3 != 0 ? own[t][t % 12] : own[t][0];
  }
  int wrong = 0;
  for (std::uint32_t t = 0; t < 96; ++t)
    wrong += out[order[t]] != (order[t] % 2 == 0 ? table[order[order[t]]] : order[t] % 3 == 0 ? in[order[t]] : own[t][order[t] % 12]);
  EXPECT_EQ(wrong, 0);
}

// ---- conversions ---------------------------------------------------------------------------------------------------

struct Converted {
  std::int32_t s32[4];
  std::uint32_t u32[4];
  std::int64_t s64[4];
  std::uint64_t u64[4];
  std::int32_t of_double_s32;
  std::int64_t of_double_s64;
  float whole[4];
  double wide, whole_double;
};

__global__ void convert(const float* in, Converted* out, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  Converted& c = out[i];
  c.s32[0] = __float2int_rn(x), c.s32[1] = __float2int_rz(x), c.s32[2] = __float2int_rd(x), c.s32[3] = __float2int_ru(x);
  c.u32[0] = __float2uint_rn(x), c.u32[1] = __float2uint_rz(x), c.u32[2] = __float2uint_rd(x), c.u32[3] = __float2uint_ru(x);
  c.s64[0] = __float2ll_rn(x), c.s64[1] = __float2ll_rz(x), c.s64[2] = __float2ll_rd(x), c.s64[3] = __float2ll_ru(x);
  c.u64[0] = __float2ull_rn(x), c.u64[1] = __float2ull_rz(x), c.u64[2] = __float2ull_rd(x), c.u64[3] = __float2ull_ru(x);
  c.of_double_s32 = __double2int_rz(static_cast<double>(x) * 1.5);
  c.of_double_s64 = __double2ll_rd(static_cast<double>(x) * 1.5);
  c.whole[0] = rintf(x), c.whole[1] = truncf(x), c.whole[2] = floorf(x), c.whole[3] = ceilf(x);
  c.wide = x;
  c.whole_double = floor(static_cast<double>(x) * 0.25);
}

// Clamped, as cvt does; a NaN is 0, or the top bit alone where 64 bits take part.
template <class D>
D clamped(double whole, bool wide) {
  if (whole != whole) return wide || sizeof(D) == 8 ? static_cast<D>(std::uint64_t{1} << (8 * sizeof(D) - 1)) : D{0};
  if (whole >= std::ldexp(1.0, std::numeric_limits<D>::digits)) return std::numeric_limits<D>::max();
  if (whole <= static_cast<double>(std::numeric_limits<D>::min())) return std::numeric_limits<D>::min();
  return static_cast<D>(whole);
}

void conversions() {
  const std::vector<float> values = {0.0f, -0.0f, 0.5f, -0.5f, 1.5f, 2.5f, -1.5f, -2.5f, 0.49999997f, 1e-40f, -1e-40f, 16777217.0f, 2147483520.0f, 2147483648.0f, -2147483648.0f,
                                     -2147483904.0f, 4294967040.0f, 4294967296.0f, 9.2233715e18f, 9.223372e18f, -9.223372e18f, 1.8446743e19f, 1.8446744e19f, 3e38f, -3e38f,
                                     INFINITY, -INFINITY, NAN, 123.456f};
  const int n = static_cast<int>(values.size());
  float* in = managed<float>(n);
  Converted* out = managed<Converted>(n);
  std::copy(values.begin(), values.end(), in);
  convert<<<1, 32>>>(in, out, n);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < n; ++i) {
    const double x = values[i];
    const double whole[4] = {std::nearbyint(x), std::trunc(x), std::floor(x), std::ceil(x)};
    for (int k = 0; k < 4; ++k) {
      EXPECT_EQ(out[i].s32[k], clamped<std::int32_t>(whole[k], false));
      EXPECT_EQ(out[i].u32[k], clamped<std::uint32_t>(whole[k], false));
      EXPECT_EQ(out[i].s64[k], clamped<std::int64_t>(whole[k], false));
      EXPECT_EQ(out[i].u64[k], clamped<std::uint64_t>(whole[k], false));
      EXPECT(x != x ? out[i].whole[k] != out[i].whole[k] : out[i].whole[k] == static_cast<float>(whole[k]) && std::signbit(out[i].whole[k]) == std::signbit(whole[k]));
    }
    EXPECT_EQ(out[i].of_double_s32, clamped<std::int32_t>(std::trunc(x * 1.5), true));
    EXPECT_EQ(out[i].of_double_s64, clamped<std::int64_t>(std::floor(x * 1.5), true));
    EXPECT(x != x ? out[i].wide != out[i].wide : out[i].wide == x && out[i].whole_double == std::floor(x * 0.25));
  }
}

__global__ void from_integers(const std::int64_t* in, float* f, double* d, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const std::int64_t x = in[i];
  f[8 * i + 0] = static_cast<float>(static_cast<std::int8_t>(x)), d[8 * i + 0] = static_cast<double>(static_cast<std::int8_t>(x));
  f[8 * i + 1] = static_cast<float>(static_cast<std::uint8_t>(x)), d[8 * i + 1] = static_cast<double>(static_cast<std::uint8_t>(x));
  f[8 * i + 2] = static_cast<float>(static_cast<std::int16_t>(x)), d[8 * i + 2] = static_cast<double>(static_cast<std::int16_t>(x));
  f[8 * i + 3] = static_cast<float>(static_cast<std::uint16_t>(x)), d[8 * i + 3] = static_cast<double>(static_cast<std::uint16_t>(x));
  f[8 * i + 4] = static_cast<float>(static_cast<std::int32_t>(x)), d[8 * i + 4] = static_cast<double>(static_cast<std::int32_t>(x));
  f[8 * i + 5] = static_cast<float>(static_cast<std::uint32_t>(x)), d[8 * i + 5] = static_cast<double>(static_cast<std::uint32_t>(x));
  f[8 * i + 6] = static_cast<float>(x), d[8 * i + 6] = static_cast<double>(x);
  f[8 * i + 7] = static_cast<float>(static_cast<std::uint64_t>(x)), d[8 * i + 7] = static_cast<double>(static_cast<std::uint64_t>(x));
}

void integers() {
  const std::vector<std::int64_t> values = {0, 1, -1, 127, 128, 255, -32768, 65535, 16777217, 2147483647, -2147483648LL, 4294967295LL, 9007199254740993LL, INT64_MAX, INT64_MIN, 0x7fffffbfffffffffLL, 0x1234567890abcdefLL};
  const int n = static_cast<int>(values.size());
  std::int64_t* in = managed<std::int64_t>(n);
  float* f = managed<float>(8 * n);
  double* d = managed<double>(8 * n);
  std::copy(values.begin(), values.end(), in);
  from_integers<<<1, 32>>>(in, f, d, n);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < n; ++i) {
    const std::int64_t x = values[i];
    const auto check = [&](int k, auto narrow) {
      EXPECT_EQ(f[8 * i + k], static_cast<float>(narrow));
      EXPECT_EQ(d[8 * i + k], static_cast<double>(narrow));
    };
    check(0, static_cast<std::int8_t>(x)), check(1, static_cast<std::uint8_t>(x)), check(2, static_cast<std::int16_t>(x)), check(3, static_cast<std::uint16_t>(x));
    check(4, static_cast<std::int32_t>(x)), check(5, static_cast<std::uint32_t>(x)), check(6, x), check(7, static_cast<std::uint64_t>(x));
  }
}

// Cut and extended again, at each width. `value` is not known to the compiler, so that each step is an instruction.
__host__ __device__ inline std::uint64_t recut(std::int64_t value) {
  const auto s8 = static_cast<std::int8_t>(value);
  const auto u8 = static_cast<std::uint8_t>(value >> 3);
  const auto s16 = static_cast<std::int16_t>(value >> 5);
  const auto u16 = static_cast<std::uint16_t>(s8);
  const auto s32 = static_cast<std::int32_t>(value);
  std::uint64_t sum = static_cast<std::uint64_t>(static_cast<std::int64_t>(s8)) * 3 + static_cast<std::uint64_t>(static_cast<std::int64_t>(s32)) * 5;
  sum += static_cast<std::uint64_t>(static_cast<std::int64_t>(s16)) * 7 + u16 * 11u + static_cast<std::uint64_t>(static_cast<std::uint32_t>(s8)) * 13 + u8 * 17u;
  return sum + static_cast<std::uint64_t>(static_cast<std::uint32_t>(value >> 7)) * 19 + static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int16_t>(u8))) * 23;
}

__global__ void recut_all(const std::int64_t* in, std::uint64_t* out, int n) {
  const int i = threadIdx.x;
  if (i < n) out[i] = recut(in[i]);
}

void cut_and_extended() {
  std::int64_t* in = managed<std::int64_t>(90);
  std::uint64_t* out = managed<std::uint64_t>(90);
  for (std::uint32_t i = 0; i < 90; ++i) in[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(mix(i)) << 32 | mix(i + 1000));
  recut_all<<<1, 96>>>(in, out, 90);
  CHECK(cudaDeviceSynchronize());
  int wrong = 0;
  for (int i = 0; i < 90; ++i) wrong += out[i] != recut(in[i]);
  EXPECT_EQ(wrong, 0);
}

// ---- bytes side by side ---------------------------------------------------------------------------------------------

__global__ void differences(std::uint32_t* sums) {
  const std::uint32_t i = threadIdx.x, a = mix(i), b = mix(~i);
  asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(sums[2 * i]) : "r"(a), "r"(b), "r"(i));
  asm("vabsdiff4.s32.s32.s32.add %0, %1, %2, %3;" : "=r"(sums[2 * i + 1]) : "r"(a), "r"(b), "r"(i));
}

void bytes_side_by_side() {
  std::uint32_t* sums = managed<std::uint32_t>(200);
  differences<<<1, 100>>>(sums);
  CHECK(cudaDeviceSynchronize());
  for (std::uint32_t i = 0; i < 100; ++i) {
    std::uint32_t plain = i, with_sign = i;
    for (std::uint32_t at = 0; at < 32; at += 8) {
      const std::uint32_t a = mix(i) >> at & 0xff, b = mix(~i) >> at & 0xff;
      plain += static_cast<std::uint32_t>(std::abs(static_cast<int>(a) - static_cast<int>(b)));
      with_sign += static_cast<std::uint32_t>(std::abs(static_cast<std::int8_t>(a) - static_cast<std::int8_t>(b)));
    }
    EXPECT_EQ(sums[2 * i], plain);
    EXPECT_EQ(sums[2 * i + 1], with_sign);
  }
}

// ---- waiting for a time --------------------------------------------------------------------------------------------

__global__ void wait_for(long long clocks, long long* passed) {
  const long long start = clock64();
  while (clock64() - start < clocks) {
  }
  *passed = clock64() - start;
}

void waits_for_a_clock_end() {
  long long* passed = managed<long long>();
  wait_for<<<1, 1>>>(2'000'000'000, passed);   // about a second of a GPU
  CHECK(cudaDeviceSynchronize());
  EXPECT(*passed >= 2'000'000'000);
  EXPECT(*passed < 2'600'000'000);
}

int main() {
  blocks_of_any_size();
  scattered<std::uint8_t>();
  scattered<std::int16_t>();
  scattered<std::uint32_t>();
  scattered<float>();
  scattered<std::int64_t>();
  scattered<double>();
  conversions();
  integers();
  cut_and_extended();
  bytes_side_by_side();
  waits_for_a_clock_end();
  return finish();
}
