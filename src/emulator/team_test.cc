// Several workers on one launch: the same memory, profile and findings as one, and in every case of doubt the one's words.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "emulator/testing.h"
#include "evidence/launch_log.h"

namespace kforge::emulator {
namespace {

constexpr std::uint32_t kBlocks = 200, kThreads = 64, kElements = kBlocks * kThreads;

struct Played {
  std::string log;
  std::vector<std::uint32_t> p, q;
};

std::string without_addresses(std::string text) {
  for (std::size_t at = 0; (at = text.find("0x", at)) != std::string::npos; ++at) {
    std::size_t end = at + 2;
    while (end < text.size() && std::isxdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (end - at > 10) text.replace(at, end - at, "ADDRESS");
  }
  constexpr std::string_view kAddresses = "\"lane_addresses\":[";
  for (std::size_t at = 0; (at = text.find(kAddresses, at)) != std::string::npos; ++at) {
    const std::size_t begin = at + kAddresses.size();
    text.erase(begin, text.find(']', begin) - begin);
  }
  return text;
}

constexpr std::uint64_t kMuch = std::uint64_t{300} << 20;   // bytes beside p and q: too much to be saved for a launch as short as these

// `Spin`: extra work, so that a team is worth calling together.
Played play(const std::string& body, std::uint32_t workers, bool initialised = true, std::uint64_t instruction_limit = 0, bool observed = true, std::uint64_t more_bytes = 0) {
  TestDevice t;
  t.load_body("ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.u32 %r5, %r3, %r4, %r2;\n"
              "mul.wide.u32 %rd3, %r5, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3; mov.u32 %r9, 0; mov.u32 %r8, %r2;\n"
              "Spin: mad.lo.u32 %r8, %r8, 1664525, 1013904223; add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 1000; @%p1 bra Spin;\n" + body + "\nret;", ".shared .align 4 .b8 s[64];");
  t.device.set_workers(workers);
  if (!observed) t.device.set_checks({false, false});
  if (more_bytes != 0) t.device.memory().allocate(more_bytes, MemoryKind::device, "more");
  if (instruction_limit != 0) t.device.set_limits({instruction_limit, 1e-9});
  Allocation* p = t.buffer(std::vector<std::uint32_t>(kElements, 5), "p");
  Allocation* q = t.buffer(std::vector<std::uint32_t>(kElements, 7), "q");
  p->all_initialised = initialised;
  const LaunchResult result = t.launch(p->base, q->base, kElements, {kBlocks, 1, 1}, {kThreads, 1, 1});
  if (observed) t.device.check_read(*q, 0, q->size, "output");
  const std::uint64_t instructions = instruction_limit == 0 ? result.thread_instructions : 0;
  return {without_addresses(fmt::format("{} {} {}\n{}", static_cast<int>(result.status), instruction_limit == 0 ? result.detail : "", instructions, instruction_limit == 0 ? evidence::to_json(t.device.take_log()) : "")),
          TestDevice::values<std::uint32_t>(p), TestDevice::values<std::uint32_t>(q)};
}

void expect_same(const std::string& body, bool initialised = true) {
  const Played one = play(body, 1, initialised), two = play(body, 2, initialised), five = play(body, 5, initialised);
  EXPECT_EQ(one.log, two.log) << body;
  EXPECT_EQ(one.log, five.log) << body;
  EXPECT_EQ(one.p, two.p) << body;
  EXPECT_EQ(one.q, two.q) << body;
  EXPECT_EQ(one.q, five.q) << body;
}

void expect_same_unobserved(const std::string& body, std::uint64_t more_bytes = 0) {
  const Played one = play(body, 1, true, 0, false, more_bytes);
  for (const std::uint32_t workers : {2u, 5u}) {
    const Played several = play(body, workers, true, 0, false, more_bytes);
    EXPECT_EQ(one.log, several.log) << body;
    EXPECT_EQ(one.p, several.p) << body;
    EXPECT_EQ(one.q, several.q) << body;
  }
}

TEST(Team, RightKernels) {
  expect_same("ld.global.u32 %r10, [%rd4]; add.u32 %r10, %r10, %r8; st.global.u32 [%rd5], %r10;");
  expect_same("xor.b32 %r11, %r5, 21; mul.wide.u32 %rd6, %r11, 4; add.u64 %rd7, %rd2, %rd6; ld.global.u32 %r10, [%rd1]; add.u32 %r10, %r10, %r11; st.global.u32 [%rd7], %r10;");
  expect_same("st.global.u8 [%rd5+1], %r8; st.global.u16 [%rd5+2], %r8;");
}

TEST(Team, BlocksThatTouchOneByte) {
  expect_same("st.global.u32 [%rd2], %r5;");                                              // all blocks
  expect_same("st.global.u32 [%rd2], %r4;");                                              // the same value
  expect_same("ld.global.u32 %r10, [%rd4]; setp.eq.u32 %p2, %r3, 150; mul.wide.u32 %rd6, %r2, 4; add.u64 %rd7, %rd1, %rd6; @%p2 st.global.u32 [%rd7], %r8; st.global.u32 [%rd5], %r10;");
  // Two neighbouring blocks far from the start, through rows and through single cells.
  expect_same("setp.eq.u32 %p2, %r3, 151; selp.u64 %rd8, -256, 0, %p2; add.u64 %rd5, %rd5, %rd8; st.global.u32 [%rd5], %r3;");
  expect_same("setp.eq.u32 %p2, %r3, 151; selp.u64 %rd8, -4, 0, %p2; add.u64 %rd5, %rd5, %rd8; st.global.u32 [%rd5], %r3;");
}

TEST(Team, FaultsAndUnwrittenBytes) {
  // Just past the end of q: how far it is to a neighbour differs from run to run.
  expect_same("setp.eq.u32 %p2, %r3, 170; selp.u64 %rd8, 7700, 0, %p2; add.u64 %rd5, %rd5, %rd8; st.global.u32 [%rd5], %r3;");
  expect_same("setp.eq.u32 %p2, %r3, 170; @%p2 trap; st.global.u32 [%rd5], %r3;");
  expect_same("ld.global.u32 %r10, [%rd4]; st.global.u32 [%rd5], %r10;", false);
  expect_same("st.global.u32 [%rd4], %r3; ld.global.u32 %r10, [%rd4]; st.global.u32 [%rd5], %r10;", false);
}

TEST(Team, AtomicsStayWithOneWorker) {
  expect_same("atom.global.add.u32 %r10, [%rd2], 1; st.global.u32 [%rd4], %r10;");
  expect_same("ld.volatile.global.u32 %r10, [%rd4]; st.global.u32 [%rd5], %r10;");
}

TEST(Team, AtomicsOfIntegersGiveOneSum) {
  for (const char* how : {"add", "min", "max", "and", "or", "xor"}) expect_same_unobserved(fmt::format("shr.u32 %r11, %r8, 9; atom.global.{}.{} %r10, [%rd2+4], %r11;", how, how[0] == 'm' || how[1] == 'd' ? "u32" : "b32"));
  expect_same_unobserved("cvt.u64.u32 %rd9, %r8; red.global.add.u64 [%rd2+8], %rd9; red.shared::cta.add.u32 [s], 1;");
  expect_same_unobserved("atom.global.add.u32 %r10, [%rd2], 1; mul.wide.u32 %rd6, %r10, 4; add.u64 %rd7, %rd1, %rd6; st.global.u32 [%rd7], %r8;");   // says what was there: one worker
}

TEST(Team, NothingIsSavedWhereItCostsTooMuch) {
  expect_same_unobserved("ld.global.u32 %r10, [%rd4]; add.u32 %r10, %r10, %r8; st.global.u32 [%rd4], %r10; st.global.u32 [%rd5], %r10;", kMuch);
  expect_same_unobserved("red.global.add.u32 [%rd4], %r8;", kMuch);
}

TEST(Team, AFaultIsNamedWhereNothingWasSaved) {
  for (const char* body : {"setp.eq.u32 %p2, %r3, 170; @%p2 trap;", "setp.eq.u32 %p2, %r3, 170; selp.u64 %rd8, 7700, 0, %p2; add.u64 %rd5, %rd5, %rd8; ld.global.u32 %r10, [%rd5];"}) {
    const Played one = play(body, 1, true, 0, false, kMuch), several = play(body, 3, true, 0, false, kMuch);
    const auto findings = [](const Played& played) { return played.log.substr(0, played.log.find(" ")) + played.log.substr(std::min(played.log.size(), played.log.find("\"violations\""))); };
    EXPECT_EQ(findings(one), findings(several)) << body;
    EXPECT_FALSE(one.log.starts_with("0 ")) << body;
  }
}

TEST(Team, TheLimitEndsAll) {
  const Played one = play("st.global.u32 [%rd5], %r8;", 1, true, 20'000'000), four = play("st.global.u32 [%rd5], %r8;", 4, true, 20'000'000);
  EXPECT_EQ(one.log, four.log);
  EXPECT_TRUE(one.log.starts_with(fmt::format("{} ", static_cast<int>(LaunchStatus::limit)))) << one.log;
}

}  // namespace
}  // namespace kforge::emulator
