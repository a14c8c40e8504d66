#include "hardware/roofline.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace kforge::hardware {
namespace {

// Ten SMs at 1 GHz, so that every rate is a round number.
DataSheet round_sheet() {
  DataSheet s;
  s.multiprocessors = 10, s.boost_mhz = 1000, s.schedulers_per_sm = 4;
  s.dram_bytes_per_s = 1e12, s.l2_bytes_per_s = 4e12;
  s.fp32_lanes = 100, s.fp64_lanes = 50, s.fp16_lanes = 200, s.int32_lanes = 64, s.special_lanes = 16;
  s.tensor_ops = {{"f16", 1000}, {"e4m3", 2000}};
  return s;
}

struct Case {
  Work work;
  double seconds;
  const char* bound;
};

TEST(Roofline, EachTermHasItsRate) {
  const Case cases[] = {
      {{.dram_bytes = 1e12}, 1, "dram"},
      {{.l2_bytes = 4e12}, 1, "l2"},
      {{.fp32_ops = 2e12}, 1, "fp32"},
      {{.fp64_ops = 1e12}, 1, "fp64"},
      {{.fp16_ops = 1e13}, 1, "fp16"},      // the tensor cores do it faster than the 4e12 of the lanes
      {{.int_ops = 2.56e12}, 1, "int"},     // 128 instructions of two operations issued per clock
      {{.special_ops = 1.6e11}, 1, "special"},
      {{.tensor_ops = 1e13}, 1, "tensor"},
      {{.tensor_ops = 2e13, .tensor_type = "e4m3"}, 1, "tensor"},
      {{.tensor_ops = 2e13, .tensor_type = "e5m2"}, 1, "tensor"},
  };
  for (const Case& c : cases) {
    Floor floor = roofline(round_sheet(), c.work);
    EXPECT_NEAR(floor.seconds, c.seconds, 1e-9) << c.bound;
    EXPECT_EQ(floor.bound, c.bound);
  }
}

TEST(Roofline, TheLargestTermBoundsAndTheOthersAreReported) {
  Floor floor = roofline(round_sheet(), {.dram_bytes = 3e12, .l2_bytes = 8e12, .fp32_ops = 2e12, .fp64_ops = 0.5e12});
  EXPECT_DOUBLE_EQ(floor.seconds, 3);
  EXPECT_EQ(floor.bound, "dram");
  EXPECT_DOUBLE_EQ(floor.dram_seconds, 3);
  EXPECT_DOUBLE_EQ(floor.l2_seconds, 2);
  EXPECT_DOUBLE_EQ(floor.compute_seconds, 1);
}

TEST(Roofline, NoWorkHasNoFloor) {
  double inf = std::numeric_limits<double>::infinity();
  for (double nothing : {0.0, -1.0, inf, -inf, std::nan("")}) {
    Floor floor = roofline(round_sheet(), {.dram_bytes = nothing, .l2_bytes = nothing, .tensor_ops = nothing});
    EXPECT_EQ(floor.seconds, 0);
    EXPECT_EQ(floor.bound, "");
  }
  EXPECT_EQ(roofline(DataSheet{}, {.dram_bytes = 1, .fp32_ops = 1, .tensor_ops = 1}).seconds, 0);
}

// A floor may only err downwards: a kernel faster than it is rejected as impossible.
TEST(Roofline, AnAbsentUnitNeverRaisesTheFloor) {
  DataSheet s = round_sheet();
  EXPECT_LE(roofline(s, {.tensor_ops = 1e13, .tensor_type = "bf16"}).seconds, 1);
  s.tensor_ops.clear();
  EXPECT_DOUBLE_EQ(roofline(s, {.tensor_ops = 2e12}).seconds, 1);  // as fp32
  s.fp16_lanes = 0;
  EXPECT_DOUBLE_EQ(roofline(s, {.fp16_ops = 2e12}).seconds, 1);    // as fp32
  s.fp64_lanes = 0;
  EXPECT_EQ(roofline(s, {.fp64_ops = 1e12}).seconds, 0);
}

TEST(Roofline, KnownKernelsLieAboveTheFloorOfAnH200) {
  auto h200 = find_sheet("h200");
  ASSERT_TRUE(h200);
  // cuBLAS at 4096^3 in bf16: 761-782 TFLOP/s measured on that part.
  double flop = 2.0 * 4096 * 4096 * 4096;
  double floor = roofline(*h200, {.tensor_ops = flop, .tensor_type = "bf16"}).seconds;
  EXPECT_LT(floor, flop / 782e12);
  EXPECT_GT(floor, 0.6 * flop / 782e12);
  // A device-to-device copy moved 8.6 GB (both ways) in 2.0 ms.
  EXPECT_LT(roofline(*h200, {.dram_bytes = 8.6e9}).seconds, 2.0e-3);
}

}  // namespace
}  // namespace kforge::hardware
