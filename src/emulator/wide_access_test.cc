// Accesses of 128 bits and more: atom.b128, and the vectors of eight that sm_100 has.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>

#include "emulator/twin.h"

namespace kforge::emulator {
namespace {

TEST(WideAccess, AtomicExchangeOf128Bits) {
  Twin twin(R"(.reg .b128 %q<4>; mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; mad.wide.u32 %rd2, %r1, 16, %rd2;
    cvt.u64.u32 %rd3, %r1; not.b64 %rd4, %rd3; mov.b128 %q1, {%rd3, %rd4};
    atom.global.exch.b128 %q2, [%rd1], %q1; mov.b128 {%rd5, %rd6}, %q2; st.global.v2.u64 [%rd2], {%rd5, %rd6}; ret;)");
  const auto cell = twin.buffer(std::vector<std::uint64_t>{5, 6}), out = twin.buffer(std::vector<std::uint64_t>(64 * 2));
  twin.launch(cell, out, 0, 64);
  auto values = twin.values<std::uint64_t>(out);   // whatever the order, each value is read once
  const auto last = twin.values<std::uint64_t>(cell);
  values.insert(values.end(), last.begin(), last.end());
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (std::size_t i = 0; i < values.size(); i += 2) seen.insert({values[i], values[i + 1]});
  EXPECT_EQ(seen.size(), 65u);
  for (const auto& [low, high] : seen) EXPECT_TRUE((low == 5 && high == 6) || high == ~low);
}

TEST(WideAccess, AtomicCompareAndSwapOf128Bits) {
  // Each thread adds 1 to both halves once, by compare and swap.
  Twin twin(R"(.reg .b128 %q<4>; ld.param.u64 %rd1, [p];
    ld.global.v2.u64 {%rd3, %rd4}, [%rd1];
  AGAIN: mov.b128 %q1, {%rd3, %rd4}; add.u64 %rd5, %rd3, 1; add.u64 %rd6, %rd4, 3; mov.b128 %q2, {%rd5, %rd6};
    atom.relaxed.gpu.global.cas.b128 %q3, [%rd1], %q1, %q2; mov.b128 {%rd7, %rd8}, %q3;
    setp.ne.u64 %p1, %rd7, %rd3; setp.ne.u64 %p2, %rd8, %rd4; or.pred %p1, %p1, %p2; mov.u64 %rd3, %rd7; mov.u64 %rd4, %rd8; @%p1 bra AGAIN; ret;)");
  const auto cell = twin.buffer(std::vector<std::uint64_t>{~std::uint64_t{0}, 10}), none = twin.buffer(std::vector<std::uint32_t>(1));
  twin.fast.device.set_checks({false, false});   // the first, plain load races with the swaps
  twin.launch(cell, none, 0, 64);
  twin.expect_same(cell, "cas.b128");
  EXPECT_EQ(twin.values<std::uint64_t>(cell), (std::vector<std::uint64_t>{63, 10 + 64 * 3}));
}

TEST(WideAccess, EightWordsAtATime) {
  Twin twin(R"(mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [p]; mad.wide.u32 %rd1, %r1, 64, %rd1; ld.param.u64 %rd2, [q]; mad.wide.u32 %rd2, %r1, 64, %rd2;
    ld.global.v8.b32 {%r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11}, [%rd1]; ld.global.nc.v4.b64 {%rd4, %rd5, %rd6, %rd7}, [%rd1+32];
    add.u32 %r11, %r11, %r4; add.u64 %rd7, %rd7, %rd4;
    st.global.v8.b32 [%rd2+32], {%r11, %r10, %r9, %r8, %r7, %r6, %r5, %r4}; st.global.v4.b64 [%rd2], {%rd7, %rd6, %rd5, %rd4}; ret;)", "", "sm_100");
  std::mt19937 random(1);
  std::vector<std::uint32_t> words(64 * 16);
  for (std::uint32_t& word : words) word = random();
  const auto in = twin.buffer(words), out = twin.buffer(std::vector<std::uint32_t>(64 * 16));
  twin.launch(in, out, 0, 64);
  twin.expect_same(out, "v8");
  EXPECT_EQ(twin.values<std::uint32_t>(out)[8], words[7] + words[0]);
}

TEST(WideAccess, EightWordsMustBeAligned) {
  TestDevice device;
  device.load_body("ld.param.u64 %rd1, [p]; ld.global.v8.b32 {%r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11}, [%rd1+16]; ret;", "", "sm_100");
  Allocation* in = device.buffer(std::vector<std::uint32_t>(32));
  EXPECT_EQ(device.launch(in->base, 0, 0, {1, 1, 1}, {1, 1, 1}).status, LaunchStatus::misaligned_address);
}

}  // namespace
}  // namespace kforge::emulator
