// The memory shadow beside a byte-by-byte model, and the register rules beside what undefined bytes can do to a result.
#include "emulator/shadow.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace kforge::emulator {
namespace {

LaneAddresses consecutive(std::uint64_t base, std::uint64_t bytes) {
  LaneAddresses result;
  for (std::uint64_t lane = 0; lane < 32; ++lane) result[lane] = base + lane * bytes;
  return result;
}

UndefinedBytes undefined(std::uint32_t bytes, std::uint32_t lanes, OriginId origin) {
  UndefinedBytes result;
  for (std::uint32_t i = 0; i < bytes; ++i) result.lanes[i] = lanes;
  result.origin = origin;
  return result;
}

TEST(ByteShadow, IsCompleteOnceEveryByteWasWritten) {
  ByteShadow shadow(300);
  EXPECT_FALSE(shadow.all_written(consecutive(0, 4), ~0u, 4));
  for (std::uint64_t base = 0; base < 256; base += 128) shadow.mark_written(consecutive(base, 4), ~0u, 4);
  EXPECT_TRUE(shadow.all_written(consecutive(128, 4), ~0u, 4));
  EXPECT_FALSE(shadow.complete());
  shadow.mark_range(256, 44, true);
  EXPECT_TRUE(shadow.complete());
}

TEST(ByteShadow, AnEmptyWindowIsComplete) { EXPECT_TRUE(ByteShadow(0).complete()); }

TEST(ByteShadow, NamesTheFirstUnwrittenByte) {
  ByteShadow shadow(256);
  shadow.mark_written(consecutive(0, 4), 0x7, 4);
  const auto first = shadow.first_unwritten(consecutive(0, 4), 0xf, 4);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->lane, 3u);
  EXPECT_EQ(first->offset, 12u);
}

TEST(ByteShadow, StoredUndefinedBytesKeepTheirOriginUntilOverwritten) {
  ByteShadow shadow(128);
  shadow.mark_range(0, 128, true);
  shadow.mark_stored(consecutive(0, 4), 2, 0, 4, undefined(4, 2, 7));
  EXPECT_FALSE(shadow.complete());
  EXPECT_EQ(shadow.unwritten(consecutive(0, 4), ~0u, 0, 4), undefined(4, 2, 7));
  shadow.mark_written(consecutive(0, 4), 2, 4);
  EXPECT_TRUE(shadow.complete());
}

// One step of the model: which bytes are written, and the origin of stored undefined ones.
struct Model {
  std::vector<bool> written;
  std::vector<OriginId> origin;
};

template <class Shadow>
void compare_at_random(std::uint32_t seed, std::uint64_t size, std::uint64_t base, Shadow& shadow) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Model model{std::vector<bool>(size), std::vector<OriginId>(size)};
  for (int step = 0; step < 4000; ++step) {
    const std::uint32_t bytes = 1u << random() % 4;
    const std::uint32_t mask = random() % 2 != 0 ? ~0u : random();
    LaneAddresses offsets = consecutive(random() % ((size - 32 * bytes) / bytes + 1) * bytes, bytes);
    if (random() % 2 != 0)
      for (std::uint64_t& offset : offsets) offset = random() % (size / bytes) * bytes;
    LaneAddresses addresses = offsets;
    for (std::uint64_t& address : addresses) address += base;
    const std::uint32_t undefined_lanes = random() % 4 != 0 ? 0 : random() & random();
    if (random() % 8 == 0) {
      const UndefinedBytes value = undefined(bytes, undefined_lanes, 1 + random() % 5);
      shadow.store(addresses, mask, bytes, value);
      for (std::uint32_t lane = 0; lane < 32; ++lane)
        for (std::uint64_t i = offsets[lane]; (mask >> lane & 1) && i < offsets[lane] + bytes; ++i) {
          model.written[i] = (undefined_lanes >> lane & 1) == 0;
          model.origin[i] = model.written[i] ? 0 : value.origin;
        }
    }
    UndefinedBytes expected;
    bool all = true;
    for (std::uint32_t lane = 0; lane < 32; ++lane)
      for (std::uint32_t i = 0; (mask >> lane & 1) && i < bytes; ++i)
        if (!model.written[offsets[lane] + i]) {
          all = false;
          expected.lanes[i] |= 1u << lane;
        }
    ASSERT_EQ(shadow.all_written(addresses, mask, bytes), all);
    const UndefinedBytes found = shadow.unwritten(addresses, mask, bytes);
    ASSERT_EQ(found.lanes, expected.lanes);
    ASSERT_EQ(shadow.first(addresses, mask, bytes).has_value(), !all);
  }
}

TEST(ByteShadow, EqualsTheModelAtRandom) {
  struct Window {
    ByteShadow shadow;
    void store(const LaneAddresses& a, std::uint32_t mask, std::uint32_t bytes, const UndefinedBytes& value) {
      if ((value.any() & mask) == 0) shadow.mark_written(a, mask, bytes);
      else shadow.mark_stored(a, mask, 0, bytes, value);
    }
    bool all_written(const LaneAddresses& a, std::uint32_t m, std::uint32_t b) const { return shadow.all_written(a, m, b); }
    UndefinedBytes unwritten(const LaneAddresses& a, std::uint32_t m, std::uint32_t b) const { return shadow.unwritten(a, m, 0, b); }
    auto first(const LaneAddresses& a, std::uint32_t m, std::uint32_t b) const { return shadow.first_unwritten(a, m, b); }
  };
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    Window window{ByteShadow(712)};
    compare_at_random(seed, 712, 0, window);
  }
}

TEST(GlobalShadow, EqualsTheModelAtRandom) {
  struct Window {
    GlobalShadow shadow;
    Allocation allocation;
    void store(const LaneAddresses& a, std::uint32_t mask, std::uint32_t bytes, const UndefinedBytes& value) {
      if ((value.any() & mask) == 0) shadow.mark_written(allocation, a, mask, bytes);
      else shadow.mark_stored(allocation, a, mask, 0, bytes, value);
    }
    bool all_written(const LaneAddresses& a, std::uint32_t m, std::uint32_t b) const {
      return GlobalShadow::all_written(allocation, a, m, b);
    }
    UndefinedBytes unwritten(const LaneAddresses& a, std::uint32_t m, std::uint32_t b) const {
      return shadow.unwritten(allocation, a, m, 0, b);
    }
    auto first(const LaneAddresses& a, std::uint32_t m, std::uint32_t b) const {
      return shadow.first_unwritten(allocation, a, m, b);
    }
  };
  for (std::uint32_t seed = 5; seed <= 8; ++seed) {
    Window window;
    window.allocation.base = kDeviceOffset + 4096;
    window.allocation.size = 712;
    compare_at_random(seed, 712, window.allocation.base, window);
  }
}

Allocation fresh(Address base, std::uint64_t size) {
  Allocation allocation;
  allocation.base = base;
  allocation.size = size;
  return allocation;
}

TEST(GlobalShadow, AnOutputIsUndefinedOnlyWhereUndefinedBytesWereStored) {
  GlobalShadow shadow;
  Allocation y = fresh(kDeviceOffset, 1024);
  EXPECT_FALSE(shadow.first_undefined_output(y, 0, 1024).has_value());  // never stored: coverage's matter
  shadow.mark_stored(y, consecutive(y.base + 128, 4), 0x10, 0, 4, undefined(4, 0x10, 3));
  const auto output = shadow.first_undefined_output(y, 0, 1024);
  ASSERT_TRUE(output.has_value());
  EXPECT_EQ(output->offset, 144u);
  EXPECT_EQ(output->origin, 3u);
  EXPECT_FALSE(shadow.first_undefined_output(y, 148, 100).has_value());
  shadow.mark_written(y, consecutive(y.base + 128, 4), ~0u, 4);
  EXPECT_FALSE(shadow.first_undefined_output(y, 0, 1024).has_value());
}

TEST(GlobalShadow, CopiesCarryBitsAndOrigins) {
  GlobalShadow shadow;
  Allocation from = fresh(kDeviceOffset, 512), to = fresh(kDeviceOffset + 4096, 512);
  to.all_initialised = true;
  shadow.mark_written(from, consecutive(from.base, 4), ~0u, 4);
  shadow.mark_stored(from, consecutive(from.base, 4), 1, 0, 4, undefined(4, 1, 9));
  shadow.copy_shadow(to, 100, from, 0, 132);
  EXPECT_TRUE(GlobalShadow::all_written(to, consecutive(to.base + 104, 1), ~0u, 1));
  const auto output = shadow.first_undefined_output(to, 0, 512);
  ASSERT_TRUE(output.has_value());
  EXPECT_EQ(output->offset, 100u);
  EXPECT_EQ(output->origin, 9u);
  EXPECT_EQ(shadow.first_unwritten(to, consecutive(to.base + 200, 4), ~0u, 4)->offset, to.base + 228);
}

TEST(OriginTable, KeepsTheFirstOfEachPlace) {
  OriginTable table;
  const OriginId first = table.add({5, ShadowSpace::shared, 16, 0, 1});
  EXPECT_EQ(table.add({5, ShadowSpace::shared, 99, 2, 3}), first);
  EXPECT_NE(table.add({5, ShadowSpace::global, 99, 2, 3}), first);
  EXPECT_EQ(table[first].address, 16u);
}

TEST(WarpShadow, KnowsWhenNothingIsUndefined) {
  WarpShadow warp(4);
  EXPECT_FALSE(warp.any());
  warp.assign(2, undefined(4, 0xff, 1), 0x0f);
  EXPECT_TRUE(warp.any());
  EXPECT_EQ(warp[2].any(), 0x0fu);
  warp.assign(2, {}, 0x07);
  EXPECT_EQ(warp[2].any(), 0x08u);
  EXPECT_EQ(warp[2].origin, 1u);
  warp.assign(2, {}, ~0u);
  EXPECT_FALSE(warp.any());
}

// ---- rules: whatever the undefined bytes hold, a byte that the rule calls defined must not change ----

using Values = std::array<std::uint64_t, 32>;
struct Operand {
  Values values{};
  UndefinedBytes undefined;
  ShadowOperand view() const { return {&undefined, values.data()}; }
};

std::uint64_t width_mask(std::uint32_t bytes) { return bytes == 8 ? ~0ull : (1ull << 8 * bytes) - 1; }

Operand random_operand(std::mt19937_64& random, std::uint32_t bytes) {
  Operand result;
  for (std::uint64_t& value : result.values) {
    value = random() & width_mask(bytes);
    for (std::uint32_t i = 0; i < bytes; ++i)
      if (random() % 3 == 0) value = random() % 2 ? value | 0xffull << 8 * i : value & ~(0xffull << 8 * i);
  }
  for (std::uint32_t i = 0; i < bytes; ++i) result.undefined.lanes[i] = static_cast<std::uint32_t>(random() & random());
  result.undefined.origin = 1;
  return result;
}

// Gives the undefined bytes other values.
Values disturbed(const Operand& operand, std::mt19937_64& random) {
  Values result = operand.values;
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    for (std::uint32_t i = 0; i < 8; ++i)
      if (operand.undefined.lanes[i] >> lane & 1) result[lane] ^= (random() & 0xff) << 8 * i;
  return result;
}

using Function = std::function<std::uint64_t(std::uint64_t, std::uint64_t)>;
using Rule = std::function<UndefinedBytes(const Operand&, const Operand&)>;

void expect_sound(const char* what, std::uint32_t bytes, const Function& function, const Rule& rule) {
  SCOPED_TRACE(what);
  std::mt19937_64 random(77);
  for (int round = 0; round < 60; ++round) {
    const Operand a = random_operand(random, bytes), b = random_operand(random, bytes);
    const UndefinedBytes result = rule(a, b);
    for (int other = 0; other < 20; ++other) {
      const Values a2 = disturbed(a, random), b2 = disturbed(b, random);
      for (std::uint32_t lane = 0; lane < 32; ++lane) {
        const std::uint64_t changed = function(a.values[lane], b.values[lane]) ^ function(a2[lane], b2[lane]);
        for (std::uint32_t i = 0; i < 8; ++i)
          if ((changed >> 8 * i & 0xff) != 0) {
            ASSERT_TRUE(result.lanes[i] >> lane & 1) << "byte " << i;
          }
      }
    }
  }
}

TEST(Rules, AreSound) {
  for (const std::uint32_t bytes : {2u, 4u, 8u}) {
    const std::uint64_t width = width_mask(bytes);
    const auto both = [](const Operand& a, const Operand& b) { return std::array{a.view(), b.view()}; };
    expect_sound("and", bytes, [](auto a, auto b) { return a & b; },
                 [&](auto& a, auto& b) { return propagate_and(a.view(), b.view(), bytes); });
    expect_sound("or", bytes, [](auto a, auto b) { return a | b; },
                 [&](auto& a, auto& b) { return propagate_or(a.view(), b.view(), bytes); });
    expect_sound("xor", bytes, [](auto a, auto b) { return a ^ b; },
                 [&](auto& a, auto& b) { return propagate_bytewise(both(a, b), bytes); });
    expect_sound("add", bytes, [=](auto a, auto b) { return (a + b) & width; },
                 [&](auto& a, auto& b) { return propagate_all(both(a, b), bytes); });
    for (std::uint32_t amount = 0; amount <= 8 * bytes; ++amount) {
      expect_sound("shl", bytes, [=](auto a, auto) { return amount >= 64 ? 0 : (a << amount) & width; },
                   [&](auto& a, auto&) { return propagate_shift_left(a.view(), amount, bytes); });
      expect_sound("shr", bytes, [=](auto a, auto) { return amount >= 64 ? 0 : a >> amount; },
                   [&](auto& a, auto&) { return propagate_shift_right(a.view(), amount, false, bytes); });
      const auto sign_shift = [=](std::uint64_t a, std::uint64_t) {
        const auto wide = static_cast<std::int64_t>(a << (64 - 8 * bytes)) >> (64 - 8 * bytes);
        return static_cast<std::uint64_t>(wide >> std::min(amount, 63u)) & width;
      };
      expect_sound("sar", bytes, sign_shift,
                   [&](auto& a, auto&) { return propagate_shift_right(a.view(), amount, true, bytes); });
    }
  }
}

TEST(Rules, AZeroByteDefinesAnAnd) {
  Operand a, mask;
  a.undefined = undefined(4, ~0u, 2);
  mask.values.fill(0x0000ff00);
  const UndefinedBytes result = propagate_and(a.view(), mask.view(), 4);
  EXPECT_EQ(result.lanes[0], 0u);
  EXPECT_EQ(result.lanes[1], ~0u);
  EXPECT_EQ(result.origin, 2u);
}

TEST(Rules, MovesPacksAndShufflesKeepBytesApart) {
  Operand low, high;
  high.undefined.lanes[1] = 0x3;
  high.undefined.origin = 4;
  const ShadowOperand parts[] = {low.view(), high.view()};
  const UndefinedBytes packed = propagate_pack(parts, 4);
  EXPECT_EQ(packed.lanes[5], 0x3u);
  EXPECT_EQ(packed.origin, 4u);
  EXPECT_EQ(propagate_unpack({&packed, nullptr}, 0, 4).any(), 0u);
  EXPECT_EQ(propagate_unpack({&packed, nullptr}, 1, 4), high.undefined);
  EXPECT_EQ(propagate_move({&packed, nullptr}, 8, 4).any(), 0u);
  EXPECT_EQ(propagate_sign_extend(high.view(), 2, 4).lanes[3], 0x3u);
  std::array<std::uint8_t, 32> reversed;
  for (std::uint8_t lane = 0; lane < 32; ++lane) reversed[lane] = 31 - lane;
  EXPECT_EQ(propagate_shuffle(high.view(), reversed, 4).lanes[1], 0xc0000000u);
  EXPECT_EQ(propagate_permute(low.view(), high.view(), 0x5015).lanes[0], 0x3u);
  EXPECT_EQ(propagate_permute(low.view(), high.view(), 0x5015).lanes[1], 0u);
}

TEST(Rules, ASelectTakesWhatItChooses) {
  Operand a, b;
  a.undefined = undefined(4, 0xf0, 1);
  b.undefined = undefined(4, 0x0f, 2);
  EXPECT_EQ(propagate_select(a.view(), b.view(), 0x0f, nullptr, 4).any(), 0u);
  EXPECT_EQ(propagate_select(a.view(), b.view(), 0xf0, nullptr, 4).any(), 0xffu);
  UndefinedBytes predicate;
  predicate.lanes[0] = 0x100;
  predicate.origin = 3;
  EXPECT_EQ(propagate_select(a.view(), b.view(), 0x0f, &predicate, 4), undefined(4, 0x100, 3));
}

}  // namespace
}  // namespace kforge::emulator
