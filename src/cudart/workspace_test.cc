// Who keeps a workspace, and who loses one in each call.
#include "cudart/workspace.h"

#include <gtest/gtest.h>

namespace kforge::cudart {
namespace {

const WorkspaceGrowth::Tensors kSmall{{0x1000, 64}}, kLarge{{0x2000, 4096}};

TEST(WorkspaceGrowth, OneWorkspaceForAllCallsIsKept) {
  WorkspaceGrowth growth;
  for (int call = 0; call < 8; ++call) EXPECT_EQ(growth.after_call(kSmall, 256), 0u);
}

TEST(WorkspaceGrowth, BuffersThatTakeTurnsAreKept) {
  WorkspaceGrowth growth;
  for (const std::uint64_t bytes : {256u, 512u, 768u, 768u, 768u}) EXPECT_EQ(growth.after_call(kSmall, bytes), 0u);
}

TEST(WorkspaceGrowth, OneForEachSizeIsKept) {
  WorkspaceGrowth growth;
  std::uint64_t bytes = 0;
  for (int call = 0; call < 8; ++call) EXPECT_EQ(growth.after_call(call % 2 == 0 ? kSmall : kLarge, bytes += 256), 0u);
}

TEST(WorkspaceGrowth, MoreInEachCallIsLost) {
  WorkspaceGrowth growth;
  for (std::uint64_t call = 1; call < WorkspaceGrowth::kCalls; ++call) EXPECT_EQ(growth.after_call(kSmall, 256 * call), 0u);
  EXPECT_EQ(growth.after_call(kSmall, 256 * WorkspaceGrowth::kCalls), 256u);
}

TEST(WorkspaceGrowth, WhatTheNextCallFreesIsNotLost) {
  WorkspaceGrowth growth;
  for (int call = 0; call < 8; ++call) EXPECT_EQ(growth.after_call(kSmall, call % 2 == 0 ? 256 : 128), 0u);
}

}  // namespace
}  // namespace kforge::cudart
