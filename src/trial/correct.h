// The rung "correct": every case on the real GPU, in a process of its own. Errors of the device, hangs and lost contexts are outcomes of the
// candidate: the next case, and the next candidate, start in a fresh context.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "trial/gpu_watch.h"
#include "trial/references.h"
#include "trial/trial.h"

namespace kforge::trial {

struct CorrectOptions {
  WorkerOptions candidate, reference;
  std::vector<task::Case> cases;
  bool skip_measure = false;       // the rung time verifies them
  GpuWatch* watch = nullptr;       // of the device; may be null
};

// A fault has the driver's word for it beside it (Xid). Errors: the GPU cannot be used at all, or is not well after a fault, or the task's reference is wrong; never
// what the candidate did.
Expected<Rung> correct_on_gpu(const TrialRequest& request, const CorrectOptions& options, const std::function<void(const CallEvidence&)>& on_call);

// An error by which a GPU says that it is broken or lost: no candidate's doing, and no answer about one.
bool is_machine_fault(std::string_view error);

// A call on the GPU that did not complete: "the GPU reports cudaErrorIllegalAddress". Where the GPU itself is at fault the call is skipped, and what
// must be known of it stays unknown.
void note_gpu_error(CallEvidence& call);

}  // namespace kforge::trial
