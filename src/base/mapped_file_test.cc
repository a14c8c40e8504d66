#include "base/mapped_file.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace kforge {
namespace {

TEST(MappedFile, HoldsTheWholeTextAndOutlivesItsName) {
  const auto folder = TemporaryDirectory::create("mapped");
  ASSERT_TRUE(folder);
  const std::string text = std::string(100'000, 'a') + std::string("\0end", 4);
  ASSERT_TRUE(write_file_atomic(folder->path() / "text", text, Flush::later));
  auto mapped = MappedFile::open(folder->path() / "text", 1 << 20);
  ASSERT_TRUE(mapped);
  std::filesystem::remove(folder->path() / "text");
  const MappedFile moved = std::move(*mapped);
  EXPECT_EQ(moved.text(), text);
  EXPECT_EQ(mapped->text(), "");
}

TEST(MappedFile, AnEmptyFileIsAnEmptyText) {
  const auto folder = TemporaryDirectory::create("mapped");
  ASSERT_TRUE(write_file_atomic(folder->path() / "empty", ""));
  const auto mapped = MappedFile::open(folder->path() / "empty", 10);
  ASSERT_TRUE(mapped);
  EXPECT_EQ(mapped->text(), "");
}

TEST(MappedFile, WhatIsNoFileOrTooLargeIsNamed) {
  const auto folder = TemporaryDirectory::create("mapped");
  const auto path = folder->path() / "text";
  ASSERT_TRUE(write_file_atomic(path, "12345"));
  EXPECT_EQ(MappedFile::open(folder->path() / "none", 10).error().code, ErrorCode::bad_input);
  EXPECT_EQ(MappedFile::open(folder->path(), 10).error().code, ErrorCode::bad_input);
  EXPECT_EQ(MappedFile::open(path, 4).error().code, ErrorCode::limit);
  EXPECT_EQ(MappedFile::open(path, 4).error().where.file, path.string());
}

}  // namespace
}  // namespace kforge
