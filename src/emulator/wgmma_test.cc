// wgmma: every type, both places of A, both directions and every swizzle of shared memory, both engines compared; and what is missing is found.
#include <algorithm>
#include <random>

#include "emulator/reference_engine.h"
#include "emulator/testing.h"

namespace kforge::emulator {
namespace {

constexpr std::uint32_t kSharedWords = 16384, kSecond = 32768;   // B lies from byte kSecond on
const std::string kBefore = ".shared .align 1024 .b8 data[65536];\n";

// Bits 16 and up of a descriptor.
std::uint64_t fields(std::uint32_t leading, std::uint32_t stride, std::uint32_t mode, std::uint32_t base = 0) {
  return std::uint64_t{leading >> 4} << 16 | std::uint64_t{stride >> 4} << 32 | std::uint64_t{base} << 49 | std::uint64_t{mode} << 62;
}

struct Shape {
  std::string d = "f32", a = "f16", b = "f16";
  int n = 16, k = 16;
  bool registers = false;
  int scale_d = 1, scale_a = 1, scale_b = 1, trans_a = 0, trans_b = 0;
  std::uint64_t fields_a = fields(16, 1024, 1), fields_b = fields(16, 1024, 1);
  std::uint32_t first_a = 0, first_b = kSecond;   // bytes
  bool satfinite = false;
};

bool takes_scales(const Shape& s) { return s.d != "s32"; }
bool takes_transposes(const Shape& s) { return s.a == "f16" || s.a == "bf16"; }
int sums(const Shape& s) { return s.d == "f16" ? s.n / 4 : s.n / 2; }

hardware::DataSheet hopper() {
  hardware::DataSheet sheet = TestDevice::sheet();
  sheet.compute_major = 9;
  return sheet;
}

struct Parts { std::string fence = "fence.proxy.async.shared::cta;\n", wgmma_fence = "wgmma.fence.sync.aligned;\n", before_wait, wait = "wgmma.wait_group.sync.aligned 0;\n"; };

std::string body_of(const Shape& s, const Parts& parts = {}) {
  const int count = sums(s);
  const std::string type = s.d == "f32" ? "f32" : "b32";
  std::string body = "mov.u32 %r1, %tid.x;\nld.param.u64 %rd1, [p];\nld.param.u64 %rd2, [q];\nmov.u32 %r11, data;\nmov.u32 %r20, %r1;\n"
                     "FILL:\nmad.wide.u32 %rd3, %r20, 4, %rd1;\nld.global.u32 %r21, [%rd3];\nmad.lo.u32 %r22, %r20, 4, %r11;\nst.shared.u32 [%r22], %r21;\nadd.u32 %r20, %r20, 128;\n"
                     "setp.lt.u32 %p1, %r20, " + std::to_string(kSharedWords) + ";\n@%p1 bra FILL;\n" + parts.fence + "bar.sync 0;\n";
  body += "shr.u32 %r12, %r11, 4;\ncvt.u64.u32 %rd10, %r12;\nadd.u64 %rd11, %rd10, " + std::to_string(s.fields_a + s.first_a / 16) + ";\nadd.u64 %rd12, %rd10, " +
          std::to_string(s.fields_b + s.first_b / 16) + ";\n";
  body += "setp.ne.u32 %p2, 0, " + std::to_string(s.scale_d) + ";\n{\n.reg ." + type + " %d<" + std::to_string(count) + ">;\n.reg .b32 %a<4>;\n";
  for (int j = 0; j < count; ++j) {
    body += "mad.lo.u32 %r13, %r1, 3, " + std::to_string(j) + ";\n";
    if (s.d == "f32") body += "cvt.rn.f32.u32 %d" + std::to_string(j) + ", %r13;\n";
    else body += std::string(s.d == "f16" ? "add.u32 %d" : "mul.lo.u32 %d") + std::to_string(j) + ", %r13, " + (s.d == "f16" ? "1006648320" : "99999") + ";\n";   // 0x3c003c00
  }
  for (int j = 0; j < 4; ++j) body += "mad.lo.u32 %r13, %r1, 4, " + std::to_string(j) + ";\nmad.wide.u32 %rd4, %r13, 4, %rd1;\nld.global.u32 %a" + std::to_string(j) + ", [%rd4];\n";
  std::string list;
  for (int j = 0; j < count; ++j) list += (j ? ", %d" : "%d") + std::to_string(j);
  body += parts.wgmma_fence + "wgmma.mma_async.sync.aligned.m64n" + std::to_string(s.n) + "k" + std::to_string(s.k) + (s.satfinite ? ".satfinite" : "") + "." + s.d + "." + s.a + "." + s.b + " {" + list + "}, " +
          (s.registers ? "{%a0, %a1, %a2, %a3}" : "%rd11") + ", %rd12, %p2";
  if (takes_scales(s)) body += ", " + std::to_string(s.scale_a) + ", " + std::to_string(s.scale_b);
  if (takes_transposes(s)) body += (s.registers ? "" : ", " + std::to_string(s.trans_a)) + ", " + std::to_string(s.trans_b);
  body += ";\nwgmma.commit_group.sync.aligned;\n" + parts.before_wait + parts.wait + "mul.lo.u32 %r14, %r1, " + std::to_string(count) + ";\nmad.wide.u32 %rd5, %r14, 4, %rd2;\n";
  for (int j = 0; j < count; ++j) body += "st.global." + type + " [%rd5+" + std::to_string(4 * j) + "], %d" + std::to_string(j) + ";\n";
  return body + "}\nret;";
}

std::vector<std::uint32_t> input(const Shape& s) {
  std::mt19937 random(11);
  std::vector<std::uint32_t> words(kSharedWords);
  for (std::uint32_t& word : words) {
    if (s.a == "tf32") word = std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<int>(random() % 4001) - 2000) * 0.0137f);
    else if (s.a == "f16") word = (random() & 0x83ff83ffu) | 0x30003000u | (random() & 0x0c000c00u);
    else if (s.a == "bf16") word = (random() & 0x807f807fu) | 0x3f003f00u | (random() & 0x01000100u);
    else if (s.a == "e4m3") word = random() & 0xf7f7f7f7u;
    else if (s.a == "e5m2") word = random() & 0xbfbfbfbfu;
    else word = random();
  }
  return words;
}

struct Outcome {
  LaunchStatus status = LaunchStatus::ok;
  std::string detail;
  std::vector<std::uint32_t> out;
  std::vector<evidence::Violation> violations;
  std::uint64_t tiles = 0;
  bool has(std::string_view contract, std::string_view kind) const {
    return std::any_of(violations.begin(), violations.end(), [&](const auto& v) { return v.contract == contract && (kind.empty() || v.kind == kind) && !v.advice; });
  }
};

Outcome run(const Shape& s, const Parts& parts = {}, std::uint32_t threads = 128) {
  TestDevice device(hopper());
  device.load_body(body_of(s, parts), kBefore, "sm_90a");
  if (device.module == nullptr) return {LaunchStatus::illegal_instruction, "not loaded", {}, {}, 0};
  Allocation* in = device.buffer(input(s), "in");
  Allocation* out = device.buffer(std::vector<std::uint32_t>(128 * sums(s)), "out");
  const LaunchResult result = device.launch(in->base, out->base, 0, {1, 1, 1}, {threads, 1, 1});
  const evidence::LaunchLog log = device.device.take_log();
  return {result.status, result.detail, TestDevice::values<std::uint32_t>(out), log.violations, log.warpgroup_tiles};
}

std::vector<std::uint32_t> reference(const Shape& s) {
  auto module = ptx::parse(TestDevice::body_text(body_of(s), kBefore, "sm_90a"));
  EXPECT_TRUE(module) << (module ? "" : to_string(module.error()));
  ReferenceEngine engine(std::make_shared<const ptx::Module>(std::move(*module)));
  const std::uint64_t in = engine.allocate(4 * kSharedWords), out = engine.allocate(512 * sums(s));
  std::memcpy(engine.bytes(in).data(), input(s).data(), 4 * kSharedWords);
  std::vector<std::byte> parameters(20);
  std::memcpy(parameters.data(), &in, 8);
  std::memcpy(parameters.data() + 8, &out, 8);
  const ReferenceResult result = engine.launch({"kernel", {1, 1, 1}, {128, 1, 1}, 0, parameters});
  EXPECT_EQ(result.error, "");
  std::vector<std::uint32_t> values(128 * sums(s));
  std::memcpy(values.data(), engine.bytes(out).data(), 4 * values.size());
  return values;
}

void compare(const Shape& s) {
  const Outcome outcome = run(s);
  ASSERT_EQ(outcome.status, LaunchStatus::ok) << outcome.detail;
  for (const auto& v : outcome.violations) ADD_FAILURE() << v.contract << " " << v.kind << ": " << v.message;
  EXPECT_EQ(outcome.out, reference(s)) << s.d << " " << s.a << " " << s.b << " n" << s.n << (s.registers ? " registers" : " shared");
  EXPECT_EQ(outcome.tiles, 4u * static_cast<unsigned>(s.n) / 8) << "of four warps";
}

Shape typed(const std::string& d, const std::string& a, const std::string& b, int n, bool registers) {
  Shape s;
  s.d = d, s.a = a, s.b = b, s.n = n, s.registers = registers;
  s.k = a == "f16" || a == "bf16" ? 16 : a == "tf32" ? 8 : 32;
  return s;
}

TEST(Wgmma, TypesFromSharedMemoryAndFromRegisters) {
  for (const bool registers : {false, true}) {
    for (const std::string d : {"f16", "f32"}) {
      compare(typed(d, "f16", "f16", 16, registers));
      compare(typed(d, "e4m3", "e5m2", 16, registers));
      compare(typed(d, "e5m2", "e5m2", 8, registers));
    }
    compare(typed("f32", "bf16", "bf16", 16, registers));
    compare(typed("f32", "tf32", "tf32", 16, registers));
    for (const std::string a : {"s8", "u8"})
      for (const std::string b : {"s8", "u8"}) compare(typed("s32", a, b, 16, registers));
  }
  Shape s = typed("s32", "u8", "u8", 8, false);
  s.satfinite = true;
  compare(s);
}

TEST(Wgmma, ScalesAndSigns) {
  for (const int scale_d : {0, 1})
    for (const int sign : {-1, 1})
      for (const std::string a : {"f16", "bf16", "tf32", "e4m3"}) {
        Shape s = typed("f32", a, a, 8, sign > 0);
        s.scale_d = scale_d, s.scale_a = sign, s.scale_b = -1;
        compare(s);
      }
}

// Modes of the descriptor: 0 none, 1 128 bytes, 2 64, 3 32.
TEST(Wgmma, SwizzlesAlongK) {
  for (const std::uint32_t mode : {0u, 1u, 2u, 3u})
    for (const std::string a : {"f16", "tf32", "s8"}) {
      Shape s = typed(a == "s8" ? "s32" : "f32", a, a, 24, false);
      const std::uint32_t span = mode == 0 ? 16 : 256u >> mode;
      s.fields_a = fields(mode == 0 ? 128 : 16, mode == 0 ? 256 : 8 * span, mode);
      s.fields_b = fields(mode == 0 ? 2048 : 16, mode == 0 ? 128 : 8 * span, mode);
      if (mode != 0 && mode != 3) s.first_a = 32, s.first_b = kSecond + (mode == 1 ? 96 : 32);   // further along K inside the span
      compare(s);
    }
}

TEST(Wgmma, SwizzlesAcrossK) {
  constexpr int kAcross[] = {16, 72, 40, 24};   // one span of B and eight columns more
  for (const std::uint32_t mode : {0u, 1u, 2u, 3u})
    for (int which = 1; which < 4; ++which) {
      Shape s = typed("f32", which == 2 ? "bf16" : "f16", which == 2 ? "bf16" : "f16", which == 1 ? 8 : kAcross[mode], false);
      s.trans_a = which & 1, s.trans_b = which >> 1;
      const std::uint32_t span = mode == 0 ? 16 : 256u >> mode;
      const std::uint64_t across = mode == 0 ? fields(1024, 128, 0) : fields(8192, 8 * span, mode);
      if (s.trans_a) s.fields_a = across;
      if (s.trans_b) s.fields_b = mode == 0 ? fields(128, 256, 0) : fields(2 * 8 * span, 8 * span, mode);
      compare(s);
    }
}

// Without swizzle, K-major, by hand: ones times ones.
TEST(Wgmma, SumsOfOnes) {
  Shape s = typed("f32", "f16", "f16", 8, false);
  TestDevice device(hopper());
  device.load_body(body_of(s), kBefore, "sm_90a");
  Allocation* in = device.buffer(std::vector<std::uint32_t>(kSharedWords, 0x3c003c00u), "in");
  Allocation* out = device.buffer(std::vector<float>(512), "out");
  ASSERT_EQ(device.launch(in->base, out->base, 0, {1, 1, 1}, {128, 1, 1}).status, LaunchStatus::ok);
  const std::vector<float> values = TestDevice::values<float>(out);
  for (std::uint32_t i = 0; i < 512; ++i) EXPECT_EQ(values[i], static_cast<float>(i / 4 * 3 + i % 4) + 16.0f);
}

TEST(Wgmma, WhatIsMissingIsFound) {
  const Shape s;
  Parts parts;
  parts.fence = "";
  EXPECT_TRUE(run(s, parts).has("safety.async", "missing-proxy-fence"));
  parts = {};
  parts.wgmma_fence = "";
  EXPECT_TRUE(run(s, parts).has("safety.async", "wgmma-without-fence"));
  parts = {};
  parts.wait = "";
  EXPECT_TRUE(run(s, parts).has("safety.async", "accumulator-in-flight"));
  parts.wait = "wgmma.wait_group.sync.aligned 1;\n";
  EXPECT_TRUE(run(s, parts).has("safety.async", "accumulator-in-flight"));
  parts = {};
  parts.before_wait = "bar.sync 0;\nsetp.ne.u32 %p3, %r1, 37;\n@%p3 bra OVER;\nst.shared.u32 [%r11+" + std::to_string(kSecond) + "], %r1;\nOVER:\n";
  EXPECT_TRUE(run(s, parts).has("safety.races", ""));
}

TEST(Wgmma, AWarpgroupHasFourWarps) {
  const Outcome outcome = run(Shape{}, {}, 96);
  EXPECT_EQ(outcome.status, LaunchStatus::illegal_instruction);
  EXPECT_TRUE(outcome.has("safety.barriers", "partial-warpgroup"));
}

TEST(Wgmma, OperandsOutsideSharedMemoryAreFaults) {
  Shape s;
  s.fields_b = fields(16, 65536 - 16, 1);
  EXPECT_EQ(run(s).status, LaunchStatus::illegal_address);
}

}  // namespace
}  // namespace kforge::emulator
