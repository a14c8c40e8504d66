// The reasons for which warps wait, each once by its name.
#include "evidence/stall_reason.h"

#include <gtest/gtest.h>

#include <set>

namespace kforge::evidence {
namespace {

TEST(StallReasons, AreKnownByColumnAndMetric) {
  std::set<std::string_view> columns;
  for (const StallReason& row : stall_reasons()) {
    EXPECT_TRUE(columns.insert(row.column).second) << row.column;
    EXPECT_TRUE(row.metric.starts_with(kStallPrefix)) << row.metric;
    EXPECT_LE(row.word.size(), 8u) << row.word << " is wider than its column";
    EXPECT_EQ(stall_metric(row.column), row.metric);
    EXPECT_EQ(find_stall(row.metric)->metric, row.metric);
  }
  EXPECT_FALSE(find_stall("selected")->waits);
  EXPECT_TRUE(find_stall("long_sb")->waits);
}

TEST(StallReasons, OfAnotherVersionKeepTheirName) {
  EXPECT_EQ(find_stall("brand_new"), nullptr);
  EXPECT_EQ(stall_metric("brand_new"), "smsp__pcsamp_warps_issue_stalled_brand_new");
}

}  // namespace
}  // namespace kforge::evidence
