// ncu's page "source", as it comes and as it should not.
#include "gpu/stalls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace kforge::gpu {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Of Nsight Compute 2025.3.1 on an H200, three kernels of one file; most rows of machine code are left out.
std::string recorded(const std::string& name) { return read_file(std::string(KFORGE_SOURCE_DIR) + "/src/gpu/testdata/" + name).value_or(""); }

TEST(Stalls, AreReadByKernelAndLine) {
  const StallReport report = read_stalls(recorded("ncu_source_2025.3.csv"));
  EXPECT_EQ(report.trouble, "");
  ASSERT_EQ(report.kernels.size(), 3u);
  EXPECT_EQ(report.kernels[0].kernel, "strided(const float *, float *, int)");
  EXPECT_EQ(report.kernels[2].kernel, "void chained<(int)256, double>(T2 *, int)");
  const KernelStalls& strided = report.kernels[0];
  ASSERT_EQ(strided.lines.size(), 6u);
  EXPECT_EQ(strided.lines[3].file, "/src/stalls.cu");
  EXPECT_EQ(strided.lines[3].line, 9u);
  EXPECT_GT(strided.lines[3].samples.at("long_sb"), 10'000) << "a gather waits for memory";
  EXPECT_EQ(strided.lines[3].samples.count("barrier"), 0u);
  double sum = 0;
  for (const auto& [reason, count] : strided.lines[3].samples) sum += count;
  EXPECT_EQ(sum, 23'061) << "ncu's own column of all samples";
}

TEST(Stalls, AreToldWhereTheyAreLongest) {
  const std::string told = describe_stalls(read_stalls(recorded("ncu_source_2025.3.csv")).kernels);
  EXPECT_THAT(told, HasSubstr("most at stalls.cu:21 ("));
  EXPECT_THAT(told, HasSubstr("then at stalls.cu:9 ("));
  EXPECT_THAT(told, HasSubstr("for global, local or texture memory"));
}

TEST(Stalls, OfCodeWithoutLinesAreSummed) {
  const StallReport report = read_stalls(recorded("ncu_source_sass_2025.3.csv"));
  ASSERT_EQ(report.kernels.size(), 3u);
  ASSERT_EQ(report.kernels[0].lines.size(), 1u);
  EXPECT_EQ(report.kernels[0].lines[0].line, 0u);
  EXPECT_EQ(report.kernels[0].lines[0].file, "");
  EXPECT_GT(waiting(report.kernels[0].lines[0].samples), 0);
  EXPECT_THAT(describe_stalls(report.kernels), HasSubstr("in code without lines"));
}

constexpr const char* kHead = "\"File Path\",\"/a/b.cu\"\n\"Function Name\",\"k(int)\"\n";

TEST(Stalls, ColumnsAreKnownByTheirHeads) {
  const StallReport report = read_stalls(std::string(kHead) +
      "\"stall_barrier\",\"Source\",\"Line Number\",\"stall_new_reason\",\"stall_barrier (Not Issued)\"\n\"1,024\",\"x\",\"7\",\"nan\",\"5\"\n\"n/a\",\"y\",\"8\",\"3\",\"5\"\n\"too\",\"short\"\n");
  ASSERT_EQ(report.kernels.size(), 1u);
  ASSERT_EQ(report.kernels[0].lines.size(), 2u);
  EXPECT_EQ(report.kernels[0].lines[0].samples, (StallSamples{{"barrier", 1024}}));
  EXPECT_EQ(report.kernels[0].lines[1].samples, (StallSamples{{"new_reason", 3}}));
  EXPECT_EQ(stall_meaning("new_reason"), "new_reason");
  EXPECT_EQ(describe_stalls(report.kernels), "warps wait in 100% of ncu's samples, most at b.cu:7 (100%, at a block barrier)");
}

TEST(Stalls, SaysWhyThereAreNone) {
  EXPECT_THAT(read_stalls("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters\n").trouble, HasSubstr("may not read the hardware counters"));
  EXPECT_THAT(read_stalls("==WARNING== No kernels were profiled.\nAvailable Kernels:\n1. k\n").trouble, HasSubstr("no kernel"));
  EXPECT_THAT(read_stalls("").trouble, HasSubstr("no samples"));
  EXPECT_THAT(read_stalls(std::string(kHead) + "\"Line No\",\"Source\",\"group:smsp__pcsamp_warp_stall_reasons\"\n\"4\",\"x\",\"12\"\n").trouble, HasSubstr("no samples")) << "columns of another kind";
  EXPECT_THAT(read_stalls("\"Line No\",\"stall_barrier\"\n\"4\",\"12\"\n").kernels, IsEmpty()) << "of no kernel";
  EXPECT_EQ(describe_stalls({}), "");
}

TEST(Stalls, ReadyWarpsDoNotWait) {
  EXPECT_EQ(waiting({{"selected", 5}, {"not_selected", 7}, {"wait", 2}}), 2);
  EXPECT_EQ(describe_stalls({{"k", {{"a.cu", 3, {{"selected", 5}}}}}}), "");
}

}  // namespace
}  // namespace kforge::gpu
