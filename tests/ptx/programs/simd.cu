// The SIMD-in-a-word intrinsics and video instructions, against plain C++.
#include <cstdint>
#include <cstdlib>

#include "../../../src/cudart/nvcc/expect.h"

constexpr int kCount = 512, kResults = 24;

__device__ unsigned video(int which, unsigned a, unsigned b, unsigned c) {
  unsigned d = 0;
  switch (which) {
    case 0: asm("vadd.s32.s32.u32.sat %0, %1.h1, %2.b3;" : "=r"(d) : "r"(a), "r"(b)); break;
    case 1: asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); break;
    case 2: asm("vmax2.s32.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); break;
    case 3: asm("vmad.u32.u32.u32.shr7 %0, %1.b0, %2.b1, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); break;
    default: asm("vset4.u32.u32.ge %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); break;
  }
  return d;
}

__global__ void words(const unsigned* in, unsigned* out) {
  const int t = threadIdx.x + blockIdx.x * blockDim.x;
  const unsigned a = in[3 * t], b = in[3 * t + 1], c = in[3 * t + 2];
  unsigned* r = out + kResults * t;
  r[0] = __vadd4(a, b), r[1] = __vsub2(a, b), r[2] = __vaddss2(a, b), r[3] = __vsubus4(a, b), r[4] = __vabsdiffu4(a, b), r[5] = __vmaxs4(a, b);
  r[6] = __vminu2(a, b), r[7] = __vcmpgts2(a, b), r[8] = __vsadu4(a, b), r[9] = __vavgu4(a, b), r[10] = __vhaddu2(a, b), r[11] = __vabs4(a);
  r[12] = __dp4a(a, b, c), r[13] = __dp4a(static_cast<int>(a), static_cast<int>(b), static_cast<int>(c)), r[14] = __byte_perm(a, b, c & 0x7777);
  r[15] = __funnelshift_l(a, b, c), r[16] = __usad(a, b, c), r[17] = __viaddmax_s32(a, b, c), r[18] = __vimax3_s16x2(a, b, c);
  for (int k = 0; k < 5; ++k) r[19 + k] = video(k, a, b, c);
}

template <class T, class F>
unsigned parts(unsigned a, unsigned b, F f) {
  unsigned r = 0;
  const int bits = 8 * sizeof(T);
  for (int i = 0; i < 32 / bits; ++i) r |= (static_cast<unsigned>(f(static_cast<T>(a >> bits * i), static_cast<T>(b >> bits * i))) & ((1u << bits) - 1)) << bits * i;
  return r;
}
int clamp(long long x, long long low, long long high) { return static_cast<int>(x < low ? low : x > high ? high : x); }
int absolute(int x) { return x < 0 ? -x : x; }
unsigned sum4(unsigned a, unsigned b) {
  unsigned s = 0;
  for (int i = 0; i < 4; ++i) s += absolute(static_cast<uint8_t>(a >> 8 * i) - static_cast<uint8_t>(b >> 8 * i));
  return s;
}

int main() {
  unsigned *in, *out;
  static unsigned host[3 * kCount], got[kResults * kCount];
  const unsigned edges[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x80808080, 0x7f7f7f7f, 0x7fff8000, 0x8000ffff, 0x00ff00ff};
  unsigned seed = 1;
  for (unsigned i = 0; i < 3 * kCount; ++i) host[i] = (seed = seed * 1664525 + 1013904223) % 3 == 0 ? edges[(seed >> 16) % 10] : seed;
  cudaMalloc(&in, sizeof host);
  cudaMalloc(&out, sizeof got);
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  words<<<kCount / 64, 64>>>(in, out);
  EXPECT(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost), cudaSuccess);
  for (int t = 0; t < kCount; ++t) {
    const unsigned a = host[3 * t], b = host[3 * t + 1], c = host[3 * t + 2];
    const unsigned* r = got + kResults * t;
    EXPECT(r[0], (parts<uint8_t>(a, b, [](int x, int y) { return x + y; })));
    EXPECT(r[1], (parts<uint16_t>(a, b, [](int x, int y) { return x - y; })));
    EXPECT(r[2], (parts<int16_t>(a, b, [](int x, int y) { return clamp(x + y, -32768, 32767); })));
    EXPECT(r[3], (parts<uint8_t>(a, b, [](int x, int y) { return x < y ? 0 : x - y; })));
    EXPECT(r[4], (parts<uint8_t>(a, b, [](int x, int y) { return absolute(x - y); })));
    EXPECT(r[5], (parts<int8_t>(a, b, [](int x, int y) { return x > y ? x : y; })));
    EXPECT(r[6], (parts<uint16_t>(a, b, [](int x, int y) { return x < y ? x : y; })));
    EXPECT(r[7], (parts<int16_t>(a, b, [](int x, int y) { return x > y ? 0xffff : 0; })));
    EXPECT(r[8], sum4(a, b));
    EXPECT(r[9], (parts<uint8_t>(a, b, [](int x, int y) { return (x + y + 1) / 2; })));
    EXPECT(r[10], (parts<uint16_t>(a, b, [](int x, int y) { return (x + y) / 2; })));
    EXPECT(r[11], (parts<int8_t>(a, b, [](int x, int) { return absolute(x); })));
    unsigned u = c;
    int s = static_cast<int>(c);
    for (int i = 0; i < 4; ++i) {
      u += static_cast<uint8_t>(a >> 8 * i) * static_cast<uint8_t>(b >> 8 * i);
      s = static_cast<int>(static_cast<unsigned>(s) + static_cast<unsigned>(static_cast<int8_t>(a >> 8 * i) * static_cast<int8_t>(b >> 8 * i)));
    }
    EXPECT(r[12], u);
    EXPECT(r[13], static_cast<unsigned>(s));
    unsigned p = 0;
    for (int i = 0; i < 4; ++i) p |= static_cast<unsigned>((a | static_cast<uint64_t>(b) << 32) >> 8 * (c >> 4 * i & 7) & 0xff) << 8 * i;
    EXPECT(r[14], p);
    EXPECT(r[15], static_cast<unsigned>((static_cast<uint64_t>(b) << 32 | a) << (c & 31) >> 32));
    EXPECT(r[16], (a > b ? a - b : b - a) + c);
    const int added = static_cast<int>(a + b);
    EXPECT(r[17], static_cast<unsigned>(added > static_cast<int>(c) ? added : static_cast<int>(c)));
    const auto most = [](int x, int y) { return x > y ? x : y; };
    EXPECT(r[18], parts<int16_t>(parts<int16_t>(a, b, most), c, most));
    EXPECT(r[19], static_cast<unsigned>(clamp(static_cast<long long>(static_cast<int16_t>(a >> 16)) + (b >> 24), -2147483648ll, 2147483647ll)));
    EXPECT(r[20], sum4(a, b) + c);
    EXPECT(r[21], parts<int16_t>(a, b, most));
    EXPECT(r[22], static_cast<unsigned>(((a & 0xff) * static_cast<uint64_t>(b >> 8 & 0xff) + c) >> 7));
    EXPECT(r[23], (parts<uint8_t>(a, b, [](int x, int y) { return x >= y ? 1 : 0; })));
  }
  std::puts(failures == 0 ? "good" : "bad");
  return failures;
}
