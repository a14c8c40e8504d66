// Tables of Nsight Compute, as they come and as they should not.
#include "gpu/ncu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kforge::gpu {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTable =
    "==PROF== Connected to process 4242 (/work/kforge-worker)\n"
    "==PROF== Profiling \"decay_kernel\" - 0: 0%....50%....100% - 3 passes\n"
    "the program's own line, with a comma\n"
    "==PROF== Disconnected from process 4242\n"
    "\"ID\",\"Process ID\",\"Kernel Name\",\"dram__bytes_read.sum\",\"gpu__time_duration.sum\",\"smsp__issue_active.avg.pct_of_peak_sustained_active\"\n"
    "\"\",\"\",\"\",\"byte\",\"ns\",\"%\"\n"
    "\"0\",\"4242\",\"decay_kernel(const float *, float *, int)\",\"4,194,304\",\"9120\",\"61.25\"\n"
    "\"1\",\"4242\",\"second<\"\"x\"\", 2>(int)\",\"nan\",\"100\",\"n/a\"\n";

TEST(Ncu, ReadsKernelsAndTheirMetrics) {
  const NcuReport report = read_ncu(kTable);
  EXPECT_EQ(report.trouble, "");
  ASSERT_EQ(report.rows.size(), 2u);
  EXPECT_EQ(report.rows[0].kernel, "decay_kernel(const float *, float *, int)");
  EXPECT_EQ(report.rows[0].metrics.at("dram__bytes_read.sum"), 4194304);
  EXPECT_EQ(report.rows[0].metrics.at("smsp__issue_active.avg.pct_of_peak_sustained_active"), 61.25);
}

TEST(Ncu, SaysHowOftenTheKernelRan) {
  EXPECT_EQ(read_ncu(kTable).passes, 3);
  EXPECT_EQ(read_ncu("==PROF== Profiling \"k - 12 passes\" - 1: 0%....50%....100% - 1 pass\n").passes, 1);
  EXPECT_EQ(read_ncu("==PROF== Profiling \"k\"\n==PROF== Disconnected - 9 passes\n").passes, 0);
}

TEST(Ncu, WhatIsNoNumberIsAbsent) {
  const NcuReport report = read_ncu(kTable);
  EXPECT_EQ(report.rows.at(1).kernel, "second<\"x\", 2>(int)");
  EXPECT_EQ(report.rows.at(1).metrics.count("dram__bytes_read.sum"), 0u);
  EXPECT_EQ(report.rows.at(1).metrics.count("smsp__issue_active.avg.pct_of_peak_sustained_active"), 0u);
  EXPECT_EQ(report.rows.at(1).metrics.at("gpu__time_duration.sum"), 100);
}

TEST(Ncu, SaysWhyItHasNothing) {
  EXPECT_THAT(read_ncu("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters\n").trouble, HasSubstr("may not read the hardware counters"));
  EXPECT_THAT(read_ncu("==ERROR== Failed to initialize the profiler: LibraryNotLoaded\n").trouble, HasSubstr("cannot load its library"));
  EXPECT_THAT(read_ncu("==WARNING== No kernels were profiled.\n").trouble, HasSubstr("no kernel"));
  EXPECT_THAT(read_ncu("==ERROR== Failed to find metric sm__nothing.sum\n").trouble, HasSubstr("does not know a metric"));
  EXPECT_THAT(read_ncu("").trouble, HasSubstr("no table"));
}

}  // namespace
}  // namespace kforge::gpu
