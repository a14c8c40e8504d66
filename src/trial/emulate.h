// The rung "emulate": every case on the emulated device, in one process, each call's evidence handed on as soon as it is there.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trial/references.h"
#include "trial/trial.h"

namespace kforge::trial {

struct EmulateOptions {
  WorkerOptions candidate, reference;
  std::vector<task::Case> cases;   // the tile's are added when the measure sizes have shown it
};

// Errors: what is wrong with the task's reference, or with this installation; never with the candidate.
Expected<Rung> emulate(const TrialRequest& request, const EmulateOptions& options, const std::function<void(const CallEvidence&)>& on_call);

}  // namespace kforge::trial
