// Where warps wait stands beside the lines that were counted.
#include "forge/kernel_figures.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace kforge::forge {
namespace {

constexpr const char* kLongScoreboard = "smsp__pcsamp_warps_issue_stalled_long_scoreboard";

std::vector<gpu::KernelStalls> recorded() {
  return gpu::read_stalls(read_file(std::string(KFORGE_SOURCE_DIR) + "/src/gpu/testdata/ncu_source_2025.3.csv").value_or("")).kernels;
}

KernelFigures counted(const std::string& name, const std::string& file, std::uint32_t line) {
  KernelFigures out;
  out.kernel = name;
  out.source = "emulator(ptx)";
  out.metrics = {{"smsp__inst_executed.sum", 10}};
  out.lines = {{file, line, {{"smsp__inst_executed.sum", 10}}}};
  return out;
}

const LineFigures* at(const KernelFigures& kernel, std::uint32_t line) {
  for (const LineFigures& one : kernel.lines)
    if (one.line == line) return &one;
  return nullptr;
}

TEST(KernelFigures, StallsStandBesideTheLinesOfTheirKernel) {
  std::vector<KernelFigures> kernels = {counted("strided", "here/stalls.cu", 9), counted("chained<256, double>", "here/stalls.cu", 30)};
  add_stalls(kernels, recorded(), "here/stalls.cu");
  ASSERT_EQ(kernels.size(), 3u) << "the kernel that nothing counted has figures of its own";
  const LineFigures* gather = at(kernels[0], 9);
  ASSERT_TRUE(gather);
  EXPECT_EQ(gather->file, "here/stalls.cu") << "known by its name, as findings know it";
  EXPECT_EQ(gather->metrics.at("smsp__inst_executed.sum"), 10u);
  EXPECT_GT(gather->metrics.at(kLongScoreboard), 10'000u);
  std::uint64_t sum = 0;
  for (const LineFigures& line : kernels[0].lines)
    if (const auto found = line.metrics.find(kLongScoreboard); found != line.metrics.end()) sum += found->second;
  EXPECT_EQ(sum, kernels[0].metrics.at(kLongScoreboard));
  EXPECT_TRUE(std::any_of(kernels[1].metrics.begin(), kernels[1].metrics.end(), [](const auto& m) { return m.first.starts_with("smsp__pcsamp"); })) << "a template's instance, written as ncu does";
  EXPECT_EQ(kernels[2].source, "ncu");
  EXPECT_TRUE(std::is_sorted(kernels[0].lines.begin(), kernels[0].lines.end(), [](const auto& a, const auto& b) { return a.line < b.line; }));
}

TEST(KernelFigures, StallsOfOneOfTwoInstancesAreNotGuessed) {
  std::vector<KernelFigures> kernels = {counted("k<float>", "a.cu", 1), counted("k<double>", "a.cu", 1)};
  add_stalls(kernels, std::vector<gpu::KernelStalls>{{"void k<__half>(T1 *)", {{"/x/a.cu", 1, {{"barrier", 5}}}}}}, "a.cu");
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[2].kernel, "void k<__half>(T1 *)");
  EXPECT_EQ(kernels[2].lines.at(0).metrics.at("smsp__pcsamp_warps_issue_stalled_barrier"), 5u);
}

}  // namespace
}  // namespace kforge::forge
