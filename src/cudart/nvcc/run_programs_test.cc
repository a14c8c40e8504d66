// Real programs, built by nvcc against NVIDIA's headers, run with our library in the place of libcudart.so.13.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "base/files.h"
#include "base/process.h"
#include "build/builder.h"
#include "evidence/launch_log_bytes.h"

namespace kforge::cudart {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::optional<fs::path> find_nvcc() {
  const auto toolchain = build::find_toolchain();
  return toolchain ? std::optional<fs::path>(toolchain->nvcc) : std::nullopt;
}

// Of this process alone: tests that build the same program run beside each other.
const fs::path& folder() {
  static const auto own = TemporaryDirectory::create("cudart_programs");
  return own->path();
}

// Builds src/cudart/nvcc/NAME.cu; empty when that failed.
std::string build(const fs::path& nvcc, const std::string& name, const std::vector<std::string>& flags) {
  const std::string program = folder() / name;
  ProcessRequest request;
  request.arguments = {nvcc, "-std=c++17", "-cudart", "shared", "-lineinfo", "-I", KFORGE_SOURCE_DIR "/src", "-o", program,
                       KFORGE_SOURCE_DIR "/src/cudart/nvcc/" + name + ".cu", "-ldl"};
  request.arguments.insert(request.arguments.end(), flags.begin(), flags.end());
  const auto result = run_process(request);
  if (result && result->succeeded()) return program;
  ADD_FAILURE() << (result ? result->err + result->out : to_string(result.error()));
  return {};
}

// `variables`: "NAME=value", set for the program besides the path to our library.
ProcessResult run(const std::vector<std::string>& arguments, const std::vector<std::string>& variables = {}) {
  ProcessRequest request;
  request.arguments = {"env", "LD_LIBRARY_PATH=" KFORGE_BINARY_DIR "/bin/cudart"};
  request.arguments.insert(request.arguments.end(), variables.begin(), variables.end());
  request.arguments.insert(request.arguments.end(), arguments.begin(), arguments.end());
  request.limits.wall_seconds = 60;
  const auto result = run_process(request);
  EXPECT_TRUE(result) << (result ? "" : to_string(result.error()));
  return result ? *result : ProcessResult{};
}

struct Programs : ::testing::Test {
  std::optional<fs::path> nvcc = find_nvcc();
  void SetUp() override {
    if (!nvcc) GTEST_SKIP() << "no nvcc on this machine";
  }
  ProcessResult built_and_run(const std::string& name, const std::vector<std::string>& flags) {
    const std::string program = build(*nvcc, name, flags);
    return program.empty() ? ProcessResult{} : run({program});
  }
  evidence::LaunchLog log_of(const std::string& launcher) {
    static const std::string program = build(*nvcc, "contracts", {"-arch=sm_90"});
    const ProcessResult result = run({program, launcher});
    evidence::LaunchLog log;
    std::string error;
    EXPECT_TRUE(evidence::from_bytes(result.out, log, error)) << error << result.err;
    return log;
  }
};

std::string violations_of(const evidence::LaunchLog& log) {
  std::set<std::string> kinds;
  for (const auto& violation : log.violations) kinds.insert(violation.contract + "/" + violation.kind);
  std::string text;
  for (const std::string& kind : kinds) text += (text.empty() ? "" : " ") + kind;
  return text;
}

bool called(const evidence::LaunchLog& log, const std::string& kind) {
  for (const auto& call : log.calls)
    if (call.kind == kind) return true;
  return false;
}

TEST_F(Programs, StructuresHaveCudasLayout) { EXPECT_NE(build(*nvcc, "abi_layout", {}), ""); }

TEST_F(Programs, OrdinaryProgramsRun) {
  const ProcessResult result = built_and_run("basics", {"-arch=sm_90"});
  EXPECT_EQ(result.out, "good\n") << result.err;
}

TEST_F(Programs, GraphsRunWhetherBuiltOrCaptured) {
  const ProcessResult result = built_and_run("graphs", {"-arch=sm_90"});
  EXPECT_EQ(result.out, "good\n") << result.err;
}

TEST_F(Programs, MemoryHasAllItsForms) {
  const ProcessResult result = built_and_run("memory_forms", {"-arch=sm_90"});
  EXPECT_EQ(result.out, "good\n") << result.err;
}

TEST_F(Programs, TheDriverApiServesModulesAndLaunches) {
  const ProcessResult result = built_and_run("driver", {"-arch=sm_90", "-lcuda"});
  EXPECT_EQ(result.out, "good\n") << result.err;
}

TEST_F(Programs, PreloadingServesAsWell) {
  const std::string program = build(*nvcc, "basics", {"-arch=sm_90"});
  const ProcessResult result = run({program}, {"LD_LIBRARY_PATH=", "LD_PRELOAD=" KFORGE_BINARY_DIR "/bin/libkforge_cudart.so"});
  EXPECT_EQ(result.out, "good\n") << result.err;
}

TEST_F(Programs, GridsSynchroniseManagedVariablesAreSharedAndPrintfWaitsForTheHost) {
  const ProcessResult result = built_and_run("cooperative", {"-arch=sm_90"});
  EXPECT_EQ(result.out, "before the wait\nhello from 0\nhello from 1\ngood\n") << result.err;
}

TEST_F(Programs, ErrorsAreThoseOfAnH200) {
  const ProcessResult result = built_and_run("errors", {"-arch=sm_90"});
  EXPECT_EQ(result.out, "good\n") << result.err;
}

TEST_F(Programs, CompressedImagesRunToo) {
  for (const char* mode : {"-compress-mode=none", "-compress-mode=size", "-compress-mode=speed"}) {
    const ProcessResult result = built_and_run("basics", {"-arch=sm_80", mode});
    EXPECT_EQ(result.out, "good\n") << mode << result.err;
  }
}

TEST_F(Programs, AnImageForANewerGpuSaysSo) {
  const std::string program = build(*nvcc, "basics", {"-gencode", "arch=compute_90,code=compute_90"});
  const ProcessResult result = run({program}, {"KFORGE_GPU=a100"});
  EXPECT_THAT(result.out, HasSubstr("cudaGetLastError() is 209, not 0"));
  EXPECT_THAT(result.err, HasSubstr("sm_90"));
}

TEST_F(Programs, EveryLauncherIsJudged) {
  const std::map<std::string, std::string> expected = {
      {"right", ""}, {"joined", ""}, {"half_written", ""}, {"from_host", ""}, {"leak", ""}, {"writes_input", ""},
      {"default_stream", "interface/not-forked interface/not-joined"}, {"unjoined", "interface/not-joined"},
      {"too_many_threads", "launch.limits/cudaErrorInvalidValue"}};
  for (const auto& [launcher, violations] : expected) EXPECT_EQ(violations_of(log_of(launcher)), violations) << launcher;
  for (const auto& violation : log_of("default_stream").violations) EXPECT_THAT(violation.message, HasSubstr("ran in the default stream instead of the given one"));
  EXPECT_THAT(violations_of(log_of("use_after_free")), HasSubstr("safety.bounds"));
}

TEST_F(Programs, CoverageCountsWhatKernelsWrote) {
  const auto half = log_of("half_written");
  ASSERT_EQ(half.coverage.size(), 1u);
  EXPECT_EQ(half.coverage[0].unwritten, 500u);
  EXPECT_EQ(half.coverage[0].first_unwritten, 500u);
  const auto host = log_of("from_host");
  EXPECT_EQ(host.coverage[0].unwritten, 1000u);
  EXPECT_EQ(host.coverage[0].host_written, 1000u);
  EXPECT_EQ(log_of("right").coverage[0].unwritten, 0u);
}

TEST_F(Programs, RuntimeUseHasItsKind) {
  EXPECT_TRUE(called(log_of("leak"), "workspace"));
  EXPECT_TRUE(called(log_of("leak"), "sync"));
  EXPECT_TRUE(called(log_of("joined"), "streams"));
  EXPECT_FALSE(called(log_of("right"), "workspace") || called(log_of("right"), "sync") || called(log_of("right"), "streams"));
  EXPECT_EQ(log_of("writes_input").changed_inputs, std::vector<std::string>{"x"});
}

// Names in the dynamic symbol table, by readelf's own way: NAME@@libcudart.so.13.
std::set<std::string> exports_of(const fs::path& library) {
  ProcessRequest request;
  request.arguments = {"readelf", "--dyn-syms", "-W", library};
  const auto result = run_process(request);
  std::set<std::string> names;
  if (!result || !result->succeeded()) return names;
  const std::regex exported(R"((\S+)@@libcudart\.so\.13)");
  for (std::sregex_iterator it(result->out.begin(), result->out.end(), exported), end; it != end; ++it) names.insert((*it)[1]);
  return names;
}

TEST_F(Programs, EverythingThatNvidiasLibraryExportsIsHere) {
  const fs::path real = nvcc->parent_path().parent_path() / "lib64/libcudart.so.13";
  if (!fs::exists(real)) GTEST_SKIP() << "NVIDIA's library is not here";
  const std::set<std::string> ours = exports_of(KFORGE_BINARY_DIR "/bin/libkforge_cudart.so"), theirs = exports_of(real);
  ASSERT_GT(theirs.size(), 400u);
  for (const std::string& name : theirs) EXPECT_TRUE(ours.count(name)) << name;
  for (const std::string& name : ours) EXPECT_TRUE(name.rfind("kforge_cudart_", 0) == 0 || theirs.count(name)) << name;
}

}  // namespace
}  // namespace kforge::cudart
