// Distances between uses of a line, against the definition, and the shares of caches that are known.
#include "emulator/load_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>
#include <set>

namespace kforge::emulator {
namespace {

LaneAddresses rows(std::uint64_t first, std::uint64_t pitch) {
  LaneAddresses result;
  for (std::uint64_t lane = 0; lane < 32; ++lane) result[lane] = first + lane * pitch;
  return result;
}

TEST(LoadTrace, ALinePerLaneIsUsedAgainAfterTheOtherLanes) {
  LoadTrace trace;
  trace.begin(1);
  for (std::uint64_t column = 0; column < 32; ++column) trace.add(0, rows(4 * column, 4096), ~0u, 4);
  const evidence::LoadReuse reuse = trace.reuse();
  EXPECT_EQ(reuse.sectors, 32u * 32);
  EXPECT_EQ(reuse.first, 32u * 4);           // four sectors of each of 32 lines
  EXPECT_EQ(reuse.again[5], 32u * 28);       // after 31 others
  EXPECT_DOUBLE_EQ(reuse.miss_share(1e6), 0.125);
  EXPECT_DOUBLE_EQ(reuse.miss_share(1), 1);
}

TEST(LoadTrace, WarpsGoOnSideBySide) {
  LoadTrace trace;
  trace.begin(2);
  for (const std::uint32_t warp : {0u, 1u})
    for (int pass = 0; pass < 2; ++pass) trace.add(warp, rows(warp * 128, 4), ~0u, 4);   // a line of its own, twice
  const evidence::LoadReuse reuse = trace.reuse();
  EXPECT_EQ(reuse.first, 8u);
  EXPECT_EQ(reuse.again[1], 2u);             // first sector of the line after the other warp's
  EXPECT_EQ(reuse.again[0], 6u);             // and its other sectors at once
}

TEST(LoadTrace, ABlockThatWasNotTracedMissesAlways) { EXPECT_DOUBLE_EQ(evidence::LoadReuse{}.miss_share(1e9), 1); }

TEST(LoadTrace, DistancesAreThoseOfAListOfLines) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    LoadTrace trace;
    const std::uint32_t warps = 1 + random() % 4;
    trace.begin(warps);
    std::vector<std::vector<LaneAddresses>> requests(warps);
    for (std::uint32_t w = 0; w < warps; ++w)
      for (std::uint32_t k = 0; k < 30 + random() % 30; ++k) {
        LaneAddresses addresses{};
        for (auto& address : addresses) address = random() % 2048 * 4;
        trace.add(w, addresses, ~0u, 4);
        requests[w].push_back(addresses);
      }
    evidence::LoadReuse expected;
    std::list<std::uint64_t> lines;   // newest first
    std::set<std::uint64_t> sectors;
    for (std::size_t k = 0; k < 60; ++k)
      for (const auto& own : requests) {
        if (k >= own.size()) continue;
        std::uint64_t before = ~std::uint64_t{0};
        for (const std::uint64_t address : own[k]) {
          if (address / 32 == before) continue;
          before = address / 32;
          ++expected.sectors;
          const auto at = std::find(lines.begin(), lines.end(), address / 128);
          if (sectors.insert(address / 32).second) ++expected.first;
          else ++expected.again[static_cast<std::size_t>(std::bit_width(static_cast<std::size_t>(std::distance(lines.begin(), at))))];
          if (at != lines.end()) lines.erase(at);
          lines.push_front(address / 128);
        }
      }
    const evidence::LoadReuse found = trace.reuse();
    EXPECT_EQ(found.sectors, expected.sectors);
    EXPECT_EQ(found.first, expected.first);
    EXPECT_EQ(found.again, expected.again);
  }
}

}  // namespace
}  // namespace kforge::emulator
