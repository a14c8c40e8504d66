// Exports of a hand-made run: files, bytes, dispatch; and recorded pairs under a judge that the test plays.
#include "kforge/export.h"

#include <filesystem>
#include <fstream>

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
