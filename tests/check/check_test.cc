// The examples as promises: naive kernels are right, good ones are accepted whole, every wrong one is rejected by the contract and at
// the line that its `// expect:` names; hostile candidates end within their limits and disturb nobody. Where a task has many candidates, one call judges
// them all.
#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check_runner.h"

namespace kforge::tests {
namespace {

namespace fs = std::filesystem;

struct Candidate {
  fs::path task, source;
};

void PrintTo(const Candidate& candidate, std::ostream* out) { *out << candidate.source.string(); }

std::string test_name(const testing::TestParamInfo<Candidate>& info) {
  std::string name = info.param.task.parent_path().filename().string() + "_" + info.param.source.stem().string();
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

std::vector<Candidate> examples(const std::string& kind) {
  std::vector<Candidate> found;
  for (const std::string example : {"softmax", "transpose", "sgemm", "sobel", "layernorm", "reduction", "saxpy", "scan", "histogram"}) {
    const fs::path folder = source_folder() / "examples" / example;
    found.push_back({folder / "task.toml", folder / (kind + ".cu")});
  }
  return found;
}

// Those of one task.
struct Candidates {
  fs::path task;
  std::vector<fs::path> sources;
};

void PrintTo(const Candidates& candidates, std::ostream* out) { *out << candidates.task.string(); }

std::string task_name(const testing::TestParamInfo<Candidates>& info) { return info.param.task.parent_path().filename().string(); }

std::vector<Candidates> bad_examples() {
  std::vector<Candidates> found;
  for (const Candidate& example : examples("good")) found.push_back({example.task, cuda_files(example.task.parent_path() / "bad")});
  return found;
}

std::vector<Candidate> hostile() {
  std::vector<Candidate> found;
  for (const fs::path& file : cuda_files(source_folder() / "tests" / "hostile"))
    found.push_back({source_folder() / "examples" / "softmax" / "task.toml", file});
  return found;
}

// tests/kernels/TASK/{right,wrong}_*.cu: patterns of the field beyond the examples.
std::vector<Candidates> kernels(const std::string& prefix) {
  std::map<fs::path, Candidates> found;
  for (const auto& entry : fs::directory_iterator(source_folder() / "tests" / "kernels"))
    for (const fs::path& file : cuda_files(entry.path()))
      if (file.filename().string().starts_with(prefix)) {
        found[entry.path()].task = entry.path() / "task.toml";
        found[entry.path()].sources.push_back(file);
      }
  std::vector<Candidates> out;
  for (auto& [folder, candidates] : found) out.push_back(std::move(candidates));
  return out;
}

void expect_rejected_as_marked(const fs::path& source, const CheckRun& run) {
  const auto expected = expectations(source);
  EXPECT_FALSE(expected.empty()) << source << " has no `// expect:`";
  for (const Expectation& expectation : expected) EXPECT_EQ(unmet(run, expectation), "") << source << "\n" << run.output;
}

class Naive : public testing::TestWithParam<Candidate> {};
TEST_P(Naive, IsRight) {
  const CheckRun run = check(GetParam().task, GetParam().source, {"--only", "correctness"});
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_EQ(run.status, "accepted");
}
INSTANTIATE_TEST_SUITE_P(Examples, Naive, testing::ValuesIn(examples("naive")), test_name);

class Slow : public testing::TestWithParam<Candidate> {};
TEST_P(Slow, IsRejectedForItsMemoryAccesses) {
  const CheckRun run = check(GetParam().task, GetParam().source);
  EXPECT_EQ(run.exit_code, 1) << run.output;
  EXPECT_THAT(run.failed, testing::Contains("memory.coalescing"));
}
INSTANTIATE_TEST_SUITE_P(Examples, Slow, testing::ValuesIn(examples("naive")), test_name);

class Good : public testing::TestWithParam<Candidate> {};
TEST_P(Good, IsAccepted) {
  const CheckRun run = check(GetParam().task, GetParam().source);
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_EQ(run.status, "accepted");
}
INSTANTIATE_TEST_SUITE_P(Examples, Good, testing::ValuesIn(examples("good")), test_name);

class Right : public testing::TestWithParam<Candidates> {};
TEST_P(Right, AreAccepted) {
  auto runs = check_all(GetParam().task, GetParam().sources, {"--only", "correctness"});
  for (const fs::path& source : GetParam().sources) EXPECT_EQ(runs[source].exit_code, 0) << source << "\n" << runs[source].output;
}
INSTANTIATE_TEST_SUITE_P(Kernels, Right, testing::ValuesIn(kernels("right")), task_name);

class Wrong : public testing::TestWithParam<Candidates> {};
TEST_P(Wrong, AreRejectedAtTheirLines) {
  auto runs = check_all(GetParam().task, GetParam().sources);
  for (const fs::path& source : GetParam().sources) expect_rejected_as_marked(source, runs[source]);
}
INSTANTIATE_TEST_SUITE_P(Examples, Wrong, testing::ValuesIn(bad_examples()), task_name);
INSTANTIATE_TEST_SUITE_P(Kernels, Wrong, testing::ValuesIn(kernels("wrong")), task_name);

class Hostile : public testing::TestWithParam<Candidate> {};
TEST_P(Hostile, IsRejectedWithinItsLimits) { expect_rejected_as_marked(GetParam().source, check(GetParam().task, GetParam().source)); }
INSTANTIATE_TEST_SUITE_P(Candidates, Hostile, testing::ValuesIn(hostile()), test_name);

TEST(Check, AWrongCallIsExitTwo) {
  EXPECT_EQ(check("no/such/task.toml", "x.cu").exit_code, 2);
  EXPECT_EQ(check(source_folder() / "examples/softmax/task.toml", "no/such.cu").exit_code, 2);
  EXPECT_EQ(check(source_folder() / "examples/softmax/task.toml", source_folder() / "examples/softmax/good.cu", {"--gpu", "h2000"}).exit_code, 2);
}

TEST(Check, AGpuThatNvccCannotTargetIsExitThree) {
  const CheckRun run = check(source_folder() / "examples/softmax/task.toml", source_folder() / "examples/softmax/good.cu", {"--gpu", "v100"});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.output, testing::HasSubstr("sm_70"));
}

}  // namespace
}  // namespace kforge::tests
