// Warp-level code: shuffles of every kind and width, votes, matches, reductions, masks, sub-warps that diverge.
#include "self_check.h"

constexpr unsigned kAll = 0xffffffffu;

struct Complex {
  double re, im;
};

template <class T>
__device__ T sum_warp(T value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(kAll, value, offset);
  return __shfl_sync(kAll, value, 0);
}

__device__ int scan_warp(int value) {
  const int lane = threadIdx.x % 32;
  for (int offset = 1; offset < 32; offset *= 2) {
    const int other = __shfl_up_sync(kAll, value, offset);
    if (lane >= offset) value += other;
  }
  return value;
}

__device__ int sort_warp(int value) {
  const int lane = threadIdx.x % 32;
  for (int size = 2; size <= 32; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      const int other = __shfl_xor_sync(kAll, value, stride);
      const bool up = (lane & size) == 0, lower = (lane & stride) == 0;
      value = (up == lower) ? min(value, other) : max(value, other);
    }
  return value;
}

__global__ void run(int* out, double* reals, unsigned long long* wide) {
  const int lane = threadIdx.x;
  int k = 0;
  const auto put = [&](int value) { out[32 * k++ + lane] = value; };
  put(__shfl_sync(kAll, lane, 5));
  put(__shfl_sync(kAll, lane, 3, 8));
  put(__shfl_sync(kAll, lane, lane + 1));
  put(__shfl_up_sync(kAll, lane, 2));
  put(__shfl_up_sync(kAll, lane, 3, 16));
  put(__shfl_down_sync(kAll, lane, 4));
  put(__shfl_down_sync(kAll, lane, 4, 8));
  put(__shfl_xor_sync(kAll, lane, 9));
  put(__shfl_xor_sync(kAll, lane, 9, 8));
  put(__ballot_sync(kAll, lane % 3 == 0));
  put(__any_sync(kAll, lane == 17));
  put(__all_sync(kAll, lane < 32));
  put(__all_sync(kAll, lane < 31));
  put(__match_any_sync(kAll, lane % 5));
  int same = 0;
  put(__match_all_sync(kAll, 42, &same));
  put(same);
  put(__match_all_sync(kAll, lane, &same));
  put(same);
  put(scan_warp(lane + 1));
  put(sort_warp((lane * 37 + 11) % 64));
  put(sum_warp(lane));
  unsigned mask = __ballot_sync(kAll, lane % 2 == 0);
  int result = -1;
  if (lane % 2 == 0) {
    result = __shfl_sync(mask, lane * 10, 6);
    result += __popc(__activemask() & mask);
  }
  put(result);
  __syncwarp();
  result = 0;
  if (lane < 13) result = __shfl_down_sync(0x1fff, lane * 2, lane < 12 ? 1 : 0);
  put(lane < 12 ? result : -1);
  unsigned below;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  put(__popc(below));
  put(__ffs(__ballot_sync(kAll, lane > 20)));
  put(__fns(0x0f0f0f0f, 0, lane % 8 + 1));
  reals[lane] = sum_warp(lane * 0.5);
  reals[32 + lane] = __shfl_xor_sync(kAll, lane * 0.125, 1);
  wide[lane] = __shfl_sync(kAll, static_cast<unsigned long long>(lane) << 35, 31 - lane);
  wide[32 + lane] = __match_any_sync(kAll, (1ull << 40) * (lane / 16));
  const Complex mine{lane + 0.5, -lane * 2.0};
  const Complex other{__shfl_down_sync(kAll, mine.re, 1), __shfl_down_sync(kAll, mine.im, 1)};
  reals[64 + lane] = other.re * mine.im;
}

__global__ void run_reductions(int* out) {
#if __CUDA_ARCH__ >= 800
  const int lane = threadIdx.x;
  out[lane] = __reduce_add_sync(kAll, lane);
  out[32 + lane] = __reduce_min_sync(kAll, lane - 7);
  out[64 + lane] = __reduce_max_sync(kAll, static_cast<unsigned>(lane) ^ 5u);
  out[96 + lane] = __reduce_and_sync(kAll, 0xff00u | lane);
  out[128 + lane] = __reduce_or_sync(kAll, 1u << lane);
  out[160 + lane] = __reduce_xor_sync(kAll, static_cast<unsigned>(lane));
  if (lane >= 8 && lane < 16) out[192 + lane] = __reduce_add_sync(0xff00, lane);
#endif
}

// Aggregated increments: one atomic for all lanes that are here.
__device__ int take(int* counter) {
  const unsigned mask = __activemask();
  const int leader = __ffs(mask) - 1, lane = threadIdx.x % 32;
  int first = 0;
  if (lane == leader) first = atomicAdd(counter, __popc(mask));
  first = __shfl_sync(mask, first, leader);
  return first + __popc(mask & ((1u << lane) - 1));
}
__global__ void filter(const int* in, int count, int* out, int* size) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    if (in[i] % 3 == 0) out[take(size)] = in[i];
}

int main() {
  int* out = managed<int>(32 * 32);
  double* reals = managed<double>(96);
  auto* wide = managed<unsigned long long>(64);
  run<<<1, 32>>>(out, reals, wide);
  CHECK(cudaDeviceSynchronize());
  int sorted[32];
  for (int i = 0; i < 32; ++i) sorted[i] = (i * 37 + 11) % 64;
  for (int i = 0; i < 32; ++i)
    for (int j = i + 1; j < 32; ++j)
      if (sorted[j] < sorted[i]) std::swap(sorted[i], sorted[j]);
  unsigned thirds = 0;
  for (int i = 0; i < 32; i += 3) thirds |= 1u << i;
  for (int lane = 0; lane < 32; ++lane) {
    int k = 0;
    const auto next = [&] { return out[32 * k++ + lane]; };
    EXPECT_EQ(next(), 5);
    EXPECT_EQ(next(), lane / 8 * 8 + 3);
    EXPECT_EQ(next(), (lane + 1) % 32);
    EXPECT_EQ(next(), lane < 2 ? lane : lane - 2);
    EXPECT_EQ(next(), lane % 16 < 3 ? lane : lane - 3);
    EXPECT_EQ(next(), lane < 28 ? lane + 4 : lane);
    EXPECT_EQ(next(), lane % 8 < 4 ? lane + 4 : lane);
    EXPECT_EQ(next(), lane ^ 9);
    const int partner = lane ^ 9;   // a lane of a higher segment is out of reach, one of a lower is not
    EXPECT_EQ(next(), partner / 8 > lane / 8 ? lane : partner);
    EXPECT_EQ(static_cast<unsigned>(next()), thirds);
    EXPECT_EQ(next(), 1);
    EXPECT_EQ(next(), 1);
    EXPECT_EQ(next(), 0);
    unsigned equal = 0;
    for (int i = 0; i < 32; ++i) equal |= static_cast<unsigned>(i % 5 == lane % 5) << i;
    EXPECT_EQ(static_cast<unsigned>(next()), equal);
    EXPECT_EQ(static_cast<unsigned>(next()), kAll);
    EXPECT_EQ(next(), 1);
    EXPECT_EQ(next(), 0);
    EXPECT_EQ(next(), 0);
    EXPECT_EQ(next(), (lane + 1) * (lane + 2) / 2);
    EXPECT_EQ(next(), sorted[lane]);
    EXPECT_EQ(next(), 496);
    EXPECT_EQ(next(), lane % 2 == 0 ? 76 : -1);
    EXPECT_EQ(next(), lane < 12 ? (lane + 1) * 2 : -1);
    EXPECT_EQ(next(), lane);
    EXPECT_EQ(next(), 22);
    EXPECT_EQ(next(), lane % 8 / 4 * 8 + lane % 4);
    EXPECT_EQ(reals[lane], 248);
    EXPECT_EQ(reals[32 + lane], (lane ^ 1) * 0.125);
    EXPECT(wide[lane] == static_cast<unsigned long long>(31 - lane) << 35);
    EXPECT(wide[32 + lane] == (lane < 16 ? 0xffffu : 0xffff0000u));
    const int after = lane < 31 ? lane + 1 : lane;
    EXPECT_EQ(reals[64 + lane], (after + 0.5) * (-lane * 2.0));
  }
  int major = 0;
  CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  if (major >= 8) {
    run_reductions<<<1, 32>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (int lane = 0; lane < 32; ++lane) {
      EXPECT_EQ(out[lane], 496);
      EXPECT_EQ(out[32 + lane], -7);
      EXPECT_EQ(out[64 + lane], 31);
      EXPECT_EQ(out[96 + lane], 0xff00);
      EXPECT_EQ(out[128 + lane], -1);
      EXPECT_EQ(out[160 + lane], 0);
      if (lane >= 8 && lane < 16) EXPECT_EQ(out[192 + lane], 92);
    }
  }
  const int count = 5000;
  int *in = managed<int>(count), *kept = managed<int>(count), *size = managed<int>();
  long long sum = 0, seen = 0;
  int expected = 0;
  for (int i = 0; i < count; ++i) {
    in[i] = i * 7 % 1001;
    if (in[i] % 3 == 0) ++expected, sum += in[i];
  }
  filter<<<4, 160>>>(in, count, kept, size);
  CHECK(cudaDeviceSynchronize());
  EXPECT_EQ(*size, expected);
  for (int i = 0; i < expected; ++i) seen += kept[i];
  EXPECT_EQ(seen, sum);
  return finish();
}
