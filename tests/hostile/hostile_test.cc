// Each candidate that cheats is named for what it does, and gets through where its defence is switched off: that the defence stops it, and no accident.
// Honest ones, however unusual, are accepted.
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/process.h"
#include "marked_candidate.h"
#include "task/cases.h"
#include "task/task.h"
#include "trial/references.h"

namespace kforge::tests {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

struct Answer {
  int exit_code = -1;
  std::string out, err;
};

Answer kforge(std::vector<std::string> arguments, std::map<std::string, std::string> set, double seconds = 140) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    if (!set.contains(text.substr(0, text.find('=')))) environment.push_back(text);
  }
  for (const auto& [name, value] : set) environment.push_back(name + "=" + value);
  arguments.insert(arguments.begin(), KFORGE_BINARY_DIR "/bin/kforge");
  ProcessRequest request;
  request.arguments = std::move(arguments);
  request.environment = std::move(environment);
  request.limits.wall_seconds = seconds;
  const auto result = run_process(request);
  return result ? Answer{result->exit_status, result->out, result->err} : Answer{};
}

// A table of first elements and sums, of the inputs that seed 1 gives.
std::string known_sums(const task::Task& task) {
  std::string out;
  const auto cases = task::make_cases(task, {});
  if (!cases) return out;
  for (const bool measure : {false, true})
    for (const trial::Job& job : trial::jobs_of(*cases, measure)) {
      const auto bytes = task::make_input(task, task.tensors.front(), job.run.sizes, job.run.values, job.run.seed);
      if (!bytes || bytes->size() < sizeof(float)) continue;
      double sum = 0;
      std::uint32_t first = 0;
      std::memcpy(&first, bytes->data(), sizeof first);
      for (std::size_t at = 0; at < bytes->size(); at += sizeof(float)) {
        float value;
        std::memcpy(&value, bytes->data() + at, sizeof value);
        sum += value;
      }
      out += fmt::format("{{{}u, {}, {:.9g}}}, ", first, bytes->size() / sizeof(float), sum);
    }
  return out;
}

// What a file holds, a pattern's place filled in.
std::string text_of(const MarkedCandidate& candidate) {
  const auto task = task::read_task(candidate.task().string());
  auto text = read_file(candidate.source);
  EXPECT_TRUE(task && text);
  if (!task || !text) return {};
  if (const auto at = text->find("@KNOWN@"); at != std::string::npos) text->replace(at, 7, known_sums(*task));
  return *text;
}

struct Judged {
  json verdict;
  std::string said;   // of the whole call
};

// Judges all candidates of one task in one call of `kforge check`, and keeps the verdicts: compilers that are kept, and a build that is there already when the
// same candidates are judged without a defence.
class Judgements {
 public:
  static Judgements& all() {
    static Judgements one;
    return one;
  }
  const Judged& of(const MarkedCandidate& candidate, const std::string& defences_off) {
    const std::string call = candidate.task().string() + " without " + defences_off;
    if (!calls_.contains(call)) judge(candidate.task(), defences_off, calls_[call]);
    return calls_[call][candidate.name()];
  }

 private:
  Judgements() : folder_(*TemporaryDirectory::create("hostile_test")) {}

  void judge(const fs::path& task, const std::string& defences_off, std::map<std::string, Judged>& out) {
    // The same folder for each call of a task, and in each run of this test: sources are known by their paths, and what was built is kept.
    const fs::path home = fs::path(KFORGE_BINARY_DIR) / "hostile_test" / task.parent_path().filename() / task.stem(), verdicts = folder_.path() / fmt::format("verdicts{}", calls_.size());
    fs::remove_all(home);
    fs::create_directories(home);
    for (const auto& entry : fs::directory_iterator(task.parent_path()))
      if (const auto kind = entry.path().extension(); kind == ".toml" || kind == ".cpp" || kind == ".cuh") fs::copy_file(entry.path(), home / entry.path().filename());
    std::vector<MarkedCandidate> asked;
    for (const char* start : {"cheat_", "honest_"})
      for (const MarkedCandidate& one : marked_candidates(start))
        if (one.task() == task && (defences_off.empty() ? one.mark("bench").empty() || !one.mark("check").empty() : one.mark("check-off") == defences_off)) asked.push_back(one);
    for (const MarkedCandidate& one : asked) std::ofstream(home / (one.name() + ".cu")) << text_of(one);
    const Answer answer = kforge({"check", (home / task.filename()).string(), home.string(), "--out", verdicts.string(), "--only", "correctness", "--fresh-seed", "2718281828459045"}, {{"KFORGE_DEFENCES_OFF", defences_off}},
                                 100 + 60 * static_cast<double>(asked.size()));
    for (const MarkedCandidate& one : asked) {
      std::ifstream file(verdicts / (one.name() + ".cu.json"));
      out[one.name()] = {json::parse(file, nullptr, false), answer.out + answer.err};
    }
  }

  TemporaryDirectory folder_;
  std::map<std::string, std::map<std::string, Judged>> calls_;
};

std::vector<MarkedCandidate> with_mark(const std::string& key) {
  auto all = marked_candidates("cheat_");
  std::erase_if(all, [&](const MarkedCandidate& c) { return c.mark(key).empty(); });
  return all;
}

std::string name_of(const ::testing::TestParamInfo<MarkedCandidate>& info) { return info.param.name(); }

class Cheat : public ::testing::TestWithParam<MarkedCandidate> {};

TEST_P(Cheat, IsNamed) {
  const std::string mark = GetParam().mark("check");
  const std::string contract = mark.substr(0, mark.find(" | ")), words = mark.substr(mark.find(" | ") + 3);
  const auto& [verdict, told] = Judgements::all().of(GetParam(), "");
  ASSERT_TRUE(verdict.is_object()) << told;
  EXPECT_EQ(verdict["status"], "rejected") << verdict.dump(1);
  std::string said;
  for (const json& finding : verdict["findings"])
    if (finding["contract"] == contract) said += finding["message"].get<std::string>() + "\n";
  EXPECT_THAT(said, HasSubstr(words)) << verdict.dump(1);
}

TEST_P(Cheat, GetsThroughWithoutItsDefence) {
  if (GetParam().mark("check-off").empty()) GTEST_SKIP() << "there is nothing to get through to here";
  const auto& [verdict, told] = Judgements::all().of(GetParam(), GetParam().mark("check-off"));
  ASSERT_TRUE(verdict.is_object()) << told;
  EXPECT_EQ(verdict["status"], "accepted") << verdict.dump(1);
  EXPECT_THAT(verdict.dump(), HasSubstr("is switched off"));
}
INSTANTIATE_TEST_SUITE_P(Emulated, Cheat, ::testing::ValuesIn(with_mark("check")), name_of);

class Honest : public ::testing::TestWithParam<MarkedCandidate> {};

TEST_P(Honest, IsAccepted) {
  const auto& [verdict, told] = Judgements::all().of(GetParam(), "");
  ASSERT_TRUE(verdict.is_object()) << told;
  EXPECT_EQ(verdict["status"], "accepted") << verdict.dump(1);
}
INSTANTIATE_TEST_SUITE_P(Unusual, Honest, ::testing::ValuesIn(marked_candidates("honest_")), name_of);

std::vector<MarkedCandidate> on_the_fake() {
  auto all = with_mark("bench");
  std::erase_if(all, [](const MarkedCandidate& c) { return c.mark("fake").empty(); });
  return all;
}

// On a GPU that is a fake: bench goes there at once, so that nothing but what watches the time stands in between. All that have the same defences off are
// timed in one call, each in a process of its own.
class Timings {
 public:
  static Timings& all() {
    static Timings one;
    return one;
  }
  // The row of the report; `said` is what the call wrote.
  struct Timed { json row; std::string said; };
  const Timed& of(const MarkedCandidate& candidate, const std::string& mark_of_off) {
    const std::string off = mark_of_off.empty() ? "" : candidate.mark(mark_of_off);
    if (!calls_.contains(off)) bench(mark_of_off, off, calls_[off]);
    return calls_[off][candidate.name()];
  }

 private:
  static void bench(const std::string& mark_of_off, const std::string& off, std::map<std::string, Timed>& out) {
    std::vector<MarkedCandidate> asked = on_the_fake();
    std::erase_if(asked, [&](const MarkedCandidate& c) { return !mark_of_off.empty() && c.mark(mark_of_off) != off; });
    std::vector<std::string> call = {"bench", (asked.front().source.parent_path() / "free.toml").string()};
    for (const MarkedCandidate& one : asked) call.push_back(one.source.string());
    for (const char* word : {"--time-seconds", "0.3", "--json"}) call.emplace_back(word);
    const std::string driver = KFORGE_BINARY_DIR "/bin/libkforge_fake_driver.so";
    // The times of this GPU are those of a busy machine: what is judged by them alone stays out where nothing is to be said.
    const Answer answer = kforge(call, {{"KFORGE_FAKE_GPU", "small"}, {"KFORGE_LIBCUDA", driver}, {"KFORGE_LIBNVML", driver}, {"KFORGE_LIBCUDART", KFORGE_BINARY_DIR "/bin/libkforge_cudart.so"},
                                        {"KFORGE_LIBCUPTI", "/nowhere"}, {"KFORGE_DEFENCES_OFF", off.empty() ? "" : off + ",clock,fresh,quiet"}});
    const json report = json::parse(answer.out, nullptr, false);
    const json rows = report.is_object() ? report.value("rows", json::array()) : json::array();
    for (const MarkedCandidate& one : asked) {
      Timed& timed = out[one.name()] = {json(), answer.out + answer.err};
      for (const json& row : rows)
        if (row.at("candidate") == one.source.string()) timed.row = row;
    }
  }

  std::map<std::string, std::map<std::string, Timed>> calls_;
};

class TimedCheat : public ::testing::TestWithParam<MarkedCandidate> {};

TEST_P(TimedCheat, IsNamed) {
  const auto& [row, said] = Timings::all().of(GetParam(), "");
  ASSERT_TRUE(row.is_object()) << said;
  EXPECT_THAT(json({row["right"], row["failure"], row["dishonest"]}).dump(), HasSubstr(GetParam().mark("bench"))) << said;
}

TEST_P(TimedCheat, GetsThroughWithoutItsDefence) {
  const auto& [row, said] = Timings::all().of(GetParam(), "bench-off");
  ASSERT_TRUE(row.is_object()) << said;
  EXPECT_EQ(json({row["right"], row["failure"], row["dishonest"]}), json({"right", "", json::array()})) << said;
}
INSTANTIATE_TEST_SUITE_P(FakeGpu, TimedCheat, ::testing::ValuesIn(on_the_fake()), name_of);

TEST(HostileSet, HasTwoOfEachKindAndFortyOfBothSorts) {
  std::map<std::string, int> kinds;
  int cheats = 0;
  for (const MarkedCandidate& cheat : marked_candidates("cheat_")) {
    ++cheats;
    ++kinds[cheat.mark("kind")];
    EXPECT_FALSE(cheat.mark("check").empty() && cheat.mark("bench").empty()) << cheat.source;
  }
  EXPECT_GE(cheats, 40);
  EXPECT_GE(marked_candidates("honest_").size(), 40u);
  for (const auto& [kind, count] : kinds) EXPECT_GE(count, 2) << kind;
  for (const char* kind : {"other streams or threads", "cached results", "only the first calls", "one call for many", "inputs changed", "L2 persistence", "lower precision", "library calls",
                           "no-op on constant outputs", "hard-coded shapes or seeds", "forged messages", "patched timing functions", "reading what is not its own", "more than is allowed"})
    EXPECT_TRUE(kinds.contains(kind)) << kind;
}

TEST(Defences, AnUnknownNameIsAWrongCall) {
  const fs::path folder = fs::path(KFORGE_SOURCE_DIR) / "tests" / "hostile" / "decay";
  const Answer answer = kforge({"check", (folder / "free.toml").string(), (folder / "honest_plain.cu").string()}, {{"KFORGE_DEFENCES_OFF", "poisons"}});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_THAT(answer.err, HasSubstr("'poisons' is no defence"));
}

}  // namespace
}  // namespace kforge::tests
