// The driver, NVML and the sheet of the GPU at hand, with a driver that has no device.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/device.h"
#include "gpu/nvml.h"
#include "gpu/this_sheet.h"

namespace kforge::gpu {
namespace {

using ::testing::HasSubstr;

class FakeMachine : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* variable : {"KFORGE_LIBCUDA", "KFORGE_LIBNVML"}) ::setenv(variable, KFORGE_BINARY_DIR "/bin/libkforge_fake_driver.so", 1);
  }
  static void be(const char* machine) { ::setenv("KFORGE_FAKE_GPU", machine, 1); }
};

TEST_F(FakeMachine, AnH200IsReadWhole) {
  be("h200");
  const auto driver = read_driver();
  ASSERT_TRUE(driver) << to_string(driver.error());
  EXPECT_EQ(driver->version, "580.65.06");
  ASSERT_EQ(driver->devices.size(), 1u);
  const Device& device = driver->devices[0];
  EXPECT_EQ(device.name, "NVIDIA H200");
  EXPECT_EQ(device.uuid, "GPU-00112233-4455-6677-8899-aabbccddeeff");
  EXPECT_EQ(device.sm(), 90);
  EXPECT_EQ(device.l2_bytes, 62914560u);
  EXPECT_EQ(too_old(*driver), "");
  EXPECT_EQ(find_device(*driver, 1).error().code, ErrorCode::bad_input);
}

TEST_F(FakeMachine, ItsSheetIsTheStoredOne) {
  be("h200");
  const auto made = sheet_of(read_driver()->devices[0]);
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->known);
  EXPECT_EQ(made->base, "h200");
  EXPECT_EQ(made->warnings, std::vector<std::string>{});
  const auto again = hardware::parse_sheet(hardware::sheet_text(made->sheet), "this.toml");
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(again->multiprocessors, 132);
  EXPECT_EQ(again->dram_bytes_per_s, made->sheet.dram_bytes_per_s);
  EXPECT_EQ(again->tensor_ops, made->sheet.tensor_ops);
}

TEST_F(FakeMachine, WhatDiffersFromTheStoredSheetIsWarnedOf) {
  be("cut");
  const auto made = sheet_of(read_driver()->devices[0]);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->sheet.multiprocessors, 114);
  ASSERT_EQ(made->warnings.size(), 1u);
  EXPECT_THAT(made->warnings[0], HasSubstr("multiprocessors: 114 here, 132 in the sheet"));
}

TEST_F(FakeMachine, AnUnknownPartTakesRatesFromANeighbour) {
  be("unknown");
  const auto made = sheet_of(read_driver()->devices[0]);
  ASSERT_TRUE(made);
  EXPECT_FALSE(made->known);
  EXPECT_EQ(made->sheet.product, "NVIDIA H300 Imaginary");
  EXPECT_EQ(made->sheet.multiprocessors, 114);
  EXPECT_NEAR(made->sheet.dram_bytes_per_s, 3201e6 * 2 * 6016 / 8, 1e9);
  ASSERT_EQ(made->warnings.size(), 1u);
  EXPECT_THAT(made->warnings[0], HasSubstr("not among the data sheets"));
}

TEST_F(FakeMachine, WhatIsMissingIsNamedWithWhatToDo) {
  be("none");
  EXPECT_EQ(read_driver().error().code, ErrorCode::missing);
  be("mismatch");
  const auto mismatch = read_driver();
  EXPECT_THAT(to_string(mismatch.error()), HasSubstr("driver combination"));
  EXPECT_THAT(to_string(mismatch.error()), HasSubstr("version mismatch"));
  be("old");
  EXPECT_THAT(too_old(*read_driver()), HasSubstr("driver 535.54.03 serves CUDA 12.2 and candidates are built for 13.0"));
  ::setenv("KFORGE_LIBCUDA", "/nowhere/libcuda.so.1", 1);
  EXPECT_EQ(read_driver().error().code, ErrorCode::missing);
}

TEST_F(FakeMachine, ClocksAndTheirReasonsAreRead) {
  be("hot");
  const auto nvml = Nvml::open();
  ASSERT_TRUE(nvml);
  const State state = (*nvml)->state((*nvml)->device("", 0));
  EXPECT_EQ(state.sm_mhz, 1200);
  EXPECT_EQ(state.temperature_c, 91);
  EXPECT_EQ(state.power_w, 400);
  EXPECT_TRUE(state.clock_reasons & kSpoiling);
  EXPECT_EQ(clock_reasons(state.clock_reasons), std::vector<std::string>{"thermal slowdown"});
  be("capped");
  EXPECT_FALSE((*nvml)->state((*nvml)->device("", 0)).clock_reasons & kSpoiling);
}

}  // namespace
}  // namespace kforge::gpu
