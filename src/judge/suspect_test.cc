// What is suspected decides what the profiler is asked.
#include "judge/suspect.h"

#include <gtest/gtest.h>

#include "ptx/parser.h"

namespace kforge::judge {
namespace {

using evidence::Metric;
using gpu::Suspect;

hardware::ModelledTime bound_by(std::string_view term) {
  hardware::ModelledTime out;
  out.terms = {{term, 5, ""}, {"issue", 1, ""}};
  return out;
}

TEST(Suspect, IsTheModelsLongestTerm) {
  EXPECT_EQ(suspected(bound_by("dram"), {}, nullptr), Suspect::memory);
  EXPECT_EQ(suspected(bound_by("l1"), {}, nullptr), Suspect::memory);
  EXPECT_EQ(suspected(bound_by("shared"), {}, nullptr), Suspect::shared);
  EXPECT_EQ(suspected(bound_by("latency"), {}, nullptr), Suspect::latency);
  EXPECT_EQ(suspected(bound_by("launch"), {}, nullptr), Suspect::latency);
  EXPECT_EQ(suspected(bound_by("fp32"), {}, nullptr), Suspect::compute);
  EXPECT_EQ(suspected({}, {}, nullptr), std::nullopt);
}

TEST(Suspect, IsSharedMemoryWhereBanksConflict) {
  evidence::KernelProfile kernel;
  kernel.totals[Metric::shared_wavefronts_ideal] = 100;
  kernel.totals[Metric::shared_wavefronts] = 150;
  EXPECT_EQ(suspected(bound_by("dram"), {kernel}, nullptr), Suspect::memory);
  kernel.totals[Metric::shared_wavefronts] = 200;
  EXPECT_EQ(suspected(bound_by("dram"), {kernel}, nullptr), Suspect::shared);
}

TEST(Suspect, IsTheMatrixUnitsWhereTheCodeHasTheirInstructions) {
  const auto module = [](const std::string& body) {
    return ptx::parse(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n" + body + "ret;\n}\n");
  };
  const auto with = module("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};\n"), without = module("add.f32 %f1, %f2, %f3;\n");
  ASSERT_TRUE(with && without);
  EXPECT_EQ(suspected(bound_by("dram"), {}, &*with), Suspect::tensor);
  EXPECT_EQ(suspected(bound_by("dram"), {}, &*without), Suspect::memory);
}

}  // namespace
}  // namespace kforge::judge
