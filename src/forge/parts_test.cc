// The loop's parts, each by itself: grades, tree, rounds, stop rules.
#include <chrono>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forge/fingerprint.h"
#include "forge/journal.h"
#include "forge/move_tree.h"
#include "forge/round.h"
#include "forge/run_costs.h"
#include "forge/screen.h"
#include "forge/stop_rules.h"
#include "store/word_list.h"

namespace kforge::forge {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Verdict verdict(VerdictStatus status, std::vector<ContractReport> contracts) {
  Verdict v;
  v.status = status;
  v.contracts = std::move(contracts);
  return v;
}

ContractReport contract(const char* id, Status status, Level level = Level::required) { return {id, level, status, "", "", ""}; }

TEST(Standing, GradesByWhatFails) {
  using enum VerdictStatus;
  EXPECT_EQ(standing_of(verdict(accepted, {contract("numerics", Status::passed)})).grade, Grade::accepted);
  EXPECT_EQ(standing_of(verdict(rejected, {contract("numerics", Status::failed)})).grade, Grade::wrong);
  EXPECT_EQ(standing_of(verdict(rejected, {contract("shared.banks", Status::failed)})).grade, Grade::slow);
  EXPECT_EQ(standing_of(verdict(rejected, {contract("shared.banks", Status::failed), contract("safety.races", Status::failed)})).grade, Grade::wrong);
  EXPECT_EQ(standing_of(verdict(rejected, {contract("goal", Status::failed), contract("shared.banks", Status::failed, Level::advice)})).grade, Grade::far_from_goal);
  EXPECT_EQ(standing_of(verdict(rejected, {contract("shared.banks", Status::failed), contract("numerics", Status::unknown)})).grade, Grade::unproven) << "slow, and never shown to be right";
  EXPECT_EQ(standing_of(verdict(error, {contract("numerics", Status::unknown)})).grade, Grade::unproven);
  EXPECT_EQ(standing_of(verdict(rejected, {})).grade, Grade::wrong) << "rejected without a reason that we know";
}

TEST(Standing, SaysWhatIsNotKnownAndWhy) {
  ContractReport honest = contract("honest", Status::unknown);
  honest.measured = "no output of a timed call was compared";
  EXPECT_EQ(unknown_of(verdict(VerdictStatus::error, {contract("numerics", Status::passed), honest})), "honest: no output of a timed call was compared");
  Verdict without = verdict(VerdictStatus::error, {});
  without.why = "the compiler is missing";
  EXPECT_EQ(unknown_of(without), "the compiler is missing");
}

TEST(Standing, PutsRightBeforeFast) {
  EXPECT_TRUE(better({Grade::accepted, 10}, {Grade::slow, 1}));
  EXPECT_TRUE(better({Grade::accepted, 9}, {Grade::accepted, 10}));
  EXPECT_TRUE(better({Grade::accepted, 9}, {Grade::accepted, 0})) << "a time beats none";
  EXPECT_FALSE(better({Grade::accepted, 0}, {Grade::accepted, 0}));
  EXPECT_TRUE(more_promising({Grade::slow, 1}, {Grade::accepted, 10}));
  EXPECT_FALSE(more_promising({Grade::wrong, 1}, {Grade::accepted, 10}));
  EXPECT_EQ(reward_of({Grade::wrong, 1}, 8), -1);
  EXPECT_EQ(reward_of({Grade::slow, 2}, 8), 2);
  EXPECT_EQ(reward_of({Grade::accepted, 16}, 8), 0);
}

TEST(Story, StepsAreRightOnesThatMissTheGoalToo) {
  std::deque<Entry> entries;
  const auto add = [&](const char* id, Grade grade, double us) {
    Entry& e = entries.emplace_back();
    e.candidate.id = id;
    e.judged = true;
    e.standing = {grade, us};
  };
  add("naive", Grade::far_from_goal, 943);
  add("first", Grade::far_from_goal, 74);
  add("wrong", Grade::wrong, 1);
  add("unknown", Grade::unproven, 2);
  add("worse", Grade::far_from_goal, 80);
  add("second", Grade::far_from_goal, 32);
  add("winner", Grade::accepted, 33);
  add("twin", Grade::accepted, 40);
  EXPECT_THAT(successive_best(entries), ElementsAre("naive", "first", "second", "winner"));
}

TEST(MoveTree, WidensBestFirst) {
  MoveTree tree;
  tree.add("root", "", {Grade::slow, 100});
  tree.add("fast", "root", {Grade::accepted, 50});
  tree.add("near", "root", {Grade::accepted, 90});
  EXPECT_THAT(tree.frontier(), ElementsAre("fast", "near", "root"));
  for (int i = 0; i < 2; ++i) tree.add("child" + std::to_string(i), "fast", {Grade::accepted, 55.0 + i});
  EXPECT_THAT(tree.frontier(), ::testing::Contains("fast")) << "its share grows with what was tried below it";
  for (int i = 2; i < 5; ++i) tree.add("child" + std::to_string(i), "fast", {Grade::accepted, 55.0 + i});
  EXPECT_THAT(tree.frontier(), ::testing::Not(::testing::Contains("fast")));
}

TEST(MoveTree, KnowsDeadEnds) {
  MoveTree tree;
  tree.add("root", "", {Grade::accepted, 100});
  tree.add("wrong", "root", {Grade::wrong, 0});
  tree.add("worse", "root", {Grade::accepted, 130});
  tree.add("little", "root", {Grade::accepted, 110});
  std::vector<std::string> ends;
  for (const auto& end : tree.new_dead_ends()) ends.push_back(end.id + ": " + end.why);
  EXPECT_THAT(ends, ElementsAre("worse: 1.30 times its parent's time", "wrong: it is wrong"));
  EXPECT_THAT(tree.new_dead_ends(), IsEmpty()) << "told once";
  EXPECT_THAT(tree.frontier(), ElementsAre("root", "little"));
  for (int i = 0; i < 6; ++i) tree.add("c" + std::to_string(i), "little", {Grade::accepted, 111});
  ASSERT_EQ(tree.new_dead_ends().size(), 1u);
}

TEST(MoveTree, IsNeverWithoutFrontierWhileSomethingIsRight) {
  MoveTree tree;
  tree.add("root", "", {Grade::accepted, 0});
  for (int i = 0; i < 50; ++i) tree.add("w" + std::to_string(i), "root", {Grade::wrong, 0});
  tree.new_dead_ends();
  EXPECT_FALSE(tree.frontier().empty());
}

class Listed : public propose::Proposer {
 public:
  Listed(std::string prefix, int count, std::string parent = "") : prefix_(std::move(prefix)), count_(count), parent_(std::move(parent)) {}
  std::string_view name() const override { return prefix_; }
  std::vector<Candidate> propose(const propose::Situation&, std::size_t wanted) override {
    std::vector<Candidate> out;
    for (int i = 0; i < count_ && out.size() < wanted; ++i) {
      Candidate& c = out.emplace_back();
      c.source = prefix_ + std::to_string(i);
      c.parent = parent_;
      c.id = "not to be believed";
    }
    return out;
  }

 private:
  std::string prefix_;
  int count_;
  std::string parent_;
};

std::vector<std::string> sources(const std::vector<Candidate>& candidates) {
  std::vector<std::string> out;
  for (const Candidate& c : candidates) out.push_back(c.source);
  return out;
}

TEST(Round, SharesFairlyAndGivesOnWhatOneLeaves) {
  Proposers proposers;
  proposers.push_back(std::make_unique<Listed>("x", 9));
  proposers.push_back(std::make_unique<Listed>("y", 1));
  proposers.push_back(std::make_unique<Listed>("x", 9));   // says the same as the first
  const task::Task task;
  const hardware::DataSheet sheet;
  const Plan plan;
  const propose::Situation situation{task, sheet, plan, {}, 1, {}, {}};
  EXPECT_THAT(sources(pick_round(proposers, situation, {})), ElementsAre("x0", "y0", "x1", "x2", "x3", "x4"));
  std::set<std::string> known{identity("x0", {}), identity("y0", {})};
  RoundOptions options;
  options.known = &known;
  options.size = 2;
  EXPECT_THAT(sources(pick_round(proposers, situation, options)), ElementsAre("x1"));
  options.known = nullptr;
  options.turn = 1;
  const auto turned = pick_round(proposers, situation, options);
  EXPECT_THAT(sources(turned), ElementsAre("y0", "x0"));
  EXPECT_EQ(turned[0].id, identity("y0", {}));
}

// After one place each, what promises the least time comes first, whoever proposes it.
TEST(Round, GivesThePlacesToWhatPromisesMost) {
  std::vector<propose::Tried> tried(2);
  tried[0].candidate.id = "slow", tried[0].us = 100;
  tried[1].candidate.id = "fast", tried[1].us = 10;
  Proposers proposers;
  proposers.push_back(std::make_unique<Listed>("x", 9, "slow"));
  proposers.push_back(std::make_unique<Listed>("y", 3, "fast"));
  const task::Task task;
  const hardware::DataSheet sheet;
  const Plan plan;
  const propose::Situation situation{task, sheet, plan, tried, 1, {}, {}};
  EXPECT_THAT(sources(pick_round(proposers, situation, {})), ElementsAre("x0", "y0", "y1", "y2", "x1", "x2"));
}

TEST(MoveTree, PointsOfASearchMakeNoDeadEnd) {
  for (const bool is_point : {false, true}) {
    MoveTree tree;
    tree.add("root", "", {Grade::accepted, 100});
    for (int i = 0; i < 8; ++i) tree.add("c" + std::to_string(i), "root", {Grade::accepted, 110}, is_point);
    EXPECT_EQ(tree.new_dead_ends().size(), is_point ? 0u : 1u);
  }
}

TEST(StopRules, HaveTheirOrderAndTheirWords) {
  SearchState s;
  s.budget = {100, 10, 5};
  EXPECT_FALSE(should_stop(s));
  s.seconds = 79;
  s.reserved_seconds = 20;
  EXPECT_FALSE(should_stop(s));
  s.seconds = 80;
  EXPECT_EQ(should_stop(s)->outcome, "budget");
  s.seconds = 0;
  s.judged = 10;
  EXPECT_EQ(should_stop(s)->outcome, "budget");
  s.judged = 9;
  s.since_better = 5;
  EXPECT_EQ(should_stop(s)->outcome, "stagnation");
  s.budget.stagnation = 0;
  EXPECT_FALSE(should_stop(s));
  s.asked_and_empty = true;
  EXPECT_EQ(should_stop(s)->outcome, "exhausted");
  SearchState empty = s;
  empty.nothing_to_start_from = true;
  EXPECT_THAT(should_stop(empty)->why, ::testing::HasSubstr("--from FILE")) << "what to do when nobody knows a kernel";
  s.best_us = 102;
  s.floor_us = 100;
  EXPECT_EQ(should_stop(s)->outcome, "goal");
  s.has_goal = true;
  EXPECT_EQ(should_stop(s)->outcome, "exhausted") << "a task's own goal counts in place of the floor";
  s.goal_met = true;
  EXPECT_EQ(should_stop(s)->outcome, "goal");
  s.interrupted = true;
  EXPECT_EQ(should_stop(s)->outcome, "interrupted");
}

TEST(Fingerprint, KnowsOwnFiles) {
  EXPECT_TRUE(includes_own_files("#include <a>\n # include  \"b.cuh\"\n"));
  EXPECT_FALSE(includes_own_files("#include <cuda_fp16.h>\n// #include \"x\"\nconst char* s = \"#include\";\n"));
  hardware::DataSheet sheet, other;
  other.dram_latency = 1;
  Candidate c;
  c.id = "1";
  c.source = "x";
  const Surroundings around{"t", "r", "13.0", "1"};
  const auto key = verdict_key(c, around, sheet, 1);
  EXPECT_EQ(key, verdict_key(c, around, sheet, 1));
  EXPECT_NE(key, verdict_key(c, around, sheet, 2));
  EXPECT_NE(key, verdict_key(c, around, other, 1));
  EXPECT_NE(key, verdict_key(c, {"t", "r2", "13.0", "1"}, sheet, 1));
  c.source = "#include \"x.h\"\n";
  EXPECT_EQ(verdict_key(c, around, sheet, 1), "");
}

TEST(RunCosts, AResumedRunAddsToWhatItCostBefore) {
  store::RunRow row;
  row.summary = store::to_word_list({"7", "6", "1.5", "2.5", "0", "0"});
  EXPECT_TRUE(costs_of(row).empty());
  set_costs(row, {{"cicc", 1.5, 2, 3}, {"rest", 0.25, 0, 1}});
  EXPECT_EQ(store::from_word_list(row.summary)[1], "6") << "the rest of the summary stays";

  RunCosts costs(row);
  costs.ledger().add("cicc", 0.5, 1);
  costs.ledger().add("judge", 4, 4);
  const auto all = costs.all();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].stage, "cicc");
  EXPECT_DOUBLE_EQ(all[0].cpu_s, 2);
  EXPECT_EQ(all[0].times, 4u);
  EXPECT_EQ(all[1].stage, "rest");
  EXPECT_GE(all[1].cpu_s, 0.25) << "stages that took more than the process are no negative rest";
  EXPECT_DOUBLE_EQ(all[2].cpu_s, 4);
}

TEST(Lead, WhoeverIsNotAheadOfWhatIsProvenGoesWithout) {
  Lead lead;
  double proven_us = 0;
  EXPECT_TRUE(lead.enter(10, proven_us, {}));
  lead.prove(10);
  lead.leave();
  EXPECT_FALSE(lead.enter(9.99, proven_us, {}));   // a difference that samples of a search do not tell
  EXPECT_EQ(proven_us, 10);
  EXPECT_TRUE(lead.enter(8, proven_us, {}));
}

TEST(Lead, OfThoseWhoWaitTheFastestGoesFirst) {
  Lead lead;
  double unused = 0;
  while (lead.enter(10, unused, [] { return true; })) {}   // all proofs that there may be at once are under way
  std::promise<void> fast_is_in;
  const auto wait = [&](double us) {
    double proven_us = 0;
    const bool enters = lead.enter(us, proven_us, {});
    if (enters) fast_is_in.set_value();
    return enters;
  };
  auto slow = std::async(std::launch::async, wait, 5), fast = std::async(std::launch::async, wait, 3);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  lead.leave();
  fast_is_in.get_future().wait();
  lead.prove(3);
  EXPECT_TRUE(fast.get());
  EXPECT_FALSE(slow.get());
}

TEST(Lead, WhoeverIsCancelledWaitsNoLonger) {
  Lead lead;
  double unused = 0;
  int entered = 0;
  while (lead.enter(10, unused, [] { return true; })) ++entered;
  EXPECT_GT(entered, 0);
  EXPECT_FALSE(lead.enter(1, unused, [] { return true; }));
}

}  // namespace
}  // namespace kforge::forge
