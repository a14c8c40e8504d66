// Forms the verdict (contracts.md, "The verdict") from what a trial saw. It is handed each call's evidence as it comes and
// keeps only what the verdict needs; it starts no process and reads no file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "hardware/data_sheet.h"
#include "judge/case_numerics.h"
#include "judge/findings.h"
#include "judge/modelled_time.h"
#include "judge/performance.h"
#include "kforge/verdict.h"
#include "task/task.h"
#include "trial/trial.h"

namespace kforge::judge {

struct JudgeOptions {
  std::string candidate;
  bool only_correctness = false;
  bool gpu = false;                  // a real GPU takes part
  TimeConditions conditions = {};    // of it: gpu, driver, toolkit
  trial::Defences defences = {};
};

class Judge {
 public:
  Judge(const task::Task& task, const hardware::DataSheet& sheet, JudgeOptions options);

  // In the order in which the calls were made.
  void see(const trial::CallEvidence& call);

  // Whether what was seen so far rejects the candidate for sure: a required correctness contract has failed.
  bool rejected() const;

  // What the counts of the emulated GPU say bounds the candidate at a measure size (judge/suspect.h), before the verdict. Nothing where it was not counted.
  std::optional<gpu::Suspect> suspect(const trial::TrialResult& so_far, const task::Sizes& sizes) const;

  // Once, after the last call. Errors: bad_input when every case of some output is degenerate ("this task's check cannot fail").
  Expected<Verdict> conclude(const trial::TrialResult& trial);

 private:
  void see_call(const trial::CallEvidence& call);
  void see_skipped(const trial::CallEvidence& call);
  void see_gpu(const trial::CallEvidence& call, CaseReport report);
  void see_counters(const trial::TrialResult& trial);
  void see_arithmetic(const trial::TrialResult& trial);
  void see_times(const trial::TrialResult& trial, Verdict& verdict);
  ContractReport honest() const;
  void list_skipped();
  void see_repeats(const trial::CallEvidence& call);
  void see_measured(const trial::CallEvidence& call);
  void see_build(const trial::TrialResult& trial);
  PerformanceInput input_of(const trial::TrialResult& trial, const trial::CallEvidence& call) const;
  ContractReport report(std::string_view id) const;

  const task::Task& task_;
  const hardware::DataSheet& sheet_;
  JudgeOptions options_;
  FindingSet findings_;
  NumericsJudge numerics_;
  std::vector<CaseReport> cases_;
  std::vector<trial::CallEvidence> measured_;        // without their tensors: profiles only
  std::map<std::string, Measurement> performance_;   // by contract: the worst measure size
  std::map<std::string, std::string> unknown_;       // contract -> why it could not be judged
  std::vector<ResourceReport> resources_;
  std::map<task::Sizes, std::optional<hardware::ModelledTime>> times_;   // by measure size
  std::map<task::Sizes, double> floors_;             // of physics, by measure size, from what the candidate was seen to read
  std::vector<std::string> unproven_;
  std::vector<std::pair<std::string, std::vector<std::string>>> skipped_;   // why -> the sizes, in order
  bool built_ = false;
  bool any_complete_ = false;                        // at least one call ran to its end on all blocks of the emulated device
  bool gpu_complete_ = false;                        // at least one call ran to its end on the real one, and was compared
  bool timed_ = false;                               // a time was measured and is the candidate's
  std::string not_timed_ = "time is not measured here";
  std::string time_evidence_;                        // what the honest contract rests on
  std::uint32_t repeats_ = 0;                        // calls made again with equal inputs
  std::string differing_;                            // what then differed; empty: nothing
};

}  // namespace kforge::judge
