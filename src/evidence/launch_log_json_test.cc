// A log survives the way through JSON whole, and what is no log is refused with the place of the first fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evidence/full_log_test.h"

namespace kforge::evidence {
namespace {

using ::testing::HasSubstr;

TEST(LaunchLogJson, AFullLogComesBackTheSame) {
  const std::string text = to_json(full_log());
  LaunchLog back;
  std::string error;
  ASSERT_TRUE(from_json(text, back, error)) << error;
  EXPECT_EQ(to_json(back), text);
  EXPECT_EQ(back.kernels[0].totals, full_log().kernels[0].totals);
  EXPECT_EQ(back.kernels[0].lines[0].worst_global.lane_addresses[31], ~std::uint64_t{0});
  EXPECT_EQ(back.kernels[0].lines[0].stores.at(0).tensor, "y");
  EXPECT_EQ(back.violations[0].where, position(20));
  EXPECT_EQ(back.violations[0].other, position(30));
  EXPECT_EQ(back.returned, -700);
  EXPECT_EQ(back.ending, Ending::trap);
  EXPECT_EQ(back.calls[0].detail, "detail");
  EXPECT_EQ(back.coverage[0].host_written, 4u);
}

TEST(LaunchLogJson, WhatWasNotSeenTakesNoRoom) {
  LaunchLog log, back;
  log.kernels.resize(1);
  log.kernels[0].lines.resize(1);
  log.kernels[0].lines[0].counters.values[2] = 7;
  const std::string text = to_json(log);
  EXPECT_THAT(text, HasSubstr("\"counters\":{\"values\":[0,0,7]}"));
  EXPECT_THAT(text, HasSubstr("\"worst_global\":null"));
  back.kernels.resize(1);
  back.kernels[0].lines.resize(1);
  back.kernels[0].lines[0].counters.values.fill(5);
  back.kernels[0].lines[0].worst_global.active_mask = 5;
  std::string error;
  ASSERT_TRUE(from_json(text, back, error)) << error;
  EXPECT_EQ(back.kernels[0].lines[0].counters, log.kernels[0].lines[0].counters);
  EXPECT_FALSE(back.kernels[0].lines[0].worst_global.present());
}

TEST(LaunchLogJson, BytesThatAreNoTextDoNotStopIt) {
  LaunchLog log, back;
  log.output = "\xff\xfe";
  std::string error;
  EXPECT_TRUE(from_json(to_json(log), back, error)) << error;
}

TEST(LaunchLogJson, EveryTruncationIsRefused) {
  const std::string text = to_json(full_log());
  for (std::size_t size = 0; size < text.size(); size += 3) {
    LaunchLog back;
    std::string error;
    ASSERT_FALSE(from_json(std::string_view(text).substr(0, size), back, error)) << size;
    ASSERT_NE(error, "");
  }
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(LaunchLogJson, WhatIsNoLogIsRefusedWithItsPlace) {
  const std::string good = to_json(full_log());
  const struct { std::string text, error; } cases[] = {
      {"[]", "log: expected an object"},
      {replaced(good, "\"ending\":3", "\"ending\":9"), "log.ending: expected a known value"},
      {replaced(good, "\"ending\":3", "\"ending\":-1"), "log.ending: expected an integer that is not negative"},
      {replaced(good, "\"ending\":3,", ""), "log.ending: expected to be there"},
      {replaced(good, "\"ending\":3", "\"ending\":3,\"more\":1"), "log: expected no other keys"},
      {replaced(good, "\"returned\":-700", "\"returned\":3000000000"), "log.returned: expected an integer of 32 bits"},
      {replaced(good, "\"launch_count\":9", "\"launch_count\":\"9\""), "log.kernels[0].launch_count"},
      {replaced(good, "\"independent_loads\":0.1", "\"independent_loads\":1e999"), ""},
      {replaced(good, "\"again\":[18]", "\"again\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25]"), "again: expected a list of the right length"},
      {replaced(good, "\"worst_shared\":{", "\"worst_shared\":[{}],\"x\":{"), "worst_shared: expected an object"},
      {std::string(100000, '['), "nested"},
  };
  for (const auto& bad : cases) {
    LaunchLog back;
    std::string error;
    EXPECT_FALSE(from_json(bad.text, back, error));
    EXPECT_THAT(error, HasSubstr(bad.error));
  }
}

TEST(LaunchLogJson, ARefusedLogLeavesTheTargetAlone) {
  LaunchLog log = full_log();
  std::string error;
  EXPECT_FALSE(from_json("{}", log, error));
  EXPECT_EQ(log.returned, -700);
}

}  // namespace
}  // namespace kforge::evidence
