// Address patterns of one warp's request, in units of the access's width: what the rules for sectors and shared-memory wavefronts are measured with.
// One list for the program that runs on the GPU (patterns.cu) and the test that reads its results (h200_test.cc): a pattern's number is its place here.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace kforge::h200 {

struct Pattern {
  std::array<std::uint32_t, 32> units{};   // lane i accesses bytes [units[i] * width, (units[i] + 1) * width)
  std::uint32_t mask = 0xffffffff;         // active lanes
};

inline constexpr std::uint32_t kUnits = 2048;       // every unit is below: 32 KiB at 16 bytes
inline constexpr std::uint32_t kPatterns = 256;     // the random ones make up the number

template <class F>
Pattern make_pattern(F unit_of_lane, std::uint32_t mask = 0xffffffff) {
  Pattern pattern;
  for (std::uint32_t lane = 0; lane < 32; ++lane) pattern.units[lane] = unit_of_lane(lane) % kUnits;
  pattern.mask = mask;
  return pattern;
}

inline void add_regular(std::vector<Pattern>& out) {
  // Broadcasts of groups of 32, 16, 8, 4 and 2 lanes, to neighbours and to units far apart; groups of lanes that interleave.
  for (const std::uint32_t group : {32u, 16u, 8u, 4u, 2u})
    for (const std::uint32_t distance : {1u, 2u, 4u, 8u, 16u, 32u}) out.push_back(make_pattern([&](std::uint32_t lane) { return lane / group * distance; }));
  for (const std::uint32_t period : {2u, 4u, 8u, 16u}) out.push_back(make_pattern([&](std::uint32_t lane) { return lane % period; }));
  // Strides, from aligned and unaligned starts.
  for (const std::uint32_t stride : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 9u, 16u, 17u, 31u, 32u, 33u, 48u, 63u}) out.push_back(make_pattern([&](std::uint32_t lane) { return lane * stride; }));
  for (const std::uint32_t start : {1u, 2u, 3u, 5u, 7u, 9u, 13u, 17u, 24u, 31u}) out.push_back(make_pattern([&](std::uint32_t lane) { return lane + start; }));
  // Descending, permuted and swapped neighbours.
  out.push_back(make_pattern([](std::uint32_t lane) { return 31 - lane; }));
  out.push_back(make_pattern([](std::uint32_t lane) { return lane * 13 % 32; }));
  for (const std::uint32_t bit : {1u, 2u, 4u, 8u, 16u}) out.push_back(make_pattern([&](std::uint32_t lane) { return lane ^ bit; }));
  // Two rows of 16 and four rows of 8 of an array whose rows are `pitch` long (s[16][17]).
  for (const std::uint32_t pitch : {16u, 17u, 20u, 24u, 32u, 33u, 48u}) {
    out.push_back(make_pattern([&](std::uint32_t lane) { return lane / 16 * pitch + lane % 16; }));
    out.push_back(make_pattern([&](std::uint32_t lane) { return lane / 8 * pitch + lane % 8; }));
    out.push_back(make_pattern([&](std::uint32_t lane) { return lane % 2 * pitch + lane / 2; }));
  }
  // A pair of lanes agrees, all lanes agree but one, lane pairs agree across each distance.
  for (const std::uint32_t bit : {1u, 2u, 4u, 8u, 16u}) out.push_back(make_pattern([&](std::uint32_t lane) { return lane & ~bit; }));
  for (const std::uint32_t bits : {3u, 5u, 6u, 9u, 10u, 12u, 17u, 24u}) out.push_back(make_pattern([&](std::uint32_t lane) { return lane & ~bits; }));
  out.push_back(make_pattern([](std::uint32_t lane) { return lane == 31 ? 40u : lane & ~1u; }));
  out.push_back(make_pattern([](std::uint32_t lane) { return lane == 0 ? 40u : 7u; }));
  // Parts of a warp.
  for (const std::uint32_t mask : {0x1u, 0x80000000u, 0xffffu, 0xffff0000u, 0xffu, 0xff00ff00u, 0x55555555u, 0xaaaaaaaau, 0x11111111u, 0x0f0f0f0fu, 0x7fffffffu, 0x00ffff00u, 0x80000001u, 0xcccccccc}) {
    out.push_back(make_pattern([](std::uint32_t lane) { return lane; }, mask));
    out.push_back(make_pattern([](std::uint32_t lane) { return lane & ~1u; }, mask));
    out.push_back(make_pattern([](std::uint32_t lane) { return lane * 8; }, mask));
    out.push_back(make_pattern([](std::uint32_t) { return 3u; }, mask));
  }
}

// Random units of a range, with agreeing pairs, groups and holes at random.
inline void add_random(std::vector<Pattern>& out) {
  std::uint64_t state = 20261;
  const auto random = [&] { return static_cast<std::uint32_t>((state = state * 6364136223846793005u + 1442695040888963407u) >> 33); };
  while (out.size() < kPatterns) {
    const std::uint32_t range = 1u << (2 + random() % 8), kind = random() % 6, all = random() % 3;
    Pattern pattern;
    for (std::uint32_t& unit : pattern.units) unit = random() % range;
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      if (kind == 1) pattern.units[lane] = pattern.units[lane & ~1u];
      if (kind == 2) pattern.units[lane] = pattern.units[lane & ~2u];
      if (kind == 3) pattern.units[lane] = pattern.units[lane & ~3u];
    }
    pattern.mask = all != 0 ? 0xffffffff : random() << 1 ^ random();
    if (pattern.mask == 0) continue;
    out.push_back(pattern);
  }
}

inline std::vector<Pattern> all_patterns() {
  std::vector<Pattern> out;
  add_regular(out);
  add_random(out);
  return out;
}

}  // namespace kforge::h200
