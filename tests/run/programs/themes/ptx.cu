// Inline PTX, integer intrinsics and video instructions, each against what it is defined to be.
#include <cstdint>

#include "self_check.h"

__device__ unsigned mix(unsigned x) {
  x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu;
  return x ^ x >> 16;
}

constexpr int kRows = 34;
__global__ void run(unsigned* out) {
  const unsigned t = threadIdx.x, a = mix(t + 1), b = mix(t + 1000), c = mix(t + 2000);
  int k = 0;
  const auto put = [&](unsigned value) { out[k++ * 64 + t] = value; };
  unsigned d, e;
  asm("bfe.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(t % 40), "r"(t % 33));
  put(d);
  asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(a), "r"(b), "r"(t % 32), "r"(t % 20));
  put(d);
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  put(d);
  asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  put(d);
  asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(t));
  put(d);
  asm("mad.hi.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  put(d);
  asm("mul24.lo.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  put(d);
  asm("sad.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  put(d);
  asm("add.cc.u32 %0, %2, %3; addc.u32 %1, %2, 0;" : "=r"(d), "=r"(e) : "r"(a), "r"(b));
  put(d ^ e);
  asm("sub.cc.u32 %0, %2, %3; subc.u32 %1, %3, 5;" : "=r"(d), "=r"(e) : "r"(a), "r"(b));
  put(d ^ e);
  asm("{ .reg .pred p; setp.lt.and.s32 p, %1, %2, 1; selp.u32 %0, %1, %2, p; }" : "=r"(d) : "r"(a), "r"(b));
  put(d);
  asm("{ .reg .b16 l, h; mov.b32 {l, h}, %1; mov.b32 %0, {h, l}; }" : "=r"(d) : "r"(a));
  put(d);
  asm volatile("bfind.u32 %0, %1;" : "=r"(d) : "r"(a >> (t % 32)));
  put(d);
  put(__popc(a));
  put(__clz(a >> t % 32));
  put(__ffs(a << t % 32));
  put(__brev(a));
  put(__byte_perm(a, b, 0x3175));
  put(__funnelshift_r(a, b, t));
  put(__umulhi(a, b));
  put(__mulhi(static_cast<int>(a), static_cast<int>(b)));
  put(__usad(a, b, c));
  put(__uhadd(a, b));
  put(__rhadd(static_cast<int>(a), static_cast<int>(b)));
  put(static_cast<unsigned>(__umul64hi(static_cast<unsigned long long>(a) << 32 | b, static_cast<unsigned long long>(c) << 32 | a) >> 7));
  put(__dp4a(static_cast<int>(a), static_cast<int>(b), static_cast<int>(c)));
  put(__dp4a(a, b, c));
  put(__dp2a_lo(static_cast<int>(a), static_cast<int>(b), static_cast<int>(c)));
  put(__vadd4(a, b));
  put(__vabsdiffu4(a, b));
  put(__vmaxs2(a, b));
  put(__vsubus4(a, b));
  put(__vcmpgtu4(a, b));
  put(__vsadu4(a, b));
}

namespace host {
using u32 = std::uint32_t;
using u64 = std::uint64_t;
u32 mix(u32 x) {
  x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu;
  return x ^ x >> 16;
}
u32 byte_of(u64 both, u32 selector) {
  const u32 byte = both >> 8 * (selector & 7) & 0xff;
  return (selector & 8) != 0 ? ((byte & 0x80) != 0 ? 0xff : 0) : byte;
}
u32 permute(u32 a, u32 b, u32 selector) {
  u32 result = 0;
  for (int i = 0; i < 4; ++i) result |= byte_of(u64{b} << 32 | a, selector >> 4 * i & 0xf) << 8 * i;
  return result;
}
template <class F>
u32 by_bytes(u32 a, u32 b, F f) {
  u32 result = 0;
  for (int i = 0; i < 32; i += 8) result |= (static_cast<u32>(f(a >> i & 0xff, b >> i & 0xff)) & 0xff) << i;
  return result;
}
u32 expected(int row, u32 t) {
  const u32 a = mix(t + 1), b = mix(t + 1000), c = mix(t + 2000);
  const auto sa = static_cast<std::int32_t>(a), sb = static_cast<std::int32_t>(b), sc = static_cast<std::int32_t>(c);
  switch (row) {
    case 0: { const u64 mask = (u64{1} << t % 33) - 1; return t % 40 > 31 ? 0 : static_cast<u32>(u64{a} >> t % 40 & mask); }
    case 1: { const u32 mask = ((u64{1} << t % 20) - 1) << t % 32; return (b & ~mask) | (a << t % 32 & mask); }
    case 2: return permute(a, b, c);
    case 3: return (a & b) | (a & c) | (b & c);
    case 4: return static_cast<u32>(((u64{b} << 32 | a) << t % 32) >> 32);
    case 5: return static_cast<u32>(u64{a} * b >> 32) + c;
    case 6: return (a & 0xffffff) * (b & 0xffffff);
    case 7: return static_cast<u32>(sa < sb ? std::int64_t{sb} - sa : std::int64_t{sa} - sb) + c;
    case 8: return (a + b) ^ (a + static_cast<u32>(u64{a} + b >> 32));
    case 9: return (a - b) ^ (b - 5 - (a < b ? 1 : 0));
    case 10: return sa < sb ? a : b;
    case 11: return a << 16 | a >> 16;
    case 12: { const u32 x = a >> t % 32; return x == 0 ? ~0u : 31 - __builtin_clz(x); }
    case 13: return __builtin_popcount(a);
    case 14: { const u32 x = a >> t % 32; return x == 0 ? 32 : __builtin_clz(x); }
    case 15: return __builtin_ffs(static_cast<int>(a << t % 32));
    case 16: { u32 r = 0; for (int i = 0; i < 32; ++i) r |= (a >> i & 1) << (31 - i); return r; }
    case 17: return permute(a, b, 0x3175);
    case 18: return static_cast<u32>((u64{b} << 32 | a) >> t % 32);
    case 19: return static_cast<u32>(u64{a} * b >> 32);
    case 20: return static_cast<u32>(std::int64_t{sa} * sb >> 32);
    case 21: return (a > b ? a - b : b - a) + c;
    case 22: return static_cast<u32>((u64{a} + b) >> 1);
    case 23: return static_cast<u32>((std::int64_t{sa} + sb + 1) >> 1);
    case 24: return static_cast<u32>(static_cast<u64>(static_cast<unsigned __int128>(u64{a} << 32 | b) * (u64{c} << 32 | a) >> 64) >> 7);
    case 25: { int s = sc; for (int i = 0; i < 32; i += 8) s = static_cast<int>(static_cast<u32>(s) + static_cast<u32>(static_cast<std::int8_t>(a >> i) * static_cast<std::int8_t>(b >> i))); return static_cast<u32>(s); }
    case 26: { u32 s = c; for (int i = 0; i < 32; i += 8) s += (a >> i & 0xff) * (b >> i & 0xff); return s; }
    case 27: return static_cast<u32>(sc) + static_cast<u32>(static_cast<std::int16_t>(a) * static_cast<std::int8_t>(b)) + static_cast<u32>(static_cast<std::int16_t>(a >> 16) * static_cast<std::int8_t>(b >> 8));
    case 28: return by_bytes(a, b, [](u32 x, u32 y) { return x + y; });
    case 29: return by_bytes(a, b, [](u32 x, u32 y) { return x > y ? x - y : y - x; });
    case 30: { const auto m = [](std::int16_t x, std::int16_t y) { return static_cast<std::uint16_t>(x > y ? x : y); }; return u32{m(static_cast<std::int16_t>(a >> 16), static_cast<std::int16_t>(b >> 16))} << 16 | m(static_cast<std::int16_t>(a), static_cast<std::int16_t>(b)); }
    case 31: return by_bytes(a, b, [](u32 x, u32 y) { return x > y ? x - y : 0; });
    case 32: return by_bytes(a, b, [](u32 x, u32 y) { return x > y ? 255 : 0; });
    default: { u32 s = 0; for (int i = 0; i < 32; i += 8) { const u32 x = a >> i & 0xff, y = b >> i & 0xff; s += x > y ? x - y : y - x; } return s; }
  }
}
}  // namespace host

__global__ void places(unsigned* out, const unsigned* in) {
  __shared__ unsigned staged[32];
  const unsigned t = threadIdx.x;
  unsigned lane, warp, clock_before, clock_after, smem, value;
  unsigned long long timer;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
  asm volatile("mov.u32 %0, %%clock;" : "=r"(clock_before));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(timer));
  smem = static_cast<unsigned>(__cvta_generic_to_shared(&staged[t % 32]));
  asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(value) : "l"(in + t));
  if (t < 32) asm volatile("st.shared.u32 [%0], %1;" ::"r"(smem), "r"(value * 2) : "memory");
  __syncthreads();
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(static_cast<unsigned>(__cvta_generic_to_shared(&staged[31 - t % 32]))));
  asm volatile("mov.u32 %0, %%clock;" : "=r"(clock_after));
  const bool shared = __isShared(&staged[0]), global = __isGlobal(out), local = __isLocal(&value);
  out[t] = value;
  out[64 + t] = lane + 32 * warp;
  out[128 + t] = (clock_after - clock_before < 1u << 30) + 2 * shared + 4 * global + 8 * local + 16 * (timer != 0);
  const long long begin = clock64();
  __nanosleep(100);
  out[192 + t] = clock64() >= begin;
}

int main() {
  unsigned* out = managed<unsigned>(kRows * 64);
  run<<<1, 64>>>(out);
  CHECK(cudaDeviceSynchronize());
  for (int row = 0; row < kRows; ++row)
    for (unsigned t = 0; t < 64; ++t)
      if (out[row * 64 + t] != host::expected(row, t)) {
        std::printf("row %d, thread %u: ", row, t);
        EXPECT_EQ(out[row * 64 + t], host::expected(row, t));
        break;
      }
  unsigned* in = managed<unsigned>(64);
  for (unsigned i = 0; i < 64; ++i) in[i] = i + 5;
  places<<<1, 64>>>(out, in);
  CHECK(cudaDeviceSynchronize());
  for (unsigned t = 0; t < 64; ++t) {
    EXPECT_EQ(out[t], 2 * (31 - t % 32 + 5));
    EXPECT_EQ(out[64 + t], t);
    EXPECT_EQ(out[128 + t], 31);
    EXPECT_EQ(out[192 + t], 1);
  }
  return finish();
}
