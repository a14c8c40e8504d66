// Reports of compute-sanitizer as violations.
#include "gpu/sanitizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kforge::gpu {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Sanitizer, AnAccessOutOfBoundsHasItsLine) {
  const auto report = read_sanitizer(
      "========= COMPUTE-SANITIZER\n"
      "========= Invalid __global__ write of size 4 bytes\n"
      "=========     at decay_kernel(const float *, float *, int)+0x70 in /work/past.cu:10\n"
      "=========     by thread (5,0,0) in block (0,0,0)\n"
      "=========     Address 0x7f0000000014 is out of bounds\n"
      "=========     and is 1 bytes after the nearest allocation at 0x7f0000000000 of size 20 bytes\n"
      "========= \n"
      "========= Target application returned an error\n"
      "========= ERROR SUMMARY: 1 error\n",
      kSanitizerTools[0]);
  EXPECT_EQ(report.trouble, "");
  ASSERT_EQ(report.violations.size(), 1u);
  const auto& violation = report.violations[0];
  EXPECT_EQ(violation.contract, "safety.bounds");
  EXPECT_EQ(violation.kernel, "decay_kernel(const float *, float *, int)");
  EXPECT_EQ(violation.where.frames.at(0).file, "/work/past.cu");
  EXPECT_EQ(violation.where.frames.at(0).line, 10u);
  EXPECT_THAT(violation.message, HasSubstr("write of size 4 bytes (compute-sanitizer memcheck)"));
}

TEST(Sanitizer, ARaceHasTwoLines) {
  const auto report = read_sanitizer(
      "========= Error: Race reported between Write access at k(float *)+0x90 in /work/race.cu:7\n"
      "=========     and Read access at k(float *)+0xd0 in /work/race.cu:9 [124 hazards]\n"
      "=========\n"
      "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n",
      kSanitizerTools[1]);
  ASSERT_EQ(report.violations.size(), 1u);
  EXPECT_EQ(report.violations[0].contract, "safety.races");
  EXPECT_EQ(report.violations[0].where.frames.at(0).line, 7u);
  EXPECT_EQ(report.violations[0].other.frames.at(0).line, 9u);
}

TEST(Sanitizer, ACleanReportHasNothing) {
  const auto report = read_sanitizer("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n", kSanitizerTools[0]);
  EXPECT_EQ(report.trouble, "");
  EXPECT_THAT(report.violations, IsEmpty());
}

TEST(Sanitizer, AToolThatCannotWorkSaysNothing) {
  EXPECT_THAT(read_sanitizer("========= Error: Device not supported. Please refer to the documentation\n========= ERROR SUMMARY: 0 errors\n", kSanitizerTools[0]).trouble, HasSubstr("Device not supported"));
  EXPECT_THAT(read_sanitizer("", kSanitizerTools[0]).trouble, HasSubstr("without a summary"));
}

}  // namespace
}  // namespace kforge::gpu
