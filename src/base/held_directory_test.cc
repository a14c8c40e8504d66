#include "base/held_directory.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace kforge {
namespace {

namespace fs = std::filesystem;

// A folder whose maker was killed while it held it.
fs::path left_behind(const fs::path& parent) {
  int pipe[2];
  EXPECT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto made = HeldDirectory::create("name", parent);
    const std::string path = made ? made->path().string() : "";
    if (made) static_cast<void>(write_file_atomic(made->path() / "content", "x"));
    static_cast<void>(!::write(pipe[1], path.data(), path.size()));
    ::raise(SIGKILL);
  }
  ::close(pipe[1]);
  std::string path(4096, '\0');
  path.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(pipe[0], path.data(), path.size()))));
  ::close(pipe[0]);
  ::waitpid(child, nullptr, 0);
  return path;
}

TEST(HeldDirectory, WhatKilledProcessesLeftIsSweptAndNothingElse) {
  auto parent = TemporaryDirectory::create();
  ASSERT_TRUE(parent);
  const fs::path stale = left_behind(parent->path()), other = parent->path() / "other-abcdef";
  fs::rename(left_behind(parent->path()), other);
  ASSERT_TRUE(fs::exists(stale / "content"));
  auto held = HeldDirectory::create("name", parent->path());
  ASSERT_TRUE(held);
  const HeldDirectory moved = std::move(*held);
  auto plain = TemporaryDirectory::create("name", parent->path());
  fs::create_directory_symlink(other, parent->path() / "name-link00");
  sweep_held_directories("name", parent->path());
  EXPECT_FALSE(fs::exists(stale));
  EXPECT_TRUE(fs::exists(moved.path()));
  EXPECT_TRUE(fs::exists(plain->path()));
  EXPECT_TRUE(fs::exists(other / "content"));
}

TEST(HeldDirectory, IsGoneWithItsOwner) {
  fs::path path;
  {
    const auto made = HeldDirectory::create("name");
    ASSERT_TRUE(made);
    path = made->path();
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_FALSE(HeldDirectory::create("x", "/no/such/parent"));
}

}  // namespace
}  // namespace kforge
