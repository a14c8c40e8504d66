#include "base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

namespace kforge {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Files, ADeviceIsWrittenToAndStaysOne) {
  auto folder = TemporaryDirectory::create();
  const auto link = folder->path() / "link";
  std::filesystem::create_symlink("/dev/null", link);
  EXPECT_TRUE(write_file_atomic(link, "text"));
  EXPECT_TRUE(std::filesystem::is_character_file(link));
  const auto full = write_file_atomic("/dev/full", "text");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::failed);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(Files, WritesAreReadBackWithEveryByte) {
  auto folder = TemporaryDirectory::create();
  std::string content;
  for (int i = 0; i < 200'000; ++i) content += static_cast<char>(i);
  const auto written = write_file_atomic(folder->path() / "a", content);
  ASSERT_TRUE(written) << to_string(written.error());
  EXPECT_EQ(read_file(folder->path() / "a").value(), content);
  EXPECT_THAT(list_directory(folder->path()).value(), ElementsAre("a"));  // nothing temporary stays
}

TEST(Files, LimitIsInclusive) {
  auto folder = TemporaryDirectory::create();
  ASSERT_TRUE(write_file_atomic(folder->path() / "a", "12345"));
  EXPECT_TRUE(read_file(folder->path() / "a", 5));
  const auto read = read_file(folder->path() / "a", 4);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::limit);
  EXPECT_FALSE(read_file("/dev/zero", 1 << 20));  // has no size to look at
}

TEST(Files, ErrorsNameTheFile) {
  const auto read = read_file("/no/such/file");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::bad_input);
  EXPECT_THAT(to_string(read.error()), HasSubstr("/no/such/file"));
  EXPECT_EQ(read_file("/tmp").error().code, ErrorCode::bad_input);
  EXPECT_FALSE(write_file_atomic("/no/such/file", "x"));
  EXPECT_FALSE(list_directory("/no/such/folder"));
}

TEST(Files, AFailedWriteLeavesTheOldContent) {
  auto folder = TemporaryDirectory::create();
  ASSERT_TRUE(make_directories(folder->path() / "target/inside"));
  EXPECT_FALSE(write_file_atomic(folder->path() / "target", "x"));  // a folder is in the way
  EXPECT_THAT(list_directory(folder->path()).value(), ElementsAre("target"));
}

TEST(Files, ReadersNeverSeeHalfAFile) {
  auto folder = TemporaryDirectory::create();
  const fs::path path = folder->path() / "a";
  ASSERT_TRUE(write_file_atomic(path, std::string(100'000, 'a')));
  std::vector<std::thread> writers;
  for (const char letter : {'b', 'c'}) {
    writers.emplace_back([&path, letter] {
      for (int i = 0; i < 50; ++i) EXPECT_TRUE(write_file_atomic(path, std::string(100'000, letter)));
    });
  }
  for (int i = 0; i < 300; ++i) {
    const std::string content = read_file(path).value();
    EXPECT_EQ(content, std::string(100'000, content.empty() ? '?' : content[0]));
  }
  for (std::thread& writer : writers) writer.join();
}

TEST(Files, MakeDirectoriesIsIdempotentAndRefusesAFile) {
  auto folder = TemporaryDirectory::create();
  EXPECT_TRUE(make_directories(folder->path() / "a/b/c"));
  EXPECT_TRUE(make_directories(folder->path() / "a/b/c"));
  ASSERT_TRUE(write_file_atomic(folder->path() / "file", ""));
  EXPECT_FALSE(make_directories(folder->path() / "file"));
}

TEST(Files, RemoveTreeTakesReadOnlyFoldersAndFollowsNoLink) {
  auto outside = TemporaryDirectory::create();
  ASSERT_TRUE(write_file_atomic(outside->path() / "keep", "x"));
  auto folder = TemporaryDirectory::create();
  const fs::path tree = folder->path() / "tree";
  ASSERT_TRUE(make_directories(tree / "a"));
  fs::create_directory_symlink(outside->path(), tree / "a/link");
  ::chmod((tree / "a").c_str(), 0500);
  EXPECT_TRUE(remove_tree(tree));
  EXPECT_FALSE(fs::exists(tree));
  EXPECT_TRUE(fs::exists(outside->path() / "keep"));
  EXPECT_TRUE(remove_tree(tree));  // absent is fine
}

TEST(TemporaryDirectory, LivesAsLongAsItsOwner) {
  fs::path first, second, kept;
  {
    auto a = TemporaryDirectory::create("name");
    auto b = TemporaryDirectory::create("name");
    first = a->path();
    second = b->path();
    EXPECT_NE(first, second);
    EXPECT_THAT(first.filename().string(), testing::StartsWith("name-"));
    *a = std::move(*b);
    EXPECT_FALSE(fs::exists(first));
    EXPECT_TRUE(fs::exists(second));
    auto c = TemporaryDirectory::create();
    kept = c->release();
  }
  EXPECT_FALSE(fs::exists(second));
  EXPECT_TRUE(fs::exists(kept));
  EXPECT_TRUE(remove_tree(kept));
  EXPECT_FALSE(TemporaryDirectory::create("x", "/no/such/parent"));
}

}  // namespace
}  // namespace kforge
