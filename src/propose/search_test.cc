// The search on spaces whose best point is known: constrained, with invalid regions, of several shapes.
#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "base/sanitized.h"
#include "propose/search.h"
#include "task/random.h"

namespace kforge::propose {
namespace {

// Shaped like a tuning space: powers of two, a cliff where registers end, noise that a point keeps.
struct Landscape {
  Space space;
  std::vector<double> values;   // 0: invalid
  double best = INFINITY;
};

double tuned_time(const Values& v, std::uint64_t key) {
  const double threads = static_cast<double>(v.at("threads")), tile = static_cast<double>(v.at("tile")), unroll = static_cast<double>(v.at("unroll")), vector = static_cast<double>(v.at("vector"));
  const double registers = 20 + tile * tile / 2 + 4 * unroll * vector;
  if (registers * threads > 65536) return 0;
  const double occupancy = std::min(1.0, 65536 / (registers * threads) * threads / 2048);
  const double traffic = 1.0 / tile + 0.05 * std::abs(std::log2(vector) - 2), latency = 1.0 / (0.2 + occupancy * unroll * vector);
  std::uint64_t mixed = key;
  for (const auto& [name, value] : v) mixed = task::mix64(mixed + static_cast<std::uint64_t>(value) * 31);
  const double noise = 1 + 0.02 * task::CounterRandom(mixed).unit(0);
  return 100 * (traffic + 0.1 * latency + 0.02 * std::abs(std::log2(threads / 256)) + 0.03 * static_cast<double>(v.at("stage") == 1)) * noise;
}

Landscape landscape(std::uint64_t key) {
  Landscape out{Space({{"threads", {32, 64, 128, 256, 512, 1024}}, {"tile", {1, 2, 4, 8, 16}}, {"unroll", {1, 2, 4, 8}}, {"vector", {1, 2, 4, 8}}, {"stage", {1, 2, 3}}},
                      [](const Values& v) { return v.at("unroll") * v.at("vector") <= 16; }), {}, INFINITY};
  for (std::size_t i = 0; i < out.space.size(); ++i) {
    out.values.push_back(tuned_time(out.space.values(i), key));
    if (out.values.back() > 0) out.best = std::min(out.best, out.values.back());
  }
  return out;
}

std::vector<std::size_t> run(const Landscape& scape, std::uint64_t seed, std::size_t budget, double& found) {
  Search search(scape.space, {seed, static_cast<std::size_t>(seed * 7919 % scape.space.size()), {}, {}});
  std::vector<std::size_t> asked;
  while (asked.size() < budget) {
    const auto points = search.ask(1);
    if (points.empty()) break;
    asked.push_back(points[0]);
    if (scape.values[points[0]] > 0) search.tell(points[0], scape.values[points[0]], 1);
    else search.tell_invalid(points[0], 1);
  }
  found = search.best() ? search.best_value() : INFINITY;
  return asked;
}

TEST(Space, PrunesFindsAndKnowsNeighbours) {
  const Space space({{"a", {1, 2, 4}}, {"b", {0, 1}}}, [](const Values& v) { return !(v.at("a") == 2 && v.at("b") == 1); });
  EXPECT_EQ(space.size(), 5u);
  EXPECT_EQ(space.find({{"a", 2}, {"b", 1}}), space.size());
  const std::size_t one = space.find({{"a", 1}, {"b", 1}});
  ASSERT_LT(one, space.size());
  const auto near = space.neighbours(one);   // a steps over the pruned 2
  EXPECT_EQ(std::set<std::size_t>(near.begin(), near.end()), (std::set<std::size_t>{space.find({{"a", 4}, {"b", 1}}), space.find({{"a", 1}, {"b", 0}})}));
}

TEST(Search, IsWithinThreePercentAfterFivePercentOfTheSpace) {
  if (kSanitized) GTEST_SKIP() << "a statistic of twenty searches; one is run whole below";
  const Landscape scape = landscape(1);
  const std::size_t budget = scape.space.size() / 20;
  std::vector<double> excess;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    double found = 0;
    run(scape, seed, budget, found);
    excess.push_back(found / scape.best - 1);
  }
  std::sort(excess.begin(), excess.end());
  EXPECT_LE((excess[9] + excess[10]) / 2, 0.03) << scape.space.size() << " points, " << budget << " evaluations";
}

TEST(Search, AsksNothingTwiceAndEndsWithTheSpace) {
  const Landscape scape = landscape(2);
  double found = 0;
  const auto asked = run(scape, 3, kSanitized ? 60 : 150, found);
  EXPECT_EQ(std::set<std::size_t>(asked.begin(), asked.end()).size(), asked.size());
  const Space small({{"a", {1, 2, 3}}}, [](const Values&) { return true; });
  Search search(small, {1, 0, {}, {}});
  EXPECT_EQ(search.ask(10).size(), 3u);
  for (const std::size_t p : search.ask(10)) search.tell(p, 1, 1);
  EXPECT_TRUE(search.ask(1).empty());
}

TEST(Search, IsDeterministicInSeedAndTellings) {
  const Landscape scape = landscape(3);
  double a = 0, b = 0;
  EXPECT_EQ(run(scape, 5, 40, a), run(scape, 5, 40, b));
  EXPECT_NE(run(scape, 5, 40, a), run(scape, 6, 40, b));
}

TEST(Search, APriorThatRanksRightlyIsFollowedAndAWrongOneOvercome) {
  const Landscape scape = landscape(4);
  std::vector<double> right, wrong;
  for (const double value : scape.values) {
    right.push_back(value > 0 ? value * 3 : 1e6);
    wrong.push_back(value > 0 ? 1 / value : 1);
  }
  Search with(scape.space, {1, scape.space.size(), right, {}});
  const std::size_t first = with.ask(1)[0];
  EXPECT_LE(scape.values[first], scape.best * 1.001);
  Search against(scape.space, {1, scape.space.size(), wrong, {}});
  for (int i = 0; i < 60; ++i) {
    const std::size_t point = against.ask(1)[0];
    if (scape.values[point] > 0) against.tell(point, scape.values[point], 1);
    else against.tell_invalid(point, 1);
  }
  EXPECT_LE(against.best_value(), scape.best * 1.15);
}

// Two choices that do equally well: the one that was compiled before comes first, whichever it is.
TEST(Search, PrefersWhatCostsLess) {
  const Space space({{"a", {1, 2, 4, 8}}, {"b", {0, 1}}}, [](const Values&) { return true; });
  const auto value = [&](std::size_t point) { return 10.0 / static_cast<double>(space.values(point).at("a")); };
  for (const std::int64_t built : {0, 1}) {
    SearchOptions options{1, space.find({{"a", 1}, {"b", 0}}), {}, {}};
    options.effort = [&](std::size_t point) { return space.values(point).at("b") == built ? 0.1 : 1.0; };
    for (std::size_t p = 0; p < space.size(); ++p) options.prior.push_back(value(p));
    Search search(space, options);
    for (const std::int64_t b : {0, 1}) {
      const std::size_t told = space.find({{"a", 1}, {"b", b}});
      search.tell(told, value(told), 1);
    }
    const auto asked = search.ask(1);
    ASSERT_EQ(asked.size(), 1u);
    EXPECT_EQ(space.values(asked[0]).at("b"), built);
  }
}

TEST(Search, KnowsWhatToExpect) {
  const Space space({{"a", {1, 2, 3, 4}}}, [](const Values&) { return true; });
  Search blind(space, {1, 0, {}, {}});
  EXPECT_FALSE(blind.expected(2));
  Search search(space, {1, 0, {10, 20, 30, 40}, {}});
  EXPECT_DOUBLE_EQ(*search.expected(2), 30);
  search.tell(0, 20, 1);
  search.tell(1, 40, 1);
  EXPECT_NEAR(*search.expected(2), 60, 6) << "the prior, scaled to what was seen";
}

TEST(Surrogate, InterpolatesAndKnowsWhatItDoesNotKnow) {
  Surrogate surrogate;
  std::vector<std::vector<double>> points;
  std::vector<double> values;
  for (int i = 0; i <= 10; ++i)
    if (i != 5) points.push_back({i / 10.0}), values.push_back(std::sin(i / 3.0));
  surrogate.fit(points, values, true, 1);
  const auto predictions = surrogate.predict({{0.5}, {0.3}, {3.0}});
  EXPECT_NEAR(predictions[0].mean, std::sin(5 / 3.0), 0.05);
  EXPECT_LT(predictions[1].deviation, predictions[0].deviation);
  EXPECT_LT(predictions[0].deviation, predictions[2].deviation);
}

TEST(Search, PointsThatWereBestElsewhereComeAfterTheFirst) {
  const Space space({{"a", {0, 1, 2, 3}}}, [](const Values&) { return true; });
  Search search(space, {1, 2, {10, 20, 30, 40}, {}, {3, 2, 0}});
  std::vector<std::size_t> order;
  for (int i = 0; i < 4; ++i) {
    const auto asked = search.ask(1);
    ASSERT_EQ(asked.size(), 1u);
    order.push_back(asked[0]);
    search.tell(asked[0], 1, 0);
  }
  EXPECT_EQ(order, (std::vector<std::size_t>{2, 3, 0, 1}));
}

}  // namespace
}  // namespace kforge::propose
