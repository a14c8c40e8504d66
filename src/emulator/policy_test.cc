// Cache policies of L2: opaque values that change no result, on both engines.
#include <gtest/gtest.h>

#include "emulator/twin.h"

namespace kforge::emulator {
namespace {

TEST(CachePolicies, AreMadeAndChangeNoResult) {
  Twin twin(R"(.reg .b64 own<4>; .reg .f32 half; .shared .align 16 .b8 data[1024];
    mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; mad.wide.u32 %rd1, %r1, 16, %rd1; mad.wide.u32 %rd2, %r1, 16, %rd2;
    mov.f32 half, 0.5; createpolicy.fractional.L2::evict_last.b64 own0, half; createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 own1;
    createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 own2, [%rd1], 1024, 4096; createpolicy.cvt.L2.b64 own3, own2;
    ld.global.L2::cache_hint.u32 %r2, [%rd1], own0; st.global.L2::cache_hint.u32 [%rd2], %r2, own1;
    mov.u32 %r3, data; mad.lo.u32 %r3, %r1, 16, %r3; cp.async.cg.shared.global.L2::cache_hint [%r3], [%rd1], 16, own2; cp.async.wait_all;
    ld.shared.u32 %r4, [%r3+4]; st.global.u32 [%rd2+4], %r4; add.u32 %r5, %r2, %r4; atom.global.add.L2::cache_hint.u32 %r6, [%rd2+8], %r5, own3;
    setp.eq.b64 %p1, own2, own3; selp.u32 %r7, 1, 0, %p1; st.global.u32 [%rd2+12], %r7; ret;)");
  std::vector<std::uint32_t> in(256);
  for (std::uint32_t i = 0; i < in.size(); ++i) in[i] = 100 + i;
  const auto from = twin.buffer(in), out = twin.buffer(std::vector<std::uint32_t>(256));
  twin.launch(from, out, 0, 64);
  twin.expect_same(out, "policies");
  const auto values = twin.values<std::uint32_t>(out);
  for (std::uint32_t t = 0; t < 64; ++t) {
    EXPECT_EQ(values[4 * t], 100 + 4 * t);
    EXPECT_EQ(values[4 * t + 1], 101 + 4 * t);
    EXPECT_EQ(values[4 * t + 2], 201 + 8 * t);
    EXPECT_EQ(values[4 * t + 3], 1u);
  }
}

}  // namespace
}  // namespace kforge::emulator
