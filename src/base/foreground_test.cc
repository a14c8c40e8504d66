#include "base/foreground.h"

#include <gtest/gtest.h>

#include <csignal>

namespace kforge {
namespace {

ForegroundRequest shell(std::string script) { return {{"sh", "-c", std::move(script)}, {"PATH=/usr/bin:/bin", "WORD=passed on"}, std::nullopt}; }

TEST(Foreground, ExitStatusAndSignalComeBack) {
  const auto seven = run_in_foreground(shell("exit 7"));
  ASSERT_TRUE(seven);
  EXPECT_EQ(seven->exit_status, 7);
  EXPECT_EQ(seven->signal, 0);
  const auto killed = run_in_foreground(shell("kill -TERM $$"));
  ASSERT_TRUE(killed);
  EXPECT_EQ(killed->signal, SIGTERM);
}

TEST(Foreground, TheEnvironmentIsTheGivenOne) {
  const auto result = run_in_foreground(shell("test \"$WORD\" = 'passed on' && test -z \"$HOME\""));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_status, 0);
}

TEST(Foreground, WhatTakesTooLongIsKilled) {
  ForegroundRequest request = shell("exec sleep 30");
  request.wall_seconds = 0.2;
  const auto result = run_in_foreground(request);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->timed_out);
  EXPECT_EQ(result->signal, SIGKILL);
  EXPECT_LT(result->wall_seconds, 20);
}

TEST(Foreground, WhatCannotBeStartedIsAnError) {
  EXPECT_FALSE(run_in_foreground({{"no-such-program-anywhere"}, {}, std::nullopt}));
  EXPECT_FALSE(run_in_foreground({{"/etc/hostname"}, {}, std::nullopt}));
  EXPECT_FALSE(run_in_foreground({{}, {}, std::nullopt}));
}

}  // namespace
}  // namespace kforge
