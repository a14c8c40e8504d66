// The store keeps what it was given, across processes and kills.
#include "store/store.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "store/schema.h"
#include "store/word_list.h"

namespace kforge::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() : folder_(*TemporaryDirectory::create("store-test")) {}
  Store open() {
    auto store = Store::open(folder_.path() / "s", true);
    EXPECT_TRUE(store) << to_string(store.error());
    return std::move(*store);
  }
  TemporaryDirectory folder_;
};

RunRow some_run(const std::string& id) {
  RunRow run;
  run.id = id;
  run.task_name = "t";
  run.started = "2026-03-01T10:15:00Z";
  run.options = "{}";
  run.plan = "{\"steps\": []}";
  run.seed = 7;
  return run;
}

CandidateRow some_candidate(const std::string& id, std::uint64_t round, std::uint64_t place) {
  CandidateRow row;
  row.candidate.id = id;
  row.candidate.parent = "p";
  row.candidate.proposer = "naive";
  row.candidate.move = {"start", "the naive kernel", "memory.vector", "rule-1", 1.5};
  row.candidate.source = "// kernel " + id + "\n";
  row.candidate.flags = {"-O3", "-DA=b c"};
  row.candidate.parameters = {{"tile", "32"}, {"empty", ""}};
  row.round = round;
  row.place = place;
  return row;
}

TEST_F(StoreTest, GivesBackRunsCandidatesAndVerdicts) {
  Store store = open();
  RunRow run = some_run("20260301-101500-t-aaaa");
  ASSERT_TRUE(store.begin_run(run));
  ASSERT_TRUE(store.add_candidates(run.id, {some_candidate("b", 1, 0), some_candidate("a", 0, 0)}));
  ASSERT_TRUE(store.add_verdict(run.id, {"a", "k1", "accepted", 12.5, 2, 1.25, "{verdict}", "{profile}", ".ptx", "dram", 0.5, 1.5, 2.5, true}));
  run.outcome = "goal";
  run.winner = "a";
  run.seconds = 3.5;
  ASSERT_TRUE(store.update_run(run));

  Store again = open();
  const auto read = again.run("20260301");
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(read->outcome, "goal");
  EXPECT_EQ(read->winner, "a");
  EXPECT_EQ(read->seed, 7u);
  EXPECT_EQ(read->plan, run.plan);
  const auto candidates = again.candidates(run.id);
  ASSERT_TRUE(candidates);
  ASSERT_EQ(candidates->size(), 2u);
  const Candidate& first = candidates->front().candidate;
  EXPECT_EQ(first.id, "a") << "in order of rounds";
  EXPECT_EQ(first.source, "// kernel a\n");
  EXPECT_THAT(first.flags, ElementsAre("-O3", "-DA=b c"));
  ASSERT_EQ(first.parameters.size(), 2u);
  EXPECT_EQ(first.parameters[0].second, "32");
  EXPECT_EQ(first.move.expected_gain, 1.5);
  const auto verdicts = again.verdicts(run.id);
  ASSERT_TRUE(verdicts);
  ASSERT_EQ(verdicts->size(), 1u);
  EXPECT_EQ(verdicts->front().verdict, "{verdict}");
  EXPECT_EQ(verdicts->front().ptx, ".ptx");
  EXPECT_EQ(verdicts->front().us, 12.5);
  EXPECT_TRUE(verdicts->front().reused);
  const auto found = again.find_verdict("k1");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->profile, "{profile}");
  EXPECT_FALSE(*again.find_verdict("k2"));
  EXPECT_FALSE(*again.find_verdict(""));
}

TEST_F(StoreTest, RefusesASecondVerdictAndAVerdictWithoutCandidate) {
  Store store = open();
  ASSERT_TRUE(store.begin_run(some_run("r")));
  ASSERT_TRUE(store.add_candidates("r", {some_candidate("a", 0, 0)}));
  ASSERT_TRUE(store.add_verdict("r", {.candidate = "a", .status = "rejected"}));
  EXPECT_FALSE(store.add_verdict("r", {.candidate = "a", .status = "accepted"}));
  EXPECT_FALSE(store.add_verdict("r", {.candidate = "b", .status = "accepted"}));
  EXPECT_EQ(store.verdicts("r")->size(), 1u);
}

TEST_F(StoreTest, NamesRunsByPrefixAndLast) {
  Store store = open();
  EXPECT_EQ(store.run("last").error().code, ErrorCode::missing);
  for (const char* id : {"2026-a", "2026-ab", "2027-c"}) {
    RunRow run = some_run(id);
    run.started = id;
    ASSERT_TRUE(store.begin_run(run));
  }
  EXPECT_EQ(store.run("2026-a")->id, "2026-a") << "a whole name is no prefix";
  EXPECT_EQ(store.run("2026-ab")->id, "2026-ab");
  EXPECT_EQ(store.run("last")->id, "2027-c");
  EXPECT_EQ(store.run("2026").error().code, ErrorCode::bad_input);
  EXPECT_EQ(store.run("3").error().code, ErrorCode::missing);
  EXPECT_EQ(store.run("").error().code, ErrorCode::missing);
  EXPECT_EQ(store.run("2%").error().code, ErrorCode::missing) << "no pattern";
}

TEST_F(StoreTest, TheLastOfOneSecondIsTheOneThatBeganLast) {
  Store store = open();
  for (const char* id : {"f", "a", "c"}) {
    RunRow run = some_run(id);
    run.started = "2026-03-01T10:15:00Z";
    ASSERT_TRUE(store.begin_run(run));
  }
  EXPECT_EQ(store.run("last")->id, "c");
  EXPECT_EQ(store.runs()->back().id, "c");
}

TEST_F(StoreTest, TheUnfinishedRunIsTheLastThatNobodyWorksOn) {
  Store store = open();
  EXPECT_EQ(store.unfinished_run().error().code, ErrorCode::missing);
  for (const auto& [id, outcome] : {std::pair{"a", "interrupted"}, {"b", "running"}, {"c", "running"}, {"d", "budget"}}) {
    RunRow run = some_run(id);
    run.started = "2026-03-01T10:15:00Z";   // of one second, and in this order
    ASSERT_TRUE(store.begin_run(run));
    run.outcome = outcome;
    ASSERT_TRUE(store.update_run(run));
  }
  EXPECT_EQ(store.unfinished_run()->id, "c");
  {
    const auto held = store.lock_run("c");
    ASSERT_TRUE(held);
    EXPECT_TRUE(store.is_worked_on("c"));
    EXPECT_EQ(store.unfinished_run()->id, "b");
  }
  EXPECT_FALSE(store.is_worked_on("c"));
  for (const char* id : {"a", "b", "c"}) {
    RunRow run = *store.run(id);
    run.outcome = "goal";
    ASSERT_TRUE(store.update_run(run));
  }
  const auto none = store.unfinished_run();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::missing);
  EXPECT_THAT(none.error().message, HasSubstr("the last, d, ended (budget)"));
}

TEST_F(StoreTest, RemembersTheFasterWinner) {
  Store store = open();
  const WinnerKey key{"softmax", "rows=1", "f32", "h200", "13.0", "1", "i"};
  ASSERT_TRUE(store.begin_run(some_run("r")));
  ASSERT_TRUE(store.add_candidates("r", {some_candidate("a", 0, 0), some_candidate("b", 0, 1)}));
  EXPECT_FALSE(*store.remembered_winner(key));
  ASSERT_TRUE(store.remember_winner(key, "r", "a", 10));
  ASSERT_TRUE(store.remember_winner(key, "r", "b", 11));
  EXPECT_EQ((*store.remembered_winner(key))->candidate.id, "a");
  ASSERT_TRUE(store.remember_winner(key, "r", "b", 9));
  EXPECT_EQ((*store.remembered_winner(key))->candidate.id, "b");
  WinnerKey other = key;
  other.gpu = "a100";
  EXPECT_FALSE(*store.remembered_winner(other));
  ASSERT_TRUE(store.forget_winner(key));
  EXPECT_FALSE(*store.remembered_winner(key));
}

TEST_F(StoreTest, AveragesGainsGeometrically) {
  Store store = open();
  ASSERT_TRUE(store.begin_run(some_run("r")));
  ASSERT_TRUE(store.add_candidates("r", {some_candidate("a", 0, 0), some_candidate("b", 0, 1), some_candidate("c", 0, 2)}));
  ASSERT_TRUE(store.add_gain("r", {"a", "m", "", "softmax", "h200", 2, 4}));
  ASSERT_TRUE(store.add_gain("r", {"b", "m", "", "softmax", "h200", 8, 1}));
  ASSERT_TRUE(store.add_gain("r", {"c", "m", "", "scan", "h200", 8, 100}));
  const auto gains = store.gains("m", "softmax", "h200");
  ASSERT_TRUE(gains);
  EXPECT_EQ(gains->times, 2u);
  EXPECT_DOUBLE_EQ(gains->expected, 4);
  EXPECT_DOUBLE_EQ(gains->observed, 2);
  EXPECT_EQ(store.gains("x", "softmax", "h200")->times, 0u);
}

TEST_F(StoreTest, CasesAreFoundByTheirWordsLargestGainFirst) {
  Store store = open();
  ASSERT_TRUE(store.begin_run(some_run("r")));
  const CandidateRow naive = some_candidate("naive", 0, 0), better = some_candidate("better", 1, 0), best = some_candidate("best", 2, 0);
  ASSERT_TRUE(store.add_candidates("r", {naive, better, best}));
  CaseRow row{"r", naive.candidate.id, better.candidate.id, "transpose", "h200", "emulated h200", "modelled", "shared.banks", "32 wavefronts", "transform.pad", "a column of padding", "pad-shared-rows", 20, 10};
  ASSERT_TRUE(store.add_case(row));
  row.before = better.candidate.id, row.after = best.candidate.id, row.before_us = 10, row.after_us = 1;
  ASSERT_TRUE(store.add_case(row));
  ASSERT_TRUE(store.add_case(row));   // again: still one
  const auto found = store.cases({"BANKS", "padding"}, 10);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ(found->front().after_us, 1);
  EXPECT_EQ(found->front().after_source, best.candidate.source);
  EXPECT_TRUE(store.cases({"banks", "softmax"}, 10)->empty());
  EXPECT_EQ(store.cases({}, 1)->size(), 1u);
}

TEST_F(StoreTest, KeepsEqualTextsOnceAndNoticesEdits) {
  Store store = open();
  const auto key = store.artefacts().put("text");
  ASSERT_TRUE(key);
  EXPECT_EQ(*store.artefacts().put("text"), *key);
  EXPECT_EQ(*store.artefacts().get(*key), "text");
  std::ofstream(store.artefacts().path(*key)) << "tixt";
  EXPECT_EQ(store.artefacts().get(*key).error().code, ErrorCode::failed);
  EXPECT_EQ(store.artefacts().get(std::string(32, '0')).error().code, ErrorCode::missing);
}

TEST_F(StoreTest, IsMissingUntilItIsMade) {
  const auto absent = Store::open(folder_.path() / "none", false);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::missing);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "none"));
}

TEST_F(StoreTest, BringsAnOlderStoreUpToDate) {
  open().begin_run(some_run("r"));
  {
    auto database = Database::open(folder_.path() / "s" / "store.db", false, 1);
    ASSERT_TRUE(database->script("ALTER TABLE contributions DROP COLUMN title; DROP TABLE cases; DROP TABLE messages; INSERT INTO contributions VALUES ('r', 0, 'c', 'd', 2, 'ablation'); PRAGMA user_version = 1"));
  }
  Store store = open();
  const auto rows = store.contributions("r");
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(rows->front().ablated, "d");
  EXPECT_EQ(rows->front().title, "");
  ASSERT_TRUE(store.set_contributions("r", {{"c", "d", 2, "ablation", "vector 1 -> 4"}}));
  EXPECT_EQ(store.contributions("r")->front().title, "vector 1 -> 4");
}

TEST_F(StoreTest, RefusesALaterVersionAndForeignFiles) {
  open();
  {
    auto database = Database::open(folder_.path() / "s" / "store.db", false, 1);
    ASSERT_TRUE(database->script("PRAGMA user_version = 99"));
  }
  EXPECT_EQ(Store::open(folder_.path() / "s", true).error().code, ErrorCode::unsupported);
  std::filesystem::create_directories(folder_.path() / "f");
  std::ofstream(folder_.path() / "f" / "store.db") << "this is a text of some length, and no database at all: it only has the name of one";
  const auto foreign = Store::open(folder_.path() / "f", true);
  ASSERT_FALSE(foreign);
  EXPECT_THAT(foreign.error().message, HasSubstr("no store of Kernel Forge"));
}

TEST_F(StoreTest, LetsOneProcessWorkOnARun) {
  Store store = open();
  auto held = store.lock_run("r");
  ASSERT_TRUE(held);
  const auto second = store.lock_run("r");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::bad_input);
  EXPECT_TRUE(store.lock_run("q"));
}

TEST(WordList, TakesAnyBytes) {
  const std::vector<std::string> words{"", "a:b", "3:x", std::string("\0\n", 2)};
  EXPECT_EQ(from_word_list(to_word_list(words)), words);
  EXPECT_TRUE(from_word_list("").empty());
  EXPECT_TRUE(from_word_list("9:short").empty());
  EXPECT_TRUE(from_word_list("x").empty());
}

// A writer that is killed at a random moment: every candidate whose call returned is there with its source, and no round is half there.
TEST_F(StoreTest, LosesNothingThatReturnedWhenKilled) {
  constexpr int kKills = 10, kRound = 3;
  const auto seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  open();
  ASSERT_TRUE(open().begin_run(some_run("r")));
  for (int kill_number = 0; kill_number < kKills; ++kill_number) {
    int returned[2];
    ASSERT_EQ(::pipe(returned), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      auto store = Store::open(folder_.path() / "s", false);
      for (int round = 0; store; ++round) {
        std::vector<CandidateRow> rows;
        for (int i = 0; i < kRound; ++i)
          rows.push_back(some_candidate(std::to_string(kill_number) + "-" + std::to_string(round) + "-" + std::to_string(i), static_cast<std::uint64_t>(kill_number * 100000 + round), static_cast<std::uint64_t>(i)));
        if (!store->add_candidates("r", rows)) break;
        const char done = 1;
        if (::write(returned[1], &done, 1) != 1) break;
      }
      ::_exit(1);
    }
    ::close(returned[1]);
    ::usleep(static_cast<useconds_t>(std::uniform_int_distribution<int>(5'000, 60'000)(random)));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    std::size_t rounds = 0;
    char byte = 0;
    while (::read(returned[0], &byte, 1) == 1) ++rounds;
    ::close(returned[0]);

    Store store = open();
    const auto candidates = store.candidates("r");
    ASSERT_TRUE(candidates) << to_string(candidates.error());
    std::size_t here = 0;
    for (const CandidateRow& row : *candidates) here += row.round / 100000 == static_cast<std::uint64_t>(kill_number);
    EXPECT_EQ(here % kRound, 0u);
    EXPECT_GE(here / kRound, rounds);
    EXPECT_LE(here / kRound, rounds + 1);
  }
}

// Two processes write at once: both get all in.
TEST_F(StoreTest, TakesTwoWritersAtOnce) {
  open();
  ASSERT_TRUE(open().begin_run(some_run("r0")));
  ASSERT_TRUE(open().begin_run(some_run("r1")));
  pid_t children[2];
  for (int who = 0; who < 2; ++who) {
    children[who] = ::fork();
    if (children[who] != 0) continue;
    auto store = Store::open(folder_.path() / "s", false);
    const std::string run = "r" + std::to_string(who);
    bool good = store.has_value();
    for (int i = 0; good && i < 40; ++i) {
      good = store->add_candidates(run, {some_candidate(std::to_string(i), static_cast<std::uint64_t>(i), 0)}).has_value() &&
             store->add_verdict(run, {.candidate = std::to_string(i), .status = "accepted", .verdict = "same text"}).has_value() &&
             store->add_event(run, i, "verdict", "x").has_value();
    }
    ::_exit(good ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  Store store = open();
  for (const char* run : {"r0", "r1"}) {
    EXPECT_EQ(store.verdicts(run)->size(), 40u);
    EXPECT_EQ(store.events(run)->back().number, 40u);
  }
}

}  // namespace
}  // namespace kforge::store
