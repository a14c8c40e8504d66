// cp.async where nothing observes and where everything does: the bytes that are there after the wait, none before it, and what lies outside.
#include "emulator/testing.h"

namespace kforge::emulator {
namespace {

struct Outcome {
  LaunchStatus status = LaunchStatus::ok;
  std::vector<std::uint32_t> out;
};

const std::string kBefore = ".shared .align 16 .b8 data[512];\n";
// Thread t's words: 0xffffffff before, then 16 bytes at `data` + 16 t. It writes out word t of the block before the wait (q) and its four words after it.
const std::string kStart = "mov.u32 %r1, %tid.x;\nld.param.u64 %rd1, [p];\nld.param.u64 %rd2, [q];\nmov.u32 %r2, data;\nmad.lo.u32 %r3, %r1, 16, %r2;\n"
                           "mov.u32 %r4, -1;\nst.shared.v4.u32 [%r3], {%r4, %r4, %r4, %r4};\nbar.sync 0;\nmad.wide.u32 %rd3, %r1, 16, %rd1;\nmad.wide.u32 %rd4, %r1, 16, %rd2;\n";
const std::string kWait = "cp.async.commit_group;\nld.shared.u32 %r9, [%r3];\nst.global.u32 [%rd4+512], %r9;\ncp.async.wait_group 0;\n"
                          "ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r3];\nst.global.v4.u32 [%rd4], {%r5, %r6, %r7, %r8};\nret;";

Outcome run(const std::string& copy, bool observes) {
  TestDevice device;
  device.load_body(kStart + copy + kWait, kBefore);
  std::vector<std::uint32_t> input(128);
  for (std::uint32_t i = 0; i < input.size(); ++i) input[i] = 1000 + i;
  Allocation* in = device.buffer(input, "in");
  Allocation* out = device.buffer(std::vector<std::uint32_t>(256), "out");
  device.device.set_checks({.safety = observes, .profile = observes});
  const LaunchResult result = device.launch(in->base, out->base, 0, {1, 1, 1}, {32, 1, 1});
  return {result.status, TestDevice::values<std::uint32_t>(out)};
}

struct Case { const char* copy; std::uint32_t words, first, last; };   // copied by the threads `first` to `last`; the rest of a copy's bytes are zeros

TEST(AsyncCopy, BytesAreThereAfterTheWait) {
  const Case cases[] = {
      {"cp.async.cg.shared.global [%r3], [%rd3], 16;\n", 4, 0, 31},
      {"cp.async.ca.shared.global [%r3], [%rd3], 8;\ncp.async.ca.shared.global [%r3+8], [%rd3+8], 4;\ncp.async.ca.shared.global [%r3+12], [%rd3+12], 4;\n", 4, 0, 31},
      {"mov.u32 %r10, 16;\ncp.async.cg.shared.global [%r3], [%rd3], 16, %r10;\n", 4, 0, 31},
      {"mov.u32 %r10, 8;\ncp.async.cg.shared.global [%r3], [%rd3], 16, %r10;\n", 2, 0, 31},
      {"setp.lt.u32 %p1, %r1, 7;\nselp.u32 %r10, 16, 0, %p1;\ncp.async.cg.shared.global [%r3], [%rd3], 16, %r10;\n", 4, 0, 6},
  };
  for (const Case& one : cases)
    for (bool observes : {false, true}) {
      const Outcome outcome = run(one.copy, observes);
      ASSERT_EQ(outcome.status, LaunchStatus::ok) << one.copy;
      for (std::uint32_t i = 0; i < 128; ++i) {
        const bool copied = i / 4 >= one.first && i / 4 <= one.last && i % 4 < one.words;
        EXPECT_EQ(outcome.out[i], copied ? 1000 + i : 0) << one.copy << "word " << i << ", observers " << observes;
      }
      for (std::uint32_t t = 0; t < 32; ++t) EXPECT_EQ(outcome.out[128 + 4 * t], 0xffffffffu) << one.copy << "thread " << t << ", observers " << observes;
    }
}

TEST(AsyncCopy, WhatLiesOutsideIsAFault) {
  for (const char* copy : {"cp.async.cg.shared.global [%r3], [%rd3+16], 16;\n", "cp.async.cg.shared.global [%r3+16], [%rd3], 16;\n", "cp.async.cg.shared.global [%r3], [%rd3+4], 16;\n"})
    for (bool observes : {false, true}) EXPECT_NE(run(copy, observes).status, LaunchStatus::ok) << copy << "observers " << observes;
}

}  // namespace
}  // namespace kforge::emulator
