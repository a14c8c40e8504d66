// `cat` as the compiler: it stops where it opens its file.
#include "build/fork_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "base/files.h"
#include "build/compile.h"

namespace kforge::build {
namespace {

class ForkServerTest : public ::testing::Test {
 protected:
  ForkServerTest() : folder_(*TemporaryDirectory::create("fork_server_test")) {}

  std::filesystem::path path() const { return folder_.path(); }
  std::unique_ptr<ForkServer> start(std::vector<std::string> arguments = {"/bin/cat", "here"}) const {
    auto server = ForkServer::start(std::move(arguments), tool_environment("/bin/cat", path().string()), path(), {"here", 0});
    EXPECT_TRUE(server) << to_string(server.error());
    return server ? std::move(*server) : nullptr;
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path() / name) << text; }
  // Processes of ours that live; the server is one, its children are not.
  bool child_lives() const { return ::waitpid(-1, nullptr, WNOHANG) == 0; }

  TemporaryDirectory folder_;
};

TEST_F(ForkServerTest, GoesOnWithEachRequestsOwnFile) {
  const auto server = start();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    write("file" + std::to_string(i), "text " + std::to_string(i));
    threads.emplace_back([&, i] {
      const auto done = server->run(path(), "file" + std::to_string(i), {10, 0});
      ASSERT_TRUE(done) << to_string(done.error());
      EXPECT_TRUE(done->end.ok);
      EXPECT_EQ(done->output, "text " + std::to_string(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ForkServerTest, WhatFailsSaysSoAndTheServerLivesOn) {
  const auto server = start();
  const auto missing = server->run(path(), "not there", {10, 0});
  ASSERT_TRUE(missing);
  EXPECT_FALSE(missing->end.ok);
  EXPECT_THAT(missing->output, ::testing::HasSubstr("No such file"));
  write("file", "text");
  const auto there = server->run(path(), "file", {10, 0});
  ASSERT_TRUE(there);
  EXPECT_TRUE(there->end.ok);
}

TEST_F(ForkServerTest, ARequestEndsAtItsLimits) {
  const auto server = start();
  ASSERT_EQ(::mkfifo((path() / "never").c_str(), 0600), 0);   // nobody writes to it
  const auto done = server->run(path(), "never", {10, 0}, 0.3);
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->end.timed_out);
  EXPECT_FALSE(done->end.ok);
  write("file", "text");
  const auto small = server->run(path(), "file", {10, 1 << 20});   // too little to go on with
  ASSERT_TRUE(small);
  EXPECT_FALSE(small->end.ok);
}

TEST_F(ForkServerTest, AServerThatNeverComesToItsPlaceIsAnError) {
  EXPECT_FALSE(start({"/bin/true"})->run(path(), "file", {10, 0}));
  EXPECT_FALSE(start({"/bin/sleep", "100"})->run(path(), "file", {10, 0}, 0.2));
  EXPECT_FALSE(child_lives());
}

TEST_F(ForkServerTest, AllEndsWithWhoeverStartedIt) {
  ASSERT_EQ(::mkfifo((path() / "never").c_str(), 0600), 0);
  int alive[2];                       // its writing end is held by every process that comes from the child
  ASSERT_EQ(::pipe(alive), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(alive[0]);
    const auto server = start({"/bin/cat", "here", "never"});   // 'here' is read from `file`, and then it waits
    write("file", "text");
    static_cast<void>(!server->run(path(), "file", {60, 0}));
    ::_exit(1);
  }
  ::close(alive[1]);
  const auto began = [&] {             // the request, which then waits
    return std::any_of(std::filesystem::directory_iterator(path()), std::filesystem::directory_iterator(), [](const auto& entry) { return entry.path().filename().string().starts_with("output-"); });
  };
  for (int i = 0; i < 500 && !began(); ++i) ::usleep(10'000);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  char nothing;
  EXPECT_EQ(::read(alive[0], &nothing, 1), 0);   // the last of them is gone
  ::close(alive[0]);
}

}  // namespace
}  // namespace kforge::build
