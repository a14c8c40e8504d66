// The main job end to end: from a task to a winner that `kforge check` accepts, through an interrupt, a kill, and a second run that knows the first.
#include <algorithm>
#include <csignal>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "base/paths.h"
#include "base/process.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class OptimizeTest : public ::testing::Test {
 protected:
  OptimizeTest() : folder_(*TemporaryDirectory::create("optimize-test")) {}

  std::vector<std::string> command(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), (executable_folder() / "kforge").string());
    return arguments;
  }
  ProcessResult kforge(std::vector<std::string> arguments) const {
    ProcessRequest request;
    request.arguments = command(std::move(arguments));
    request.working_directory = folder_.path();
    request.limits.wall_seconds = 200;
    auto result = run_process(request);
    EXPECT_TRUE(result) << to_string(result.error());
    return result ? std::move(*result) : ProcessResult{};
  }
  // In a process that we may signal.
  pid_t start(std::vector<std::string> arguments) const {
    auto words = command(std::move(arguments));
    const pid_t child = ::fork();
    if (child != 0) return child;
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    if (::chdir(folder_.path().c_str()) != 0 || !std::freopen("/dev/null", "w", stderr) || !std::freopen("/dev/null", "w", stdout)) ::_exit(97);
    ::execv(argv[0], argv.data());
    ::_exit(98);
  }
  json record(const std::string& run) const { return json::parse(kforge({"runs", run, "--json"}).out, nullptr, false); }
  static std::string task(const char* example) { return std::string(KFORGE_SOURCE_DIR) + "/examples/" + example + "/task.toml"; }

  TemporaryDirectory folder_;
};

std::set<std::string> ids(const json& record) {
  std::set<std::string> out;
  for (const json& tried : record.value("tried", json::array())) out.insert(tried["candidate"].value("id", ""));
  return out;
}

TEST_F(OptimizeTest, ForgesASoftmaxThatCheckAccepts) {
  const auto forged = kforge({"optimize", task("softmax"), "--candidates", "5", "--budget-seconds", "600", "--fresh-seed", "2718281828459045", "-o", "fast.cu"});
  ASSERT_EQ(forged.exit_status, 0) << forged.err << forged.out;
  const auto checked = kforge({"check", task("softmax"), "fast.cu"});
  EXPECT_EQ(checked.exit_status, 0) << checked.out;
  const json run = record("last");
  ASSERT_FALSE(run.is_discarded());
  EXPECT_FALSE(run.value("winner", "").empty());
  const auto delivered = read_file(folder_.path() / ".kforge" / "runs" / run.value("id", "") / "winner.cu");
  ASSERT_TRUE(delivered);
  EXPECT_EQ(*delivered, *read_file(folder_.path() / "fast.cu"));
  EXPECT_THAT(kforge({"runs", "last", "--tree"}).out, ::testing::HasSubstr("<- winner"));
  EXPECT_THAT(kforge({"runs"}).out, ::testing::HasSubstr("row_softmax"));
  const auto records = kforge({"runs", "last", "--training-records", "-"});
  EXPECT_EQ(static_cast<std::size_t>(std::count(records.out.begin(), records.out.end(), '\n')), run["tried"].size());

  // A second run knows the verdicts, and judges the winner anew.
  const auto again = kforge({"optimize", task("softmax"), "--candidates", "5", "--budget-seconds", "600", "--fresh-seed", "2718281828459045"});
  EXPECT_EQ(again.exit_status, 0) << again.err;
}

TEST_F(OptimizeTest, GoesOnAfterAnInterruptAndAKill) {
  const std::vector<std::string> call = {"optimize", task("transpose"), "--candidates", "4", "--budget-seconds", "600", "--fresh-seed", "2718281828459045", "-o", "out.cu"};
  const auto signal_after = [&](std::vector<std::string> arguments, int signal, double seconds) {
    const pid_t child = start(std::move(arguments));
    for (int tries = 0; tries < 600 && record("last").is_discarded(); ++tries) std::this_thread::sleep_for(std::chrono::milliseconds(100));   // its start is slow on a busy machine
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    ::kill(child, signal);
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  };
  const int interrupted = signal_after(call, SIGINT, 4);
  EXPECT_TRUE(WIFEXITED(interrupted)) << "an interrupt ends it cleanly";
  const json before = record("last");
  ASSERT_FALSE(before.is_discarded());
  EXPECT_EQ(WEXITSTATUS(interrupted), before.value("winner", "").empty() ? 1 : 0) << "before its proof nothing is a winner";
  signal_after({"optimize", "--resume", "last"}, SIGKILL, 4);
  const json between = record("last");
  const auto finished = kforge({"optimize", "--resume", "last"});
  EXPECT_EQ(finished.exit_status, 0) << finished.err << finished.out;
  const json after = record("last");
  EXPECT_EQ(after.value("id", ""), before.value("id", "x"));
  for (const json* earlier : {&before, &between})
    for (const std::string& id : ids(*earlier)) EXPECT_EQ(ids(after).count(id), 1u) << "lost " << id;
  EXPECT_EQ(ids(after).size(), after["tried"].size()) << "nothing twice";
  EXPECT_THAT(finished.out, ::testing::HasSubstr("out.cu")) << "where the winner goes is kept with the run";
  const auto delivered = read_file(folder_.path() / ".kforge" / "runs" / after.value("id", "") / "winner.cu"), written = read_file(folder_.path() / "out.cu");
  ASSERT_TRUE(delivered && written);
  EXPECT_EQ(*delivered, *written);
}

TEST_F(OptimizeTest, ARunThatWasKilledIsInterruptedAndIsTheLastToGoOnWith) {
  const pid_t child = start({"optimize", task("transpose"), "--candidates", "50", "--budget-seconds", "600"});
  for (int tries = 0; tries < 600 && record("last").is_discarded(); ++tries) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(record("last").value("outcome", ""), "running");
  const auto both = kforge({"optimize", "--resume", "last"});
  EXPECT_EQ(both.exit_status, 3) << both.err;
  EXPECT_THAT(both.err, ::testing::HasSubstr("is being worked on"));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const json killed = record("last");
  EXPECT_EQ(killed.value("outcome", ""), "interrupted");
  EXPECT_THAT(killed.value("outcome_why", ""), ::testing::HasSubstr("kforge optimize --resume " + killed.value("id", "?")));
  EXPECT_THAT(kforge({"runs"}).out, ::testing::HasSubstr("interrupted"));
  const auto resumed = kforge({"optimize", "--resume", "last", "--candidates", "1"});
  EXPECT_LE(resumed.exit_status, 1) << resumed.err;
  const auto none = kforge({"optimize", "--resume", "last"});
  EXPECT_EQ(none.exit_status, 3);
  EXPECT_THAT(none.err, ::testing::HasSubstr("no run of the store is unfinished"));
}

TEST_F(OptimizeTest, AStartThatDoesNotBuildIsNamedInTheOutcome) {
  std::string source = *read_file(std::string(KFORGE_SOURCE_DIR) + "/examples/softmax/good.cu");
  const std::size_t at = source.find("expf(");
  ASSERT_NE(at, std::string::npos);
  source.replace(at, 4, "expff");
  const auto line = std::to_string(std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1);
  ASSERT_TRUE(write_file_atomic(folder_.path() / "broken.cu", source));
  const auto alone = kforge({"optimize", task("softmax"), "--from", "broken.cu", "--no-templates", "--candidates", "1", "--budget-seconds", "600"});
  EXPECT_EQ(alone.exit_status, 1) << alone.err;
  const std::string fault = "the given kernel does not build: line " + line + ": identifier \"expff\" is undefined";
  EXPECT_THAT(record("last").value("outcome_why", ""), ::testing::HasSubstr(fault));
  EXPECT_THAT(alone.out, ::testing::HasSubstr(fault));
  const auto exported = kforge({"export", "last"});
  EXPECT_EQ(exported.exit_status, 1) << "it has no winner";
  EXPECT_THAT(exported.err, ::testing::HasSubstr("has no winner"));
  const auto with_templates = kforge({"optimize", task("softmax"), "--from", "broken.cu", "--candidates", "1", "--budget-seconds", "600"});
  EXPECT_EQ(with_templates.exit_status, record("last").value("winner", "").empty() ? 1 : 0);
  EXPECT_THAT(record("last").value("outcome_why", ""), ::testing::HasSubstr(fault));
}

// A search waits 5 s for a candidate's call. The reference is called once for all of them, and what it took longer for was compared with nothing: no candidate had a verdict.
TEST_F(OptimizeTest, AReferenceMayTakeLongerThanACandidate) {
  ASSERT_TRUE(write_file_atomic(folder_.path() / "task.toml", R"([task]
name = "doubled"
[semantics]
pattern = "elementwise"
reference = "reference.cpp"
[[semantics.tensor]]
name = "x"
dtype = "f32"
shape = ["n"]
role = "in"
[[semantics.tensor]]
name = "y"
dtype = "f32"
shape = ["n"]
role = "out"
[sizes]
measure = [{n = 8192}]
verify = [{n = 100}]
[hardware]
gpu = "h200"
[interface]
function = "doubled"
)"));
  ASSERT_TRUE(write_file_atomic(folder_.path() / "reference.cpp", R"(#include <ctime>
static double seconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}
extern "C" void doubled(const float* x, float* y, int n) {
  const double start = seconds(CLOCK_MONOTONIC);
  while (n == 8192 && seconds(CLOCK_MONOTONIC) - start < 8) {}
  for (int i = 0; i < n; ++i) y[i] = 2 * x[i];
}
)"));
  ASSERT_TRUE(write_file_atomic(folder_.path() / "naive.cu", R"(#include <cuda_runtime.h>
__global__ void twice(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
extern "C" cudaError_t doubled(const float* x, float* y, int n, cudaStream_t stream) {
  twice<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
)"));
  const auto forged = kforge({"optimize", "task.toml", "--candidates", "1", "--proposers", "transform", "--budget-seconds", "170", "--fresh-seed", "2718281828459045"});
  const json run = record("last");
  ASSERT_FALSE(run.is_discarded()) << forged.err;
  ASSERT_FALSE(run["tried"].empty());
  const json& naive = run["tried"][0]["verdict"];
  EXPECT_THAT(naive.dump(), ::testing::Not(::testing::HasSubstr("the reference needs more than"))) << forged.err;
  const auto& cases = naive["cases"];
  EXPECT_TRUE(std::any_of(cases.begin(), cases.end(), [](const json& one) { return one["sizes"].dump().find("8192") != std::string::npos && one["status"] == "passed"; })) << naive.dump();
}

TEST_F(OptimizeTest, SaysWhatIsWrongWithTheCall) {
  EXPECT_EQ(kforge({"optimize"}).exit_status, 2);
  EXPECT_EQ(kforge({"optimize", "absent.toml"}).exit_status, 2);
  EXPECT_EQ(kforge({"optimize", task("softmax"), "--from", "absent.cu"}).exit_status, 2);
  EXPECT_EQ(kforge({"optimize", task("softmax"), "--resume", "last"}).exit_status, 2) << "a task and a run";
  EXPECT_EQ(kforge({"optimize", "--resume", "last"}).exit_status, 3) << "there is no store";
  EXPECT_EQ(kforge({"runs"}).exit_status, 3);
  EXPECT_EQ(kforge({"optimize", task("softmax"), "--review"}).exit_status, 2) << "no terminal";
  ASSERT_EQ(kforge({"plan", task("scan"), "-o", "scan.plan"}).exit_status, 0);
  ASSERT_EQ(kforge({"plan", task("softmax"), "--gpu", "a100", "-o", "a100.plan"}).exit_status, 0);
  const auto of_another_task = kforge({"optimize", task("softmax"), "--plan", "scan.plan"}), for_another_gpu = kforge({"optimize", task("softmax"), "--plan", "a100.plan"});
  EXPECT_EQ(of_another_task.exit_status, 2);
  EXPECT_THAT(of_another_task.err, ::testing::HasSubstr("the plan is of the task"));
  EXPECT_EQ(for_another_gpu.exit_status, 2);
  EXPECT_THAT(for_another_gpu.err, ::testing::HasSubstr("the plan is for a100-80, the run for h200"));
}

}  // namespace
}  // namespace kforge
