// Conversions against a slow oracle: all values of a format, sorted, and the nearest of them, ties to the even code.
#include "task/dtype_convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace kforge::task {
namespace {


// decode(code) is increasing over the finite non-negative codes, so rounding is a choice between neighbours.
void check_format(Dtype dtype) {
  const auto& format = row(dtype).format;
  std::vector<double> values;
  for (std::uint32_t code = 0; code < (1u << (format.exponent_bits + format.mantissa_bits)); ++code) {
    const double value = decode_bits(format, code);
    if (!std::isfinite(value)) break;
    if (!values.empty()) { ASSERT_LT(values.back(), value); }
    values.push_back(value);
    ASSERT_EQ(encode_bits(format, value), code);
    ASSERT_EQ(decode_bits(format, encode_bits(format, -value)), -value);
  }
  ASSERT_EQ(values.back(), max_finite(dtype));
  for (std::uint32_t code = 0; code + 1 < values.size(); ++code) {
    const double middle = (values[code] + values[code + 1]) / 2;
    const std::uint32_t even = code + (code & 1);
    ASSERT_EQ(encode_bits(format, middle), even) << name(dtype) << " " << middle;
    ASSERT_EQ(encode_bits(format, std::nextafter(middle, 0)), code);
    ASSERT_EQ(encode_bits(format, std::nextafter(middle, 1e300)), code + 1);
  }
  const auto last = static_cast<std::uint32_t>(values.size() - 1);
  const std::uint32_t beyond = format.overflow == Overflow::infinity ? last + 1 : last;
  const double edge = values.back() + (values.back() - values[last - 1]) / 2;
  EXPECT_EQ(encode_bits(format, std::nextafter(edge, 0)), last);
  EXPECT_EQ(encode_bits(format, edge * 1.01), beyond);
  EXPECT_EQ(encode_bits(format, std::numeric_limits<double>::infinity()), beyond);
  EXPECT_TRUE(std::isnan(decode_bits(format, encode_bits(format, std::numeric_limits<double>::quiet_NaN()))));
  EXPECT_EQ(encode_bits(format, 1e-300), 0u);
}

TEST(DtypeConvert, EveryValueAndEveryMidpointOfEachNarrowFormat) {
  for (const auto dtype : {Dtype::f16, Dtype::bf16, Dtype::e4m3, Dtype::e5m2, Dtype::tf32}) check_format(dtype);
}

TEST(DtypeConvert, KnownCodes) {
  EXPECT_EQ(to_f16_bits(1.0), 0x3c00);
  EXPECT_EQ(to_f16_bits(65504), 0x7bff);
  EXPECT_EQ(to_f16_bits(65520), 0x7c00);
  EXPECT_EQ(to_f16_bits(-0.0), 0x8000);
  EXPECT_EQ(to_f16_bits(0x1p-24), 1);
  EXPECT_EQ(to_f16_bits(0x1p-25), 0);
  EXPECT_EQ(to_bf16_bits(1.0), 0x3f80);
  EXPECT_EQ(to_bf16_bits(-3.0e38), 0xff62);
  EXPECT_EQ(to_e4m3_bits(448), 0x7e);
  EXPECT_EQ(to_e4m3_bits(1e9), 0x7e);
  EXPECT_EQ(to_e4m3_bits(1.0), 0x38);
  EXPECT_EQ(to_e5m2_bits(57344), 0x7b);
  EXPECT_EQ(to_e5m2_bits(1.0), 0x3c);
  EXPECT_EQ(to_tf32(1.0f + 0x1p-11f), 1.0f);
  EXPECT_EQ(to_tf32(1.0f + 0x1.8p-11f), 1.0f + 0x1p-10f);
}

// All 65,536 codes: to double and back is the identity, NaNs stay NaNs.
TEST(DtypeConvert, AllHalvesRoundTrip) {
  for (unsigned code = 0; code < 65536; ++code) {
    const auto bits = static_cast<std::uint16_t>(code);
    const double half = from_f16_bits(bits), brain = from_bf16_bits(bits);
    if (std::isnan(half)) { ASSERT_TRUE(std::isnan(from_f16_bits(to_f16_bits(half)))); }
    else { ASSERT_EQ(to_f16_bits(half), bits); }
    if (std::isnan(brain)) { ASSERT_TRUE(std::isnan(from_bf16_bits(to_bf16_bits(brain)))); }
    else { ASSERT_EQ(to_bf16_bits(brain), bits); }
  }
}

TEST(DtypeConvert, IntegersRoundAndClamp) {
  EXPECT_EQ(round_to(Dtype::u8, 300), 255);
  EXPECT_EQ(round_to(Dtype::i8, -300), -128);
  EXPECT_EQ(round_to(Dtype::i32, 2.5), 2);
  EXPECT_EQ(round_to(Dtype::i32, std::nan("")), 0);
  EXPECT_EQ(round_to(Dtype::boolean, 0.5), 1);
  std::byte bytes[8];
  for (const std::int64_t value : {std::int64_t{-1}, std::int64_t{1} << 62, std::numeric_limits<std::int64_t>::min()}) {
    store_integer(Dtype::i64, bytes, value);
    EXPECT_EQ(load_integer(Dtype::i64, bytes), value);
  }
  store_element(Dtype::i64, bytes, 1e300);
  EXPECT_GT(load_integer(Dtype::i64, bytes), std::int64_t{1} << 62);
}

}  // namespace
}  // namespace kforge::task
