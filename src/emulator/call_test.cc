// Calls as old and hand-written PTX has them: parameters in registers, vectors and predicates among them, and constants.
#include <gtest/gtest.h>

#include "emulator/twin.h"

namespace kforge::emulator {
namespace {

constexpr const char* kFunctions = R"(
.func (.reg .u32 sum, .reg .pred even) add_all(.reg .v4 .u16 four, .reg .u32 more)
{
  .reg .u32 part<4>;
  cvt.u32.u16 part0, four.x; cvt.u32.u16 part1, four.y; cvt.u32.u16 part2, four.z; cvt.u32.u16 part3, four.w;
  add.u32 sum, part0, part1; add.u32 sum, sum, part2; add.u32 sum, sum, part3; add.u32 sum, sum, more;
  and.b32 part0, sum, 1; setp.eq.u32 even, part0, 0;
  @even ret;
  add.u32 sum, sum, 1000;
}
.func (.reg .b64 out) choose(.reg .pred which, .reg .b64 a, .reg .b64 b) { selp.b64 out, a, b, which; ret; }
)";

TEST(Calls, RegistersVectorsPredicatesAndConstantsArePassed) {
  Twin twin(R"(.reg .v4 .u16 v; .reg .v2 .b32 w<2>; mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [q]; mad.wide.u32 %rd1, %r1, 24, %rd1;
    cvt.u16.u32 v.x, %r1; mov.u16 v.y, 1; mov.u16 v.z, 2; mov.u16 v.w, 3; mov.v4.u16 v, {v.y, v.z, v.w, v.x};
    call (%r2, %p1), add_all, (v, 7);
    selp.u32 %r3, 1, 0, %p1; mov.u64 %rd2, 11; mov.u64 %rd3, 22;
    call (%rd4), choose, (%p1, %rd2, %rd3); cvt.u32.u64 %r4, %rd4;
    mov.b32 w0.x, %r2; mov.b32 w0.y, %r3; mov.v2.b32 w1, w0; mov.v2.b32 w1, {w1.y, w1.x};
    st.global.v2.b32 [%rd1], w1; st.global.u32 [%rd1+8], %r4; cvt.u32.u16 %r5, v.x; st.global.u32 [%rd1+12], %r5; cvt.u32.u16 %r5, v.w; st.global.u32 [%rd1+16], %r5;
    ret;)", kFunctions);
  const auto none = twin.buffer(std::vector<std::uint32_t>(1)), out = twin.buffer(std::vector<std::uint32_t>(64 * 6));
  twin.launch(none, out, 0, 64);
  twin.expect_same(out, "calls");
  const auto values = twin.values<std::uint32_t>(out);
  for (std::uint32_t t = 0; t < 64; ++t) {
    const std::uint32_t sum = t + 1 + 2 + 3 + 7;
    EXPECT_EQ(values[6 * t], sum % 2 == 0 ? 1u : 0u);
    EXPECT_EQ(values[6 * t + 1], sum % 2 == 0 ? sum : sum + 1000);
    EXPECT_EQ(values[6 * t + 2], sum % 2 == 0 ? 11u : 22u);
    EXPECT_EQ(values[6 * t + 3], 1u);
    EXPECT_EQ(values[6 * t + 4], t);
  }
}

TEST(Calls, NamesOfSharedAndLocalVariablesAreGenericAddresses) {
  Twin twin(R"(.shared .align 8 .b64 cell[64]; .local .align 8 .b64 own; .reg .u8 byte; mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [q]; mad.wide.u32 %rd1, %r1, 8, %rd1;
    setp.eq.u32 %p1, %r1, 0; cvt.u64.u32 %rd2, %r1; st.u64 [own], %rd2; @%p1 st.u64 [cell+8], 5; bar.sync 0; ld.u64 %rd3, [own]; ld.u64 %rd4, [cell+8];
    add.u64 %rd3, %rd3, %rd4; cvt.u8.u64 byte, %rd3; cvt.u64.u8 %rd3, byte; st.global.u64 [%rd1], %rd3; ret;)");
  const auto none = twin.buffer(std::vector<std::uint32_t>(1)), out = twin.buffer(std::vector<std::uint64_t>(64));
  twin.launch(none, out, 0, 64);
  twin.expect_same(out, "generic names");
  EXPECT_EQ(twin.values<std::uint64_t>(out)[3], 8u);
}

}  // namespace
}  // namespace kforge::emulator
