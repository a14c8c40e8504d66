// The loop, with a fake judge: what is tried, what wins, when it ends.
#include "forge/loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forge/fake_world_test.h"
#include "forge/screen.h"

namespace kforge::forge {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class LoopTest : public ::testing::Test {
 protected:
  LoopTest() : folder_(test_folder("loop-test")) {}
  std::filesystem::path folder(const char* name = "s") const { return folder_.path() / name; }
  TemporaryDirectory folder_;
};

TEST_F(LoopTest, FindsTheBestOfTheSpaceAndVerifiesIt) {
  FakeRun run(folder());
  ASSERT_TRUE(run.go());
  EXPECT_EQ(run.journal->row().outcome, "exhausted");
  EXPECT_EQ(run.winner_text(), "a=7 b=3") << testing::PrintToString(run.story());
  EXPECT_TRUE(run.journal->winner()->verified);
  EXPECT_EQ(run.judged[run.journal->winner()->candidate.id], 2) << "once in the search, once with fresh inputs";
  EXPECT_EQ(run.journal->row().baseline, run.setting.first[0].id);
  EXPECT_DOUBLE_EQ(run.journal->baseline_us(), 130);
}

TEST_F(LoopTest, JudgesNothingTwice) {
  FakeRun run(folder());
  ASSERT_TRUE(run.go());
  for (const auto& [id, times] : run.judged) EXPECT_LE(times, id == run.journal->row().winner ? 2 : 1);
}

TEST_F(LoopTest, TriesTheSameInTheSameOrderOnAnyNumberOfThreads) {
  FakeRun one(folder("one"));
  ASSERT_TRUE(one.go());
  FakeRun four(folder("four"));
  four.setting.jobs = 4;
  four.delay_ms = 1;
  ASSERT_TRUE(four.go());
  EXPECT_EQ(one.story(), four.story());
}

// A right but slow candidate is on the way; it never wins, however fast.
TEST_F(LoopTest, LetsNoCandidateWinThatFailsAContract) {
  FakeRun run(folder());
  run.adjust = [](const Candidate&, const JudgeCall&, Verdict& v) {
    if (v.status == VerdictStatus::rejected && v.time) v.time->us = 1;      // b == 0: the fastest of all
    if (v.status == VerdictStatus::accepted) v.status = VerdictStatus::error;
  };
  ASSERT_TRUE(run.go());
  EXPECT_EQ(run.journal->winner(), nullptr);
  ASSERT_NE(run.journal->best(), nullptr) << "the best so far is delivered all the same";
  EXPECT_EQ(point_of(run.journal->best()->candidate.source).b, 0);
  EXPECT_EQ(run.journal->row().winner, "");
}

TEST_F(LoopTest, TakesTheNextOneWhenTheWinnerDoesNotHold) {
  FakeRun run(folder());
  run.adjust = [](const Candidate& c, const JudgeCall& call, Verdict& v) {
    if (call.seed == 1 || c.source != "a=7 b=3") return;
    v.status = VerdictStatus::rejected;
    v.contracts[0].status = Status::failed;
    v.why = "fails numerics";
  };
  ASSERT_TRUE(run.go());
  EXPECT_EQ(run.winner_text(), "a=6 b=3");
  EXPECT_TRUE(run.journal->winner()->verified);
  const auto again = Journal::reopen(run.store, run.journal->row());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->winner()->candidate.source, "a=6 b=3") << "the store remembers that it did not hold";
}

TEST_F(LoopTest, SaysWhatEachMoveOfTheWinnerIsWorth) {
  FakeRun run(folder());
  ASSERT_TRUE(run.go());
  const auto rows = run.store.contributions("run");
  ASSERT_TRUE(rows);
  ASSERT_THAT(*rows, SizeIs(kMaxA + kMaxB)) << "one a move of the line";
  int ablations = 0;
  for (const auto& row : *rows) {
    ablations += row.how == "ablation";
    EXPECT_GT(row.factor, 1);
  }
  EXPECT_EQ(ablations, kMaxA + kMaxB - 1) << "the last move's own parent is the winner without it";
}

// A part of a step, as a template's parameter is one: the last candidate of the line is what a search came upon, and one of its parts is worth nothing.
class InParts final : public FakeProposer {
 public:
  std::vector<propose::TakenBack> take_back(const propose::Situation&, std::span<const Candidate> line) override {
    const Point p = point_of(line.back().source);
    return {{line.back().id, "a 0 -> " + std::to_string(p.a), "parameter", "", 1, candidate_at({0, p.b}, "", "x", 1), line.size()},
            {line.back().id, "b 0 -> " + std::to_string(p.b), "parameter", "", 1, candidate_at({p.a, 0}, "", "x", 1), line.size()}};
  }
};

TEST_F(LoopTest, TakesBackPartsOfAStep) {
  FakeRun run(folder());
  run.setting.proposers.clear();
  run.setting.proposers.push_back(std::make_unique<InParts>());
  ASSERT_TRUE(run.go());
  const auto record = record_of(run.store, run.journal->row());
  ASSERT_TRUE(record);
  std::map<std::string, double> parts;
  for (const Contribution& c : record->contributions)
    if (c.how == "ablation") parts[c.move.title] = c.factor;
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_DOUBLE_EQ(parts["a 0 -> 7"], us_of({0, 3}) / us_of({7, 3}));
  EXPECT_DOUBLE_EQ(parts["b 0 -> 3"], us_of({7, 0}) / us_of({7, 3}));
}

// A winner that is faster without one of its parts is no winner yet.
TEST_F(LoopTest, ProvesWhatTheAblationFinds) {
  FakeRun run(folder());
  run.setting.proposers.clear();
  run.setting.proposers.push_back(std::make_unique<InParts>());
  run.adjust = [](const Candidate& c, const JudgeCall&, Verdict& v) {
    if (c.source == "a=0 b=3") v.time->us = 1;
  };
  run.setting.first = {candidate_at({3, 3}, "", "start", 1)};
  ASSERT_TRUE(run.go());
  EXPECT_EQ(run.winner_text(), "a=0 b=3");
  EXPECT_TRUE(run.journal->winner()->verified);
}

// What is slow on sampled blocks is not proven, is no step to anything, and is no other run's verdict.
TEST_F(LoopTest, ProvesOnlyWhatIsWorthIt) {
  FakeRun run(folder());
  run.setting.verdict_key = [](const Candidate& c) { return "key " + c.id; };
  std::map<std::string, double> worth;
  run.setting.judge = [&](const Candidate& c, const JudgeCall& call) -> Expected<Judgement> {
    auto judged = run.judge(c, call);
    worth[c.source] = call.worth_us;
    if (!judged || call.worth_us == 0 || !judged->verdict.time || judged->verdict.time->us <= call.worth_us) return judged;
    judged->verdict.status = VerdictStatus::error;
    judged->verdict.rungs.push_back({"screen", Status::failed, 0, "too slow"});
    return judged;
  };
  run.adjust = [](const Candidate& c, const JudgeCall&, Verdict& v) {
    if (c.source == "a=1 b=2") v.time->us = 500;
  };
  run.setting.first.push_back(candidate_at({7, 2}, "", "start", 1));
  run.setting.first.push_back(candidate_at({1, 1}, "", "start", 1));
  ASSERT_TRUE(run.go());
  EXPECT_EQ(run.winner_text(), "a=7 b=3");
  EXPECT_EQ(worth["a=0 b=0"], 0) << "the first round is proven";
  EXPECT_DOUBLE_EQ(worth["a=2 b=1"], 1.25 * us_of({1, 1})) << "slower than the best, and a step for its parent";
  const std::string slow = identity("a=1 b=2", {});
  ASSERT_TRUE(run.journal->find(slow));
  EXPECT_TRUE(is_screened(run.journal->find(slow)->verdict));
  EXPECT_FALSE(run.journal->find(slow)->standing.right());
  EXPECT_FALSE(*run.store.has_verdict("key " + slow));
  EXPECT_TRUE(*run.store.has_verdict("key " + identity("a=7 b=3", {})));
  for (const Entry& e : run.journal->entries()) EXPECT_NE(e.candidate.parent, slow);
}

// Caps the registers of what the frontier has.
class Capper : public propose::Proposer {
 public:
  std::string_view name() const override { return "capper"; }
  std::vector<Candidate> propose(const propose::Situation& situation, std::size_t) override {
    std::vector<Candidate> out;
    for (const propose::Tried& t : situation.tried) {
      if (!t.candidate.flags.empty()) continue;
      Candidate capped = candidate_at(point_of(t.candidate.source), t.candidate.id, "cap", 1.1);
      capped.flags = {"-maxrregcount=40"};
      capped.id = identity(capped.source, capped.flags);
      out.push_back(std::move(capped));
    }
    return out;
  }
};

// Registers of what a candidate launches; a cap brings a=1 from 64 to 40, and changes nothing of the others.
build::KernelReport report_of(const Candidate& c) {
  build::KernelReport report;
  report.kernel = "kernel";
  report.registers = point_of(c.source).a == 1 && c.flags.empty() ? 64 : 40;
  return report;
}

TEST_F(LoopTest, SharesTheVerdictOfTheSameCodeWhichTakesNoPlace) {
  FakeRun run(folder());
  run.setting.proposers.push_back(std::make_unique<Capper>());
  run.setting.budget.candidates = 12;
  std::atomic<int> proven = 0;
  run.setting.judge = [&](const Candidate& c, const JudgeCall& call) -> Expected<Judgement> {
    const build::KernelReport report = report_of(c);
    const std::string ptx = "// " + c.source;
    Judgement known;
    if (call.twin) known.twin = call.twin(ptx, {&report, 1});
    if (!known.twin.empty()) return known;
    auto judged = run.judge(c, call);
    if (judged) judged->verdict.resources.push_back({report.kernel, report.registers, 0, 0, 0, ""});
    proven += call.stop_early;
    return judged;
  };
  ASSERT_TRUE(run.go());
  int shared = 0, capped = 0;
  for (const Entry& e : run.journal->entries()) {
    if (e.candidate.flags.empty() || !e.judged) continue;
    ++capped;
    EXPECT_EQ(is_shared(e.verdict), point_of(e.candidate.source).a != 1) << e.candidate.source;
    if (!is_shared(e.verdict)) continue;
    ++shared;
    EXPECT_EQ(e.standing.us, run.journal->find(e.candidate.parent)->standing.us);
    EXPECT_EQ(e.verdict.rungs.back().why, "same code as " + e.candidate.parent);
  }
  EXPECT_GT(shared, 3);
  EXPECT_GT(capped, shared) << "a cap that changes the code is judged";
  EXPECT_GE(proven, 12) << "those of the same code take no place of the budget";
  const auto before = run.story();
  FakeRun again(folder());
  again.setting.budget.candidates = 12;
  ASSERT_TRUE(again.go());
  EXPECT_EQ(again.story(), before) << "a resumed run counts them the same way";
}

TEST_F(LoopTest, EndsWithTheNameOfItsRule) {
  struct Row { const char* outcome; OptimizeBudget budget; std::uint64_t judged; };
  for (const Row& row : {Row{"budget", {1000, 5, 0}, 5}, Row{"stagnation", {1000, 1000, 4}, 0}, Row{"exhausted", {1000, 1000, 0}, 0}}) {
    FakeRun run(folder(row.outcome));
    run.setting.budget = row.budget;
    if (std::string_view(row.outcome) == "stagnation")
      run.adjust = [](const Candidate&, const JudgeCall&, Verdict& v) {
        if (v.time) v.time->us = 10;
      };
    ASSERT_TRUE(run.go());
    EXPECT_EQ(run.journal->row().outcome, row.outcome) << run.journal->row().outcome_why;
    if (row.judged == 0) continue;
    std::uint64_t judged = 0;
    for (const Entry& e : run.journal->entries()) judged += e.judged && e.round > 0 && e.purpose == store::kSearch;
    EXPECT_EQ(judged, row.judged);
  }
}

TEST_F(LoopTest, EndsWhenTheTimeIsSpent) {
  FakeRun run(folder());
  double time = 0;
  run.setting.clock = [&] { return time; };
  run.before_verdict = [&] { time += 1; };
  run.setting.judge = [&](const Candidate& candidate, const JudgeCall& call) {
    auto made = run.judge(candidate, call);
    if (made) made->judge_s = 1;
    return made;
  };
  run.setting.budget.seconds = 12;
  ASSERT_TRUE(run.go());
  EXPECT_EQ(run.journal->row().outcome, "budget");
  EXPECT_LE(run.journal->row().seconds, 13);
  EXPECT_GT(run.journal->row().seconds, 5);
  const Entry* winner = run.journal->winner();
  ASSERT_TRUE(winner);
  EXPECT_TRUE(winner->verified);
  for (const Entry& e : run.journal->entries())
    if (e.purpose == store::kSearch && e.judged) {
      EXPECT_LE(e.started_s, 9.5) << "time is kept back for the proof and for taking moves back";
    }
}

// A run is for its winner: the proof may take a little longer than the budget. A judge that does not end by itself is cut, and what was cut is no winner.
TEST_F(LoopTest, CutsAProofThatGoesOnBeyondTheBudget) {
  FakeRun run(folder());
  double time = 0;
  run.setting.clock = [&] { return time; };
  run.setting.jobs = 1;
  run.before_verdict = [&] { time += 1; };
  run.setting.judge = [&](const Candidate& candidate, const JudgeCall& call) -> Expected<Judgement> {
    if (call.stop_early) return run.judge(candidate, call);
    while (!call.cancelled()) {
      time += 1;
      if (time > 1000) return fail(ErrorCode::failed, "the proof was never cut");
    }
    return fail(ErrorCode::limit, "the trial was cancelled");
  };
  run.setting.budget.seconds = 12;
  ASSERT_TRUE(run.go());
  const store::RunRow& row = run.journal->row();
  EXPECT_EQ(row.outcome, "budget");
  EXPECT_TRUE(row.winner.empty());
  EXPECT_FALSE(row.best.empty());
  EXPECT_LE(row.seconds, 12 + 15 + 1);
  EXPECT_NE(row.outcome_why.find("the proof of the best candidate on fresh inputs was cut after 27 s in all"), std::string::npos) << row.outcome_why;
}

TEST_F(LoopTest, AnInterruptedRunHasAWinnerWhereItIsProven) {
  for (const bool proven : {false, true}) {
    FakeRun run(folder(proven ? "proven" : "not"));
    std::atomic<int> judged{0};
    std::atomic<bool> stop{false};
    run.setting.jobs = 1;
    run.setting.interrupted = [&] { return stop.load(); };
    run.setting.judge = [&](const Candidate& candidate, const JudgeCall& call) {
      if (!proven && ++judged > 12) stop = true;   // in the search
      return run.judge(candidate, call);
    };
    run.setting.progress = [&](const Progress& p) {
      if (p.step == "ablation") stop = true;   // after the proof
    };
    ASSERT_TRUE(run.go());
    const store::RunRow& row = run.journal->row();
    EXPECT_EQ(row.outcome, "interrupted");
    EXPECT_FALSE(row.best.empty()) << "what is best so far is delivered all the same";
    EXPECT_EQ(row.winner, proven ? row.best : "");
  }
}

TEST_F(LoopTest, EndsAtTheFloorOfPhysics) {
  FakeRun run(folder());
  run.plan.sizes.resize(1);
  run.plan.sizes[0].floor_us = us_of({4, 3});
  ASSERT_TRUE(run.go());
  EXPECT_EQ(run.journal->row().outcome, "goal");
  EXPECT_FALSE(run.journal->row().goal_met) << "the task has none";
}

TEST_F(LoopTest, ReusesVerdictsOfEarlierRunsAndVerifiesTheWinnerAnew) {
  const auto key = [](const Candidate& c) { return "key " + c.id; };
  FakeRun first(folder(), "first");
  first.setting.verdict_key = key;
  ASSERT_TRUE(first.go());
  FakeRun second(folder(), "second");
  second.setting.verdict_key = key;
  ASSERT_TRUE(second.go());
  EXPECT_EQ(second.story(), first.story());
  ASSERT_EQ(second.judged.size(), 1u);
  EXPECT_EQ(second.judged.begin()->first, second.journal->row().winner);
  for (const Entry& e : second.journal->entries()) EXPECT_TRUE(e.reused);
}

TEST_F(LoopTest, FailsWithTheJudgesErrorAndCanBeResumed) {
  FakeRun run(folder());
  int calls = 0;
  run.setting.judge = [&](const Candidate& c, const JudgeCall& call) -> Expected<Judgement> {
    if (++calls == 9) return fail(ErrorCode::missing, "no compiler");
    return run.judge(c, call);
  };
  const auto failed = run.go();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::missing);
  EXPECT_EQ(run.store.run("run")->outcome, "failed");
  EXPECT_THAT(run.store.run("run")->outcome_why, HasSubstr("no compiler"));
  FakeRun again(folder());
  ASSERT_TRUE(again.go());
  EXPECT_EQ(again.winner_text(), "a=7 b=3");
}

TEST_F(LoopTest, TheOutcomeNamesTheCompilersLineWhereTheStartDoesNotBuild) {
  FakeRun run(folder());
  run.setting.first[0].move.title = "the given kernel";
  run.adjust = [&](const Candidate& c, const JudgeCall&, Verdict& v) {
    if (c.id != run.setting.first[0].id) return;
    v = {};
    v.status = VerdictStatus::rejected;
    v.why = "fails build";
    v.findings.resize(1);
    v.findings[0].contract = "build";
    v.findings[0].line = 22;
    v.findings[0].message = "identifier \"expff\" is undefined";
  };
  ASSERT_TRUE(run.go());
  EXPECT_THAT(run.store.run("run")->outcome_why, HasSubstr("; the given kernel does not build: line 22: identifier \"expff\" is undefined"));
}

TEST_F(LoopTest, RemembersDeadEnds) {
  FakeRun run(folder());
  ASSERT_TRUE(run.go());
  const auto ends = run.store.dead_ends("run");
  ASSERT_TRUE(ends);
  ASSERT_FALSE(ends->empty());
  for (const auto& end : *ends) {
    const Point p = point_of(run.journal->find(end.candidate)->candidate.source);
    EXPECT_EQ(wrong_at(p), end.why == "it is wrong");
  }
  for (const Entry& e : run.journal->entries())
    if (const Entry* parent = run.journal->find(e.candidate.parent); parent && e.purpose == store::kSearch) {
      EXPECT_FALSE(wrong_at(point_of(parent->candidate.source))) << "nothing derives from what is wrong";
    }
}

TEST_F(LoopTest, TellsItsProgress) {
  FakeRun run(folder());
  std::vector<Progress> told;
  run.setting.progress = [&](const Progress& p) { told.push_back(p); };
  ASSERT_TRUE(run.go());
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back().best_us, us_of({7, 3}));
  EXPECT_EQ(told.back().baseline_us, 130);
  EXPECT_GT(told.back().accepted, 0u);
}

}  // namespace
}  // namespace kforge::forge
