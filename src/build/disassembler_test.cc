// PTX to machine code as text; skipped where there is no nvdisasm.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "build/disassembler.h"

namespace kforge::build {
namespace {

using testing::HasSubstr;

constexpr const char* kPtx =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry twice(.param .u64 y)\n{\n.reg .b64 %rd<3>;\n.reg .f32 %f<3>;\n"
    "ld.param.u64 %rd1, [y];\ncvta.to.global.u64 %rd2, %rd1;\n.loc 1 7 3\nld.global.f32 %f1, [%rd2];\nadd.f32 %f2, %f1, %f1;\nst.global.f32 [%rd2], %f2;\nret;\n}\n.file 1 \"kernel.cu\"\n";

TEST(Disassembler, ShowsTheMachineCodeOfALine) {
  if (!find_disassembler()) GTEST_SKIP() << "no nvdisasm (tools/setup.sh disassembler)";
  const auto sass = disassemble(kPtx);
  ASSERT_TRUE(sass) << to_string(sass.error());
  EXPECT_THAT(*sass, HasSubstr("LDG.E"));
  EXPECT_THAT(*sass, HasSubstr("FADD"));
  EXPECT_THAT(*sass, testing::ContainsRegex("kernel.cu\", line 7"));
}

TEST(Disassembler, WhatPtxasRefusesIsSaid) {
  EXPECT_EQ(disassemble("no PTX").error().code, ErrorCode::bad_input);
  if (!find_disassembler()) GTEST_SKIP() << "no nvdisasm (tools/setup.sh disassembler)";
  const auto wrong = disassemble(".version 8.0\n.target sm_90\n.address_size 64\nnonsense\n");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::bad_input);
  EXPECT_THAT(wrong.error().message, HasSubstr("ptxas"));
}

TEST(Disassembler, ItsAbsenceComesWithHowToGetIt) {
  ::setenv("KFORGE_NVDISASM", "/nowhere/nvdisasm", 1);
  const auto missing = disassemble(kPtx);
  ::unsetenv("KFORGE_NVDISASM");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::missing);
  EXPECT_THAT(missing.error().hint, HasSubstr("tools/setup.sh disassembler"));
}

}  // namespace
}  // namespace kforge::build
