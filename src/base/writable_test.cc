#include "base/writable.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct Writable : testing::Test {
  fs::path in(const char* name) const { return folder.path() / name; }
  TemporaryDirectory folder = std::move(*TemporaryDirectory::create());
};

TEST_F(Writable, WhatCanBeWrittenIsNotMade) {
  EXPECT_TRUE(can_be_written(in("new.txt")));
  EXPECT_FALSE(fs::exists(in("new.txt")));
  EXPECT_TRUE(can_be_written("/dev/null"));
  ASSERT_TRUE(write_file_atomic(in("old.txt"), "x"));
  EXPECT_TRUE(can_be_written(in("old.txt")));
}

TEST_F(Writable, WhatCannotSaysWhy) {
  for (const auto& [path, why] : {std::pair{in("absent/new.txt"), "the folder of this file is not there"}, {folder.path(), "this is a folder"}, {fs::path("/proc/zz"), "cannot be written"}}) {
    if (path == "/proc/zz" && can_be_written(path)) continue;   // root may do anything; what then happens is the kernel's answer
    const auto asked = can_be_written(path);
    ASSERT_FALSE(asked) << path;
    EXPECT_EQ(asked.error().code, ErrorCode::bad_input);
    EXPECT_THAT(asked.error().message, HasSubstr(why));
    EXPECT_NE(asked.error().hint, "");
  }
}

TEST_F(Writable, ALinkIsWrittenThrough) {
  ASSERT_TRUE(write_file_atomic(in("file"), "old"));
  fs::create_symlink(in("file"), in("link"));
  fs::create_symlink(in("absent/file"), in("dangling"));
  EXPECT_TRUE(can_be_written(in("link")));
  ASSERT_TRUE(write_file_atomic(in("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(in("link")));
  EXPECT_EQ(*read_file(in("file")), "new");
  EXPECT_EQ(behind_links(in("dangling")), in("dangling"));
}

}  // namespace
}  // namespace kforge
