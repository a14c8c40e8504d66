// The numerics contract over the calls of a trial: hands each output to compare() (numerics.h), pools the small ones over the calls of their
// case, and remembers whether each output had at least one case that could fail.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "judge/arithmetic.h"
#include "judge/findings.h"
#include "judge/numerics.h"
#include "judge/operand_use.h"
#include "judge/storing_line.h"
#include "kforge/verdict.h"
#include "task/task.h"
#include "trial/trial.h"

namespace kforge::judge {

class NumericsJudge {
 public:
  explicit NumericsJudge(const task::Task& task, trial::Defences defences = {}) : task_(task), defences_(defences) {}

  // A call that ran to its end on all blocks. Fills the report's figures and adds findings. Returns why the case failed; empty: it did not.
  std::string see(const trial::CallEvidence& call, const std::string& candidate, CaseReport& report, FindingSet& findings);

  // After the last call: judges what still waits for further calls of its case. Returns why it failed; empty: it did not.
  std::string finish(const std::string& candidate, FindingSet& findings);

  // An output all of whose cases were degenerate; empty when there is none.
  std::optional<std::string> blind_output() const;
  // Why they were.
  std::string why_blind(const std::string& output) const;
  // How far the outputs are from what the declared arithmetic reaches.
  const ReachedPrecision& reached() const { return reached_; }
  // Whether they follow the lowest bits of what they are computed from.
  const OperandUse& operand_use() const { return operand_use_; }
  // What is wrong with the task itself (a reference that is NaN where that is not allowed); empty when nothing is.
  const std::string& task_fault() const { return task_fault_; }

 private:
  // The draws of one small output of one case, kept until its last call.
  struct Pool {
    std::string key, label;
    std::vector<std::vector<std::byte>> out;
    std::vector<trial::SharedList<double>> reference;
    std::vector<std::vector<double>> further;    // references of further draws
    // Inputs that the output could be a copy of, one list a draw.
    std::vector<std::vector<std::vector<std::byte>>> inputs;
    std::vector<const task::Tensor*> input_tensors;
    std::vector<task::TensorLayout> input_layouts;
    task::TensorLayout layout;
    StoringLines storing;
    task::Sizes sizes;
    std::string values;
    std::function<std::vector<double>()> moves;  // of the first draw (trial/trial.h); null: cannot be told, or no longer
  };
  void see_pair(const task::Tensor& tensor, const trial::CallEvidence& call, const trial::Output& output, const task::TensorLayout& layout);
  void keep(Pool& pool, const trial::Output& output, const std::vector<InputView>& inputs) const;
  std::string finish(const task::Tensor& tensor, const std::string& candidate, FindingSet& findings);
  std::string judge(const task::Tensor& tensor, std::vector<Draw> draws, const Pool& about, const std::string& candidate,
                    CaseReport* report, FindingSet& findings);

  const task::Task& task_;
  trial::Defences defences_;
  std::map<std::string, Pool> pools_;            // by output
  std::map<std::string, bool> could_fail_;       // by output
  std::set<std::string> infinite_;               // outputs whose reference was infinite in some degenerate case
  ReachedPrecision reached_;
  OperandUse operand_use_;
  std::string task_fault_;
};

}  // namespace kforge::judge
