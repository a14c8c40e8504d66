// `kforge run` end to end. nvcc builds the programs; where there is none, the tests skip themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/process.h"
#include "build/builder.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kPrograms = KFORGE_SOURCE_DIR "/tests/run/programs/";

ProcessResult execute(std::vector<std::string> arguments) {
  ProcessRequest request;
  request.arguments = std::move(arguments);
  request.limits.wall_seconds = 600;   // of a busy machine: Thrust takes a compiler half a minute of an idle one
  const auto result = run_process(request);
  EXPECT_TRUE(result) << (result ? "" : to_string(result.error()));
  EXPECT_FALSE(result && result->timed_out) << "ten minutes are over";
  return result ? *result : ProcessResult{};
}

ProcessResult kforge_run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {KFORGE_BINARY_DIR "/bin/kforge", "run"});
  return execute(std::move(arguments));
}

struct RunProgram : ::testing::Test {
  void SetUp() override {
    if (!build::find_toolchain()) GTEST_SKIP() << "no nvcc on this machine";
  }
  static ProcessResult fault(const std::string& name, const std::string& checks = "fast", std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {kPrograms + "faults.cu", "--checks", checks};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), {"--", name});
    return kforge_run(std::move(arguments));
  }
};

TEST_F(RunProgram, OutputAndExitCodePassThrough) {
  const ProcessResult right = fault("none", "all");
  EXPECT_EQ(right.exit_status, 0) << right.err;
  EXPECT_EQ(right.out, "none: cudaSuccess\n");
  EXPECT_THAT(right.err, IsEmpty());
  EXPECT_EQ(fault("exit-code").exit_status, 7);
}

TEST_F(RunProgram, AProgramWhoseReportCannotBeWrittenIsNotTakenForARightOne) {
  ASSERT_EQ(fault("bounds").exit_status, 86);   // built, and in the cache
  const ProcessResult limited = execute({"/bin/sh", "-c", "ulimit -f 2; exec " KFORGE_BINARY_DIR "/bin/kforge run " + kPrograms + "faults.cu --checks fast -- bounds"});
  EXPECT_EQ(limited.signal, 0);
  EXPECT_EQ(limited.exit_status, 125);
  EXPECT_EQ(limited.out, "bounds: cudaErrorIllegalAddress\n");
  EXPECT_THAT(limited.err, HasSubstr("its report"));
}

TEST_F(RunProgram, FindingsNameLineAndAllocationAndMakeTheExitCode86) {
  const ProcessResult bounds = fault("bounds");
  EXPECT_EQ(bounds.exit_status, 86) << bounds.err;
  EXPECT_EQ(bounds.out, "bounds: cudaErrorIllegalAddress\n");
  EXPECT_THAT(bounds.err, AllOf(HasSubstr("data[index] = 1;   // here"), HasSubstr("safety.bounds"), HasSubstr("cudaMalloc #1"), HasSubstr("faults.cu:40"), HasSubstr("write_at")));
  const ProcessResult freed = fault("use-after-free");
  EXPECT_EQ(freed.exit_status, 86);
  EXPECT_THAT(freed.err, AllOf(HasSubstr("freed"), HasSubstr("faults.cu:40")));
  const ProcessResult twice = fault("double-free");
  EXPECT_EQ(twice.exit_status, 86);
  EXPECT_THAT(twice.err, AllOf(HasSubstr("cudaFree(data);   // again"), HasSubstr("freed before")));
  const ProcessResult host = fault("host-pointer");
  EXPECT_EQ(host.exit_status, 86);
  EXPECT_THAT(host.err, HasSubstr("memory of the host that no CUDA function allocated or registered"));
  const ProcessResult copy = fault("copy");
  EXPECT_EQ(copy.exit_status, 86);
  EXPECT_THAT(copy.err, AllOf(HasSubstr("260 bytes"), HasSubstr("cudaMemcpy(host, data")));
  const ProcessResult launch = fault("launch");
  EXPECT_EQ(launch.exit_status, 86);
  EXPECT_THAT(launch.err, AllOf(HasSubstr("2000 threads"), HasSubstr("launch.limits")));
}

TEST_F(RunProgram, LevelsOfCheckingDifferInWhatTheySee) {
  EXPECT_EQ(fault("race", "fast").exit_status, 0);
  EXPECT_EQ(fault("race", "uninitialised").exit_status, 0);
  const ProcessResult race = fault("race", "races");
  EXPECT_EQ(race.exit_status, 86);
  EXPECT_THAT(race.err, HasSubstr("safety.races"));
  EXPECT_EQ(fault("uninitialised", "fast").exit_status, 0);
  EXPECT_EQ(fault("uninitialised", "all").exit_status, 86);
  EXPECT_EQ(fault("bounds", "none").exit_status, 0);
  EXPECT_THAT(fault("bounds", "none").err, IsEmpty());
  const ProcessResult leak = fault("leak", "all");
  EXPECT_EQ(leak.exit_status, 0);
  EXPECT_THAT(leak.err, AllOf(HasSubstr("256 bytes of cudaMalloc #1 are never freed"), HasSubstr("faults.cu:40")));
  EXPECT_EQ(fault("none", "everything").exit_status, 2);
}

// Rightly ordered work of several streams and graphs, and each case without that order.
TEST_F(RunProgram, RacesBetweenStreamsAreFoundAndNothingElseIs) {
  const std::vector<std::string> cases = {"kernels", "overwritten", "copy-in", "copy-out", "fill", "array", "texels", "legacy", "host-waits", "early-event", "halves", "atomics", "captured",
                                          "built", "relaunched", "allocated", "freed", "dependent", "host-function"};
  std::vector<std::string> right = {kPrograms + "stream_races.cu", "--checks", "all", "--"};
  right.insert(right.end(), cases.begin(), cases.end());
  const ProcessResult none = kforge_run(right);
  EXPECT_EQ(none.exit_status, 0) << none.err;
  EXPECT_THAT(none.err, Not(HasSubstr("error[")));
  for (const std::string& name : cases) {
    const ProcessResult wrong = kforge_run({kPrograms + "stream_races.cu", "--checks", "all", "--", name + "-wrong"});
    EXPECT_EQ(wrong.exit_status, 86) << name << wrong.err;
    EXPECT_EQ(wrong.out, name + "-wrong: cudaSuccess\n");
    EXPECT_THAT(wrong.err, HasSubstr("error[safety.races]")) << name;
  }
}

TEST_F(RunProgram, FlagsWithoutFencesOrderSelectionsInPlace) {
  const ProcessResult result = kforge_run({kPrograms + "selections.cu", "--checks", "all"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(result.out, "50000 100\n6667 10001 9656667 10000\n");
  EXPECT_THAT(result.err, Not(HasSubstr("error[")));
}

TEST_F(RunProgram, AFunctionWithoutItsResultRunsAsNvccAloneBuildsIt) {
  const ProcessResult result = kforge_run({kPrograms + "missing_return.cu"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(result.out, "31\n");
}

// A GPU sees pages, not allocations: a program that strays a little runs there. Whoever asks for no check gets that; every check sees it.
TEST_F(RunProgram, StraysOfLessThanAPageAreFaultsOnlyWhereBoundsAreChecked) {
  const ProcessResult none = kforge_run({kPrograms + "strays.cu", "--checks", "none"});
  EXPECT_EQ(none.exit_status, 0) << none.err;
  EXPECT_EQ(none.out, "2 3 2\n2 2\n1 1 0 0 0\ncudaSuccess\n");
  const ProcessResult distant = kforge_run({kPrograms + "strays.cu", "--checks", "none", "--", "far"});
  EXPECT_EQ(distant.out, "cudaErrorIllegalAddress\n");
  for (const char* checks : {"fast", "all", "races", "bounds"}) {
    const ProcessResult checked = kforge_run({kPrograms + "strays.cu", "--checks", checks});
    EXPECT_THAT(checked.out, HasSubstr("cudaErrorIllegalAddress")) << checks;
    if (std::string(checks) != "races") {
      EXPECT_EQ(checked.exit_status, 86) << checks;
      EXPECT_THAT(checked.err, HasSubstr("safety.bounds")) << checks;
    }
  }
}

TEST_F(RunProgram, LaunchesFromTheDeviceAreRefusedByName) {
  const ProcessResult result = kforge_run({kPrograms + "nested_launch.cu", "-rdc=true", "-lcudadevrt"});
  EXPECT_EQ(result.exit_status, 86);
  EXPECT_EQ(result.out, "cudaErrorNotSupported\n");
  EXPECT_THAT(result.err, HasSubstr("kernels that launch kernels (dynamic parallelism) are not supported"));
}

TEST_F(RunProgram, AFailedAssertIsTheProgramsOwnAffair) {
  const ProcessResult result = fault("assert", "all");
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(result.out, "assert: cudaErrorAssert\n");
  EXPECT_THAT(result.err, HasSubstr("value < 3"));
}

TEST_F(RunProgram, CrashesHangsAndLimitsEnd) {
  const ProcessResult crash = fault("crash");
  EXPECT_EQ(crash.exit_status, 139);
  EXPECT_THAT(crash.err, HasSubstr("through a device pointer"));
  const ProcessResult hang = fault("hang");
  EXPECT_EQ(hang.exit_status, 86);
  EXPECT_THAT(hang.err, HasSubstr("run.hang"));
  const ProcessResult work = fault("work", "fast", {"--limit", "1e6"});
  EXPECT_EQ(work.exit_status, 86);
  EXPECT_THAT(work.err, HasSubstr("run.limit"));
  EXPECT_EQ(fault("none", "fast", {"--limit", "soon"}).exit_status, 2);
}

TEST_F(RunProgram, StatsAndProfileTellWhatRan) {
  const auto folder = TemporaryDirectory::create("run_profile");
  const std::string file = folder->path() / "profile.json";
  const ProcessResult result = fault("race", "fast", {"--stats", "--profile", file});
  EXPECT_THAT(result.err, AllOf(HasSubstr("1 launch of 1 kernel"), HasSubstr("M/s")));
  const auto profile = read_file(file);
  ASSERT_TRUE(profile);
  EXPECT_THAT(*profile, AllOf(HasSubstr("kforge.profile/1"), HasSubstr("sum_unordered"), HasSubstr("smsp__inst_executed.sum"), HasSubstr("faults.cu")));
}

TEST_F(RunProgram, SeparatelyCompiledDeviceCodeIsLinked) {
  const ProcessResult result = kforge_run({kPrograms + "whole.cu", kPrograms + "half.cu", "-rdc=true"});
  EXPECT_EQ(result.out, "42 cudaSuccess\n") << result.err;
  EXPECT_EQ(result.exit_status, 0);
}

TEST_F(RunProgram, DeviceCodeThatNvccLinkedForNoGpuIsRefusedInWords) {
  const auto tools = build::find_toolchain();
  const auto folder = TemporaryDirectory::create("run_programs");
  const std::string program = folder->path() / "unlinked";
  ASSERT_TRUE(execute({tools->nvcc, "-rdc=true", "-gencode=arch=compute_80,code=compute_80", "-cudart", "shared", kPrograms + "whole.cu", kPrograms + "half.cu", "-o", program}).succeeded());
  const ProcessResult refused = kforge_run({program});
  EXPECT_THAT(refused.err, HasSubstr("linked for no GPU"));
  EXPECT_EQ(refused.exit_status, 86);
}

TEST_F(RunProgram, OptionsOfNvccGoToNvcc) {
  const ProcessResult result = kforge_run({kPrograms + "whole.cu", kPrograms + "half.cu", "-rdc", "true", "-Wno-deprecated-gpu-targets", "-diag-suppress", "177", "--diag-suppress=550",
                                           "-default-stream", "per-thread", "-restrict", "-Xcudafe", "--display_error_number"});
  EXPECT_EQ(result.out, "42 cudaSuccess\n") << result.err;
}

TEST_F(RunProgram, ProgramsThatAreThereRunWhenTheyLinkTheSharedRuntime) {
  const auto tools = build::find_toolchain();
  const auto folder = TemporaryDirectory::create("run_programs");
  const std::string here = folder->path().string() + "/", source = kPrograms + "faults.cu";
  ASSERT_TRUE(execute({tools->nvcc, "-arch=sm_80", "-cudart", "shared", source, "-o", here + "shared"}).succeeded());
  ASSERT_TRUE(execute({tools->nvcc, "-arch=sm_80", source, "-o", here + "static"}).succeeded());
  EXPECT_EQ(kforge_run({here + "shared", "--", "exit-code"}).exit_status, 7);
  const ProcessResult refused = kforge_run({here + "static"});
  EXPECT_EQ(refused.exit_status, 125);
  EXPECT_THAT(refused.err, HasSubstr("-cudart shared"));
  const ProcessResult newer = kforge_run({here + "shared", "--gpu", "t4", "--", "none"});
  EXPECT_THAT(newer.err, HasSubstr("no PTX in the program can run on sm_75"));
  EXPECT_EQ(newer.exit_status, 86);
  EXPECT_EQ(kforge_run({here + "absent"}).exit_status, 2);
}

TEST_F(RunProgram, RegistersOfAProgramThatHoldsPtxOnlyAreEstimated) {
  const auto tools = build::find_toolchain();
  const auto folder = TemporaryDirectory::create("run_registers");
  const std::string here = folder->path().string() + "/";
  ASSERT_TRUE(write_file_atomic(here + "ask.cu", "#include <cstdio>\n__global__ void scale(float* x) { x[threadIdx.x] *= 2; }\n"
                                                 "int main() { cudaFuncAttributes of; int blocks = 0; cudaFuncGetAttributes(&of, scale);\n"
                                                 "cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 256, 0); std::printf(\"%d %d\\n\", of.numRegs, blocks); }\n"));
  ASSERT_TRUE(execute({tools->nvcc, "-gencode", "arch=compute_80,code=compute_80", "-cudart", "shared", here + "ask.cu", "-o", here + "ask"}).succeeded());
  EXPECT_EQ(kforge_run({here + "ask", "--gpu", "a100"}).out, "16 8\n");   // ptxas takes 8 for it; as many blocks fit
}

TEST_F(RunProgram, ProgramsOfCuda12Run) {
  const auto tools = build::find_toolchain();
  const auto folder = TemporaryDirectory::create("run_older");
  const std::string here = folder->path().string() + "/";
  ASSERT_TRUE(execute({tools->nvcc, "-arch=sm_80", "-cudart", "none", "-c", kPrograms + "older.cu", "-o", here + "older.o"}).succeeded());
  ASSERT_TRUE(execute({tools->host_compiler, here + "older.o", KFORGE_BINARY_DIR "/bin/libkforge_cudart12.so", "-o", here + "older"}).succeeded());
  const ProcessResult result = kforge_run({here + "older"});
  EXPECT_EQ(result.out, "NVIDIA H200 SXM 141GB 9 62\n") << result.err;
}

// Of several sources, one of which is CUDA by the flag alone.
TEST_F(RunProgram, TheLanguageThatAFlagNamesIsTheSourcesOwn) {
  const auto folder = TemporaryDirectory::create("run_language");
  const std::string here = folder->path().string() + "/";
  ASSERT_TRUE(write_file_atomic(here + "kernel.c", "#include <cstdio>\n__global__ void twice(int* x) { *x *= 2; }\nint twice_of(int x) { int* p; cudaMallocManaged(&p, 4); *p = x; "
                                                   "twice<<<1, 1>>>(p); cudaDeviceSynchronize(); return *p; }\n"));
  ASSERT_TRUE(write_file_atomic(here + "main.cpp", "#include <cstdio>\nint twice_of(int);\nint main() { std::printf(\"%d\\n\", twice_of(21)); }\n"));
  const ProcessResult result = kforge_run({here + "main.cpp", here + "kernel.c", "-x", "cu"});
  EXPECT_EQ(result.out, "42\n") << result.err;
}

TEST_F(RunProgram, WhatDoesNotBuildIsSaidInTheCompilersWords) {
  const auto folder = TemporaryDirectory::create("run_broken");
  const std::string source = folder->path() / "broken.cu";
  ASSERT_TRUE(write_file_atomic(source, "int main() { return undeclared; }\n"));
  const ProcessResult result = kforge_run({source});
  EXPECT_EQ(result.exit_status, 125);
  EXPECT_THAT(result.err, AllOf(HasSubstr("undeclared"), HasSubstr("did not build")));
  EXPECT_EQ(kforge_run({folder->path() / "absent.cu"}).exit_status, 2);
  EXPECT_EQ(kforge_run({}).exit_status, 2);
}

// Programs that check themselves, each about one part of CUDA. All but clusters, which was not tried there yet, pass on an H200.
class ThemeOfCuda : public RunProgram, public ::testing::WithParamInterface<const char*> {};

TEST_P(ThemeOfCuda, PassesItsOwnChecks) {
  const std::string name = GetParam();
  const ProcessResult result = kforge_run({kPrograms + "themes/" + name + ".cu", name == "modern" ? "-std=c++20" : "-std=c++17", "--extended-lambda", "--expt-relaxed-constexpr",
                                           "--gpu", "h200"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  if (result.out.starts_with("SKIP")) GTEST_SKIP() << result.out;
  EXPECT_TRUE(result.out.ends_with("PASS\n")) << result.out;
}

INSTANTIATE_TEST_SUITE_P(Themes, ThemeOfCuda,
                         ::testing::Values("async", "atomics", "bulk", "clusters", "cub_blocks", "groups", "halves", "lanes", "language", "maths", "memory", "modern", "operators", "printing", "ptx", "random", "streams", "structs",
                                           "symbols", "textures", "thrusts", "warpgroup", "warps"),
                         [](const auto& theme) { return std::string(theme.param); });

}  // namespace
}  // namespace kforge
