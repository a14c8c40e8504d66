// The rungs "sanitize" and "profile": compute-sanitizer and ncu around one call of the launcher on a real GPU.
//
// The tools live in the candidate's process, where a sandbox would shut them out too: only candidates that nothing speaks against come here.
// Without the program, or where it may not do its work, the rung says so and the emulator's evidence stands.
#pragma once

#include <functional>
#include <vector>

#include "gpu/ncu.h"
#include "trial/trial.h"
#include "trial/worker_process.h"

namespace kforge::trial {

// Each tool once, on the largest case of few elements. Violations come back as the evidence of a call on the GPU. Errors: failed (no temporary folder).
Expected<Rung> sanitize_on_gpu(const TrialRequest& request, const WorkerOptions& worker, const std::vector<task::Case>& cases, const std::function<void(const CallEvidence&)>& on_call);

// ncu's metrics of every kernel of one call at each measure size, without change of clocks: those of contracts, and of what the request suspects
// (gpu/counter_sets.h). Of the largest measure size also where warps wait, by line of the source (gpu/stalls.h). The rung's `why` says both in sentences.
// They go to `result.counters`.
Expected<Rung> profile_on_gpu(const TrialRequest& request, const WorkerOptions& worker, TrialResult& result);

}  // namespace kforge::trial
