// The rules of contracts.md ("Shared-memory wavefronts", memory.coalescing) written out slowly, beside the fast counts.
#include "emulator/request.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace kforge::emulator {
namespace {

SectorCount slow_sectors(const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t bytes) {
  std::set<std::uint64_t> touched;
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    for (std::uint32_t i = 0; i < bytes && (mask >> lane & 1); ++i) touched.insert(addresses[lane] + i);
  if (touched.empty()) return {};
  std::map<std::uint64_t, std::uint32_t> sectors;
  std::set<std::uint64_t> packed, lines;
  for (const std::uint64_t byte : touched) ++sectors[byte / 32], lines.insert(byte / 128);
  const auto whole = std::count_if(sectors.begin(), sectors.end(), [](const auto& sector) { return sector.second == 32; });
  for (std::uint64_t i = 0; i < touched.size(); ++i) packed.insert((*touched.begin() + i) / 32);
  return {static_cast<std::uint32_t>(sectors.size()), static_cast<std::uint32_t>(packed.size()),
          static_cast<std::uint32_t>((touched.size() + 31) / 32), static_cast<std::uint32_t>(touched.size()),
          static_cast<std::uint32_t>(whole), static_cast<std::uint32_t>(lines.size())};
}

bool slow_agree(const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t distance) {
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const bool both = (mask >> lane & 1) && (mask >> (lane ^ distance) & 1);
    if (both && addresses[lane] != addresses[lane ^ distance]) return false;
  }
  return true;
}

WavefrontCount slow_wavefronts(const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t bytes, bool store = false) {
  std::uint32_t parts = bytes <= 4 ? 1 : bytes / 4;
  if (!store && parts > 1 && (slow_agree(addresses, mask, 1) || slow_agree(addresses, mask, 2))) parts /= 2;
  WavefrontCount result;
  for (std::uint32_t part = 0; part < parts; ++part) {
    std::map<std::uint64_t, std::set<std::uint64_t>> words_of_bank;
    for (std::uint32_t lane = part * 32 / parts; lane < (part + 1) * 32 / parts; ++lane)
      for (std::uint32_t i = 0; i < bytes && (mask >> lane & 1); ++i) {
        const std::uint64_t word = (addresses[lane] + i) / 4;
        words_of_bank[word % 32].insert(word);
      }
    std::size_t busiest = 0;
    for (const auto& [bank, words] : words_of_bank) busiest = std::max(busiest, words.size());
    result.wavefronts += static_cast<std::uint32_t>(busiest);
    result.ideal += busiest != 0;
  }
  return result;
}

LaneAddresses strided(std::uint64_t base, std::uint64_t stride) {
  LaneAddresses result;
  for (std::uint64_t lane = 0; lane < 32; ++lane) result[lane] = base + lane * stride;
  return result;
}

void expect_same(const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t bytes) {
  const SectorCount fast = count_sectors(addresses, mask, bytes), slow = slow_sectors(addresses, mask, bytes);
  ASSERT_EQ(fast.sectors, slow.sectors);
  ASSERT_EQ(fast.ideal, slow.ideal);
  ASSERT_EQ(fast.aligned_ideal, slow.aligned_ideal);
  ASSERT_EQ(fast.distinct_bytes, slow.distinct_bytes);
  ASSERT_EQ(fast.whole, slow.whole) << "mask " << mask << " bytes " << bytes;
  ASSERT_EQ(fast.lines, slow.lines);
  const WavefrontCount waves = count_wavefronts(addresses, mask, bytes), slow_waves = slow_wavefronts(addresses, mask, bytes);
  ASSERT_EQ(waves.wavefronts, slow_waves.wavefronts) << "mask " << mask << " bytes " << bytes;
  ASSERT_EQ(waves.ideal, slow_waves.ideal);
  const WavefrontCount stores = count_store_wavefronts(addresses, mask, bytes), slow_stores = slow_wavefronts(addresses, mask, bytes, true);
  ASSERT_EQ(stores.wavefronts, slow_stores.wavefronts) << "mask " << mask << " bytes " << bytes;
  ASSERT_EQ(stores.ideal, slow_stores.ideal);
}

TEST(Sectors, ConsecutiveAlignedWordsTouchFour) {
  const SectorCount count = count_sectors(strided(4096, 4), ~0u, 4);
  EXPECT_EQ(count.sectors, 4u);
  EXPECT_EQ(count.ideal, 4u);
  EXPECT_EQ(count.distinct_bytes, 128u);
}

TEST(Sectors, MisalignedConsecutiveWordsWasteNothing) {
  const SectorCount count = count_sectors(strided(4096 + 4, 4), ~0u, 4);
  EXPECT_EQ(count.sectors, 5u);
  EXPECT_EQ(count.ideal, 5u);
  EXPECT_EQ(count.aligned_ideal, 4u);
}

TEST(Sectors, AStrideOfASectorWastesSevenEighths) {
  const SectorCount count = count_sectors(strided(0, 32), ~0u, 4);
  EXPECT_EQ(count.sectors, 32u);
  EXPECT_EQ(count.ideal, 4u);
}

TEST(Sectors, BroadcastTouchesOne) {
  const SectorCount count = count_sectors(strided(64, 0), ~0u, 8);
  EXPECT_EQ(count.sectors, 1u);
  EXPECT_EQ(count.distinct_bytes, 8u);
}

TEST(Sectors, OrderOfLanesDoesNotMatter) {
  LaneAddresses reversed = strided(256, 4);
  std::reverse(reversed.begin(), reversed.end());
  EXPECT_EQ(count_sectors(reversed, ~0u, 4).sectors, 4u);
}

TEST(Sectors, NoActiveLaneTouchesNone) { EXPECT_EQ(count_sectors(strided(0, 4), 0, 4).sectors, 0u); }

TEST(Atomics, LanesOfASectorGoTogetherUntilTheirWordsMeet) {
  EXPECT_EQ(count_atomic_passes(strided(4096, 4), ~0u), 4u);      // a line of 32 words
  EXPECT_EQ(count_atomic_passes(strided(4096, 0), ~0u), 32u);     // one word
  EXPECT_EQ(count_atomic_passes(strided(4096, 128), ~0u), 32u);   // a line each
  EXPECT_EQ(count_atomic_passes(strided(4096, 2), ~0u), 2u);      // half words: two sectors, all different
  EXPECT_EQ(count_atomic_passes(strided(4096, 0), 0), 0u);
  LaneAddresses pairs = strided(4096, 4);
  for (std::size_t lane = 0; lane < 16; ++lane) pairs[lane + 16] = pairs[lane];
  EXPECT_EQ(count_atomic_passes(pairs, ~0u), 4u);                 // two sectors, every word twice
}

TEST(Atomics, LanesOfABankComeOneAfterTheOther) {
  EXPECT_EQ(most_lanes_of_a_bank(strided(0, 4), ~0u), 1u);
  EXPECT_EQ(most_lanes_of_a_bank(strided(0, 0), ~0u), 32u);
  EXPECT_EQ(most_lanes_of_a_bank(strided(0, 64), ~0u), 16u);
}

// Cycles that gpu-benches saw on an H200 (gpu-strides/h200.txt): strides of 2, 4 and 8 words, and a line a lane with few conflicts.
TEST(L1Cycles, AreThoseOfBanksOrLines) {
  const auto cycles = [](std::uint64_t stride) {
    const LaneAddresses addresses = strided(1 << 20, stride);
    return load_cycles(count_wavefronts(addresses, ~0u, 4).wavefronts, count_sectors(addresses, ~0u, 4));
  };
  EXPECT_EQ(cycles(4), 1u);
  EXPECT_EQ(cycles(8), 2u);
  EXPECT_EQ(cycles(16), 4u);
  EXPECT_EQ(cycles(32), 8u);
  EXPECT_EQ(cycles(4098 * 4), 8u);     // seen: 9.3
  EXPECT_EQ(cycles(4096), 32u);
  const auto stores = [](std::uint64_t stride) { return store_cycles(count_sectors(strided(1 << 20, stride), ~0u, 4)); };
  EXPECT_EQ(stores(4), 2u);
  EXPECT_EQ(stores(4096), 32u);
}

TEST(Wavefronts, FactsSeenOnHardware) {
  EXPECT_EQ(count_wavefronts(strided(0, 4), ~0u, 4).wavefronts, 1u);    // conflict-free words
  EXPECT_EQ(count_wavefronts(strided(0, 0), ~0u, 4).wavefronts, 1u);    // broadcast word
  EXPECT_EQ(count_wavefronts(strided(0, 0), ~0u, 8).wavefronts, 1u);    // broadcast 8 bytes
  EXPECT_EQ(count_wavefronts(strided(0, 0), ~0u, 16).wavefronts, 2u);   // broadcast 16 bytes
  EXPECT_EQ(count_wavefronts(strided(0, 8), ~0u, 8).wavefronts, 2u);    // distinct 8 bytes
  EXPECT_EQ(count_wavefronts(strided(0, 16), ~0u, 16).wavefronts, 4u);  // distinct 16 bytes
  EXPECT_EQ(count_wavefronts(strided(0, 128), ~0u, 4).wavefronts, 32u); // one bank
  for (const std::uint32_t bytes : {4u, 8u, 16u}) {
    const WavefrontCount count = count_wavefronts(strided(0, bytes), ~0u, bytes);
    EXPECT_EQ(count.wavefronts, count.ideal);
  }
}

LaneAddresses two_rows_of_16(std::uint32_t pitch_words) {
  LaneAddresses result;
  for (std::uint64_t lane = 0; lane < 32; ++lane) result[lane] = 4 * ((lane / 16) * pitch_words + lane % 16);
  return result;
}

TEST(Wavefronts, PaddingARowOf16To17WordsCausesAConflict) {
  EXPECT_EQ(count_wavefronts(two_rows_of_16(16), ~0u, 4).wavefronts, 1u);
  EXPECT_EQ(count_wavefronts(two_rows_of_16(17), ~0u, 4).wavefronts, 2u);
}

TEST(Wavefronts, PartsOfStoresNeverMerge) {
  EXPECT_EQ(count_store_wavefronts(strided(0, 0), ~0u, 4).wavefronts, 1u);
  EXPECT_EQ(count_store_wavefronts(strided(0, 0), ~0u, 8).wavefronts, 2u);
  EXPECT_EQ(count_store_wavefronts(strided(0, 0), ~0u, 16).wavefronts, 4u);
  EXPECT_EQ(count_store_wavefronts(strided(0, 0), ~0u, 16).ideal, 4u);
  EXPECT_EQ(count_store_wavefronts(strided(0, 16), 0xff, 16).ideal, 1u);
}

TEST(Wavefronts, InactivePartnersDoNotPreventMerging) {
  EXPECT_EQ(count_wavefronts(strided(0, 8), 0x55555555, 8).ideal, 1u);
}

// All access patterns base + lane * stride and (lane / group) * outer + lane % group * inner, with every width and some masks.
TEST(Counts, EqualTheSlowOnesOverStridesAndTiles) {
  const std::uint32_t masks[] = {~0u, 1u, 0x80000000u, 0xffffu, 0xffff0000u, 0x55555555u, 0x0f0ff0f0u, 0x7fffffffu};
  for (std::uint32_t bytes = 1; bytes <= 16; bytes *= 2)
    for (const std::uint32_t mask : masks)
      for (std::uint64_t stride = 0; stride <= 36; ++stride) {
        expect_same(strided(1024 + bytes, stride * bytes), mask, bytes);
        for (std::uint64_t group = 2; group <= 16; group *= 2) {
          LaneAddresses tile;
          for (std::uint64_t lane = 0; lane < 32; ++lane) tile[lane] = bytes * (lane / group * stride + lane % group);
          expect_same(tile, mask, bytes);
          for (std::uint64_t lane = 0; lane < 32; ++lane) tile[lane] = bytes * (lane / group + lane % group * stride);
          expect_same(tile, mask, bytes);
        }
        if (HasFatalFailure()) return;
      }
}

TEST(Counts, EqualTheSlowOnesAtRandom) {
  constexpr std::uint32_t kSeed = 20261;
  SCOPED_TRACE("seed 20261");
  std::mt19937 random(kSeed);
  for (int round = 0; round < 6000; ++round) {
    const std::uint32_t bytes = 1u << random() % 5;
    const std::uint64_t range = 1ull << (1 + random() % 9);
    const std::uint32_t mask = random() % 3 == 0 ? ~0u : random() & random();
    LaneAddresses addresses;
    for (std::uint64_t& address : addresses) address = 512 + random() % range * bytes;
    if (random() % 4 == 0)
      for (std::uint32_t lane = 0; lane < 32; ++lane) addresses[lane] = addresses[lane & ~(1u + random() % 2)];
    expect_same(addresses, mask, bytes);
    if (HasFatalFailure()) return;
  }
}

TEST(Memo, CountsAsIfItRememberedNothing) {
  SCOPED_TRACE("seed 9");
  std::mt19937 random(9);
  SectorMemo sectors;
  WavefrontMemo wavefronts;
  LaneAddresses addresses = strided(4096, 4);
  std::uint32_t mask = ~0u, bytes = 4;
  for (int round = 0; round < 20000; ++round) {
    switch (random() % 12) {
      case 0: bytes = 1u << random() % 5; addresses = strided(4096, random() % 40 * bytes); break;
      case 1: mask = random() % 2 != 0 ? ~0u : random(); break;
      case 2: addresses[random() % 32] = 4096 + random() % 64 * bytes; break;
      default: {
        const std::uint64_t distances[] = {0, 32, 64, 128, 256, 16, std::uint64_t{0} - 32};
        for (const std::uint64_t distance = distances[random() % 7]; std::uint64_t& address : addresses) address += distance;
      }
    }
    const SectorCount a = sectors.count(addresses, mask, bytes), b = count_sectors(addresses, mask, bytes);
    ASSERT_EQ(a.sectors, b.sectors);
    ASSERT_EQ(a.ideal, b.ideal);
    ASSERT_EQ(a.distinct_bytes, b.distinct_bytes);
    const WavefrontCount c = wavefronts.count(addresses, mask, bytes), d = count_wavefronts(addresses, mask, bytes);
    ASSERT_EQ(c.wavefronts, d.wavefronts);
    ASSERT_EQ(c.ideal, d.ideal);
  }
}

ObservedRequest column_of(std::uint32_t pitch_bytes, std::uint32_t bytes) {
  return {strided(64, pitch_bytes), ~0u, bytes};
}

TEST(Padding, AColumnOfASquareTileNeedsOneWord) {
  const ObservedRequest column = column_of(128, 4);
  EXPECT_EQ(smallest_padding({&column, 1}, 64, 128), 4u);
}

TEST(Padding, NoneIsNeededWhereNothingConflicts) {
  const ObservedRequest row{strided(0, 4), ~0u, 4};
  EXPECT_EQ(smallest_padding({&row, 1}, 0, 128), 0u);
}

TEST(Padding, KeepsTheAlignmentOfTheWidestAccess) {
  const ObservedRequest column = column_of(512, 16);
  EXPECT_EQ(smallest_padding({&column, 1}, 64, 512), 16u);
}

TEST(Padding, TwoRowsOf16PaddedTo17NeedAPitchOf48Words) {
  const ObservedRequest rows{two_rows_of_16(17), ~0u, 4};
  EXPECT_EQ(smallest_padding({&rows, 1}, 0, 68), 124u);  // 17 + 31 words: row 1 starts at bank 16
}

TEST(Padding, IsNotFoundWhereOneRowConflictsWithItself) {
  const ObservedRequest row{strided(0, 128), ~0u, 4};
  EXPECT_EQ(smallest_padding({&row, 1}, 0, 32 * 128), std::nullopt);
  EXPECT_EQ(smallest_padding({&row, 1}, 0, 0), std::nullopt);
}

}  // namespace
}  // namespace kforge::emulator
