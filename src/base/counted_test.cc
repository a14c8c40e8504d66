#include "base/counted.h"

#include <gtest/gtest.h>

namespace kforge {
namespace {

TEST(Counted, OneIsSingular) {
  EXPECT_EQ(counted(0, "error"), "0 errors");
  EXPECT_EQ(counted(1, "error"), "1 error");
  EXPECT_EQ(counted(2, "error"), "2 errors");
  EXPECT_EQ(counted(1, "launch", "launches"), "1 launch");
  EXPECT_EQ(counted(11, "launch", "launches"), "11 launches");
}

}  // namespace
}  // namespace kforge
