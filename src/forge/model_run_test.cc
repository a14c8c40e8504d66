// A language model in the loop, in a world without compilers: what it answers is judged, kept before it is used, and not asked for twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forge/fake_world_test.h"
#include "forge/model_run.h"
#include "llm/record.h"

namespace kforge::forge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string fenced(const std::string& source) { return "```cuda\n" + source + "\n```\n"; }

// A run whose only proposer is a model that gives these answers in order.
struct ModelledRun : FakeRun {
  ModelledRun(const std::filesystem::path& folder, const std::vector<std::string>& answers, ModelOptions given = {}) : FakeRun(folder / "store"), options(std::move(given)) {
    llm::Record record{"manual", false, {}};
    for (const std::string& text : answers) {
      llm::Answer answer;
      answer.text = text;
      answer.usage = {1000, 100, 0, 0, true};
      record.exchanges.push_back({"any", answer});
    }
    const auto file = folder / "record.jsonl";
    static_cast<void>(write_file_atomic(file, llm::to_text(record)));
    options.spec = "replay-in-order:" + file.string();
    setting.proposers.clear();
    setting.budget.stagnation = 0;
  }

  Expected<void> run() {
    store::RunRow fresh;
    fresh.id = run_id;
    fresh.gpu = "h200";
    if (const auto there = store.run(run_id); !there || there->id != run_id) {
      auto begun = Journal::begin(store, fresh, plan);
      if (!begun) return Unexpected(begun.error());
      journal.emplace(std::move(*begun));
    } else {
      auto opened = Journal::reopen(store, *there);
      if (!opened) return Unexpected(opened.error());
      journal.emplace(std::move(*opened));
    }
    setting.journal = &*journal;
    ModelSurroundings around;
    around.store = &store;
    around.journal = &*journal;
    around.device = "a fake one";
    around.judge = [this](const Candidate& c) { return judge(c, {}); };
    auto opened = ModelRun::open(options, std::move(around));
    if (!opened) return Unexpected(opened.error());
    model = std::move(*opened);
    setting.proposers.push_back(model->proposer());
    setting.proposer_failure = [this] { return model->failure(); };
    return run_loop(setting);
  }
  std::vector<std::string> sources() const {
    std::vector<std::string> out;
    for (const Entry& e : journal->entries()) out.push_back(e.candidate.source);
    return out;
  }

  ModelOptions options;
  std::unique_ptr<ModelRun> model;
};

TEST(ModelRun, ItsKernelsAreCandidatesLikeAnyOther) {
  const auto folder = test_folder("model-run");
  ModelledRun run(folder.path(), {fenced("a=3 b=1"), fenced("a=5 b=2")});
  const auto done = run.run();
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_THAT(run.sources(), ElementsAre("a=0 b=0", "a=3 b=1\n", "a=5 b=2\n"));
  EXPECT_EQ(run.winner_text(), "a=5 b=2\n");
  EXPECT_EQ(run.journal->row().outcome, "budget");
  EXPECT_THAT(run.journal->row().outcome_why, HasSubstr("no further answer"));
  EXPECT_EQ(run.store.messages("run")->size(), 2u);
  EXPECT_THAT(run.journal->entries()[1].candidate.proposer, HasSubstr("model:"));
}

TEST(ModelRun, AnAnswerWithoutAKernelIsAskedForAgain) {
  const auto folder = test_folder("model-run");
  ModelledRun run(folder.path(), {"I refuse to show code.", fenced("a=3 b=1")});
  ASSERT_TRUE(run.run());
  EXPECT_THAT(run.sources(), ElementsAre("a=0 b=0", "a=3 b=1\n"));
  const auto messages = run.store.messages("run");
  EXPECT_THAT(messages->at(1).prompt, HasSubstr("no fenced code block"));
}

TEST(ModelRun, WhatWasAnsweredBeforeAKillIsNotAskedForAgain) {
  const auto folder = test_folder("model-run"), again = test_folder("model-run");
  ModelledRun first(folder.path(), {fenced("a=3 b=1")});
  ASSERT_TRUE(first.run());
  const auto kept = first.store.messages("run");
  ASSERT_EQ(kept->size(), 1u);
  // Killed after the answer was kept and before its candidate was.
  ModelledRun killed(again.path(), {});
  store::RunRow row;
  row.id = "run";
  row.gpu = "h200";
  ASSERT_TRUE(Journal::begin(killed.store, row, killed.plan));
  ASSERT_TRUE(killed.store.add_message("run", kept->front()));
  ASSERT_TRUE(killed.run());
  EXPECT_THAT(killed.sources(), ElementsAre("a=0 b=0", "a=3 b=1\n"));
}

TEST(ModelRun, WhatAPersonChangedOrLeftOutIsNotProposedAgain) {
  const auto folder = test_folder("model-run");
  ModelledRun run(folder.path(), {fenced("a=3 b=1"), fenced("a=4 b=1"), fenced("a=5 b=2")});
  run.setting.review = [](std::uint64_t, std::vector<Candidate> proposed) -> Expected<std::optional<std::vector<Candidate>>> {
    std::erase_if(proposed, [](const Candidate& c) { return c.source == "a=4 b=1\n"; });
    for (Candidate& c : proposed)
      if (c.source == "a=3 b=1\n") c.source = "a=3 b=2\n", c.proposer = "user", c.id = identity(c.source, c.flags);
    return std::optional(std::move(proposed));
  };
  const auto done = run.run();
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_THAT(run.sources(), ElementsAre("a=0 b=0", "a=3 b=2\n", "a=5 b=2\n"));
  const auto messages = run.store.messages("run");
  ASSERT_EQ(messages->size(), 3u);
  EXPECT_THAT((*messages)[2].prompt, HasSubstr("a person left it out"));
}

TEST(ModelRun, ItsBudgetOfTokensIsKept) {
  const auto folder = test_folder("model-run");
  ModelOptions options;
  options.tokens = 4000;
  ModelledRun run(folder.path(), {fenced("a=1 b=1"), fenced("a=3 b=1"), fenced("a=4 b=1"), fenced("a=5 b=1"), fenced("a=6 b=1")}, options);
  ASSERT_TRUE(run.run());
  EXPECT_LT(run.store.messages("run")->size(), 5u);
  EXPECT_EQ(run.journal->row().outcome, "budget");
  EXPECT_THAT(run.journal->row().outcome_why, HasSubstr("4000 tokens"));
}

TEST(ModelRun, WrongOptionsAreExplained) {
  ModelOptions options;
  options.spec = "manual:folder";
  options.tools = "maybe";
  EXPECT_EQ(check_model(options).error().code, ErrorCode::bad_input);
  options.tools = "";
  options.money = 1;
  EXPECT_THAT(check_model(options).error().message, HasSubstr("price"));
  options.money = 0;
  EXPECT_TRUE(check_model(options));
  options.bare_feedback = true;
  EXPECT_TRUE(check_model(options));
  options.tools = "on";
  EXPECT_THAT(check_model(options).error().message, HasSubstr("tools tell what the judge found"));
}

TEST(ModelRun, OptionsAreReadBackForAResumedRun) {
  ModelOptions options;
  options.spec = "anthropic:x";
  options.url = "http://localhost:1";
  options.tokens = 5;
  options.money = 0.25;
  options.at_once = 3;
  options.bare_feedback = true;
  options.context = {"a", "b c"};
  const ModelOptions back = model_of_words(model_words(options));
  EXPECT_EQ(model_words(back), model_words(options));
  EXPECT_EQ(back.context, options.context);
}

}  // namespace
}  // namespace kforge::forge
