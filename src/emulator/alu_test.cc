// Each instruction over pairs of edge values, against C++ that says the same in another way.
#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <functional>

#include "emulator/formats.h"
#include "emulator/testing.h"

namespace kforge::emulator {
namespace {

using U64 = std::uint64_t;
using U32 = std::uint32_t;
struct Triple { U64 a, b, c; };

// Runs `instruction` once per triple. Sources: %r10..12, %rd10..12, %h1..3, %f1..3, %fd1..3; the result is the register `result`.
std::vector<U64> evaluate(const std::string& instruction, const std::string& result, const std::vector<Triple>& inputs) {
  TestDevice t;
  t.device.set_checks({false, false});
  const std::string as_b64 = result.starts_with("%rd") ? "mov.b64 %rd20, " + result + ";"
                             : result.starts_with("%fd") ? "mov.b64 %rd20, " + result + ";"
                             : result.starts_with("%h") ? "cvt.u64.u16 %rd20, " + result + ";"
                             : result.starts_with("%p") ? "selp.b64 %rd20, 1, 0, " + result + ";"
                             : result.starts_with("%f") ? "mov.b32 %r20, " + result + "; cvt.u64.u32 %rd20, %r20;"
                                                        : "cvt.u64.u32 %rd20, " + result + ";";
  t.load_body(R"(
    ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1; @%p1 ret;
    mul.wide.u32 %rd3, %r5, 24; add.s64 %rd4, %rd1, %rd3;
    ld.global.b64 %rd10, [%rd4]; ld.global.b64 %rd11, [%rd4+8]; ld.global.b64 %rd12, [%rd4+16];
    cvt.u32.u64 %r10, %rd10; cvt.u32.u64 %r11, %rd11; cvt.u32.u64 %r12, %rd12;
    cvt.u16.u64 %h1, %rd10; cvt.u16.u64 %h2, %rd11; cvt.u16.u64 %h3, %rd12;
    mov.b32 %f1, %r10; mov.b32 %f2, %r11; mov.b32 %f3, %r12;
    mov.b64 %fd1, %rd10; mov.b64 %fd2, %rd11; mov.b64 %fd3, %rd12;
    )" + instruction + "\n" + as_b64 + R"(
    mul.wide.u32 %rd5, %r5, 8; add.s64 %rd6, %rd2, %rd5; st.global.b64 [%rd6], %rd20; ret;)");
  if (t.module == nullptr) return {};
  Allocation* in = t.buffer(inputs);
  Allocation* out = t.buffer(std::vector<U64>(inputs.size(), 0xdead));
  const auto n = static_cast<U32>(inputs.size());
  const LaunchResult done = t.launch(in->base, out->base, n, {(n + 63) / 64, 1, 1}, {64, 1, 1});
  EXPECT_EQ(done.status, LaunchStatus::ok) << instruction << ": " << done.detail;
  return TestDevice::values<U64>(out);
}

std::vector<Triple> cross(const std::vector<U64>& values) {
  std::vector<Triple> result;
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t k = 0; k < values.size(); ++k) result.push_back({values[i], values[k], values[(i + 3 * k) % values.size()]});
  return result;
}

const std::vector<U64> kIntegers{0, 1, 2, 5, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff,
                                 0x100000000, 0x123456789abcdef0, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff};

void expect(const std::string& instruction, const std::string& result, const std::vector<Triple>& inputs, const std::function<U64(U64, U64, U64)>& want) {
  const std::vector<U64> got = evaluate(instruction, result, inputs);
  ASSERT_EQ(got.size(), inputs.size()) << instruction;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto [a, b, c] = inputs[i];
    ASSERT_EQ(got[i], want(a, b, c)) << instruction << std::hex << " a=0x" << a << " b=0x" << b << " c=0x" << c;
  }
}

U64 u32(U64 x) { return x & 0xffffffffu; }
std::int64_t s32(U64 x) { return static_cast<std::int32_t>(x); }

TEST(Alu, Integers) {
  const std::vector<Triple> in = cross(kIntegers);
  expect("add.s32 %r13, %r10, %r11;", "%r13", in, [](U64 a, U64 b, U64) { return u32(a + b); });
  expect("add.sat.s32 %r13, %r10, %r11;", "%r13", in, [](U64 a, U64 b, U64) { return u32(static_cast<U64>(std::clamp<std::int64_t>(s32(a) + s32(b), INT32_MIN, INT32_MAX))); });
  expect("sub.u64 %rd13, %rd10, %rd11;", "%rd13", in, [](U64 a, U64 b, U64) { return a - b; });
  expect("mul.hi.s32 %r13, %r10, %r11;", "%r13", in, [](U64 a, U64 b, U64) { return u32(static_cast<U64>(s32(a) * s32(b) >> 32)); });
  expect("mul.hi.u64 %rd13, %rd10, %rd11;", "%rd13", in, [](U64 a, U64 b, U64) {
    const U64 al = u32(a), ah = a >> 32, bl = u32(b), bh = b >> 32, middle = ah * bl + (al * bl >> 32);
    return ah * bh + (middle >> 32) + ((u32(middle) + al * bh) >> 32);
  });
  expect("mad.wide.s32 %rd13, %r10, %r11, %rd12;", "%rd13", in, [](U64 a, U64 b, U64 c) { return static_cast<U64>(s32(a) * s32(b)) + c; });
  expect("mul.wide.u16 %r13, %h1, %h2;", "%r13", in, [](U64 a, U64 b, U64) { return (a & 0xffff) * (b & 0xffff); });
  expect("div.s32 %r13, %r10, %r11;", "%r13", in, [](U64 a, U64 b, U64) { return u32(b) == 0 ? 0xffffffffu : u32(static_cast<U64>(s32(a) / s32(b))); });
  expect("rem.u64 %rd13, %rd10, %rd11;", "%rd13", in, [](U64 a, U64 b, U64) { return b == 0 ? ~U64{0} : a % b; });   // undefined by zero; an H200 gives all ones
  expect("min.s64 %rd13, %rd10, %rd11;", "%rd13", in, [](U64 a, U64 b, U64) { return static_cast<U64>(std::min(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b))); });
  expect("sad.u32 %r13, %r10, %r11, %r12;", "%r13", in, [](U64 a, U64 b, U64 c) { return u32(c + std::max(u32(a), u32(b)) - std::min(u32(a), u32(b))); });
  expect("add.cc.u32 %r13, %r10, %r11; addc.u32 %r14, 0, 0; mov.b64 %rd13, {%r13, %r14};", "%rd13", in, [](U64 a, U64 b, U64) { return u32(a) + u32(b); });
  expect("sub.cc.u32 %r13, %r10, %r11; subc.u32 %r14, %r12, 0; mov.b64 %rd13, {%r13, %r14};", "%rd13", in, [](U64 a, U64 b, U64 c) { return (u32(c) << 32 | u32(a)) - u32(b); });
  expect("mad.lo.cc.u32 %r13, %r10, %r11, %r12; madc.hi.u32 %r14, %r10, %r11, 0; mov.b64 %rd13, {%r13, %r14};", "%rd13", in, [](U64 a, U64 b, U64 c) { return u32(a) * u32(b) + u32(c); });
  expect("dp4a.s32.u32 %r13, %r10, %r11, %r12;", "%r13", in, [](U64 a, U64 b, U64 c) {
    U64 sum = c;
    for (int i = 0; i < 4; ++i) sum += static_cast<U64>(static_cast<std::int8_t>(a >> 8 * i) * static_cast<int>(static_cast<std::uint8_t>(b >> 8 * i)));
    return u32(sum);
  });
}

TEST(Alu, BitsAndShifts) {
  const std::vector<Triple> in = cross(kIntegers);
  const auto bfe = [](U64 a, U64 b, U64 c, int bits, bool sign) {   // the manual's pseudo code
    const U64 pos = b & 0xff, len = c & 0xff;
    const U64 top = sign && len != 0 ? a >> std::min<U64>(pos + len - 1, static_cast<U64>(bits) - 1) & 1 : 0;
    U64 d = 0;
    for (U64 i = 0; i < static_cast<U64>(bits); ++i) d |= (i < len && pos + i < static_cast<U64>(bits) ? a >> (pos + i) & 1 : top) << i;
    return d;
  };
  expect("bfe.u32 %r13, %r10, %r11, %r12;", "%r13", in, [&](U64 a, U64 b, U64 c) { return bfe(a, b, c, 32, false); });
  expect("bfe.s64 %rd13, %rd10, %r11, %r12;", "%rd13", in, [&](U64 a, U64 b, U64 c) { return bfe(a, std::min<U64>(b & 0xffffffff, 255), std::min<U64>(c & 0xffffffff, 255), 64, true); });   // clamped on sm_90
  expect("bfi.b32 %r13, %r10, %r11, %r12, 7;", "%r13", in, [](U64 a, U64 b, U64 c) {
    U64 d = u32(b);
    for (U64 i = 0; i < 7 && (c & 0xff) + i < 32; ++i) d = (d & ~(U64{1} << ((c & 0xff) + i))) | (a >> i & 1) << ((c & 0xff) + i);
    return d;
  });
  expect("shl.b32 %r13, %r10, %r11;", "%r13", in, [](U64 a, U64 b, U64) { return u32(b) > 31 ? 0 : u32(a << u32(b)); });
  expect("shr.s32 %r13, %r10, %r11;", "%r13", in, [](U64 a, U64 b, U64) { return u32(static_cast<U64>(s32(a) >> std::min<U64>(u32(b), 31))); });
  expect("shr.u64 %rd13, %rd10, %r11;", "%rd13", in, [](U64 a, U64 b, U64) { return u32(b) > 63 ? 0 : a >> u32(b); });
  expect("shf.l.wrap.b32 %r13, %r10, %r11, %r12;", "%r13", in, [](U64 a, U64 b, U64 c) { return u32((u32(b) << 32 | u32(a)) << (c & 31) >> 32); });
  expect("shf.r.clamp.b32 %r13, %r10, %r11, %r12;", "%r13", in, [](U64 a, U64 b, U64 c) { return u32((u32(b) << 32 | u32(a)) >> std::min<U64>(u32(c), 32)); });
  expect("lop3.b32 %r13, %r10, %r11, %r12, 0x96;", "%r13", in, [](U64 a, U64 b, U64 c) { return u32(a ^ b ^ c); });
  expect("lop3.b32 %r13, %r10, %r11, %r12, 0xca;", "%r13", in, [](U64 a, U64 b, U64 c) { return u32((a & b) | (~a & c)); });
  expect("prmt.b32 %r13, %r10, %r11, 0x9351;", "%r13", in, [](U64 a, U64 b, U64) {
    const U64 both = u32(b) << 32 | u32(a), sign = both >> 8 & 0x80 ? 0xff : 0;
    return (both >> 8 & 0xff) | (both >> 40 & 0xff) << 8 | (both >> 24 & 0xff) << 16 | sign << 24;
  });
  expect("popc.b64 %r13, %rd10;", "%r13", in, [](U64 a, U64, U64) { return static_cast<U64>(std::popcount(a)); });
  expect("clz.b32 %r13, %r10;", "%r13", in, [](U64 a, U64, U64) { return static_cast<U64>(std::countl_zero(static_cast<U32>(a))); });
  expect("bfind.s32 %r13, %r10;", "%r13", in, [](U64 a, U64, U64) {
    for (int i = 30; i >= 0; --i)
      if ((a >> i & 1) != (a >> 31 & 1)) return static_cast<U64>(i);
    return U64{0xffffffff};
  });
  expect("brev.b32 %r13, %r10;", "%r13", in, [](U64 a, U64, U64) {
    U64 d = 0;
    for (int i = 0; i < 32; ++i) d |= (a >> i & 1) << (31 - i);
    return d;
  });
  expect("setp.lt.u64 %p2, %rd10, %rd11;", "%p2", in, [](U64 a, U64 b, U64) { return U64{a < b}; });
  expect("setp.ge.s32 %p3, %r10, %r11; setp.eq.or.s16 %p2, %h1, %h2, !%p3;", "%p2", in, [](U64 a, U64 b, U64) { return U64{(a & 0xffff) == (b & 0xffff) || !(s32(a) >= s32(b))}; });
}

std::vector<U64> floats() {
  std::vector<U64> result{0, 0x80000000, 1, 0x80000001, 0x7fffff, 0x800000, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x3f800000, 0xbf800000,
                          0x3f000000, 0x40490fdb, 0x4b000001, 0x4effffff, 0x4f000000, 0xcf000000, 0x5f000000, 0x33800000, 0x33800001, 0x42280000};
  return result;
}
float f(U64 x) { return std::bit_cast<float>(static_cast<U32>(x)); }
U64 bits(float x) { return x != x ? 0x7fffffff : std::bit_cast<U32>(x); }

template <class F>
U64 rounded(int mode, F compute) {
  std::fesetround(mode);
  volatile float result = compute();
  std::fesetround(FE_TONEAREST);
  return bits(result);
}

TEST(Alu, FloatsInEveryRoundingMode) {
  const std::vector<Triple> in = cross(floats());
  const std::pair<const char*, int> modes[] = {{"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};
  for (const auto& [name, mode] : modes) {
    const std::string m = name;
    expect("add." + m + ".f32 %f4, %f1, %f2;", "%f4", in, [mode = mode](U64 a, U64 b, U64) { return rounded(mode, [&] { volatile float x = f(a), y = f(b); return x + y; }); });
    expect("mul." + m + ".f32 %f4, %f1, %f2;", "%f4", in, [mode = mode](U64 a, U64 b, U64) { return rounded(mode, [&] { volatile float x = f(a), y = f(b); return x * y; }); });
    expect("div." + m + ".f32 %f4, %f1, %f2;", "%f4", in, [mode = mode](U64 a, U64 b, U64) { return rounded(mode, [&] { volatile float x = f(a), y = f(b); return x / y; }); });
    expect("fma." + m + ".f32 %f4, %f1, %f2, %f3;", "%f4", in, [mode = mode](U64 a, U64 b, U64 c) { return rounded(mode, [&] { volatile float x = f(a), y = f(b), z = f(c); return std::fma(x, y, z); }); });
    expect("sqrt." + m + ".f32 %f4, %f1;", "%f4", in, [mode = mode](U64 a, U64, U64) { return rounded(mode, [&] { volatile float x = f(a); return std::sqrt(x); }); });
  }
  expect("add.ftz.f32 %f4, %f1, %f2;", "%f4", in, [](U64 a, U64 b, U64) {
    const auto flush = [](float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; };
    return bits(flush(flush(f(a)) + flush(f(b))));
  });
  expect("fma.rn.sat.f32 %f4, %f1, %f2, %f3;", "%f4", in, [](U64 a, U64 b, U64 c) {
    const float x = std::fma(f(a), f(b), f(c));
    return bits(x != x ? 0.0f : std::min(std::max(x, 0.0f), 1.0f) + 0.0f);
  });
  expect("max.f32 %f4, %f1, %f2;", "%f4", in, [](U64 a, U64 b, U64) {
    if (f(a) != f(a)) return bits(f(b));
    if (f(b) != f(b)) return bits(f(a));
    return f(a) == f(b) ? (std::signbit(f(a)) ? u32(b) : u32(a)) : bits(std::max(f(a), f(b)));
  });
  expect("setp.gtu.f32 %p2, %f1, %f2;", "%p2", in, [](U64 a, U64 b, U64) { return U64{!(f(a) <= f(b))}; });
}

TEST(Alu, ConversionsClampAndRound) {
  const std::vector<Triple> in = cross(floats());
  expect("cvt.rzi.s32.f32 %r13, %f1;", "%r13", in, [](U64 a, U64, U64) {
    const float x = f(a);
    return x != x ? 0 : x >= 0x1p31f ? 0x7fffffff : x < -0x1p31f ? 0x80000000 : u32(static_cast<U64>(static_cast<std::int64_t>(x)));
  });
  expect("cvt.rni.u32.f32 %r13, %f1;", "%r13", in, [](U64 a, U64, U64) {
    const float x = f(a);
    return x != x || x <= 0 ? 0 : x >= 0x1p32f ? 0xffffffff : static_cast<U64>(std::nearbyint(x));
  });
  expect("cvt.sat.f32.f32 %f4, %f1;", "%f4", in, [](U64 a, U64, U64) { return f(a) != f(a) ? 0 : bits(std::min(std::max(f(a), 0.0f), 1.0f) + 0.0f); });
  const std::vector<Triple> integers = cross(kIntegers);
  expect("cvt.rn.f32.s64 %f4, %rd10;", "%f4", integers, [](U64 a, U64, U64) { return bits(static_cast<float>(static_cast<std::int64_t>(a))); });
  expect("cvt.rn.f32.u64 %f4, %rd10;", "%f4", integers, [](U64 a, U64, U64) { return bits(static_cast<float>(a)); });
  expect("cvt.rn.f64.u64 %fd4, %rd10;", "%fd4", integers, [](U64 a, U64, U64) { return std::bit_cast<U64>(static_cast<double>(a)); });
  expect("cvt.s32.s8 %r13, %r10;", "%r13", integers, [](U64 a, U64, U64) { return u32(static_cast<U64>(static_cast<std::int8_t>(a))); });
  expect("cvt.sat.u8.s32 %r13, %r10;", "%r13", integers, [](U64 a, U64, U64) { return static_cast<U64>(std::clamp<std::int64_t>(s32(a), 0, 255)); });
  expect("cvt.s64.s32 %rd13, %r10;", "%rd13", integers, [](U64 a, U64, U64) { return static_cast<U64>(s32(a)); });
}

TEST(Alu, AllHalvesConvertExactly) {
  std::vector<Triple> all;
  for (U64 h = 0; h < 65536; ++h) all.push_back({h, h ^ 0x3c55, 0x3c00});
  const auto value = [](U64 h) { return static_cast<double>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(h))); };
  const auto half = [](double x) -> U64 { return x != x ? 0x7fff : std::bit_cast<std::uint16_t>(static_cast<_Float16>(x)); };
  expect("cvt.f32.f16 %f4, %h1;", "%f4", all, [&](U64 a, U64, U64) { return bits(static_cast<float>(value(a))); });
  expect("add.f16 %h4, %h1, %h2;", "%h4", all, [&](U64 a, U64 b, U64) { return half(value(a) + value(b)); });
  expect("mul.f16 %h4, %h1, %h2;", "%h4", all, [&](U64 a, U64 b, U64) { return half(value(a) * value(b)); });
  expect("cvt.f32.bf16 %f4, %h1;", "%f4", all, [&](U64 a, U64, U64) { return a << 16; });   // NaN payloads pass
}

// Each half rounds to itself, and a float between two halves to the nearer.
TEST(Alu, FloatsRoundToHalves) {
  std::vector<Triple> in;
  for (U64 h = 0; h < 0x7c00; h += 7) {
    const float low = static_cast<float>(decode_format(static_cast<U32>(h), kF16)), high = static_cast<float>(decode_format(static_cast<U32>(h + 1), kF16));
    if (!std::isfinite(high)) continue;
    const float middle = low / 2 + high / 2;
    for (const float x : {low, middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e9f), -middle}) in.push_back({std::bit_cast<U32>(x), 0, 0});
  }
  expect("cvt.rn.f16.f32 %h4, %f1;", "%h4", in, [](U64 a, U64, U64) { return U64{std::bit_cast<std::uint16_t>(static_cast<_Float16>(f(a)))}; });
  expect("cvt.rn.bf16.f32 %h4, %f1;", "%h4", in, [](U64 a, U64, U64) { return u32(a + 0x7fff + (a >> 16 & 1)) >> 16; });
}

}  // namespace
}  // namespace kforge::emulator
