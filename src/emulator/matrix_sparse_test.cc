// mma.sp: every row of the table on both engines, and one product by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "emulator/formats.h"
#include "emulator/matrix_sparse.h"
#include "emulator/twin.h"
#include "ptx/form.h"

namespace kforge::emulator {
namespace {

using ptx::Type;

struct Sparse { std::string spelling; Type a, c; std::uint32_t count_d, count_a, count_b; std::uint32_t selectors; };

// Every spelling of the rows of mma.sp.
std::vector<Sparse> spellings() {
  std::vector<Sparse> all;
  for (std::uint16_t i = 0; i < ptx::instruction_table().size(); ++i) {
    const ptx::Form& form = ptx::instruction_table()[i];
    if (!form.id.starts_with("mma_sp_") || form.exec != ptx::Exec::mma) continue;
    const ptx::CompiledForm& compiled = ptx::compiled_form(i);
    const std::string shape(form.syntax.substr(form.syntax.find("<.m") + 1, form.syntax.find('>', form.syntax.find("<.m")) - form.syntax.find("<.m") - 1));
    const auto first_type = [&](std::size_t slot) {
      for (std::uint8_t t = 0; t <= static_cast<std::uint8_t>(Type::b1); ++t)
        if (compiled.types[slot].takes(static_cast<Type>(t))) return static_cast<Type>(t);
      return Type::none;
    };
    for (std::uint8_t a = 0; a <= static_cast<std::uint8_t>(Type::b1); ++a)
      for (std::uint8_t b = 0; b <= static_cast<std::uint8_t>(Type::b1); ++b) {
        if (!compiled.types[1].takes(static_cast<Type>(a)) || !compiled.types[2].takes(static_cast<Type>(b))) continue;
        const Type d = first_type(0);
        const std::string word = form.id.find("ordered") != std::string_view::npos ? "sp::ordered_metadata" : "sp";
        const bool integer = !ptx::is_float(d);
        const std::uint32_t bits = static_cast<Type>(a) == Type::tf32 ? 32 : ptx::size_bits(static_cast<Type>(a));
        const auto k = static_cast<std::uint32_t>(std::stoul(shape.substr(shape.rfind('k') + 1)));
        const std::uint32_t chunks = k / (bits == 32 ? 2 : bits == 4 ? 8 : 4);
        for (const bool saturates : {false, true}) {
          if (saturates && !integer) continue;
          all.push_back({fmt::format("mma.{}.sync.aligned{}.row.col{}.{}.{}.{}.{}", word, shape, saturates ? ".satfinite" : "", name(d), name(static_cast<Type>(a)), name(static_cast<Type>(b)), name(d)),
                         static_cast<Type>(a), d, compiled.operands[0].count, compiled.operands[1].count, compiled.operands[2].count, chunks == 4 ? 4u : chunks == 8 ? 2u : 1u});
        }
      }
  }
  return all;
}

// Small whole numbers: their sums are exact, whatever a tensor core's order and width of adding.
std::uint32_t random_word(std::mt19937& random, Type type) {
  const auto whole = [&] { return static_cast<double>(static_cast<int>(random() % 9) - 4); };
  const auto packed = [&](const Format& format, std::uint32_t bits) {
    std::uint32_t word = 0;
    for (std::uint32_t at = 0; at < 32; at += bits) word |= encode_format(whole(), format) << at;
    return word;
  };
  switch (type) {
    case Type::f32: case Type::tf32: return std::bit_cast<std::uint32_t>(static_cast<float>(whole()));
    case Type::f16: return packed(kF16, 16);
    case Type::bf16: return packed(kBf16, 16);
    case Type::e4m3: return packed(kE4m3, 8);
    case Type::e5m2: return packed(kE5m2, 8);
    default: return random();
  }
}

// Two different places of four, the lower first; tf32 has two values.
std::uint32_t random_metadata(std::mt19937& random, Type type) {
  constexpr std::uint32_t kPairs[] = {0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110};
  std::uint32_t word = 0;
  for (int chunk = 0; chunk < 8; ++chunk) word |= (type == Type::tf32 ? (random() % 2 == 0 ? 0b1110u : 0b0100u) : kPairs[random() % 6]) << 4 * chunk;
  return word;
}

std::string list(const char* prefix, std::uint32_t first, std::uint32_t count) {
  std::string text = "{";
  for (std::uint32_t i = 0; i < count; ++i) text += fmt::format("{}{}{}", i == 0 ? "" : ", ", prefix, first + i);
  return text + "}";
}

TEST(MatrixSparse, EveryRowAgreesWithTheReference) {
  std::mt19937 random(17);
  const std::vector<Sparse> all = spellings();
  ASSERT_GE(all.size(), 40u);
  for (const Sparse& s : all)
    for (std::uint32_t selector = 0; selector < s.selectors; ++selector) {
      std::string body = "mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [p]; mad.wide.u32 %rd1, %r1, 64, %rd1; ld.param.u64 %rd2, [q]; mad.wide.u32 %rd2, %r1, 16, %rd2;\n";
      for (std::uint32_t k = 0; k < 16; ++k) body += fmt::format("ld.global.b32 %r{}, [%rd1+{}];\n", 4 + k, 4 * k);
      body += fmt::format("{} {}, {}, {}, {}, %r16, {};\n", s.spelling, list("%r", 20, s.count_d), list("%r", 4, s.count_a), list("%r", 8, s.count_b), list("%r", 12, s.count_d), selector);
      for (std::uint32_t k = 0; k < s.count_d; ++k) body += fmt::format("st.global.b32 [%rd2+{}], %r{};\n", 4 * k, 20 + k);
      Twin twin(body + "ret;");
      std::vector<std::uint32_t> words(32 * 16);
      for (std::uint32_t lane = 0; lane < 32; ++lane)
        for (std::uint32_t k = 0; k < 16; ++k) words[lane * 16 + k] = k == 12 ? random_metadata(random, s.a) : random_word(random, k >= 8 && k < 12 ? s.c : s.a);
      const auto in = twin.buffer(words), out = twin.buffer(std::vector<std::uint32_t>(32 * 4));
      twin.launch(in, out, 0, 32);
      twin.expect_same(out, fmt::format("{} selector {}", s.spelling, selector));
    }
}

// A has one element 1 a row, in column r % 16; B[k][n] = 16 n + k: D[r][n] = 16 n + r % 16.
TEST(MatrixSparse, AnIdentityPicksTheRowsOfB) {
  TestDevice device;
  device.load_body("mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [p]; mad.wide.u32 %rd1, %r1, 32, %rd1; ld.param.u64 %rd2, [q]; mad.wide.u32 %rd2, %r1, 16, %rd2;\n"
                   "ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%rd1]; ld.global.b32 %r8, [%rd1+16]; mov.f32 %f1, 0f00000000;\n"
                   "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f4, %f5, %f6, %f7}, {%r4, %r5}, {%r6, %r7}, {%f1, %f1, %f1, %f1}, %r8, 2;\n"
                   "st.global.v4.f32 [%rd2], {%f4, %f5, %f6, %f7}; ret;");
  const auto half = [](std::uint32_t n) {   // n below 2048, as f16
    if (n == 0) return 0u;
    const auto top = static_cast<std::uint32_t>(std::bit_width(n)) - 1;
    return (top + 15) << 10 | (n << (10 - top) & 0x3ff);
  };
  std::vector<std::uint32_t> words(32 * 8);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t g = lane / 4, t = lane % 4;
    // Chunk c of row r holds columns 4c + 1 and 4c + 3, or 4c and 4c + 2: the element is in the slot that stands for r's column.
    for (std::uint32_t upper = 0; upper < 2; ++upper) {
      const std::uint32_t column = g + 8 * upper, chunk = column / 4, slot = column % 4 / 2;
      if (chunk == t) words[lane * 8 + upper] = 0x3c00u << 16 * slot;
      const std::uint32_t pair = column % 2 == 0 ? 0b1000u : 0b1101u;
      if (t == 2)
        for (std::uint32_t c = 0; c < 4; ++c) words[lane * 8 + 4] |= pair << (16 * upper + 4 * c);
    }
    for (std::uint32_t j = 0; j < 2; ++j) words[lane * 8 + 2 + j] = half(16 * g + 2 * t + 8 * j) | half(16 * g + 2 * t + 1 + 8 * j) << 16;
  }
  Allocation* in = device.buffer(words);
  Allocation* out = device.buffer(std::vector<float>(32 * 4));
  ASSERT_EQ(device.launch(in->base, out->base, 0, {1, 1, 1}, {32, 1, 1}).status, LaunchStatus::ok);
  const auto values = TestDevice::values<float>(out);
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint32_t row = lane / 4 + (i < 2 ? 0 : 8), column = lane % 4 * 2 + i % 2;
      EXPECT_EQ(values[4 * lane + i], static_cast<float>(16 * column + row)) << row << " " << column;
    }
}

}  // namespace
}  // namespace kforge::emulator
