// Runs in which a capable model wrote the kernels, gone through again: the same prompts must come, the same candidates be tried, the target be reached in at most
// eight rounds, and each candidate be judged alike on other inputs. KFORGE_REBASE=1 records them anew with the same answers.
#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>

#include "kforge_runner.h"
#include "llm/record.h"

namespace kforge {
namespace {

using nlohmann::json;

constexpr std::size_t kMostRounds = 8;

class Recorded : public Runner {
 protected:
  // What the run was recorded with.
  ProcessResult replay(const std::string& run, const std::string& provider) const {
    const std::string folder = source_path("tests/llm/runs/" + run);
    return kforge({"optimize", folder + "/task.toml", "--from", folder + "/naive.cu", "--llm", provider + ":" + folder + "/run.jsonl", "--proposers", "model,sweep", "--budget-seconds", "100000", "--jobs", "2", "--fresh-seed", "2718281828459045"});
  }
  static llm::Record recorded(const std::string& run) {
    const std::string path = source_path("tests/llm/runs/" + run + "/run.jsonl");
    const auto text = read_file(path);
    EXPECT_TRUE(text);
    auto record = llm::read_record(text ? *text : "", path);
    EXPECT_TRUE(record) << to_string(record.error());
    return record ? std::move(*record) : llm::Record{};
  }
};

class Replay : public Recorded, public ::testing::WithParamInterface<const char*> {};

bool rebases() {
  const char* set = std::getenv("KFORGE_REBASE");
  return set && *set;
}

TEST_P(Replay, ReachesItsTargetWithTheSamePrompts) {
  const std::string run = GetParam();
  const auto result = replay(run, rebases() ? "replay-in-order" : "replay");
  ASSERT_EQ(result.exit_status, 0) << result.out << result.err << "\nif prompts were changed on purpose: KFORGE_REBASE=1 llm_replay_test";
  if (rebases()) {
    ASSERT_EQ(kforge({"runs", "last", "--messages", source_path("tests/llm/runs/" + run + "/run.jsonl")}).exit_status, 0);
  }
  const json ran = record();
  EXPECT_EQ(ran["outcome"], "goal");
  EXPECT_TRUE(ran["goal_met"].get<bool>());
  const llm::Record answers = recorded(run);
  EXPECT_LE(answers.exchanges.size(), kMostRounds);
  const auto again = kforge({"runs", "last", "--messages", "-"});
  EXPECT_EQ(llm::read_record(again.out, "-")->exchanges.size(), answers.exchanges.size()) << "every answer was asked for";

  // On inputs that the run did not see the judge says the same of every candidate.
  for (const json& tried : ran["tried"]) {
    const std::string id = tried["candidate"]["id"], path = file(id + ".cu");
    ASSERT_TRUE(write_file_atomic(path, tried["candidate"]["source"].get<std::string>()));
    const auto checked = kforge({"check", source_path("tests/llm/runs/" + run + "/task.toml"), path, "--seed", "977", "--fresh-seed", "2718281828459045", "--json"});
    const json verdict = json::parse(checked.out, nullptr, false);
    if (tried["verdict"]["status"] == "error") continue;   // it was not worth a proof
    EXPECT_EQ(verdict["status"], tried["verdict"]["status"]) << id << ": " << verdict.value("why", "");
  }
}

INSTANTIATE_TEST_SUITE_P(Runs, Replay, ::testing::Values("softmax", "transpose", "layernorm", "gemm_f16", "fused_norm"), [](const auto& info) { return std::string(info.param); });

TEST_F(Recorded, OtherPromptsThanTheRecordedOnesAreRefused) {
  llm::Record wrong = recorded("softmax");
  for (llm::Exchange& exchange : wrong.exchanges) exchange.request = std::string(32, '0');
  ASSERT_TRUE(write_file_atomic(file("wrong.jsonl"), llm::to_text(wrong)));
  const std::string folder = source_path("tests/llm/runs/softmax");
  const auto result = kforge({"optimize", folder + "/task.toml", "--from", folder + "/naive.cu", "--llm", "replay:" + file("wrong.jsonl"), "--proposers", "model"});
  EXPECT_EQ(result.exit_status, 2) << result.err;
  EXPECT_THAT(result.err, testing::HasSubstr("has no answer to the request"));
  EXPECT_EQ(record()["outcome"], "failed") << "the journal is whole";
}

}  // namespace
}  // namespace kforge
