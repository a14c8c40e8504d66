// Compact cells beside plain lists of accesses.
#include "emulator/race_records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

namespace kforge::emulator {
namespace {

auto all_of(const AccessRecord& r) { return std::tuple(r.block, r.warp, r.lanes, r.time, r.location, r.update, r.own_block); }

void expect_alike(const RecordPool& pool, RecordCell cell, const std::vector<AccessRecord>& list) {
  std::vector<AccessRecord> seen;
  pool.visit(cell, [&](const AccessRecord& record) { seen.push_back(record); });
  ASSERT_EQ(seen.size(), list.size());
  for (std::size_t k = 0; k < list.size(); ++k) EXPECT_EQ(all_of(seen[k]), all_of(list[k])) << k;
}

TEST(RaceRecords, CellsRememberWhatListsWould) {
  constexpr std::uint32_t kSeed = 20261201, kCells = 40;
  std::mt19937 random(kSeed);
  const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  RecordPool pool;
  std::vector<RecordCell> cells(kCells);
  std::vector<std::vector<AccessRecord>> lists(kCells);
  for (int step = 0; step < 20000; ++step) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << " step " << step);
    const std::uint32_t at = below(kCells);
    RecordCell& cell = cells[at];
    std::vector<AccessRecord>& list = lists[at];
    const std::uint32_t choice = below(10);
    if (choice < 5) {
      const std::uint32_t lanes = below(3) == 0 ? ~0u << below(32) >> below(8) | 1u << 20 : below(2) == 0 ? 1u << below(32) : static_cast<std::uint32_t>(random()) | 1;
      const AccessRecord record{below(3) == 0 ? ~0u : below(4), below(32), lanes, below(5), below(3) == 0 ? (1u << 20) - 1 : below(9), below(2) == 0, below(2) == 0};
      pool.add(cell, record);
      list.insert(list.begin(), record);
    } else if (choice < 6) {
      pool.clear(cell);
      list.clear();
    } else {   // some go, some get more lanes
      const std::uint32_t goes = below(5), grows = below(5), lanes = 1u << below(32);
      const auto keep = [&](AccessRecord& record) {
        if (record.time == goes) return false;
        if (record.time == grows) record.lanes |= lanes;
        return true;
      };
      pool.filter(cell, keep);
      std::erase_if(list, [&](AccessRecord& record) { return !keep(record); });
    }
    expect_alike(pool, cell, list);
    if (testing::Test::HasFailure()) return;
  }
  for (std::uint32_t k = 0; k < kCells; ++k) expect_alike(pool, cells[k], lists[k]);
}

TEST(RaceRecords, NeighbouringLanesTakeNoList) {
  RecordPool pool;
  for (const std::uint32_t lanes : {1u, 1u << 31, 3u << 7, 0xf0u, 0xffu << 24, 0xffffu << 3, ~0u}) {
    RecordCell cell;
    pool.add(cell, {.lanes = lanes});
    EXPECT_TRUE(cell.is_one_request());
    EXPECT_EQ(cell.lanes(), lanes);
  }
  for (const std::uint32_t lanes : {5u, 7u, ~0u >> 1, 1u << 31 | 1u}) {
    RecordCell cell;
    pool.add(cell, {.lanes = lanes});
    EXPECT_FALSE(cell.is_one_request());
    expect_alike(pool, cell, {{.lanes = lanes}});
  }
}

TEST(RaceRecords, WhatIsForgottenMakesRoom) {
  RecordPool pool;
  RecordCell one, many;
  for (std::uint32_t time = 0; time < 100'000; ++time) {
    pool.add(one, {.lanes = 1, .time = time});
    pool.add(many, {.lanes = 6, .time = time});
    pool.clear(one);
    pool.clear(many);
  }
  EXPECT_LT(pool.bytes(), 2000u);
}

}  // namespace
}  // namespace kforge::emulator
