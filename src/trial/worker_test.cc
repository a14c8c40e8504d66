// The worker against well-behaved and hostile objects, each built by the host compiler with a trampoline like the real
// one. Every hostile act is bounded, so that a hole in the defence does no harm to the machine.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/process.h"
#include "trial/worker_process.h"

namespace kforge::trial {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kPrelude = R"(
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <arpa/inet.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>
)";

class Worker : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = TemporaryDirectory::create("worker_test");
    ASSERT_TRUE(folder);
    folder_ = std::make_unique<TemporaryDirectory>(std::move(*folder));
  }

  std::string build(const std::string& before, const std::string& body) {
    const fs::path source = folder_->path() / "object.cc", object = folder_->path() / "object.so";
    std::ofstream(source) << kPrelude << before << "\nextern \"C\" int kforge_call(void** a, void*) noexcept {\n  (void)a;\n" << body << "\n  return 0;\n}\n";
    ProcessRequest request;
    request.arguments = {"g++", "-std=c++17", "-O0", "-w", "-shared", "-fPIC", source.string(), "-o", object.string(), "-lpthread"};
    const auto result = run_process(request);
    EXPECT_TRUE(result && result->succeeded()) << (result ? result->err : to_string(result.error()));
    return object.string();
  }

  std::unique_ptr<WorkerProcess> start(const std::string& object, std::uint64_t memory = 1ull << 30) { return start(object, memory, {}); }

  // As on a real GPU, whose runtime the fake one poses as.
  std::unique_ptr<WorkerProcess> start_on_gpu(const std::string& object, std::vector<std::string> defences_off = {}) {
    WorkerOptions options;
    options.gpu = true;
    options.defences_off = std::move(defences_off);
    return start(object, 1ull << 30, options);
  }

  std::unique_ptr<WorkerProcess> start(const std::string& object, std::uint64_t memory, WorkerOptions options) {
    options.program = KFORGE_BINARY_DIR "/bin/kforge-worker";
    options.runtime = KFORGE_BINARY_DIR "/bin/libkforge_fake_cudart.so";
    options.object = object;
    options.memory_bytes = memory;
    options.start_seconds = 2;
    auto worker = WorkerProcess::start(options);
    EXPECT_TRUE(worker) << to_string(worker.error());
    return worker ? std::move(*worker) : nullptr;
  }

  static Answer call(WorkerProcess& worker, CallLimit limit = {2, 0}) {
    EXPECT_TRUE(worker.arena().reserve(1 << 20));
    std::vector<float> x(16, 1.5f);
    std::memcpy(worker.arena().data(), x.data(), 64);
    const Json json = {{"arena_bytes", 1 << 20}, {"reset", false}, {"new_case", true}, {"serial", 1}, {"thread_instructions", 1000}, {"seconds", 1.0},
        {"sampled_blocks", 0}, {"outputs", true}, {"values", {16}},
        {"tensors", {{{"name", "x"}, {"role", 0}, {"bytes", 64}, {"element_bytes", 4}, {"in", 0}, {"out", 4096}},
                     {{"name", "y"}, {"role", 1}, {"bytes", 64}, {"element_bytes", 4}, {"in", 0}, {"out", 8192}}}}};
    return worker.call(json.dump(), limit);
  }
  const fs::path& path() const { return folder_->path(); }

 private:
  std::unique_ptr<TemporaryDirectory> folder_;
};

TEST_F(Worker, RunsACallAndBringsOutputsBack) {
  auto worker = start(build("", "const float* x = *(const float**)a[0]; float* y = *(float**)a[1]; int n = *(int*)a[2]; for (int i = 0; i < n; ++i) y[i] = x[i] + n;"));
  ASSERT_TRUE(worker->started().ok) << worker->started().error << worker->started().fault.message;
  const Answer answer = call(*worker);
  ASSERT_TRUE(answer.ok) << answer.error << answer.fault.message;
  float y = 0;
  std::memcpy(&y, worker->arena().data() + 8192, 4);
  EXPECT_EQ(y, 17.5f);
  EXPECT_TRUE(call(*worker).ok);
}

TEST_F(Worker, WhatIsPrintedIsCountedAndOnlyItsEndIsKept) {
  auto worker = start(build("#include <cstdio>\n", "for (int i = 0; i < 40000; ++i) puts(\"a line that nobody reads\"); fflush(stdout);"));
  ASSERT_TRUE(call(*worker, {60, 0}).ok);
  ASSERT_TRUE(call(*worker, {60, 0}).ok);
  EXPECT_GT(worker->printed_bytes(), 1000000u);   // what the pipe still holds is not counted yet
}

TEST_F(Worker, UnwrittenOutputsAreNeverTheLastOnes) {
  auto worker = start(build("static int calls;", "if (calls++ == 0) memset(*(void**)a[1], 0, 64);"));
  ASSERT_TRUE(call(*worker).ok);
  ASSERT_TRUE(call(*worker).ok);
  float y = 0;
  std::memcpy(&y, worker->arena().data() + 8192, 4);
  EXPECT_TRUE(y != y) << y;
}

struct Hostile { const char* name; const char* before; const char* body; const char* contract; const char* message; };

class HostileWorker : public Worker, public ::testing::WithParamInterface<Hostile> {};

TEST_P(HostileWorker, IsStoppedAndNamed) {
  const auto before = std::chrono::steady_clock::now();
  auto worker = start(build(GetParam().before, GetParam().body));
  ASSERT_TRUE(worker);
  const Answer answer = worker->started().ok ? call(*worker) : worker->started();
  EXPECT_FALSE(answer.ok);
  EXPECT_EQ(answer.fault.contract, GetParam().contract) << answer.fault.message << answer.error;
  EXPECT_THAT(answer.fault.message, HasSubstr(GetParam().message));
  EXPECT_FALSE(worker->alive());
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count(), 15);
  EXPECT_FALSE(fs::exists(path() / "written"));
}

INSTANTIATE_TEST_SUITE_P(Objects, HostileWorker, ::testing::Values(
    Hostile{"exit_0", "", "exit(0);", "run.exit", "exit code 0"},
    Hostile{"underscore_exit", "", "_exit(7);", "run.exit", "exit code 7"},
    Hostile{"abort", "", "abort();", "run.crash", "signal 6"},
    Hostile{"segfault", "", "*(volatile int*)16 = 1;", "run.crash", "signal 11"},
    Hostile{"device_pointer", "", "*(volatile int*)0x1000000000000 = 1;", "run.crash", "signal 11"},
    Hostile{"endless_loop", "", "for (volatile int i = 0;; ++i) {}", "run.limit", "did not return within"},
    Hostile{"sleep", "", "sleep(100);", "run.hang", "did nothing meanwhile"},
    Hostile{"kill_parent", "", "kill(getppid(), SIGTERM);", "run.crash", "called kill(), which is forbidden"},
    Hostile{"kill_group", "", "kill(0, SIGCONT);", "run.crash", "called kill(), which is forbidden"},
    Hostile{"kills_itself", "", "kill(getpid(), SIGKILL);", "run.crash", "sent itself signal 9"},
    Hostile{"raises_sigterm", "", "raise(SIGTERM);", "run.crash", "sent itself signal 15"},
    Hostile{"raises_sigtrap", "", "raise(SIGTRAP);", "run.crash", "signal 5"},
    Hostile{"stops_itself", "", "raise(SIGSTOP);", "run.hang", "sent itself signal 19"},
    Hostile{"kills_itself_unseen", "", "sigset_t s; sigfillset(&s); sigprocmask(SIG_BLOCK, &s, 0); kill(getpid(), SIGKILL);", "run.crash", "forbidden"},
    Hostile{"kills_itself_from_a_thread", "static void* end(void*) { kill(getpid(), SIGKILL); return 0; }", "pthread_t t; pthread_create(&t, 0, end, 0); pthread_join(t, 0);", "run.crash", "sent itself signal 9"},
    Hostile{"kills_itself_with_wide_arguments", "", "syscall(SYS_kill, (long)getpid(), 0x7f00000009l);", "run.crash", "sent itself signal 9"},
    Hostile{"fork_loop", "", "for (int i = 0; i < 8; ++i) if (fork() == 0) _exit(0);", "run.crash", "started a process"},
    Hostile{"exec", "", "execl(\"/bin/true\", \"true\", (char*)0);", "run.crash", "called execve(), which is forbidden"},
    Hostile{"writes_a_file", "", "FILE* f = fopen(\"written\", \"w\"); if (f) fputs(\"x\", f);", "run.crash", "opened a file for writing"},
    Hostile{"removes_a_file", "", "unlink(\"/tmp/kforge-no-such-file\");", "run.crash", "called unlink()"},
    Hostile{"loopback_socket", "", "int s = socket(AF_INET, SOCK_STREAM, 0); sockaddr_in a2{}; a2.sin_family = AF_INET; a2.sin_addr.s_addr = htonl(INADDR_LOOPBACK); bind(s, (sockaddr*)&a2, sizeof a2);", "run.crash", "called socket()"},
    Hostile{"garbage_to_descriptors", "", "for (int fd = 3; fd < 64; ++fd) write(fd, \"garbage garbage garbage garbage garbage garbage garbage\", 40);", "run.crash", "wrote to a descriptor"},
    Hostile{"forged_frame", "", "send(3, \"garbage garbage garbage garbage garbage garbage garbage\", 48, 0);", "run.crash", "the worker's socket"},
    Hostile{"own_instruction", "", "long out; asm volatile(\"syscall\" : \"=a\"(out) : \"a\"(SYS_getpid) : \"rcx\", \"r11\", \"memory\");", "run.crash", "called getpid() by an instruction of its own"},
    Hostile{"takes_a_message", "", "char p[8]; long out; asm volatile(\"mov $2, %%r10\\n xor %%r8, %%r8\\n xor %%r9, %%r9\\n syscall\" : \"=a\"(out) : \"a\"(SYS_recvfrom), \"D\"(3), \"S\"(p), \"d\"(8) : \"rcx\", \"r8\", \"r9\", \"r10\", \"r11\", \"memory\");", "run.crash", "by an instruction of its own"},
    Hostile{"closes_descriptors", "", "for (int fd = 0; fd < 64; ++fd) close(fd);", "run.crash", "closed a descriptor"},
    Hostile{"closes_by_range", "", "syscall(SYS_close_range, 0, ~0u, 0);", "run.crash", "closed descriptors"},
    Hostile{"allocates_and_writes", "", "for (int i = 0; i < 1024; ++i) memset(malloc(16 << 20), 1, 4096);", "run.limit", "of memory"},
    Hostile{"allocates_with_new", "", "static std::vector<char*> all; for (int i = 0; i < 1024; ++i) all.push_back(new char[16 << 20]);", "run.limit", "of memory"},
    Hostile{"throws", "", "throw std::runtime_error(\"thrown out\");", "run.crash", "thrown out"},
    Hostile{"longjmp", "static jmp_buf j; static void arm() { if (setjmp(j)) return; }", "arm(); longjmp(j, 1);", "run.crash", "signal"},
    Hostile{"constructor_exits", "__attribute__((constructor)) static void leave() { _exit(0); }", "", "run.exit", "exit code 0"},
    Hostile{"constructor_kills", "__attribute__((constructor)) static void leave() { kill(getppid(), SIGTERM); }", "", "run.crash", "called kill()"},
    Hostile{"constructor_loops", "__attribute__((constructor)) static void stay() { for (volatile int i = 0;; ++i) {} }", "", "run.limit", "did not return"},
    Hostile{"ignores_sigsys", "", "signal(SIGSYS, SIG_IGN); kill(getppid(), SIGTERM);", "run.crash", "forbidden"},
    Hostile{"blocks_sigsys", "", "sigset_t s; sigfillset(&s); sigprocmask(SIG_BLOCK, &s, 0); kill(getppid(), SIGTERM);", "run.crash", "forbidden"},
    Hostile{"exhausts_stack", "static int deep(int n) { volatile char b[4096]; b[n % 4096] = 1; return deep(n + 1) + b[0]; }", "return deep(0);", "run.crash", "signal 11"}),
    [](const auto& hostile) { return hostile.param.name; });

// Signals from another process: no fault of the object's, whatever it was doing.
class EndedFromOutside : public Worker, public ::testing::WithParamInterface<int> {};

TEST_P(EndedFromOutside, IsNeitherRightNorWrong) {
  auto worker = start(build("", "for (volatile long i = 0; i < 20000000000l; ++i) {}"));
  ASSERT_TRUE(worker && worker->started().ok);
  std::jthread other([pid = worker->pid()] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ::kill(pid, GetParam());
  });
  const Answer answer = call(*worker, {1, 0});
  EXPECT_FALSE(answer.ok);
  EXPECT_TRUE(answer.from_outside);
  EXPECT_EQ(answer.fault.contract, "") << answer.fault.message;
  EXPECT_THAT(answer.undecided, HasSubstr("from outside"));
  EXPECT_FALSE(worker->alive());
}

INSTANTIATE_TEST_SUITE_P(Signals, EndedFromOutside, ::testing::Values(SIGKILL, SIGTERM, SIGUSR1, SIGSTOP));

struct Harmless { const char* name; const char* before; const char* body; };

class ContainedWorker : public Worker, public ::testing::WithParamInterface<Harmless> {};

// Each body returns 42 when the defence holds: what it tried was refused, and the worker goes on.
TEST_P(ContainedWorker, IsRefusedQuietly) {
  auto worker = start(build(GetParam().before, GetParam().body));
  ASSERT_TRUE(worker && worker->started().ok) << worker->started().error;
  const Answer answer = call(*worker);
  ASSERT_TRUE(answer.ok) << answer.fault.message << answer.error;
  EXPECT_EQ(Json::parse(answer.json).at("returned"), 42);
  EXPECT_TRUE(call(*worker).ok);
}

INSTANTIATE_TEST_SUITE_P(Objects, ContainedWorker, ::testing::Values(
    Harmless{"parents_memory", "", "char p[64]; snprintf(p, 64, \"/proc/%d/mem\", getppid()); return open(p, O_RDONLY) < 0 ? 42 : 1;"},
    Harmless{"parents_arguments", "static int fd = 1; __attribute__((constructor)) static void look() { char p[64]; snprintf(p, 64, \"/proc/%d/cmdline\", getppid()); fd = open(p, O_RDONLY); }", "return fd < 0 ? 42 : 1;"},
    Harmless{"etc_passwd", "static int fd = 1; __attribute__((constructor)) static void look() { fd = open(\"/etc/passwd\", O_RDONLY); }", "return fd < 0 ? 42 : 1;"},
    Harmless{"environment", "", "return getenv(\"PATH\") || getenv(\"HOME\") ? 1 : 42;"},
    Harmless{"thread_outlives_the_call", "static void* rest(void*) { for (;;) pause(); }", "pthread_t t; return pthread_create(&t, 0, rest, 0) == 0 ? 42 : 1;"},
    Harmless{"prints_much", "", "for (int i = 0; i < 100000; ++i) puts(\"noise noise noise noise noise\"); return 42;"}),
    [](const auto& harmless) { return harmless.param.name; });

// Objects that move the fake device's counter by `step` every millisecond, for `turns` of them.
std::string device(long long step, long long turns, const std::string& then = "") {
  return fmt::format("auto advance = (void (*)(unsigned long long))dlsym(RTLD_DEFAULT, \"kforge_fake_advance\");\n"
                     "for (long long i = 0; i < {}; ++i) {{ advance({}); usleep(1000); for (volatile int k = 0; k < 100000; ++k) {{}} }}\n{}", turns, step, then);
}

TEST_F(Worker, ASlowDeviceIsWaitedForUntilBothBudgetsAreUsedUp) {
  auto worker = start(build("", device(1'000'000, 1'200)));   // more than a second, less than 1e10 thread-instructions
  EXPECT_TRUE(call(*worker, {1, 10'000'000'000}).ok);
}

TEST_F(Worker, ADeviceOverBothBudgetsFailsTheLimit) {
  auto worker = start(build("", device(1'000'000, 1'000'000)));
  const Answer answer = call(*worker, {1, 1'000'000});
  EXPECT_EQ(answer.fault.contract, "run.limit") << answer.fault.message;
}

TEST_F(Worker, ADeviceThatStopsHangsOrLeavesTheHostCodeToBeTimed) {
  auto stops = start(build("", device(1'000'000, 10, "sleep(100);")));
  EXPECT_EQ(call(*stops, {1, 10'000'000'000}).fault.contract, "run.hang");
  auto host = start(build("", device(1'000'000, 10, "for (volatile int i = 0;; ++i) {}")));
  EXPECT_EQ(call(*host, {1, 10'000'000'000}).fault.contract, "run.limit");
}

TEST_F(Worker, NextToNoWorkOnTheDeviceIsNoProgress) {
  auto worker = start(build("", "auto advance = (void (*)(unsigned long long))dlsym(RTLD_DEFAULT, \"kforge_fake_advance\"); for (;;) { advance(1); for (volatile int k = 0; k < 1000000; ++k) {} }"));
  EXPECT_EQ(call(*worker, {1, 10'000'000'000}).fault.contract, "run.limit");
}

TEST_F(Worker, ACallEndsWhenItIsToldTo) {
  auto worker = start(build("", device(1'000'000, 1'000'000)));
  int asked = 0;
  const Answer answer = call(*worker, {60, 100'000'000'000, [&asked] { return ++asked > 2; }});
  EXPECT_FALSE(answer.ok);
  EXPECT_EQ(answer.fault.contract, "");
  EXPECT_EQ(answer.undecided, "the trial was ended early");
  EXPECT_FALSE(worker->alive());
}

TEST_F(Worker, ADeviceTooSlowToWaitForIsNeitherRightNorWrong) {
  auto worker = start(build("", device(1'000'000, 1'000'000)));
  const Answer answer = call(*worker, {0.5, 100'000'000'000});
  EXPECT_FALSE(answer.ok);
  EXPECT_EQ(answer.fault.contract, "");
  EXPECT_THAT(answer.undecided, HasSubstr("of 100.0 G thread-instructions"));
  EXPECT_FALSE(worker->alive());
}

TEST_F(Worker, OnAGpuACallIsMadeAndAnswered) {
  auto worker = start_on_gpu(build("", "const float* x = *(const float**)a[0]; float* y = *(float**)a[1]; int n = *(int*)a[2]; for (int i = 0; i < n; ++i) y[i] = 2 * x[i];"));
  ASSERT_TRUE(worker->started().ok) << worker->started().error << worker->started().fault.message;
  const Answer answer = call(*worker);
  ASSERT_TRUE(answer.ok) << answer.error << answer.fault.message;
  EXPECT_EQ(answer.log, "") << "nothing steers or watches the device";
}

// Each act fails there, and succeeds where the layer that is against it is off: what the layer is for.
struct Layer { const char* name; const char* layer; const char* before; const char* body; };

class GpuSandbox : public Worker, public ::testing::WithParamInterface<Layer> {};

TEST_P(GpuSandbox, ALayerStopsWhatItIsFor) {
  const std::string object = build(GetParam().before, GetParam().body);
  auto with = start_on_gpu(object);
  ASSERT_TRUE(with && with->started().ok) << with->started().error << with->started().fault.message;
  const Answer stopped = call(*with);
  EXPECT_TRUE(!stopped.ok || Json::parse(stopped.json).at("returned") != 42) << "the defence does not hold";
  EXPECT_TRUE(stopped.ok || stopped.fault.contract == "run.crash") << stopped.fault.message << stopped.error;
  auto without = start_on_gpu(object, {GetParam().layer});
  ASSERT_TRUE(without && without->started().ok) << without->started().error << without->started().fault.message;
  const Answer done = call(*without);
  ASSERT_TRUE(done.ok) << done.fault.message << done.error;
  EXPECT_EQ(Json::parse(done.json).at("returned"), 42);
}

INSTANTIATE_TEST_SUITE_P(Objects, GpuSandbox, ::testing::Values(
    Layer{"reads_users_files", "files", "", "return open(\"/etc/passwd\", O_RDONLY) >= 0 ? 42 : 1;"},
    Layer{"lists_folders", "files", "", "return open(\"/tmp\", O_RDONLY | O_DIRECTORY) >= 0 ? 42 : 1;"},
    Layer{"starts_a_process", "calls", "", "int p = fork(); if (p == 0) _exit(0); int s; return p > 0 && waitpid(p, &s, 0) == p ? 42 : 1;"},
    Layer{"opens_a_socket", "calls", "", "return socket(AF_INET, SOCK_STREAM, 0) >= 0 ? 42 : 1;"}),
    [](const auto& layer) { return layer.param.name; });

// Constructors run while the object is loaded, before anybody knows where it lies.
TEST_F(Worker, OnAGpuAConstructorMakesNoSystemCallOfItsOwn) {
  const std::string object = build("static long parent; __attribute__((constructor)) static void early() { asm volatile(\"syscall\" : \"=a\"(parent) : \"a\"(SYS_getppid) : \"rcx\", \"r11\", \"memory\"); }",
                                   "return parent == getppid() ? 42 : 1;");
  auto with = start_on_gpu(object);
  ASSERT_TRUE(with);
  EXPECT_FALSE(with->started().ok);
  EXPECT_EQ(with->started().fault.contract, "run.crash") << with->started().error;
  EXPECT_THAT(with->started().fault.message, HasSubstr("getppid() by an instruction of its own"));
  auto without = start_on_gpu(object, {"calls"});
  ASSERT_TRUE(without && without->started().ok) << without->started().error << without->started().fault.message;
  EXPECT_EQ(Json::parse(call(*without).json).at("returned"), 42);
}

TEST_F(Worker, OnAGpuHostMemoryIsLimited) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer's allocator ends the process itself where malloc would answer null";
#endif
  auto worker = start_on_gpu(build("", "for (int i = 0; i < 1024; ++i) memset(malloc(16 << 20), 1, 4096);"));
  ASSERT_TRUE(worker && worker->started().ok) << worker->started().error;
  EXPECT_EQ(call(*worker).fault.contract, "run.limit");
}

TEST_F(Worker, KernelsThatNeverEndAreAHang) {
  auto worker = start_on_gpu(build("", "auto hang = (void (*)(double))dlsym(RTLD_DEFAULT, \"kforge_fake_hang\"); hang(30); return 0;"));
  ASSERT_TRUE(worker && worker->started().ok) << worker->started().error;
  const Answer answer = call(*worker, {1, 0});
  EXPECT_EQ(answer.fault.contract, "run.hang") << answer.fault.message;
  EXPECT_THAT(answer.fault.message, HasSubstr("did not end within"));
}

TEST_F(Worker, AnErrorOfTheDeviceIsTold) {
  auto worker = start_on_gpu(build("", "auto fail = (void (*)(int))dlsym(RTLD_DEFAULT, \"kforge_fake_fail\"); fail(700); return 0;"));
  ASSERT_TRUE(worker && worker->started().ok) << worker->started().error;
  const Answer answer = call(*worker);
  ASSERT_TRUE(answer.ok) << answer.error;
  EXPECT_EQ(Json::parse(answer.json).at("completed"), false);
  EXPECT_EQ(Json::parse(answer.json).at("detail"), "cudaErrorFake");
}

TEST_F(Worker, AHostileObjectDisturbsNoOther) {
  const std::string hostile = build("", "kill(getppid(), SIGKILL);");
  EXPECT_FALSE(call(*start(hostile)).ok);
  EXPECT_TRUE(call(*start(build("", ""))).ok);
}

TEST_F(Worker, AnObjectWithoutTrampolineIsAnError) {
  auto worker = start("/nowhere/object.so");
  ASSERT_TRUE(worker);
  EXPECT_THAT(worker->started().error, HasSubstr("/nowhere/object.so"));
}

}  // namespace
}  // namespace kforge::trial
