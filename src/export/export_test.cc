// Exports of a hand-made run: files, bytes, dispatch; and recorded pairs under a judge that the test plays.
#include "kforge/export.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "kforge/report.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

std::string project_file(const std::string& path) { return *read_file(fs::path(KFORGE_SOURCE_DIR) / path); }

RunRecord run_of(const std::string& task, const std::string& source, const std::string& id) {
  RunRecord run;
  run.id = "run-" + id;
  run.task_path = (fs::path(KFORGE_SOURCE_DIR) / task).string();
  run.task_text = project_file(task);
  run.task_name = "t";
  run.gpu = "h200";
  run.plan.sizes.resize(1);
  run.plan.sizes[0].sizes = {{"rows", 4096}, {"cols", id == "a" ? 1024 : 32768}};
  TriedCandidate tried;
  tried.candidate.id = id;
  tried.candidate.proposer = "template:softmax_row";
  tried.candidate.source = source;
  tried.candidate.flags = {"-DNAME=\"x y\""};
  tried.verdict.status = VerdictStatus::accepted;
  tried.verdict.device = "emulated h200";
  tried.verdict.time.emplace().us = 5.2;
  run.tried.push_back(tried);
  run.winner = id;
  return run;
}

class Export : public testing::Test {
 protected:
  std::string folder(const std::string& name) { return (temporary_.path() / name).string(); }
  std::string text(const std::string& path) { return *read_file(temporary_.path() / path); }
  TemporaryDirectory temporary_ = std::move(*TemporaryDirectory::create());
};

TEST_F(Export, TheWinnerIsDeliveredByteForByte) {
  const std::string source = project_file("examples/softmax/good.cu") + "// \xff bytes \r\n as they are";
  const auto done = export_run(run_of("examples/softmax/task.toml", source, "a"), {ExportForm::cpp, folder("out")});
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_EQ(text("out/winner.cu"), source);
  EXPECT_TRUE(done->has_test);
  for (const char* file : {"row_softmax.h", "row_softmax.hpp", "CMakeLists.txt", "test.cpp", "kforge_test.h", "reference.cpp", "verdict.json", "README.md", "LICENCE.md"})
    EXPECT_TRUE(fs::exists(fs::path(folder("out")) / file)) << file;
  EXPECT_FALSE(fs::exists(fs::path(folder("out")) / "dispatch.cpp"));
  EXPECT_THAT(text("out/row_softmax.h"), AllOf(HasSubstr("cudaError_t softmax(const float* x, float* y, int rows, int cols, float scale, cudaStream_t stream);"), HasSubstr("requires     rows >= 1")));
  EXPECT_THAT(text("out/CMakeLists.txt"), AllOf(HasSubstr("CMAKE_CUDA_ARCHITECTURES 90"), HasSubstr("\"-DNAME=\\\"x y\\\"\"")));
  EXPECT_TRUE(read_verdict(text("out/verdict.json"), "verdict.json"));
}

// What run_case is called with, in order.
std::vector<std::vector<long long>> tested_sizes(const std::string& test) {
  std::vector<std::vector<long long>> out;
  for (std::size_t at = test.find("run_case(", test.find("int main")); at != std::string::npos; at = test.find("run_case(", at + 1)) {
    std::istringstream numbers(test.substr(at + 9, test.find("seed", at) - at - 9));
    auto& row = out.emplace_back();
    for (std::string number; std::getline(numbers, number, ',') && number != " ";) row.push_back(std::stoll(number));
  }
  return out;
}

TEST_F(Export, TheTestEntersThePathsOfALargeKernel) {
  ASSERT_TRUE(export_run(run_of("examples/softmax/task.toml", "// a\n", "a"), {ExportForm::cuda, folder("out")}));
  const auto sizes = tested_sizes(text("out/test.cpp"));
  const auto has = [&](long long rows, long long cols) { return std::find(sizes.begin(), sizes.end(), std::vector{rows, cols}) != sizes.end(); };
  for (const long long cols : {1, 2, 3, 4, 31, 32, 33, 127, 128, 129})
    for (const long long rows : {64, 65}) EXPECT_TRUE(has(rows, cols)) << rows << "x" << cols;
  for (const long long rows : {1, 2, 3, 31, 32, 33, 127, 128, 129})
    for (const long long cols : {64, 65}) EXPECT_TRUE(has(rows, cols)) << rows << "x" << cols;
  for (const long long cols : {1023, 1024, 1025})
    for (const long long rows : {8, 9}) EXPECT_TRUE(has(rows, cols)) << rows << "x" << cols;   // the tuned width
  for (const long long rows : {4095, 4096, 4097})
    for (const long long cols : {8, 9}) EXPECT_TRUE(has(rows, cols)) << rows << "x" << cols;
  EXPECT_TRUE(has(17, 1000)) << "the task's own";
  EXPECT_LT(sizes.size(), 120u);
  for (const auto& row : sizes) EXPECT_LE(row[0] * row[1], 1 << 20);
}

TEST_F(Export, ConditionsOnSizesHoldInTheTestToo) {
  RunRecord run = run_of("examples/softmax/task.toml", "// a\n", "a");
  const std::size_t at = run.task_text.find("cols >= 1");
  ASSERT_NE(at, std::string::npos);
  run.task_text.replace(at, 9, "cols % 4 == 0");
  ASSERT_TRUE(export_run(run, {ExportForm::cuda, folder("out")}));
  const auto sizes = tested_sizes(text("out/test.cpp"));
  EXPECT_GT(sizes.size(), 20u);
  for (const auto& row : sizes) EXPECT_EQ(row[1] % 4, 0);
}

TEST_F(Export, SaysWhatToTypeToTestIt) {
  const auto done = export_run(run_of("examples/softmax/task.toml", "// a\n", "a"), {ExportForm::cuda, folder("it's")});
  ASSERT_TRUE(done);
  EXPECT_THAT(done->build_command, HasSubstr("it'\\''s'"));
  EXPECT_THAT(done->test_command, testing::StartsWith("ctest --test-dir '"));
  EXPECT_EQ(done->emulated_test_command, "LD_LIBRARY_PATH=" KFORGE_BINARY_DIR "/bin/cudart " + done->test_command);
}

TEST_F(Export, SeveralRunsAreDispatchedBySize) {
  const auto done = export_runs({run_of("examples/softmax/task.toml", "// a\n", "a"), run_of("examples/softmax/task.toml", "// b\n", "b")}, {ExportForm::cuda, folder("out")});
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_EQ(text("out/winner_1.cu"), "// a\n");
  EXPECT_EQ(text("out/winner_2.cu"), "// b\n");
  EXPECT_THAT(text("out/dispatch.cpp"), AllOf(HasSubstr("{4096.0, 1024.0},"), HasSubstr("{4096.0, 32768.0},"), HasSubstr("case 1: return softmax_2(x, y, rows, cols, scale, stream);")));
  EXPECT_THAT(text("out/CMakeLists.txt"), HasSubstr("softmax=softmax_2"));
}

TEST_F(Export, WhatCannotBeDeliveredIsAnErrorThatSaysWhy) {
  RunRecord run = run_of("examples/softmax/task.toml", "// a\n", "a");
  std::ofstream(temporary_.path() / "file") << "x";
  EXPECT_THAT(export_run(run, {ExportForm::cuda, folder("file")}).error().message, HasSubstr("a file has the name"));
  fs::create_directory(folder("used"));
  std::ofstream(temporary_.path() / "used" / "file") << "x";
  EXPECT_THAT(export_run(run, {ExportForm::cuda, folder("used")}).error().message, HasSubstr("not empty"));
  EXPECT_TRUE(export_run(run, {ExportForm::cuda, folder("used"), true}));
  const RunRecord other = run_of("examples/sgemm/task.toml", "// b\n", "b");
  EXPECT_THAT(export_runs({run, other}, {ExportForm::cuda, folder("two")}).error().message, HasSubstr("different interfaces"));
  run.tried[0].verdict.status = VerdictStatus::rejected;
  EXPECT_THAT(export_run(run, {ExportForm::cuda, folder("a")}).error().message, HasSubstr("not accepted"));
  run.winner.clear();
  EXPECT_THAT(export_run(run, {ExportForm::cuda, folder("a")}).error().message, HasSubstr("no winner"));
  EXPECT_FALSE(export_runs({}, {ExportForm::cuda, folder("a")}));
}

Verdict verdict(VerdictStatus status, Status banks, double us) {
  Verdict v;
  v.status = status;
  v.task = "t";
  v.gpu = "h200";
  v.contracts = {{"numerics", Level::required, Status::passed, "", "", ""}, {"shared.banks", Level::required, banks, "2.00", "", ""}, {"memory.vector", Level::advice, Status::passed, "", "", ""}};
  if (us > 0) v.time.emplace().us = us;
  return v;
}

class Ci : public Export {
 protected:
  void SetUp() override {
    std::ofstream(temporary_.path() / "task.toml") << "task";
    std::ofstream(temporary_.path() / "k.cu") << "kernel";
  }
  void record(const Verdict& expected) {
    CheckOptions options;
    options.task = folder("task.toml");
    options.candidate = folder("k.cu");
    ASSERT_TRUE(record_pair(folder("ci"), "", options, [&](const CheckOptions&) -> Expected<Verdict> { return expected; }));
  }
  PairResult again(const Expected<Verdict>& now) {
    const auto report = run_ci(folder("ci"), 0.05, [&](const CheckOptions& options) -> Expected<Verdict> {
      EXPECT_TRUE(fs::exists(options.task)) << options.task;
      EXPECT_TRUE(fs::exists(options.candidate)) << options.candidate;
      return now;
    }, {});
    EXPECT_TRUE(report) << (report ? "" : to_string(report.error()));
    EXPECT_EQ(report->pairs.size(), 1u);
    EXPECT_EQ(report->passed(), report->pairs[0].outcome == PairOutcome::same || report->pairs[0].outcome == PairOutcome::better);
    EXPECT_THAT(to_text(*report, false), HasSubstr(std::string(name(report->pairs[0].outcome))));
    return report->pairs[0];
  }
};

TEST_F(Ci, TheSameVerdictIsTheSameAndAWorseOneARegression) {
  record(verdict(VerdictStatus::accepted, Status::passed, 10));
  EXPECT_EQ(again(verdict(VerdictStatus::accepted, Status::passed, 10.4)).outcome, PairOutcome::same);
  EXPECT_EQ(again(verdict(VerdictStatus::accepted, Status::passed, 9)).outcome, PairOutcome::better);
  EXPECT_EQ(again(verdict(VerdictStatus::accepted, Status::passed, 10.6)).outcome, PairOutcome::regressed);
  EXPECT_EQ(again(verdict(VerdictStatus::accepted, Status::passed, 0)).outcome, PairOutcome::regressed);
  EXPECT_EQ(again(verdict(VerdictStatus::accepted, Status::unknown, 10)).outcome, PairOutcome::regressed);
  const PairResult worse = again(verdict(VerdictStatus::rejected, Status::failed, 10));
  EXPECT_EQ(worse.outcome, PairOutcome::regressed);
  EXPECT_THAT(worse.reasons, testing::Contains(HasSubstr("shared.banks (required) was passed and is failed: 2.00")));
  EXPECT_EQ(again(fail(ErrorCode::missing, "no nvcc")).outcome, PairOutcome::failed);
}

TEST_F(Ci, AnAdviceThatFailsIsSaidAndNoRegression) {
  record(verdict(VerdictStatus::accepted, Status::passed, 10));
  Verdict now = verdict(VerdictStatus::accepted, Status::passed, 10);
  now.contracts[2].status = Status::failed;
  const PairResult result = again(now);
  EXPECT_EQ(result.outcome, PairOutcome::same);
  EXPECT_THAT(result.reasons, testing::Contains(HasSubstr("memory.vector")));
}

TEST_F(Ci, AcceptingTheSameRejectedSourcesIsARegressionAndOfChangedOnesAnImprovement) {
  record(verdict(VerdictStatus::rejected, Status::failed, 0));
  EXPECT_EQ(again(verdict(VerdictStatus::accepted, Status::passed, 0)).outcome, PairOutcome::regressed);
  std::ofstream(temporary_.path() / "k.cu") << "a better kernel";
  EXPECT_EQ(again(verdict(VerdictStatus::accepted, Status::passed, 0)).outcome, PairOutcome::better);
}

TEST_F(Ci, AFolderWithoutRecordsOrWithABrokenOneIsAnError) {
  const JudgeFunction never = [](const CheckOptions&) -> Expected<Verdict> { return fail(ErrorCode::failed, "not asked"); };
  EXPECT_THAT(run_ci(folder("nowhere"), 0.05, never, {}).error().message, HasSubstr("no such folder"));
  fs::create_directory(folder("ci"));
  EXPECT_THAT(run_ci(folder("ci"), 0.05, never, {}).error().message, HasSubstr("no record"));
  std::ofstream(temporary_.path() / "ci" / "x.ci.json") << "{\"schema\": \"kforge.ci/1\", \"task\": 3}";
  EXPECT_THAT(run_ci(folder("ci"), 0.05, never, {}).error().message, HasSubstr("expected a string at 'task'"));
  EXPECT_FALSE(CiReport{}.passed());
}

}  // namespace
}  // namespace kforge
