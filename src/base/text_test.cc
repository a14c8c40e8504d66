#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace kforge {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

TEST(Text, SplitKeepsEmptyPieces) {
  EXPECT_THAT(split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_THAT(split(",", ','), ElementsAre("", ""));
}

TEST(Text, SplitWordsSkipsWhiteSpace) {
  EXPECT_THAT(split_words(" a\t b\n"), ElementsAre("a", "b"));
  EXPECT_THAT(split_words(" \n"), IsEmpty());
}

TEST(Text, SplitLinesTakesBothLineEnds) {
  EXPECT_THAT(split_lines("a\r\nb\n\nc"), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(split_lines("a\n"), ElementsAre("a"));
  EXPECT_THAT(split_lines(""), IsEmpty());
}

TEST(Text, TrimJoinReplaceLower) {
  EXPECT_EQ(trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(trim("  "), "");
  const std::array<std::string, 3> pieces{"a", "b", "c"};
  EXPECT_EQ(join(pieces, ", "), "a, b, c");
  EXPECT_EQ(replace_all("aaa", "aa", "b"), "ba");
  EXPECT_EQ(replace_all("a.b.", ".", ""), "ab");
  EXPECT_EQ(replace_all("a", "", "x"), "a");
  EXPECT_EQ(to_lower("AzÄ"), "azÄ");
}

TEST(Text, IntegersAreStrict) {
  EXPECT_THAT(parse_integer("-9223372036854775808"), Optional(std::numeric_limits<std::int64_t>::min()));
  EXPECT_THAT(parse_integer("9223372036854775807"), Optional(std::numeric_limits<std::int64_t>::max()));
  EXPECT_THAT(parse_integer("0x7f"), Optional(127));
  EXPECT_THAT(parse_integer("-0x10"), Optional(-16));
  EXPECT_THAT(parse_unsigned("18446744073709551615"), Optional(std::numeric_limits<std::uint64_t>::max()));
  for (const char* text : {"", "-", "+1", " 1", "1 ", "1.0", "1e3", "0x", "--1", "- 1", "9223372036854775808",
                           "-9223372036854775809", "0xfffffffffffffffff", "0x-1"}) {
    EXPECT_EQ(parse_integer(text), std::nullopt) << '"' << text << '"';
  }
  EXPECT_EQ(parse_unsigned("-1"), std::nullopt);
}

TEST(Text, DoublesAreStrict) {
  EXPECT_THAT(parse_double("-1.5e-3"), Optional(-1.5e-3));
  EXPECT_THAT(parse_double("inf"), Optional(std::numeric_limits<double>::infinity()));
  for (const char* text : {"", "1.5x", " 1", "1e999", "+1", "."}) EXPECT_EQ(parse_double(text), std::nullopt) << text;
}

TEST(Text, EditDistance) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("ab", "ba"), 1);
  EXPECT_EQ(edit_distance("ca", "abc"), 3);  // optimal string alignment: no edit inside a swap
}

TEST(Text, EditDistanceIsAMetricOnShortWords) {
  std::vector<std::string> words{""};
  for (std::size_t i = 0; words[i].size() < 3; ++i) {
    for (const char c : {'a', 'b'}) words.push_back(words[i] + c);
  }
  for (const auto& a : words) {
    for (const auto& b : words) {
      EXPECT_EQ(edit_distance(a, b), edit_distance(b, a));
      EXPECT_EQ(edit_distance(a, b) == 0, a == b);
    }
  }
}

TEST(Text, NearestSuggestsOnlyWhatIsNear) {
  constexpr std::array<std::string_view, 4> known{"tensor", "scalar", "sizes", "gpu"};
  EXPECT_THAT(nearest("tensr", known), Optional(std::string("tensor")));
  EXPECT_THAT(nearest("SIZE", known), Optional(std::string("sizes")));
  EXPECT_THAT(nearest("gpus", known), Optional(std::string("gpu")));
  EXPECT_EQ(nearest("kernel", known), std::nullopt);
  EXPECT_EQ(nearest("", known), std::nullopt);
}

TEST(Text, HumanUnits) {
  EXPECT_EQ(human_bytes(512), "512 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes(80.0 * (1ull << 30)), "80.0 GiB");
  EXPECT_EQ(human_bytes(1024.0 * 1024 - 1), "1.0 MiB");  // not 1024.0 KiB
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(1234), "1.2 k");
  EXPECT_EQ(human_count(3e6), "3.0 M");
  EXPECT_EQ(human_seconds(850e-9), "850 ns");
  EXPECT_EQ(human_seconds(12.3e-6), "12.3 us");
  EXPECT_EQ(human_seconds(0.004), "4.0 ms");
  EXPECT_EQ(human_seconds(1.25), "1.25 s");
  EXPECT_EQ(human_seconds(200), "3 min 20 s");
  EXPECT_EQ(human_seconds(119.7), "2 min 0 s");
}

}  // namespace
}  // namespace kforge
