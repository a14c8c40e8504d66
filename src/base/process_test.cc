#include "base/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/files.h"
#include "base/text.h"

namespace kforge {
namespace {

using testing::HasSubstr;

ProcessResult run(std::vector<std::string> arguments, ProcessLimits limits = {}) {
  ProcessRequest request;
  request.arguments = std::move(arguments);
  request.limits = limits;
  auto result = run_process(request);
  EXPECT_TRUE(result.has_value()) << (result ? "" : to_string(result.error()));
  return result.value_or(ProcessResult{});
}

// The tests use a shell as the program that misbehaves.
ProcessResult shell(const std::string& script, ProcessLimits limits = {}) { return run({"sh", "-c", script}, limits); }

bool alive(const std::string& pid) {
  std::ifstream stat("/proc/" + pid + "/stat");
  std::string line;
  std::getline(stat, line);
  const std::size_t after_name = line.rfind(')');
  return after_name != std::string::npos && line[after_name + 2] != 'Z';
}

int open_descriptors() { return static_cast<int>(list_directory("/proc/self/fd")->size()); }

TEST(Process, KeepsOutputsApartAndReportsTheStatus) {
  const ProcessResult result = shell("echo out; echo err >&2; exit 3");
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_EQ(result.exit_status, 3);
  EXPECT_FALSE(result.succeeded());
  EXPECT_EQ(describe_end(result), "exit status 3");
}

TEST(Process, ArgumentsAreNotReadByAShell) {
  EXPECT_EQ(run({"printf", "%s|", "$HOME", "a b", "*", ";echo"}).out, "$HOME|a b|*|;echo|");
}

TEST(Process, PassesStdinAndEmptyStdinIsEmpty) {
  ProcessRequest request;
  request.arguments = {"wc", "-c"};
  request.stdin_text = std::string(3'000'000, 'x');
  EXPECT_EQ(trim(run_process(request)->out), "3000000");
  request.stdin_text.clear();
  EXPECT_EQ(trim(run_process(request)->out), "0");
  request.arguments = {"true"};  // never reads: no SIGPIPE, no wait
  request.stdin_text = std::string(3'000'000, 'x');
  EXPECT_TRUE(run_process(request)->succeeded());
}

TEST(Process, EnvironmentAndWorkingDirectoryAreReplaced) {
  ProcessRequest request;
  request.arguments = {"/bin/sh", "-c", "echo $ONLY $HOME; pwd"};
  request.environment = {"ONLY=this"};
  request.working_directory = "/";
  EXPECT_EQ(run_process(request)->out, "this\n/\n");
}

TEST(Process, MergesOutputInOrder) {
  ProcessRequest request;
  request.arguments = {"sh", "-c", "echo 1; echo 2 >&2; echo 3"};
  request.merge_output = true;
  EXPECT_EQ(run_process(request)->out, "1\n2\n3\n");
}

TEST(Process, TruncatesLargeOutputWithoutBlocking) {
  const ProcessResult result = shell("head -c 5000000 /dev/zero; echo end >&2", {.output_bytes = 1000});
  EXPECT_EQ(result.out.size(), 1000u);
  EXPECT_TRUE(result.output_truncated);
  EXPECT_TRUE(result.succeeded());
  EXPECT_EQ(result.err, "end\n");
}

TEST(Process, ReportsASignal) {
  const ProcessResult result = shell("kill -SEGV $$");
  EXPECT_EQ(result.signal, SIGSEGV);
  EXPECT_THAT(describe_end(result), HasSubstr("signal 11"));
}

TEST(Process, WallLimitKillsTheWholeTree) {
  const ProcessResult result = shell("sleep 100 & echo $!; wait", {.wall_seconds = 0.3});
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_LT(result.wall_seconds, 5);
  EXPECT_FALSE(alive(std::string(trim(result.out))));
}

TEST(Process, WhatLeftItsSessionIsKilledToo) {
  const ProcessResult result =
      shell("setsid sh -c 'setsid sleep 100 & echo $!' & wait; sleep 100", {.wall_seconds = 0.5});
  ASSERT_TRUE(result.timed_out);
  ASSERT_FALSE(trim(result.out).empty());
  EXPECT_FALSE(alive(std::string(trim(result.out))));
}

TEST(Process, WhatTheProgramLeavesBehindIsKilledAtItsEnd) {
  // The child keeps stdout open: waiting for the end of the output would wait 100 s.
  const ProcessResult result = shell("setsid sleep 100 & echo $!", {.wall_seconds = 50.0});
  EXPECT_FALSE(result.timed_out);
  EXPECT_TRUE(result.succeeded());
  EXPECT_LT(result.wall_seconds, 10);
  EXPECT_FALSE(alive(std::string(trim(result.out))));
}

TEST(Process, ForksWithoutEndAreEnded) {
  // Each generation starts the next one and dies: the list of processes changes all the time.
  const ProcessResult result = shell("f() { sleep 0.01; f & }; f; sleep 100", {.wall_seconds = 0.3});
  EXPECT_TRUE(result.timed_out);
  EXPECT_LT(result.wall_seconds, 8);
}

TEST(Process, IgnoringSignalsDoesNotHelp) {
  const ProcessResult result = shell("trap '' TERM INT HUP; while :; do :; done", {.wall_seconds = 0.3});
  EXPECT_TRUE(result.timed_out);
}

TEST(Process, CpuLimitIsNamed) {
  const ProcessResult result = shell("while :; do :; done", {.wall_seconds = 60.0, .cpu_seconds = 1});
  EXPECT_TRUE(result.cpu_limit_reached);
  EXPECT_FALSE(result.timed_out);
  EXPECT_THAT(describe_end(result), HasSubstr("processor time"));
}

TEST(Process, MemoryLimitStopsAnAllocation) {
  const char* script = "exec dd if=/dev/zero of=/dev/null bs=1G count=1";
  EXPECT_TRUE(shell(script).succeeded());
  EXPECT_FALSE(shell(script, {.memory_bytes = 256 << 20}).succeeded());
}

TEST(Process, MissingProgramIsMissing) {
  ProcessRequest request;
  request.arguments = {"no-such-program-here"};
  const auto result = run_process(request);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::missing);
  EXPECT_THAT(result.error().message, HasSubstr("no-such-program-here"));
}

TEST(Process, BadWorkingDirectoryAndBadFormatAreErrors) {
  ProcessRequest request;
  request.arguments = {"true"};
  request.working_directory = "/no/such/folder";
  EXPECT_EQ(run_process(request).error().code, ErrorCode::bad_input);

  auto folder = TemporaryDirectory::create();
  const auto file = folder->path() / "not-a-program";
  std::ofstream(file) << "\x7f"
                         "ELF nonsense";
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  request.working_directory.clear();
  request.arguments = {file.string()};
  EXPECT_EQ(run_process(request).error().code, ErrorCode::missing);
}

TEST(Process, ARelativeProgramIsFoundInTheWorkingDirectory) {
  auto folder = TemporaryDirectory::create();
  std::ofstream(folder->path() / "hello") << "#!/bin/sh\necho hello\n";
  std::filesystem::permissions(folder->path() / "hello", std::filesystem::perms::owner_all);
  ProcessRequest request;
  request.arguments = {"./hello"};
  request.working_directory = folder->path();
  const auto result = run_process(request);
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(result->out, "hello\n");
}

TEST(Process, OurDescriptorsStayOurs) {
  const int before = open_descriptors();
  std::ifstream without_close_on_exec("/dev/null");
  const int leaky = ::dup(0);
  EXPECT_EQ(shell("ls /proc/self/fd | wc -l").out, "4\n");  // 0, 1, 2 and the folder that ls reads
  ::close(leaky);
  without_close_on_exec.close();
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Process, LeavesNoZombie) {
  run({"true"});
  siginfo_t info{};
  EXPECT_EQ(::waitid(P_ALL, 0, &info, WEXITED | WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Process, RunsFromManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([i] {
      for (int round = 0; round < 5; ++round) {
        EXPECT_EQ(run({"echo", std::to_string(i)}).out, std::to_string(i) + "\n");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A copy of this process would be copied to be thrown away.
TEST(Process, TheSupervisorIsAProgramOfItsOwn) { EXPECT_EQ(shell("cat /proc/$PPID/comm").out, "kforge-supervis\n"); }

TEST(Process, WithoutTheSupervisorsProgramACopyOfThisOneDoesTheSame) {
  const auto folder = TemporaryDirectory::create("process");
  ASSERT_TRUE(folder);
  const auto copy = folder->path() / "base_test";
  std::filesystem::copy_file("/proc/self/exe", copy);
  const ProcessResult result = run({copy.string(), "--gtest_filter=Process.KeepsOutputs*:Process.WhatTheProgramLeaves*:Process.MissingProgramIs*:Process.OurDescriptors*:Process.TheSupervisorIs*"});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.out, HasSubstr("[  PASSED  ] 4 tests"));
  EXPECT_THAT(result.out, HasSubstr("[  FAILED  ] Process.TheSupervisorIsAProgramOfItsOwn"));
}

TEST(Process, TheTreeDiesWithUs) {
  int fds[2];
  ASSERT_EQ(::pipe(fds), 0);
  const pid_t middle = ::fork();
  if (middle == 0) {
    run({"sh", "-c", "echo $$ >&" + std::to_string(fds[1]) + "; sleep 100"});
    ::_exit(0);
  }
  // The program cannot use our descriptor (see above), so ask /proc for the descendants of `middle`.
  std::string child;
  for (int i = 0; i < 200 && child.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::string supervisor;
    std::ifstream("/proc/" + std::to_string(middle) + "/task/" + std::to_string(middle) + "/children") >> supervisor;
    if (!supervisor.empty()) std::ifstream("/proc/" + supervisor + "/task/" + supervisor + "/children") >> child;
  }
  ASSERT_FALSE(child.empty());
  ::kill(middle, SIGKILL);
  ::waitpid(middle, nullptr, 0);
  for (int i = 0; i < 200 && alive(child); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(alive(child));
  ::close(fds[0]);
  ::close(fds[1]);
}

}  // namespace
}  // namespace kforge
