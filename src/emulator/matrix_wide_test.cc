// Tiles in 512-bit registers against those of matrix_kernel.inc, bit for bit: every type, model and accumulator, over whole numbers, fractions,
// wide ranges, subnormal values and infinities.
#include "emulator/matrix_wide.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "emulator/formats.h"

namespace kforge::emulator {
namespace {

using ptx::Type;

enum class Values { whole, mixed, fractions, near, wide, edges, bits };
constexpr Values kAll[] = {Values::whole, Values::mixed, Values::fractions, Values::near, Values::wide, Values::edges, Values::bits};

float draw(Values values, std::mt19937& random, bool accumulator) {
  const auto uniform = [&](float low, float high) { return std::uniform_real_distribution<float>(low, high)(random); };
  const float sign = random() % 2 == 0 ? 1.0f : -1.0f;
  switch (values) {
    case Values::whole: return sign * static_cast<float>(random() % (accumulator ? 3000 : 5));
    case Values::mixed: return accumulator ? uniform(-900, 900) : sign * static_cast<float>(random() % 3);
    case Values::fractions: return uniform(-1, 1);
    case Values::near: return sign * (1.0f + static_cast<float>(random() % 4) * 0x1p-7f);
    case Values::wide: return random() % 5 == 0 ? 0.0f : sign * std::ldexp(uniform(1, 2), static_cast<int>(random() % 30) - 18);
    default: {
      constexpr float kEdges[] = {0.0f, 65504.0f, 0x1p-24f, 0x1.8p-15f, 0x1p-14f, 1.0f, 0x1p-40f, 0x1p60f, std::numeric_limits<float>::infinity()};
      return sign * kEdges[random() % (random() % 16 == 0 ? 9 : 6)];
    }
  }
}

std::uint32_t encode(Type type, float x) {
  if (type == Type::f16) return static_cast<std::uint32_t>(encode_format(x, kF16));
  if (type == Type::bf16) return std::bit_cast<std::uint32_t>(x) >> 16;
  return std::bit_cast<std::uint32_t>(x);
}

struct Slot { alignas(64) std::byte bytes[256]; };

void fill(Slot& slot, Type type, Values values, std::mt19937& random, bool accumulator) {
  std::uint32_t words[64];
  for (std::uint32_t& word : words) {
    word = static_cast<std::uint32_t>(random());
    if (values == Values::bits || type == Type::s8 || type == Type::u8 || type == Type::s32) continue;
    word = encode(type, draw(values, random, accumulator));
    if (type == Type::f16 || type == Type::bf16) word |= encode(type, draw(values, random, accumulator)) << 16;
  }
  std::memcpy(slot.bytes, words, sizeof words);
  if (type != Type::f64 || values == Values::bits) return;
  double doubles[32];
  for (double& x : doubles) x = draw(values, random, accumulator) / 3.0;
  std::memcpy(slot.bytes, doubles, sizeof doubles);
}

struct Case { Type a, b; std::uint32_t k; Type c, d; };
constexpr Case kCases[] = {
    {Type::f16, Type::f16, 8, Type::f32, Type::f32}, {Type::f16, Type::f16, 16, Type::f32, Type::f32}, {Type::f16, Type::f16, 16, Type::f16, Type::f16},
    {Type::f16, Type::f16, 16, Type::f16, Type::f32}, {Type::f16, Type::f16, 8, Type::f32, Type::f16}, {Type::bf16, Type::bf16, 16, Type::f32, Type::f32},
    {Type::bf16, Type::bf16, 8, Type::f32, Type::f32}, {Type::tf32, Type::tf32, 8, Type::f32, Type::f32}, {Type::s8, Type::u8, 16, Type::s32, Type::s32},
    {Type::u8, Type::s8, 32, Type::s32, Type::s32}, {Type::s8, Type::s8, 32, Type::s32, Type::s32}, {Type::u8, Type::u8, 16, Type::s32, Type::s32},
    {Type::f64, Type::f64, 4, Type::f64, Type::f64}, {Type::f64, Type::f64, 16, Type::f64, Type::f64},
};

struct Outcome { std::uint64_t done = 0, all = 0; };

using Way = std::uint32_t (*)(const MatrixTile&, std::uint32_t);

// Rounds of one case; the tiles that the wide way took are equal.
Outcome compare(Way way_of_registers, const Case& one, int sm, std::uint32_t halves, Values values, std::mt19937& random) {
  Outcome outcome;
  for (int round = 0; round < 12; ++round) {
    Slot a[8], b[4], c[4], d[2][4];
    const std::byte *pa[8], *pb[4], *pc[4];
    std::byte* pd[2][4];
    for (std::size_t i = 0; i < 8; ++i) fill(a[i], one.a, values, random, false), pa[i] = a[i].bytes;
    for (std::size_t i = 0; i < 4; ++i) {
      fill(b[i], one.b, values, random, false), fill(c[i], one.c, values, random, true);
      pb[i] = b[i].bytes, pc[i] = c[i].bytes;
      for (std::size_t way = 0; way < 2; ++way) std::memset(d[way][i].bytes, 0x5a, 256), pd[way][i] = d[way][i].bytes;
    }
    MatrixTile tile{.a = pa, .b = pb, .c = pc, .d = pd[0], .halves = halves, .k = one.k, .a_type = one.a, .b_type = one.b, .model = tensor_model(sm, one.a)};
    tile.written = round % 4 == 3 ? static_cast<std::uint32_t>(random()) : 0xffffffffu;
    tile.c_is_half = one.c == Type::f16;
    tile.d_is_half = one.d == Type::f16;
    tile.satfinite = one.c == Type::s32 && round % 2 == 0;
    ++outcome.all;
    if (way_of_registers(tile, 1) == 0) continue;
    ++outcome.done;
    tile.d = pd[1];
    baseline::multiply_tile(tile);
    for (std::size_t i = 0; i < 4; ++i)
      if (std::memcmp(d[0][i].bytes, d[1][i].bytes, 256) != 0) {
        std::string words;
        for (std::size_t j = 0; j < 64; ++j) {
          std::uint32_t x, y;
          std::memcpy(&x, d[0][i].bytes + 4 * j, 4), std::memcpy(&y, d[1][i].bytes + 4 * j, 4);
          if (x != y) words += std::to_string(j) + ": " + std::to_string(x) + " for " + std::to_string(y) + "; ";
        }
        ADD_FAILURE() << "a " << ptx::name(one.a) << " k " << one.k << " d " << ptx::name(one.d) << " sm " << sm << " values " << static_cast<int>(values) << " register " << i << ": " << words;
        return outcome;
      }
  }
  return outcome;
}

void compare_all(Way way) {
  std::mt19937 random(20250731);
  for (const Case& one : kCases)
    for (int sm : {80, 90})
      for (std::uint32_t halves : {1u, 2u})
        for (Values values : kAll) {
          const Outcome outcome = compare(way, one, sm, halves, values, random);
          if (testing::Test::HasFailure()) return;
          const bool known = one.a != Type::tf32 || sm == 90;   // blocks of 4 on sm_80
          const bool overflows = one.d == Type::f16 && values == Values::wide;   // an infinity in the next block
          const bool all = known && values != Values::edges && values != Values::bits && !overflows;
          EXPECT_TRUE(outcome.done == outcome.all || !all) << ptx::name(one.a) << " " << static_cast<int>(values) << ": " << outcome.done << " of " << outcome.all;
          EXPECT_TRUE(outcome.done == 0 || known);
        }
}

TEST(MatrixWide, GivesTheBitsOfTheOtherWaysInRegistersOfAvx512) {
  if (!has_avx512()) GTEST_SKIP() << "this machine has no AVX-512";
  compare_all(&avx512::multiply_tiles);
}

TEST(MatrixWide, GivesTheBitsOfTheOtherWaysInRegistersOfAvx2) {
  if (!has_avx2_fma()) GTEST_SKIP() << "this machine has no AVX2 with FMA and F16C";
  compare_all(&avx2::multiply_tiles);
}

TEST(MatrixWide, IsAskedForTypesThatItKnowsOnly) {
  MatrixTile tile{};
  for (const Case& one : kCases) {
    tile.a_type = one.a, tile.k = one.k;
    EXPECT_TRUE(knows(tile)) << ptx::name(one.a);
  }
  for (const Type type : {Type::e4m3, Type::e5m2, Type::b1, Type::u4, Type::s4}) {
    tile.a_type = type, tile.k = 32;
    EXPECT_FALSE(knows(tile)) << ptx::name(type);
  }
}

}  // namespace
}  // namespace kforge::emulator
