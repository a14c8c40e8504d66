#include "base/lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/files.h"
#include "base/process.h"

namespace kforge {
namespace {

TEST(Lock, ExcludesAndIsFreedAtTheEndOfItsLife) {
  auto folder = TemporaryDirectory::create();
  const auto path = folder->path() / "lock";
  {
    const auto held = FileLock::acquire(path);
    ASSERT_TRUE(held);
    const auto second = FileLock::acquire(path, 0.05);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::limit);
  }
  EXPECT_TRUE(FileLock::acquire(path, 0.0));
}

TEST(Lock, TellsWhetherItIsHeldAndMakesNothing) {
  auto folder = TemporaryDirectory::create();
  const auto path = folder->path() / "lock";
  EXPECT_FALSE(FileLock::is_held(path));
  EXPECT_FALSE(std::filesystem::exists(path));
  {
    const auto held = FileLock::acquire(path);
    ASSERT_TRUE(held);
    EXPECT_TRUE(FileLock::is_held(path));
  }
  EXPECT_FALSE(FileLock::is_held(path));
  EXPECT_TRUE(FileLock::acquire(path, 0.0)) << "who looks keeps nothing";
}

TEST(Lock, WaitsForItsTurn) {
  auto folder = TemporaryDirectory::create();
  std::atomic<int> inside{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        const auto lock = FileLock::acquire(folder->path() / "lock");
        ASSERT_TRUE(lock);
        EXPECT_EQ(++inside, 1);
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Lock, IsFreedWhenItsHolderIsKilled) {
  auto folder = TemporaryDirectory::create();
  const auto path = folder->path() / "lock";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t holder = ::fork();
  if (holder == 0) {
    const auto lock = FileLock::acquire(path);
    static_cast<void>(!::write(ready[1], "x", 1));
    ::pause();
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_FALSE(FileLock::acquire(path, 0.0));
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  EXPECT_TRUE(FileLock::acquire(path, 0.0));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(Lock, IsNotInheritedByAProgramThatWeRun) {
  auto folder = TemporaryDirectory::create();
  const auto path = folder->path() / "lock";
  std::thread runner;
  {
    const auto held = FileLock::acquire(path);
    runner = std::thread([] {
      ProcessRequest request;
      request.arguments = {"sleep", "0.5"};
      EXPECT_TRUE(run_process(request));
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_TRUE(FileLock::acquire(path, 0.1));
  runner.join();
}

TEST(Lock, ErrorsNameTheFile) { EXPECT_EQ(FileLock::acquire("/no/such/lock").error().where.file, "/no/such/lock"); }

}  // namespace
}  // namespace kforge
