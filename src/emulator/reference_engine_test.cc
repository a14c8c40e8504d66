// The reference engine against results that the PTX manual states or that follow from IEEE 754 by hand, and against this
// machine's floating-point unit.
#include "emulator/reference_engine.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <random>

#include "emulator/reference_engine_float.h"
#include "ptx/parser.h"

namespace kforge::emulator {
namespace {

using ptx::Rounding;
using ptx::Type;

// Runs `body` with %d (b64) as its result, one thread.
std::uint64_t result_of(const std::string& body) {
  const std::string text = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n  .reg .b64 %d, %o;\n  .reg .b32 %r<8>;\n  .reg .b16 %h<4>;\n"
                           "  .reg .f32 %f<4>;\n  .reg .f64 %g<4>;\n  .reg .pred %p<4>;\n  mov.b64 %d, 0;\n" + body + "\n  ld.param.u64 %o, [out];\n  st.global.b64 [%o], %d;\n  ret;\n}\n";
  auto module = ptx::parse(text);
  if (!module) { ADD_FAILURE() << module.error().message << " at line " << module.error().where.line; return ~std::uint64_t{0}; }
  ReferenceEngine engine(std::make_shared<const ptx::Module>(std::move(*module)));
  const std::uint64_t out = engine.allocate(8);
  std::vector<std::byte> parameters(8);
  std::memcpy(parameters.data(), &out, 8);
  const ReferenceResult result = engine.launch({"k", {1, 1, 1}, {1, 1, 1}, 0, parameters});
  EXPECT_EQ(result.error, "");
  std::uint64_t value = 0;
  std::memcpy(&value, engine.bytes(out).data(), 8);
  return value;
}
std::uint64_t r32(const std::string& body) { return result_of(body + " cvt.u64.u32 %d, %r0;"); }
std::uint64_t f32(const std::string& body) { return r32(body + " mov.b32 %r0, %f0;"); }

TEST(ReferenceEngine, IntegersAsTheManualSays) {
  EXPECT_EQ(r32("add.sat.s32 %r0, 0x7fffffff, 1;"), 0x7fffffffu);
  EXPECT_EQ(r32("mul.hi.s32 %r0, -1, 1;"), 0xffffffffu);
  EXPECT_EQ(r32("bfe.s32 %r0, 0x80, 7, 1;"), 0xffffffffu);
  EXPECT_EQ(r32("bfe.s32 %r0, 0x80000000, 40, 4;"), 0xffffffffu);
  EXPECT_EQ(r32("bfi.b32 %r0, 0xff, 0, 4, 8;"), 0xff0u);
  EXPECT_EQ(r32("bfind.s32 %r0, -1;"), 0xffffffffu);
  EXPECT_EQ(r32("bfind.shiftamt.u32 %r0, 1;"), 31u);
  EXPECT_EQ(r32("shf.r.wrap.b32 %r0, 0x12345678, 0x9abcdef0, 8;"), 0xf0123456u);
  EXPECT_EQ(r32("shf.l.clamp.b32 %r0, 0x12345678, 0x9abcdef0, 99;"), 0x12345678u);
  EXPECT_EQ(r32("prmt.b32 %r0, 0x33221100, 0x77665544, 0x7531;"), 0x77553311u);
  EXPECT_EQ(r32("prmt.b32 %r0, 0x80, 0, 0x8888;"), 0xffffffffu);
  EXPECT_EQ(r32("lop3.b32 %r0, 0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa, 0x80;"), 0x80808080u);
  EXPECT_EQ(r32("dp4a.s32.s32 %r0, 0xff02fe03, 0x01020304, 10;"), static_cast<std::uint32_t>(10 - 1 + 4 - 6 + 12));
  EXPECT_EQ(r32("add.cc.u32 %r1, 0xffffffff, 1; addc.u32 %r0, 0, 0;"), 1u);
  EXPECT_EQ(r32("sub.cc.u32 %r1, 0, 1; subc.u32 %r0, 5, 0;"), 4u);
  EXPECT_EQ(r32("shl.b32 %r0, 1, 32;"), 0u);
  EXPECT_EQ(r32("shr.s32 %r0, -8, 99;"), 0xffffffffu);
}

TEST(ReferenceEngine, FloatsAsTheManualSays) {
  EXPECT_EQ(f32("add.f32 %f0, 0f7F800000, 0fFF800000;"), 0x7fffffffu);                 // inf - inf: the canonical NaN
  EXPECT_EQ(f32("add.sat.f32 %f0, 0f7FC00000, 0f3F800000;"), 0u);                       // NaN saturates to +0
  EXPECT_EQ(f32("add.ftz.f32 %f0, 0f80000001, 0f80000000;"), 0x80000000u);
  EXPECT_EQ(f32("min.f32 %f0, 0f80000000, 0f00000000;"), 0x80000000u);
  EXPECT_EQ(f32("max.f32 %f0, 0f7FC00000, 0f3F800000;"), 0x3f800000u);
  EXPECT_EQ(f32("max.NaN.f32 %f0, 0f7FC00000, 0f3F800000;"), 0x7fffffffu);
  EXPECT_EQ(f32("div.rp.f32 %f0, 0f3F800000, 0f40400000;"), 0x3eaaaaabu);
  EXPECT_EQ(f32("div.rz.f32 %f0, 0f3F800000, 0f40400000;"), 0x3eaaaaaau);
  EXPECT_EQ(f32("sqrt.rn.f32 %f0, 0f40000000;"), 0x3fb504f3u);
  EXPECT_EQ(f32("fma.rn.f32 %f0, 0f3F800001, 0f3F800001, 0fBF800002;"), 0x28800000u);   // 2^-46: fused
  EXPECT_EQ(f32("cvt.rni.f32.f32 %f0, 0f40200000;"), 0x40000000u);                       // 2.5 to even
  EXPECT_EQ(r32("cvt.rzi.s32.f32 %r0, 0f7FC00000;"), 0u);
  EXPECT_EQ(result_of("cvt.rzi.s64.f32 %d, 0f7FC00000;"), 0x8000000000000000u);
  EXPECT_EQ(r32("cvt.rzi.u32.f32 %r0, 0fBF800000;"), 0u);
  EXPECT_EQ(r32("cvt.rn.f16x2.f32 %r0, 0f3F800000, 0fC0000000;"), 0x3c00c000u);          // a is the upper half
  EXPECT_EQ(r32("cvt.rn.satfinite.e4m3x2.f32 %h0, 0f44000000, 0fFF800000; cvt.u32.u16 %r0, %h0;"), 0x7efeu);
  EXPECT_EQ(r32("setp.ltu.f32 %p0|%p1, 0f7FC00000, 0f3F800000; selp.b32 %r0, 1, 0, %p0; @%p1 add.u32 %r0, %r0, 2;"), 1u);
}

// Exact arithmetic agrees with the processor's, in every rounding mode.
TEST(ReferenceEngine, ArithmeticIsIeee754) {
  std::mt19937_64 random(754);
  const auto edge = [&] {
    const auto x = static_cast<std::uint32_t>(random());
    switch (random() % 4) {
      case 0: return x;
      case 1: return (x & 0x80ffffff) | 0x3f000000u;
      case 2: return x & 0x807fffffu;
      default: return (x & 0x807fffffu) | 0x7f000000u;
    }
  };
  constexpr std::pair<Rounding, int> kModes[] = {{Rounding::rn, FE_TONEAREST}, {Rounding::rz, FE_TOWARDZERO}, {Rounding::rm, FE_DOWNWARD}, {Rounding::rp, FE_UPWARD}};
  const reference::Format& f = reference::format_of(Type::f32);
  const reference::Format& g = reference::format_of(Type::f64);
  for (int i = 0; i < 40000; ++i) {
    const auto [mode, native] = kModes[i % 4];
    volatile float a = std::bit_cast<float>(edge()), b = std::bit_cast<float>(edge()), c = std::bit_cast<float>(edge());
    volatile double x = std::bit_cast<double>(random()), y = i % 3 == 0 ? std::bit_cast<double>(random()) : x * (1 + 0x1p-40 * static_cast<double>(random() % 999)), z = -(x * y);
    std::fesetround(native);
    volatile float sum = a + b, product = a * b, quotient = a / b, root = std::sqrt(a), fused = std::fma(a, b, c);
    volatile double wide_sum = x + y, wide_product = x * y, wide_quotient = x / y, wide_root = std::sqrt(x), wide_fused = std::fma(x, y, z);
    std::fesetround(FE_TONEAREST);
    const auto bits = [](float v) { return std::uint64_t{v != v ? 0x7fffffffu : std::bit_cast<std::uint32_t>(v)}; };
    const auto wide = [](double v) { return v != v ? 0x7fffffffffffffffu : std::bit_cast<std::uint64_t>(v); };
    EXPECT_EQ(reference::add(bits(a), bits(b), f, mode), bits(sum));
    EXPECT_EQ(reference::multiply(bits(a), bits(b), f, mode), bits(product));
    EXPECT_EQ(reference::divide(bits(a), bits(b), f, mode), bits(quotient));
    EXPECT_EQ(reference::square_root(bits(a), f, mode), bits(root));
    EXPECT_EQ(reference::fused(bits(a), bits(b), bits(c), f, mode), bits(fused));
    EXPECT_EQ(reference::add(wide(x), wide(y), g, mode), wide(wide_sum));
    EXPECT_EQ(reference::multiply(wide(x), wide(y), g, mode), wide(wide_product));
    EXPECT_EQ(reference::divide(wide(x), wide(y), g, mode), wide(wide_quotient));
    EXPECT_EQ(reference::square_root(wide(x), g, mode), wide(wide_root));
    EXPECT_EQ(reference::fused(wide(x), wide(y), wide(z), g, mode), wide(wide_fused));
    if (HasFailure()) FAIL() << "case " << i;
  }
}

TEST(ReferenceEngine, HalvesAreExactAndComeBack) {
  for (const Type type : {Type::f16, Type::bf16, Type::e4m3, Type::e5m2}) {
    const reference::Format& f = reference::format_of(type);
    for (std::uint64_t bits = 0; bits < 2 * f.sign_bit(); ++bits) {
      if (reference::is_nan(bits, f)) continue;
      const reference::Number x = reference::decode(bits, f);
      if (x.is_infinite()) continue;
      ASSERT_EQ(reference::round(reference::exact(x), f, Rounding::rn), bits);
      if (type != Type::bf16) continue;
      ASSERT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16)), static_cast<float>(reference::to_double(bits, f)));
    }
  }
}

TEST(ReferenceEngine, ThreadsThatWaitForEachOtherForEverAreNamed) {
  auto module = ptx::parse(".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n .reg .pred %p;\n .reg .b32 %t;\n mov.u32 %t, %tid.x;\n setp.eq.u32 %p, %t, 0;\n"
                           " @%p bar.sync 1;\n @!%p bar.sync 2;\n ret;\n}\n");
  ASSERT_TRUE(module);
  ReferenceEngine engine(std::make_shared<const ptx::Module>(std::move(*module)));
  EXPECT_EQ(engine.launch({"k", {1, 1, 1}, {64, 1, 1}, 0, {}}).error, "threads wait for one another and none can go on");
}

}  // namespace
}  // namespace kforge::emulator
