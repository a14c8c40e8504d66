// The quick handlers and the machine code of segments against the handlers that know every case: the same memory, the same
// findings to the letter, the same profile.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "emulator/random_program.h"
#include "emulator/segment_code.h"
#include "emulator/testing.h"
#include "evidence/launch_log.h"

namespace kforge::emulator {
namespace {

// Which handlers run: those that know every case; or the quick ones and the machine code of segments, with 512-bit registers or without.
enum class Way { full, quick, quick_narrow };

struct Outcome {
  std::string log;
  std::vector<std::byte> memory;
  bool operator==(const Outcome&) const = default;
};

struct Shape {
  evidence::Dim3 grid{2, 1, 1}, block{64, 1, 1};
  std::uint64_t bytes = 1 << 14;      // of each buffer
  bool initialised = true;
  std::uint64_t seed = 0;
  Checks checks{};
};

// Addresses differ from device to device: buffers are at the same distance from their base in every message.
std::string without_addresses(std::string text) {
  for (std::size_t at = 0; (at = text.find("0x", at)) != std::string::npos; ++at) {
    std::size_t end = at + 2;
    while (end < text.size() && std::isxdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (end - at > 10) text.replace(at, end - at, "ADDRESS");
  }
  return text;
}

Outcome play(const std::string& text, const Shape& shape, Way way) {
  Outcome outcome;
  auto parsed = ptx::parse(text);
  EXPECT_TRUE(parsed.has_value()) << to_string(parsed.error()) << "\n" << text;
  if (!parsed) return outcome;
  Device device(TestDevice::sheet());
  device.set_checks(shape.checks);
  device.set_seed(shape.seed);
  auto loaded = device.load(std::make_shared<const ptx::Module>(std::move(*parsed)), way != Way::full);
  EXPECT_TRUE(loaded.has_value());
  std::vector<Allocation*> buffers;
  for (const char* label : {"p", "q"}) {
    Allocation* buffer = device.memory().allocate(shape.bytes, MemoryKind::device, label);
    for (std::uint64_t i = 0; i + 4 <= shape.bytes; i += 4) {
      const auto value = static_cast<std::uint32_t>(i * 2654435761u >> 20);
      std::memcpy(buffer->data + i, &value, 4);
    }
    buffer->all_initialised = shape.initialised;
    buffers.push_back(buffer);
  }
  std::vector<std::byte> parameters(20);
  std::memcpy(parameters.data(), &buffers[0]->base, 8);
  std::memcpy(parameters.data() + 8, &buffers[1]->base, 8);
  const auto n = static_cast<std::uint32_t>(shape.bytes / 4);
  std::memcpy(parameters.data() + 16, &n, 4);
  LaunchRequest request;
  request.kernel = device.find_kernel(*loaded, "kernel");
  if (way == Way::quick_narrow)
    for (std::size_t variant = 0; variant < kVariants; ++variant) request.kernel->segments[variant] = compile_segments(*request.kernel, static_cast<Variant>(variant), false);
  request.grid = shape.grid;
  request.block = shape.block;
  request.parameters = parameters;
  const LaunchResult result = device.launch(request);
  for (Allocation* buffer : buffers) {
    device.check_read(*buffer, 0, buffer->size, "output");
    outcome.memory.insert(outcome.memory.end(), buffer->data, buffer->data + buffer->size);
  }
  evidence::LaunchLog log = device.take_log();
  outcome.log = without_addresses(fmt::format("{} {}\n{}", static_cast<int>(result.status), result.detail, evidence::to_json(log)));
  // Requests' examples hold addresses, as decimal numbers.
  for (const char* key : {"\"lane_addresses\":["})
    for (std::size_t at = 0; (at = outcome.log.find(key, at)) != std::string::npos; ++at) {
      const std::size_t begin = at + std::string_view(key).size(), end = outcome.log.find(']', begin);
      outcome.log.erase(begin, end - begin);
    }
  return outcome;
}

void expect_same(const std::string& text, const Shape& shape) {
  for (const Checks& checks : {Checks{true, true}, Checks{true, false}, Checks{false, true}, Checks{false, false}}) {
    Shape with = shape;
    with.checks = checks;
    const Outcome full = play(text, with, Way::full);
    for (const Way way : {Way::quick, Way::quick_narrow}) {
      const Outcome quick = play(text, with, way);
      EXPECT_EQ(quick.log, full.log) << "safety " << checks.safety << ", profile " << checks.profile << ", way " << static_cast<int>(way) << "\n" << text;
      EXPECT_TRUE(quick.memory == full.memory) << "safety " << checks.safety << ", profile " << checks.profile << ", way " << static_cast<int>(way) << "\n" << text;
    }
  }
}

std::string kernel(const std::string& body, std::uint32_t shared_bytes = 4096) {
  return fmt::format(".version 9.0\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 tile[{}];\n"
                     ".visible .entry kernel(.param .u64 p, .param .u64 q, .param .u32 n)\n{{\n"
                     ".reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<64>; .reg .b64 %rd<64>; .reg .f32 %f<32>; .reg .f64 %fd<16>;\n"
                     "ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; ld.param.u32 %r1, [n];\n"
                     "mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.u32 %r5, %r3, %r4, %r2; mov.u32 %r6, tile;\n"
                     "shl.b32 %r7, %r2, 2; add.u32 %r8, %r6, %r7; mul.wide.u32 %rd3, %r5, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;\n"
                     "mul.wide.u32 %rd6, %r2, 4; add.u64 %rd7, %rd2, %rd6;\n{}\nret;\n}}\n", shared_bytes, body);
}

TEST(Shortcuts, TilesThroughSharedMemory) {
  const std::string fill = "ld.global.u32 %r10, [%rd4]; st.shared.u32 [%r8], %r10;\n";
  const std::string use = "xor.b32 %r11, %r7, 252; add.u32 %r11, %r6, %r11; ld.shared.u32 %r12, [%r11]; ld.shared.u32 %r13, [tile+8];\n"
                          "add.u32 %r12, %r12, %r13; st.global.u32 [%rd5], %r12;\n";
  expect_same(kernel(fill + "bar.sync 0;\n" + use), {});
  expect_same(kernel(fill + use), {});                                          // a barrier is missing
  expect_same(kernel(use + "bar.sync 0;\n" + fill), {});                        // nothing was written
  expect_same(kernel(fill + "bar.sync 0;\n" + use + fill), {});                 // written while others read
  expect_same(kernel(fill + "bar.sync 0;\n" + use + "st.shared.u32 [%r8+2048], %r10; bar.sync 0;\n" + use), {});
  expect_same(kernel(fill + "bar.sync 0;\n" + use + "bar.warp.sync -1;\n" + fill), {});
}

TEST(Shortcuts, ReadsAreLoggedUntilAWriteComes) {
  // Enough reads in one interval to fill the log, then a write to a part that was read, and one to a part that was not.
  const std::string loop = "st.shared.u32 [%r8], %r2; bar.sync 0; mov.u32 %r20, 0;\nL: ld.shared.u32 %r21, [%r8]; add.u32 %r22, %r22, %r21; add.u32 %r20, %r20, 1;\n"
                           "setp.lt.u32 %p1, %r20, 1500; @%p1 bra L;\n";
  expect_same(kernel(loop + "st.shared.u32 [%r8], %r22; st.global.u32 [%rd5], %r22;"), {});
  expect_same(kernel(loop + "xor.b32 %r11, %r7, 128; add.u32 %r11, %r11, %r6; st.shared.u32 [%r11], %r22;"), {});
  expect_same(kernel(loop + "st.shared.u32 [%r8+2048], %r22; st.global.u32 [%rd5], %r22;"), {});
  expect_same(kernel(loop + "atom.shared.add.u32 %r23, [tile+4], 1; st.global.u32 [%rd5], %r22;"), {});
}

TEST(Shortcuts, EveryWidthAndPattern) {
  for (const auto& [type, reg, bytes] : {std::tuple{"u8", "%r", 1}, {"s8", "%r", 1}, {"u16", "%h", 2}, {"s16", "%r", 2}, {"u32", "%r", 4}, {"f32", "%f", 4}, {"u64", "%rd", 8}, {"f64", "%fd", 8}})
    for (const char* index : {"%r2", "0", "%r3", "%r9"}) {   // consecutive, one for all, one a block, scattered
      const std::string address = fmt::format("mul.lo.u32 %r9, %r2, 29; and.b32 %r9, %r9, 63; mul.lo.u32 %r14, {}, {}; add.u32 %r15, %r6, %r14; cvt.u64.u32 %rd10, %r14;\n"
                                              "add.u64 %rd11, %rd1, %rd10; add.u64 %rd12, %rd2, %rd10;\n", index, bytes);
      expect_same(kernel(address + fmt::format("ld.global.{0} {1}15, [%rd11]; st.shared.{0} [%r15], {1}15; bar.sync 0; ld.shared.{0} {1}15, [%r15+{2}]; st.global.{0} [%rd12], {1}15;\n", type, reg, bytes)), {});
    }
  for (const char* vector : {"v2.u32 {%r10, %r11}", "v4.f32 {%f1, %f2, %f3, %f4}", "v2.f64 {%fd1, %fd2}"}) {
    const std::string type = std::string(vector).substr(0, 6), list = std::string(vector).substr(7);
    for (const char* index : {"%r2", "0", "%r9"})
      expect_same(kernel(fmt::format("mul.lo.u32 %r9, %r2, 29; and.b32 %r9, %r9, 63; mul.lo.u32 %r14, {2}, 16; add.u32 %r15, %r6, %r14; mul.wide.u32 %rd10, {2}, 16; add.u64 %rd11, %rd1, %rd10; add.u64 %rd12, %rd2, %rd10;\n"
                                     "ld.global.{0} {1}, [%rd11]; st.shared.{0} [%r15], {1}; bar.sync 0; ld.shared.{0} {1}, [%r15]; st.global.{0} [%rd12], {1};\n", type, list, index)), {});
  }
}

TEST(Shortcuts, FaultsAreTheSame) {
  expect_same(kernel("ld.global.u32 %r10, [%rd4+65536]; st.global.u32 [%rd5], %r10;"), {});
  expect_same(kernel("ld.global.u32 %r10, [%rd4+16200]; st.global.u32 [%rd5], %r10;"), {});                    // a part of the warp
  expect_same(kernel("ld.global.u32 %r10, [%rd4+2]; st.global.u32 [%rd5], %r10;"), {});
  expect_same(kernel("ld.shared.u32 %r10, [%r8+4000]; st.global.u32 [%rd5], %r10;"), {});
  expect_same(kernel("st.shared.u32 [%r8+-8], %r10;"), {});
  expect_same(kernel("ld.shared.v2.u32 {%r10, %r11}, [%r8]; st.global.u32 [%rd5], %r10;"), {});
}

TEST(Shortcuts, GlobalRaces) {
  expect_same(kernel("st.global.u32 [%rd7], %r5;"), {});                                              // blocks write the same bytes
  expect_same(kernel("st.global.u32 [%rd7], %r2;"), {});                                              // the same values
  expect_same(kernel("ld.global.u32 %r10, [%rd7]; st.global.u32 [%rd5], %r10;"), {});
  expect_same(kernel("st.global.u32 [%rd5], %r2; ld.global.u32 %r10, [%rd5+128]; st.global.u32 [%rd4], %r10;"), {});
  expect_same(kernel("st.global.u32 [%rd5], %r2; ld.global.u32 %r10, [%rd5+4]; st.global.u32 [%rd4], %r10;"), {});
  expect_same(kernel("st.global.u32 [%rd5+4], %r2; bar.sync 0; ld.global.u32 %r10, [%rd5]; st.global.u32 [%rd4], %r10;"), {});
  expect_same(kernel("mul.wide.u32 %rd10, %r2, 256; add.u64 %rd11, %rd1, %rd10; ld.global.u32 %r10, [%rd11]; st.global.u32 [%rd11+4], %r10; st.global.u32 [%rd5], %r10;"), {});
  expect_same(kernel("mov.u32 %r10, 7; st.global.u32 [%rd2], %r2; st.global.u32 [%rd2+64], %r10;"), {});   // lanes of one warp
  expect_same(kernel("atom.global.add.u32 %r10, [%rd2], 1; ld.global.u32 %r11, [%rd2]; st.global.u32 [%rd4], %r11;"), {});
}

TEST(Shortcuts, UnwrittenBytes) {
  Shape fresh;
  fresh.initialised = false;
  expect_same(kernel("ld.global.u32 %r10, [%rd4]; st.global.u32 [%rd5], %r10;"), fresh);
  expect_same(kernel("st.global.u32 [%rd4], %r2; ld.global.u32 %r10, [%rd4]; add.u32 %r10, %r10, 1; st.global.u32 [%rd5], %r10;"), fresh);
  expect_same(kernel("ld.shared.u32 %r10, [%r8]; add.u32 %r11, %r10, 3; setp.eq.u32 %p1, %r11, 5; @%p1 st.global.u32 [%rd5], %r11;"), {});
  expect_same(kernel("and.b32 %r10, %r2, 1; setp.eq.u32 %p1, %r10, 1; @%p1 st.shared.u32 [%r8], %r2; ld.shared.u32 %r11, [%r8]; and.b32 %r11, %r11, %r20; st.global.u32 [%rd5], %r11;"), {});
}

TEST(Shortcuts, GuardsAndPartialWarps) {
  const std::string body = "setp.lt.u32 %p1, %r2, 37; setp.gt.u32 %p2, %r2, 1000; @%p1 ld.global.u32 %r10, [%rd4]; @!%p1 mov.u32 %r10, 5; @%p2 mov.u32 %r10, 6;\n"
                           "@%p1 add.u32 %r10, %r10, 1; st.global.u32 [%rd5], %r10;\n";
  expect_same(kernel(body), {});
  Shape odd;
  odd.block = {50, 1, 1};
  expect_same(kernel(body), odd);
  expect_same(kernel(body + "setp.lt.u32 %p3, %r2, 20; @%p3 bra L; add.u32 %r10, %r10, 3; add.u32 %r10, %r10, 4; L: st.global.u32 [%rd5], %r10;"), {});
}

TEST(Shortcuts, ArithmeticOfEdgeValues) {
  std::string body = "mov.b32 %f1, 0f7FC00001; mov.b32 %f2, 0fFF800000; mov.b32 %f3, 0f80000000; ld.global.f32 %f4, [%rd4];\n";
  int offset = 0;
  for (const char* line : {"fma.rn.f32 %f5, %f4, %f2, %f1;", "add.f32 %f5, %f4, %f2;", "sub.f32 %f5, %f2, %f2;", "mul.f32 %f5, %f2, %f3;", "fma.rn.f32 %f5, %f4, %f4, %f3;",
                           "shl.b32 %r10, %r2, %r2; mov.b32 %f5, %r10;", "shr.s32 %r10, 0x80000001, %r2; mov.b32 %f5, %r10;", "shr.u32 %r10, 0x80000001, %r2; mov.b32 %f5, %r10;",
                           "min.s32 %r10, %r2, -3; mov.b32 %f5, %r10;", "max.u32 %r10, %r2, -3; mov.b32 %f5, %r10;", "not.b32 %r10, %r2; mov.b32 %f5, %r10;",
                           "mul.wide.s32 %rd20, %r2, -77; shr.u64 %rd20, %rd20, %r2; cvt.u32.u64 %r10, %rd20; mov.b32 %f5, %r10;",
                           "mul.wide.u32 %rd20, %r2, -77; shl.b64 %rd20, %rd20, %r2; sub.s64 %rd20, %rd20, %rd3; xor.b64 %rd20, %rd20, %rd4; xor.b64 %rd20, %rd20, %rd1; cvt.u32.u64 %r10, %rd20; mov.b32 %f5, %r10;",
                           "cvt.f64.f32 %fd1, %f4; fma.rn.f64 %fd2, %fd1, %fd1, %fd1; mul.f64 %fd2, %fd2, %fd1; cvt.rn.f32.f64 %f5, %fd2;"})
    body += fmt::format("{} st.global.f32 [%rd5+{}], %f5;\n", line, 512 * offset++);
  expect_same(kernel(body), {});
}

TEST(Shortcuts, RandomPrograms) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    RandomProgram program = seed % 2 == 0 ? random_straight(seed, 60) : random_structured(seed, 60);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const std::size_t name = program.text.find(".entry k(");
    ASSERT_NE(name, std::string::npos);
    program.text.replace(name, 9, ".entry kernel(");
    Shape shape;
    shape.bytes = std::max<std::uint64_t>(program.input.size(), program.output_stride * program.threads * program.blocks);
    shape.grid = {program.blocks, 1, 1};
    shape.block = {program.threads, 1, 1};
    const Outcome full = play(program.text, shape, Way::full);
    for (const Way way : {Way::quick, Way::quick_narrow}) {
      const Outcome quick = play(program.text, shape, way);
      EXPECT_EQ(quick.log, full.log);
      EXPECT_TRUE(quick.memory == full.memory);
    }
  }
}

}  // namespace
}  // namespace kforge::emulator
