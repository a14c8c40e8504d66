// The verdict algebra of contracts.md, on made-up evidence.
#include "judge/judge.h"

#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/contract_table.h"
#include "judge/judging_test.h"
#include "task/contract_ids.h"
#include "trial/correct.h"

namespace kforge::judge {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(Judging, AcceptsWhatHoldsEveryContract) {
  const Verdict verdict = conclude({good_call(true)});
  EXPECT_EQ(verdict.status, VerdictStatus::accepted) << verdict.why;
  EXPECT_EQ(exit_code(verdict), 0);
  EXPECT_THAT(verdict.findings, IsEmpty());
}

TEST_F(Judging, WhatTheObjectAsksForCounts) {
  trial_.artefact.forbidden_imports = {"dlopen (finds functions and libraries by name)"};
  EXPECT_THAT(failed(conclude({good_call(true)})), Contains("interface"));
  task_.allow = {"libraries"};
  EXPECT_EQ(conclude({good_call(true)}).status, VerdictStatus::accepted);
  trial_.artefact.forbidden_imports = {"mprotect (changes what memory may be used for)"};
  EXPECT_THAT(failed(conclude({good_call(true)})), Contains("interface"));
}

// A broken GPU is neither the candidate's fault nor a reason to take it unseen.
TEST_F(Judging, AFaultOfTheGpuItselfIsNoVerdict) {
  trial::CallEvidence call = good_call(false);
  call.on_gpu = true;
  call.completed = false;
  call.log = {};
  call.log.ending_detail = "cudaErrorECCUncorrectable";
  trial::note_gpu_error(call);
  EXPECT_THAT(call.skipped, HasSubstr("the GPU itself"));
  const Verdict verdict = conclude({good_call(true), call});
  EXPECT_EQ(verdict.status, VerdictStatus::error);
  EXPECT_THAT(verdict.why, HasSubstr("run.crash"));
  trial::CallEvidence own = good_call(false);
  own.on_gpu = true;
  own.completed = false;
  own.log = {};
  own.log.ending_detail = "cudaErrorIllegalAddress";
  trial::note_gpu_error(own);
  EXPECT_EQ(conclude({good_call(true), own}).status, VerdictStatus::rejected);
}

TEST_F(Judging, ListsWhatIsUnknownAsUnproven) {
  const Verdict verdict = conclude({good_call(true)});
  EXPECT_THAT(verdict.unproven, Contains(HasSubstr("memory.reuse")));
  EXPECT_THAT(verdict.unproven, Contains(HasSubstr("compute.issue")));
}

TEST_F(Judging, NothingRunIsAnErrorAndNeverAccepted) {
  const Verdict verdict = conclude({});
  EXPECT_EQ(verdict.status, VerdictStatus::error);
  EXPECT_EQ(exit_code(verdict), 3);
}

TEST_F(Judging, WithoutAMeasuredSizePerformanceIsUnknown) {
  EXPECT_EQ(conclude({good_call(false)}).status, VerdictStatus::error);
  EXPECT_EQ(conclude({good_call(false)}, true).status, VerdictStatus::accepted);
}

TEST_F(Judging, ViolationsRejectAtTheCandidatesOwnLine) {
  for (const std::string id : {"safety.bounds", "safety.races", "safety.barriers", "safety.uninitialised", "safety.async", "launch.limits"}) {
    trial::CallEvidence call = good_call(true);
    call.log.violations.push_back(violation(id, 7));
    const Verdict verdict = conclude({call});
    EXPECT_EQ(verdict.status, VerdictStatus::rejected);
    EXPECT_THAT(failed(verdict), ElementsAre(id));
    ASSERT_EQ(verdict.findings.size(), 1u);
    EXPECT_EQ(verdict.findings[0].line, 7u);
    EXPECT_EQ(verdict.findings[0].file, "twice.cu");
  }
}

TEST_F(Judging, TheCandidateIsNamedAsTheUserNamedIt) {
  trial::CallEvidence call = good_call(true);
  call.log.violations.push_back(violation("safety.races", 7));
  call.log.violations.back().where.frames[1].file = "/somewhere/else/twice.cu";
  EXPECT_EQ(conclude({call}).findings.at(0).file, "twice.cu");
}

TEST_F(Judging, AdviceDoesNotReject) {
  trial::CallEvidence call = good_call(true);
  call.log.violations.push_back(violation("safety.races", 7));
  call.log.violations.back().advice = true;
  const Verdict verdict = conclude({call});
  EXPECT_EQ(verdict.status, VerdictStatus::accepted);
  EXPECT_EQ(verdict.findings.size(), 1u);
}

TEST_F(Judging, OneFindingPerContractAndLine) {
  trial::CallEvidence call = good_call(true);
  for (int i = 0; i < 3; ++i) call.log.violations.push_back(violation("safety.races", 7));
  call.log.violations.push_back(violation("safety.races", 8));
  const Verdict verdict = conclude({call});
  ASSERT_EQ(verdict.findings.size(), 2u);
  EXPECT_EQ(verdict.findings[0].count, 3u);
}

TEST_F(Judging, ProcessFaultsRejectByTheirOwnContract) {
  for (const std::string id : {"run.crash", "run.hang", "run.exit", "run.limit"}) {
    trial::CallEvidence call = good_call(true);
    call.completed = false;
    call.fault = {id, "it did"};
    EXPECT_THAT(failed(conclude({call})), Contains(id));
  }
}

TEST_F(Judging, DeviceEndingsRejectByTheirOwnContract) {
  using evidence::Ending;
  const std::pair<Ending, std::string> table[] = {{Ending::hang, "run.hang"}, {Ending::limit, "run.limit"}, {Ending::trap, "run.crash"}};
  for (const auto& [ending, id] : table) {
    trial::CallEvidence call = good_call(true);
    call.log.ending = ending;
    EXPECT_THAT(failed(conclude({call})), Contains(id));
  }
}

TEST_F(Judging, WhatTheEmulatorCannotExecuteIsUnknownAndNoRejection) {
  trial::CallEvidence call = good_call(true);
  call.log.ending = evidence::Ending::trap;
  call.log.violations.push_back(violation("portability", 7));
  call.log.violations.back().kind = "unsupported-instruction";
  call.log.violations.back().advice = true;
  const Verdict verdict = conclude({good_call(true), call});
  EXPECT_EQ(verdict.status, VerdictStatus::error) << verdict.why;
  EXPECT_EQ(contract(verdict, "portability").status, Status::unknown);
}

TEST_F(Judging, WhatAnObserverCouldNotCheckIsUnknown) {
  trial::CallEvidence call = good_call(true);
  call.log.unproven.push_back({"safety.races", "too much memory to watch"});
  const Verdict verdict = conclude({call});
  EXPECT_EQ(verdict.status, VerdictStatus::error);
  EXPECT_EQ(contract(verdict, "safety.races").measured, "too much memory to watch");
}

TEST_F(Judging, WrongValuesRejectByNumerics) {
  trial::CallEvidence call = good_call(true);
  change(call.outputs[0].reference, 5, 0.01);
  const Verdict verdict = conclude({call});
  EXPECT_THAT(failed(verdict), ElementsAre("numerics"));
  EXPECT_EQ(verdict.findings[0].line, 7u) << "where most bytes are stored";
  EXPECT_EQ(verdict.cases[0].status, Status::failed);
}

TEST_F(Judging, UnwrittenOutputRejectsByCoverage) {
  trial::CallEvidence call = good_call(true);
  call.log.coverage[0].unwritten = 1;
  EXPECT_THAT(failed(conclude({call})), ElementsAre("launch.coverage"));
}

TEST_F(Judging, AnInoutElementThatTheReferenceLeavesNeedsNoWrite) {
  task_.tensors[1].role = task::Role::inout;
  trial::CallEvidence call = good_call(true);
  call.inputs.push_back(call.outputs[0].bytes);
  std::vector<float> given(64, 100.0f);
  given[5] = static_cast<float>(call.outputs[0].reference[5]);
  call.inputs[1] = bytes_of(given);
  call.log.coverage[0].unwritten = 1;
  EXPECT_THAT(failed(conclude({call})), IsEmpty());

  change(call.outputs[0].reference, 5, 1);
  EXPECT_THAT(failed(conclude({call})), testing::Contains("launch.coverage"));
}

TEST_F(Judging, SampledBlocksProveNothingAboutCorrectness) {
  trial::CallEvidence call = good_call(true);
  call.sampled = true;
  call.log.sampled_blocks = 8;
  call.outputs.clear();
  EXPECT_EQ(conclude({call}).status, VerdictStatus::error) << "no call ran whole";
  const Verdict verdict = conclude({good_call(false), call});
  EXPECT_EQ(verdict.status, VerdictStatus::accepted);
  EXPECT_THAT(verdict.unproven, Contains(HasSubstr("correctness at n=64")));
}

TEST_F(Judging, SkippedCasesAreUnproven) {
  trial::CallEvidence large;
  large.run.sizes = {{"n", 1 << 30}};
  large.run.label = "n=1073741824";
  large.skipped = "it cannot be run here: no device memory for tensor 'x'";
  const Verdict verdict = conclude({good_call(true), large, large, large});
  EXPECT_EQ(verdict.status, VerdictStatus::accepted) << verdict.why;
  EXPECT_THAT(verdict.unproven, Contains("correctness at n=1073741824: it cannot be run here: no device memory for tensor 'x'").Times(1));
}

TEST_F(Judging, ACallThatNobodyWaitsForIsUnknownAndNeverAccepted) {
  trial::CallEvidence slow;
  slow.run.sizes = {{"n", 65}};
  slow.run.label = "n=65";
  slow.skipped = "stopped after 120 s";
  slow.log.unproven.push_back({"run.limit", "n=65: stopped after 120 s"});
  const Verdict verdict = conclude({good_call(true), slow});
  EXPECT_EQ(verdict.status, VerdictStatus::error);
  EXPECT_THAT(verdict.why, HasSubstr("run.limit (n=65: stopped after 120 s)"));
}

// `line` stores bytes [first, end) of `tensor`, `bytes` in all.
evidence::LineProfile storing(std::uint32_t line, const std::string& tensor, std::uint64_t first, std::uint64_t end, std::uint64_t bytes) {
  evidence::LineProfile profile;
  profile.position.frames.push_back({"twice.cu", line, 1, ""});
  profile.stores.push_back({tensor, first, end, bytes, {}});
  return profile;
}

TEST_F(Judging, AWrongElementIsSoughtAtTheLineThatStoresIt) {
  trial::CallEvidence call = good_call(true);
  call.log.coverage.push_back({"z", 1024, 0, 0, 0});
  call.log.kernels[0].lines = {storing(10, "z", 0, 4096, 4096), storing(11, "y", 0, 240, 240), storing(12, "y", 240, 256, 16), storing(13, "workspace", 0, 512, 512)};
  const float wrong = 100;
  std::memcpy(call.outputs[0].bytes.data() + 4 * 62, &wrong, 4);
  const Verdict last = conclude({call});
  ASSERT_FALSE(last.findings.empty());
  EXPECT_EQ(last.findings[0].contract, "numerics");
  EXPECT_EQ(last.findings[0].line, 12u);
  std::memcpy(call.outputs[0].bytes.data() + 4 * 62, call.outputs[0].bytes.data() + 4 * 48, 4);
  std::memcpy(call.outputs[0].bytes.data() + 4 * 3, &wrong, 4);
  EXPECT_EQ(conclude({call}).findings.at(0).line, 11u);
  call.log.kernels[0].lines = {storing(10, "z", 0, 4096, 4096), storing(13, "workspace", 0, 512, 512)};   // y came by a copy
  EXPECT_EQ(conclude({call}).findings.at(0).line, 13u);
  call.log.kernels[0].lines = {storing(10, "z", 0, 4096, 4096)};
  EXPECT_EQ(conclude({call}).findings.at(0).line, 0u);
}

TEST_F(Judging, AnUnwrittenElementIsSoughtAtTheLineThatStoresNearIt) {
  trial::CallEvidence call = good_call(true);
  call.log.kernels[0].lines = {storing(10, "z", 0, 4096, 4096), storing(11, "y", 0, 128, 128), storing(12, "y", 128, 240, 112)};
  call.log.coverage = {{"y", 64, 4, 60, 0}};
  const Verdict verdict = conclude({call});
  EXPECT_EQ(verdict.findings.at(0).contract, "launch.coverage");
  EXPECT_EQ(verdict.findings.at(0).line, 12u);
}

TEST_F(Judging, OwnBoundsAreSaid) {
  EXPECT_EQ(contract(conclude({good_call(true)}), "numerics").measured, "");
  task_.numerics.abs = 0.25;
  EXPECT_EQ(contract(conclude({good_call(true)}), "numerics").measured, "by the task's own bounds: |out - ref| <= 0.25 + 0 |ref|");
}

TEST_F(Judging, ADegenerateReferenceAloneIsATaskThatCannotFail) {
  trial::CallEvidence call = good_call(true);
  call.outputs[0].reference = std::vector<double>(64, 0.0);
  call.outputs[0].bytes.assign(256, std::byte{0});
  Judge judge(task_, sheet_, {"twice.cu", false});
  judge.see(call);
  const auto verdict = judge.conclude(trial_);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, ErrorCode::bad_input);
  EXPECT_THAT(verdict.error().message, HasSubstr("check cannot fail"));
}

TEST_F(Judging, AReferenceThatDividesByZeroIsToldByItsInfinities) {
  trial::CallEvidence call = good_call(true);
  call.outputs[0].reference = std::vector<double>(64, std::numeric_limits<double>::infinity());
  const float infinity = std::numeric_limits<float>::infinity();
  call.outputs[0].bytes.resize(64 * sizeof infinity);
  for (std::size_t i = 0; i < 64; ++i) std::memcpy(call.outputs[0].bytes.data() + i * sizeof infinity, &infinity, sizeof infinity);
  Judge judge(task_, sheet_, {"twice.cu", false});
  judge.see(call);
  const auto verdict = judge.conclude(trial_);
  ASSERT_FALSE(verdict);
  EXPECT_THAT(verdict.error().message, testing::AllOf(HasSubstr("check cannot fail"), HasSubstr("infinite, as a division by zero")));
}

TEST_F(Judging, MannersAreTheInterface) {
  trial::CallEvidence call = good_call(true);
  call.log.changed_inputs.push_back("x");
  EXPECT_THAT(failed(conclude({call})), ElementsAre("interface"));
  call = good_call(true);
  call.log.calls.push_back({"cudaMalloc", "workspace", true, 0, "", 1});
  EXPECT_THAT(failed(conclude({call})), ElementsAre("interface"));
  task_.allow.push_back("workspace");
  EXPECT_EQ(conclude({call}).status, VerdictStatus::accepted);
}

TEST_F(Judging, RepetitionsDecideDeterminismAndAreAdvice) {
  EXPECT_EQ(contract(conclude({good_call(true)}), "numerics.deterministic").status, Status::unknown);
  trial::CallEvidence call = good_call(true);
  call.repeats = 2;
  EXPECT_EQ(contract(conclude({call}), "numerics.deterministic").status, Status::passed);
  call.differing_output = "y";
  const Verdict verdict = conclude({call});
  EXPECT_EQ(contract(verdict, "numerics.deterministic").status, Status::failed);
  EXPECT_EQ(verdict.status, VerdictStatus::accepted);
}

// Other bits because of a race are mended with the race; an order of summation would not help.
TEST_F(Judging, ARaceIsTheCauseOfOtherBits) {
  for (const bool races : {false, true}) {
    trial::CallEvidence call = good_call(true);
    call.repeats = 2;
    call.differing_output = "y";
    if (races) call.log.violations.push_back(violation("safety.races", 7));
    const Verdict verdict = conclude({call});
    const auto finding = std::find_if(verdict.findings.begin(), verdict.findings.end(), [](const Finding& f) { return f.contract == "numerics.deterministic"; });
    ASSERT_NE(finding, verdict.findings.end());
    ASSERT_FALSE(finding->advice.empty());
    EXPECT_EQ(finding->advice[0] == "mend the race first", races);
    EXPECT_EQ(finding->cause.find("race") != std::string::npos, races);
  }
}

TEST_F(Judging, AFailedBuildIsRejectedWithItsDiagnostic) {
  trial_.artefact = {};
  trial_.artefact.failure = "compile";
  trial_.artefact.diagnostics.push_back({"twice.cu", 3, 9, build::Severity::error, "identifier \"z\" is undefined", "nvcc"});
  const Verdict verdict = conclude({});
  EXPECT_EQ(verdict.status, VerdictStatus::rejected);
  EXPECT_THAT(failed(verdict), ElementsAre("build"));
  EXPECT_EQ(verdict.findings[0].line, 3u);
}

TEST(ContractTable, HasTheTasksIds) {
  std::vector<std::pair<std::string_view, std::string_view>> own, tasks;
  for (const ContractRow& row : contract_table()) {
    EXPECT_EQ(find_contract(row.id), &row);
    own.emplace_back(row.id, row.threshold);
  }
  for (const task::ContractId& id : task::kContractIds) tasks.emplace_back(id.id, id.threshold);
  EXPECT_THAT(own, testing::UnorderedElementsAreArray(tasks));
  EXPECT_EQ(find_contract("memory.colescing"), nullptr);
}

TEST(ReadableKernel, KeepsTemplatesAndDropsParameters) {
  EXPECT_EQ(readable_kernel("_Z1kPKfPfi"), "k");
  EXPECT_EQ(readable_kernel("_ZN12_GLOBAL__N_112softmax_rowsILb1EEEvPKfPfif"), "(anonymous namespace)::softmax_rows<true>");
  EXPECT_EQ(readable_kernel("plain"), "plain");
}

}  // namespace
}  // namespace kforge::judge
