// alloca, stacksave, stackrestore and recursion: each thread has a stack of its own.
#include <gtest/gtest.h>

#include "emulator/twin.h"

namespace kforge::emulator {
namespace {

TEST(Stack, AllocaGivesEveryThreadItsOwnBytes) {
  // Thread t takes 4 (t % 5 + 1) bytes, saves the stack, takes more, stores into both, restores, takes again where it was.
  Twin twin(R"(mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [q]; mad.wide.u32 %rd1, %r1, 16, %rd1;
    rem.u32 %r2, %r1, 5; add.u32 %r2, %r2, 1; shl.b32 %r2, %r2, 2; cvt.u64.u32 %rd2, %r2;
    alloca.u64 %rd3, %rd2; st.local.u32 [%rd3], %r1;
    stacksave.u64 %rd4;
    alloca.u64 %rd5, 64, 32; st.local.u32 [%rd5+60], %r2; cvta.local.u64 %rd6, %rd5; st.u32 [%rd6], %r2; and.b64 %rd7, %rd5, 31;
    stackrestore.u64 %rd4;
    alloca.u64 %rd8, 4; st.local.u32 [%rd8], %r2;
    ld.local.u32 %r3, [%rd3]; ld.local.u32 %r4, [%rd8]; sub.u64 %rd9, %rd8, %rd4; cvt.u32.u64 %r5, %rd9; cvt.u32.u64 %r6, %rd7;
    st.global.v4.u32 [%rd1], {%r3, %r4, %r5, %r6}; ret;)");
  const auto none = twin.buffer(std::vector<std::uint32_t>(1)), out = twin.buffer(std::vector<std::uint32_t>(64 * 4));
  twin.launch(none, out, 0, 64);
  twin.expect_same(out, "alloca");
  const auto values = twin.values<std::uint32_t>(out);
  for (std::uint32_t t = 0; t < 64; ++t) {
    EXPECT_EQ(values[4 * t], t);
    EXPECT_EQ(values[4 * t + 1], 4 * (t % 5 + 1));
    EXPECT_LT(values[4 * t + 2], 8u);    // behind the restored pointer, but for alignment
    EXPECT_EQ(values[4 * t + 3], 0u);    // aligned to 32
  }
}

constexpr const char* kRecursive = R"(
.func (.param .b32 sum) down(.param .b32 n, .param .b64 where)
{
  .reg .pred %p1; .reg .b32 %a<4>; .reg .b64 %b<4>;
  ld.param.u32 %a0, [n]; ld.param.u64 %b0, [where];
  add.u32 %a1, %a0, 2; mul.wide.u32 %b1, %a1, 4; alloca.u64 %b2, %b1;
  st.local.u32 [%b2+4], %a0;
  setp.eq.u32 %p1, %a0, 0; @%p1 bra END;
  sub.u32 %a2, %a0, 1;
  { .param .b32 x; .param .b64 y; .param .b32 z; st.param.b32 [x], %a2; st.param.b64 [y], %b0; call (z), down, (x, y); ld.param.b32 %a3, [z]; }
  ld.local.u32 %a0, [%b2+4]; add.u32 %a0, %a0, %a3;
END:
  st.param.b32 [sum], %a0; ret;
}
)";

TEST(Stack, RecursionWithAllocaKeepsEveryFrame) {
  Twin twin(R"(mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [q]; mad.wide.u32 %rd1, %r1, 4, %rd1;
    { .param .b32 x; .param .b64 y; .param .b32 z; st.param.b32 [x], %r1; st.param.b64 [y], %rd1; call (z), down, (x, y); ld.param.b32 %r2, [z]; }
    st.global.u32 [%rd1], %r2; ret;)", kRecursive);
  const auto none = twin.buffer(std::vector<std::uint32_t>(1)), out = twin.buffer(std::vector<std::uint32_t>(64));
  twin.launch(none, out, 0, 64);
  twin.expect_same(out, "recursion");
  const auto values = twin.values<std::uint32_t>(out);
  for (std::uint32_t t = 0; t < 64; ++t) EXPECT_EQ(values[t], t * (t + 1) / 2);
}

TEST(Stack, WhatAllocaGaveOutEndsThere) {
  TestDevice device;
  device.load_body("mov.u64 %rd1, 8; alloca.u64 %rd2, %rd1; st.local.u32 [%rd2+8], 1; ret;");
  EXPECT_EQ(device.launch(0, 0, 0, {1, 1, 1}, {1, 1, 1}).status, LaunchStatus::illegal_address);
  device.load_body("ld.param.u64 %rd1, [p]; alloca.u64 %rd2, %rd1; ret;");
  EXPECT_EQ(device.launch(4096, 0, 0, {1, 1, 1}, {32, 1, 1}).status, LaunchStatus::ok);
  EXPECT_EQ(device.launch(1 << 20, 0, 0, {1, 1, 1}, {32, 1, 1}).status, LaunchStatus::stack_overflow);
  device.load_body("mov.u64 %rd1, 12; stackrestore.u64 %rd1; ret;");
  EXPECT_EQ(device.launch(0, 0, 0, {1, 1, 1}, {1, 1, 1}).status, LaunchStatus::illegal_address);
}

TEST(Stack, BytesFromAllocaAreUnwritten) {
  TestDevice device;
  device.load_body("ld.param.u64 %rd9, [q]; alloca.u64 %rd2, 8; ld.local.u32 %r1, [%rd2]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L; L: ret;");
  (void)device.launch(0, 0, 0, {1, 1, 1}, {1, 1, 1});
  const auto violations = device.device.take_log().violations;
  ASSERT_FALSE(violations.empty());
  EXPECT_EQ(violations[0].contract, "safety.uninitialised");
}

}  // namespace
}  // namespace kforge::emulator
