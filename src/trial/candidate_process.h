// The process in which a candidate's calls run, renewed when it must be; and what its answers say, read with the distrust they deserve.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evidence/violation.h"
#include "trial/references.h"
#include "trial/sealed_inputs.h"
#include "trial/tensors.h"
#include "trial/trial.h"
#include "trial/worker_process.h"

namespace kforge::trial {

class CandidateProcess {
 public:
  CandidateProcess(const task::Task& task, const WorkerOptions& options) : task_(task), options_(options) {}

  // Errors: the device cannot be used, or the worker cannot be started; never what the candidate did.
  Expected<void> start();
  void renew() { renew_ = true; }                // the next call runs in a fresh process
  // Of loading the object: every call then has it.
  const ProcessFault& load_fault() const { return load_fault_; }

  // Advice, once, when it has printed more than anybody will read.
  std::optional<evidence::Violation> chatter();

  struct Asked { Answer answer; const std::byte* arena = nullptr; };
  // One call of the launcher. What cannot be run beside what earlier calls left behind (device memory, say) is tried again in a fresh process.
  Expected<Asked> ask(const CaseLayout& layout, const std::vector<SharedBytes>& inputs, const task::Sizes& sizes, CallOptions options, CallLimit limit);
  // The same in a process that is started for it, whose outputs nobody reads.
  Expected<Asked> ask_alone(const CaseLayout& layout, const SealedInputs& inputs, const task::Sizes& sizes, CallOptions options, CallLimit limit);

 private:
  Expected<void> start(int inputs_fd);
  const task::Task& task_;
  const WorkerOptions& options_;
  std::unique_ptr<WorkerProcess> worker_;
  ProcessFault load_fault_;
  bool renew_ = false, told_ = false;
};

// Puts the inputs where a request of `layout` expects them.
void place_inputs(const CaseLayout& layout, const std::vector<SharedBytes>& inputs, std::byte* arena);

// What it says comes from the candidate's process: whatever does not read as it should is a fault of the candidate. Takes the references out
// of `prepared`.
void read_answer(const Answer& answer, const CaseLayout& layout, const std::byte* arena, Prepared& prepared, CallEvidence& out);

// Outputs and changed inputs of a completed call, from where `layout` has them.
void read_tensors(const CaseLayout& layout, const std::byte* arena, Prepared& prepared, CallEvidence& out);

}  // namespace kforge::trial
