#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kforge/sweep.h"

namespace kforge {
namespace {

using ::testing::HasSubstr;

TEST(Sweep, AParametersOneDefinitionIsChanged) {
  const std::string source = "#define TILE 16\n  constexpr int kRows = 8;  // rows\nstatic const unsigned kMore=4, kOther = 2;\nint x = kRows == 8 ? TILE : kMore;\n";
  EXPECT_THAT(with_parameter(source, "TILE", "32").value(), HasSubstr("#define TILE 32\n"));
  EXPECT_THAT(with_parameter(source, "kRows", "4").value(), HasSubstr("constexpr int kRows = 4;  // rows\n"));
  EXPECT_THAT(with_parameter(source, "kMore", "1").value(), HasSubstr("kMore=1, kOther = 2;"));
  EXPECT_THAT(with_parameter(source, "kOther", "float").value(), HasSubstr("kOther = float;"));
}

TEST(Sweep, WhatIsNoParameterIsAnError) {
  EXPECT_FALSE(with_parameter("int TILE = 16;\n", "TILE", "8"));               // no constant
  EXPECT_FALSE(with_parameter("#define TILE 16\n#define TILE 8\n", "TILE", "8"));
  EXPECT_FALSE(with_parameter("#define TILES 16\n", "TILE", "8"));
  EXPECT_FALSE(with_parameter("#define TILE 16\n", "TILE", "8; system(\"x\")"));
  EXPECT_FALSE(with_parameter("#define TILE 16\n", "TI LE", "8"));
  EXPECT_FALSE(with_parameter("#define TILE 16\n", "TILE", ""));
  EXPECT_THAT(with_parameter("", "TILE", "8").error().hint, HasSubstr("constexpr int TILE = 16;"));
}

}  // namespace
}  // namespace kforge
