// f16, bf16 and 8-bit floats: arithmetic, comparison, conversion, functions, vectors.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "self_check.h"

template <class H>
__global__ void arithmetic(float* out) {
  const int t = threadIdx.x;
  const H a = H(t * 0.5f), b = H(3.0f);
  H sum = a + b;
  sum += H(1.0f);
  out[t] = float(sum);
  out[32 + t] = float(a * b - H(2.0f));
  out[64 + t] = float(a / H(4.0f));
  out[96 + t] = float(-a);
  out[128 + t] = (a < b) + 2 * (a == b) + 4 * (a >= b) + 8 * (a != b);
  out[160 + t] = float(__hfma(a, b, H(0.5f)));
  out[192 + t] = float(hsqrt(a * a));
  out[224 + t] = float(__hmax(a, b)) * 100 + float(__hmin(a, b));
  out[256 + t] = float(hexp2(H(static_cast<float>(t % 8))));
  out[288 + t] = float(__habs(H(-1.5f) * a));
  out[320 + t] = float(hfloor(a)) + 100 * float(hceil(a));
}
__global__ void vectors(float* out) {
  const int t = threadIdx.x;
  const __half2 a = __floats2half2_rn(t, -t), b = __float2half2_rn(0.5f);
  const __half2 c = __hfma2(a, b, __float2half2_rn(1));
  out[t] = __low2float(c);
  out[32 + t] = __high2float(c);
  const __half2 swapped = __lowhigh2highlow(c);
  out[64 + t] = __low2float(swapped);
  out[96 + t] = __hbgt2(c, __float2half2_rn(-100)) ? 1 : 0;
  const __nv_bfloat162 d = __floats2bfloat162_rn(t * 1.0f, 2.0f);
  const __nv_bfloat162 e = __hmul2(d, d);
  out[128 + t] = __bfloat162float(e.x);
  out[160 + t] = __bfloat162float(__hadd(e.x, e.y));
  out[192 + t] = __half2float(__shfl_xor_sync(0xffffffffu, __float2half(static_cast<float>(t)), 3));
  out[224 + t] = __half2float(__ushort_as_half(static_cast<unsigned short>(0x3c00 + t)));
  out[256 + t] = __half2int_rn(__float2half(t + 0.5f));
  out[288 + t] = float(__nv_fp8_e4m3(t * 1.0f)) + 1000 * float(__nv_fp8_e5m2(t * 1.0f));
  const float4 four = static_cast<float4>(__nv_fp8x4_e4m3(float4{1.0f * t, 2, 3, 4}));
  out[320 + t] = four.x + four.w;
}

int main() {
  float* out = managed<float>(352);
  for (int kind = 0; kind < 2; ++kind) {
    if (kind == 0) arithmetic<__half><<<1, 32>>>(out);
    else arithmetic<__nv_bfloat16><<<1, 32>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (int t = 0; t < 32; ++t) {
      const float a = t * 0.5f;
      EXPECT_EQ(out[t], a + 4);
      EXPECT_EQ(out[32 + t], a * 3 - 2);
      EXPECT_EQ(out[64 + t], a / 4);
      EXPECT_EQ(out[96 + t], -a);
      EXPECT_EQ(out[128 + t], (a < 3) + 2 * (a == 3) + 4 * (a >= 3) + 8 * (a != 3));
      EXPECT_EQ(out[160 + t], a * 3 + 0.5f);
      EXPECT_NEAR(out[192 + t], a, kind == 0 ? 0 : a / 64);   // the square is rounded
      EXPECT_EQ(out[224 + t], std::fmax(a, 3.0f) * 100 + std::fmin(a, 3.0f));
      EXPECT_EQ(out[256 + t], 1 << t % 8);
      EXPECT_EQ(out[288 + t], 1.5f * a);
      EXPECT_EQ(out[320 + t], std::floor(a) + 100 * std::ceil(a));
    }
  }
  vectors<<<1, 32>>>(out);
  CHECK(cudaDeviceSynchronize());
  for (int t = 0; t < 32; ++t) {
    EXPECT_EQ(out[t], t * 0.5f + 1);
    EXPECT_EQ(out[32 + t], 1 - t * 0.5f);
    EXPECT_EQ(out[64 + t], 1 - t * 0.5f);
    EXPECT_EQ(out[96 + t], 1);
    EXPECT_NEAR(out[128 + t], t * t, t * t / 256.0);
    EXPECT_NEAR(out[160 + t], t * t + 4, (t * t + 4) / 128.0);
    EXPECT_EQ(out[192 + t], t ^ 3);
    EXPECT_EQ(out[224 + t], 1 + t / 1024.0f);
    EXPECT_EQ(out[256 + t], (t + 1) / 2 * 2);
    if (t <= 16) EXPECT_EQ(std::fmod(out[288 + t], 1000.0f), t);
    if (t <= 16) EXPECT_EQ(out[320 + t], t + 4);
  }
  // The host converts in the same way.
  for (int bits = 0; bits < 0x7c00; bits += 37) {
    __half_raw raw;
    raw.x = static_cast<unsigned short>(bits);
    EXPECT_EQ(__half_as_ushort(__float2half(__half2float(__half(raw)))), bits);
  }
  return finish();
}
