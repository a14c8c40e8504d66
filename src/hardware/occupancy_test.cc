#include "hardware/occupancy.h"

#include <gtest/gtest.h>

namespace kforge::hardware {
namespace {

DataSheet sheet(const char* name) {
  auto found = find_sheet(name);
  EXPECT_TRUE(found) << to_string(found.error());
  return found ? *found : DataSheet{};
}

struct Case {
  const char* gpu;
  KernelResources resources;
  int blocks, warps;
  Limiter limiter;
};

TEST(Occupancy, NamesWhatLimitsIt) {
  const Case cases[] = {
      {"h200", {32, 0, 0, 256}, 8, 64, Limiter::warps},
      {"h200", {33, 0, 0, 256}, 6, 48, Limiter::registers},    // 33 x 32 registers are rounded up to 1280 a warp
      {"h200", {128, 0, 0, 256}, 2, 16, Limiter::registers},
      {"h200", {32, 0, 65536, 256}, 3, 24, Limiter::shared},   // 66,560 bytes each with the reserved 1 KiB
      {"h200", {16, 0, 0, 32}, 32, 32, Limiter::blocks},
      {"t4", {16, 0, 0, 32}, 16, 16, Limiter::blocks},
      {"t4", {32, 0, 32768, 128}, 2, 8, Limiter::shared},      // nothing is reserved before sm_80
      {"l4", {40, 0, 0, 1024}, 1, 32, Limiter::warps},
      {"rtx4090", {16, 0, 0, 32}, 24, 24, Limiter::blocks},
      {"a100", {255, 0, 0, 256}, 1, 8, Limiter::registers},
      {"h200", {16, 0, 0, 32, 16}, 4, 4, Limiter::barriers},
  };
  for (const Case& c : cases) {
    Occupancy o = occupancy(sheet(c.gpu), c.resources);
    EXPECT_EQ(o.blocks_per_sm, c.blocks) << c.gpu << " " << c.resources.threads_per_block;
    EXPECT_EQ(o.warps_per_sm, c.warps) << c.gpu;
    EXPECT_EQ(name(o.limiter), name(c.limiter)) << c.gpu;
    EXPECT_DOUBLE_EQ(o.fraction, double(c.warps) / sheet(c.gpu).max_warps_per_sm);
  }
}

TEST(Occupancy, WhatCannotBeLaunchedHasNoBlocksAndTheReason) {
  DataSheet h200 = sheet("h200");
  const Case cases[] = {
      {"", {32, 0, 0, 1025}, 0, 0, Limiter::warps},        {"", {32, 0, 0, 0}, 0, 0, Limiter::warps},
      {"", {32, 0, 0, -32}, 0, 0, Limiter::warps},         {"", {255, 0, 0, 1024}, 0, 0, Limiter::registers},
      {"", {256, 0, 0, 32}, 0, 0, Limiter::registers},     {"", {-1, 0, 0, 32}, 0, 0, Limiter::registers},
      {"", {32, 0, 232449, 32}, 0, 0, Limiter::shared},    {"", {32, 49152, 200000, 32}, 0, 0, Limiter::shared},
      {"", {32, -1, 0, 32}, 0, 0, Limiter::shared},        {"", {32, 2147483647, 2147483647, 32}, 0, 0, Limiter::shared},
  };
  for (const Case& c : cases) {
    Occupancy o = occupancy(h200, c.resources);
    EXPECT_EQ(o.blocks_per_sm, 0);
    EXPECT_EQ(o.warps_per_sm, 0);
    EXPECT_EQ(o.fraction, 0);
    EXPECT_EQ(name(o.limiter), name(c.limiter)) << c.resources.registers_per_thread << " " << c.resources.threads_per_block;
  }
  EXPECT_EQ(occupancy(h200, {32, 0, 232448, 32}).blocks_per_sm, 1);
}

// contracts.md, "Facts to get right".
TEST(Occupancy, MaximumWarpsAreThoseOfTheArchitecture) {
  for (const std::string& gpu : sheet_names()) {
    DataSheet s = sheet(gpu.c_str());
    int sm = s.sm();
    int warps = sm == 75 ? 32 : sm == 70 || sm == 80 || sm == 90 || sm == 100 ? 64 : 48;
    EXPECT_EQ(s.max_warps_per_sm, warps) << gpu;
    EXPECT_EQ(s.registers_per_sm, 65536) << gpu;
    EXPECT_EQ(s.max_registers_per_thread, 255) << gpu;
  }
}

TEST(LittlesLaw, CountsTheWarpsThatKeepDramBusy) {
  DataSheet s = sheet("h200");
  s.dram_bytes_per_s = 4e12, s.multiprocessors = 100, s.boost_mhz = 2000, s.dram_latency = 800;
  EXPECT_DOUBLE_EQ(dram_bytes_in_flight_per_sm(s), 16000);  // 40 GB/s x 400 ns
  EXPECT_EQ(warps_to_cover_dram(s, 128), 125);
  EXPECT_EQ(warps_to_cover_dram(s, 4 * 512), 8);            // 7.8
  EXPECT_EQ(warps_to_cover_dram(s, 1e9), 1);
  EXPECT_EQ(warps_to_cover_dram(s, 0), 0);
  EXPECT_EQ(warps_to_cover_dram(s, -1), 0);
  EXPECT_GT(warps_to_cover_dram(s, 1e-300), 0);
}

}  // namespace
}  // namespace kforge::hardware
