// The addresses of a request's lanes, as people and models read them.
#include "judge/line_ratio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kforge::judge {
namespace {

TEST(DescribeRequest, AddressesStandApartHoweverLongTheyAre) {
  evidence::RequestExample request;
  request.active_mask = 0xffffffff;
  request.bytes_per_lane = 4;
  for (std::uint64_t lane = 0; lane < 32; ++lane) request.lane_addresses[lane] = 16384 + 8 * lane;
  const auto shared = describe_request(request, true);
  ASSERT_EQ(shared.size(), 5u);
  EXPECT_THAT(shared[1], testing::HasSubstr(" 16384:b0  16392:b2  16400:b4 "));
  EXPECT_EQ(shared[1].size(), shared[4].size());
  request.active_mask = 0xfffffffe;
  for (std::uint64_t lane = 0; lane < 32; ++lane) request.lane_addresses[lane] = 512 + 10'000'000 * lane;
  const auto global = describe_request(request, false);
  EXPECT_THAT(global[1], testing::HasSubstr("- "));
  EXPECT_THAT(global[4], testing::HasSubstr(" +300000000 +310000000"));
}

}  // namespace
}  // namespace kforge::judge
