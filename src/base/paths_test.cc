#include "base/paths.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include "base/files.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;

// Sets or clears an environment variable for the life of a test.
class Variable {
 public:
  Variable(const char* name, std::optional<std::string> value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    set(value);
  }
  ~Variable() { set(old_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const std::optional<std::string>& value) {
    if (value) ::setenv(name_, value->c_str(), 1);
    if (!value) ::unsetenv(name_);
  }
  const char* name_;
  std::optional<std::string> old_;
};

TEST(Paths, ExecutableFolderHoldsThisTest) { EXPECT_TRUE(fs::exists(executable_folder() / "base_test")); }

TEST(Paths, ProjectRootCanBeNamed) {
  const Variable root("KFORGE_ROOT", KFORGE_SOURCE_DIR);
  EXPECT_TRUE(fs::equivalent(project_root().value(), KFORGE_SOURCE_DIR));
  const Variable wrong("KFORGE_ROOT", "/tmp");
  EXPECT_EQ(project_root().error().code, ErrorCode::missing);
}

TEST(Paths, CacheFolderFollowsItsOrder) {
  auto folder = TemporaryDirectory::create();
  const Variable home("HOME", folder->path() / "home");
  const Variable xdg("XDG_CACHE_HOME", std::nullopt);
  const Variable none("KFORGE_CACHE", std::nullopt);
  EXPECT_EQ(cache_folder().value(), folder->path() / "home/.cache/kforge");
  const Variable other("XDG_CACHE_HOME", folder->path() / "xdg");
  EXPECT_EQ(cache_folder().value(), folder->path() / "xdg/kforge");
  const Variable named("KFORGE_CACHE", folder->path() / "named");
  EXPECT_EQ(cache_folder().value(), folder->path() / "named");
  EXPECT_TRUE(fs::is_directory(folder->path() / "named"));
}

// Files in it are told by how their names begin.
TEST(Paths, ACacheHasOnePlainName) {
  auto folder = TemporaryDirectory::create();
  fs::create_directories(folder->path() / "real");
  fs::create_symlink(folder->path() / "real", folder->path() / "link");
  const Variable none("KFORGE_CACHE", std::nullopt);
  for (const char* name : {"real/../real", "link", "link/.", "real//"}) {
    const Variable xdg("XDG_CACHE_HOME", folder->path() / name);
    EXPECT_EQ(cache_folder().value(), folder->path() / "real/kforge") << name;
    const Variable named("KFORGE_CACHE", folder->path() / name);
    EXPECT_EQ(cache_folder().value(), folder->path() / "real") << name;
  }
}

TEST(Paths, ANamedCacheThatCannotBeUsedIsAnError) {
  auto folder = TemporaryDirectory::create();
  std::ofstream(folder->path() / "file") << "x";
  const Variable named("KFORGE_CACHE", folder->path() / "file/cache");
  EXPECT_EQ(cache_folder().error().code, ErrorCode::missing);
}

TEST(Paths, ACacheThatCannotBeUsedIsPassedOver) {
  auto folder = TemporaryDirectory::create();
  std::ofstream(folder->path() / "file") << "x";
  const Variable none("KFORGE_CACHE", std::nullopt);
  const Variable xdg("XDG_CACHE_HOME", folder->path() / "file");
  const Variable home("HOME", folder->path());
  EXPECT_EQ(cache_folder().value(), folder->path() / ".cache/kforge");
}

TEST(Paths, FindProgramTakesExecutableFilesOnly) {
  auto folder = TemporaryDirectory::create();
  std::ofstream(folder->path() / "text") << "x";
  std::ofstream(folder->path() / "tool") << "x";
  ::chmod((folder->path() / "tool").c_str(), 0755);
  const std::string search = "/no/such:" + folder->path().string();
  EXPECT_EQ(find_program("tool", search), folder->path() / "tool");
  EXPECT_EQ(find_program("text", search), std::nullopt);
  EXPECT_EQ(find_program("", search), std::nullopt);
  EXPECT_EQ(find_program("tool", ""), std::nullopt);
  EXPECT_EQ(find_program((folder->path() / "tool").string(), ""), folder->path() / "tool");
  EXPECT_TRUE(find_program("sh").has_value());
}

}  // namespace
}  // namespace kforge
