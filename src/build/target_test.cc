#include "build/target.h"

#include <gtest/gtest.h>

namespace kforge::build {
namespace {

TEST(Target, OnlySourcesThatUseItAreBuiltForOneArchitectureAlone) {
  EXPECT_EQ(target_of(90, "__global__ void k() {}"), "90");
  EXPECT_EQ(target_of(90, "asm volatile(\"wgmma.fence.sync.aligned;\");"), "90a");
  EXPECT_EQ(target_of(90, "asm volatile(\"setmaxnreg.inc.sync.aligned.u32 232;\");"), "90a");
  EXPECT_EQ(target_of(90, "// sm_90a: its headers use wgmma\n"), "90a");
  EXPECT_EQ(target_of(80, "asm volatile(\"wgmma.fence.sync.aligned;\");"), "80");   // refused by ptxas, at its line
  EXPECT_EQ(target_of(100, "tcgen05.alloc"), "100a");
  EXPECT_EQ(target_of(120, "wgmma"), "120");
}

}  // namespace
}  // namespace kforge::build
