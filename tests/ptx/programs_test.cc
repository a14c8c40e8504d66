// Programs of tests/ptx/programs on the emulated GPU: built by nvcc with PTX for every target, each run on a GPU of that target.
// Each checks itself and ends with "good". KFORGE_PROGRAMS_KEEP=1 builds only what is not built yet.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/process.h"
#include "build/builder.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;
const fs::path kSources = fs::path(KFORGE_SOURCE_DIR) / "tests/ptx/programs";

struct Target { const char* sm; const char* gpu; };
constexpr Target kTargets[] = {{"75", "t4"}, {"80", "a100"}, {"86", "rtx3090"}, {"89", "rtx4090"}, {"90", "h100"}, {"100", "b200"}, {"120", "rtx5090"}};

ProcessResult run(std::vector<std::string> arguments, double seconds) {
  ProcessRequest request;
  request.arguments = std::move(arguments);
  request.limits.wall_seconds = seconds;
  const auto result = run_process(request);
  EXPECT_TRUE(result) << (result ? "" : to_string(result.error()));
  return result ? *result : ProcessResult{};
}

class Programs : public testing::TestWithParam<const char*> {};

TEST_P(Programs, RunOnEveryTarget) {
  const auto toolchain = build::find_toolchain();
  if (!toolchain) GTEST_SKIP() << "no nvcc on this machine";
  const std::string name = GetParam();
  const fs::path folder = fs::path(KFORGE_BINARY_DIR) / "ptx_programs", program = folder / name;
  fs::create_directories(folder);
  if (std::getenv("KFORGE_PROGRAMS_KEEP") == nullptr || !fs::exists(program)) {
    std::vector<std::string> command = {toolchain->nvcc, "-std=c++17", "-cudart", "shared", "-lineinfo", "--threads", "2", "-o", program.string() + ".new", kSources / (name + ".cu")};
    for (const Target& target : kTargets) {
      command.emplace_back("-gencode");
      command.push_back("arch=compute_" + std::string(target.sm) + ",code=compute_" + target.sm);
    }
    const ProcessResult built = run(std::move(command), 900);
    ASSERT_TRUE(built.succeeded()) << built.err;
    fs::rename(program.string() + ".new", program);
  }
  for (const Target& target : kTargets) {
    const std::string gpu = "KFORGE_GPU=" + std::string(target.gpu), library = "LD_LIBRARY_PATH=" KFORGE_BINARY_DIR "/bin/cudart";
    const ProcessResult result = run({"env", library, gpu, program}, 120);
    ASSERT_TRUE(result.succeeded()) << target.gpu << ": " << result.err;
    EXPECT_EQ(result.out, name == "printing" ? run({"env", library, gpu, program, "host"}, 120).out : "good\n") << target.gpu << ": " << result.err;
    EXPECT_FALSE(result.out.empty()) << target.gpu;
  }
}
INSTANTIATE_TEST_SUITE_P(Ptx, Programs, testing::Values("indirect", "printing", "simd"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace kforge
