// The rung "time": how long the launcher's work takes on a real GPU, so that a hostile reviewer gets the same figure.
//
// Every contestant lives in a worker and a context of its own; they take turns (A B B A), one at a time. A sample is one call between
// two events on the given stream: inputs copied into place, outputs poisoned, L2 flushed, all outside the interval. What is checked:
//
//   work cached by address or content    each call gets another of several inputs, and other buffers; outputs are verified, and at the
//                                        end the call is timed on inputs that it has never seen
//   work done only now and then          outputs are poisoned before each call, and verified after calls that nobody can tell apart
//   work on other streams or threads     outputs are taken as they are when the interval ends; the device must then be quiet
//   clocks that lie                      bursts of calls, whole, by this process's clock: they cannot take much longer than the samples say
//   inputs changed                       compared after verified calls
//   L2 kept warm                         persisting lines are reset, and the flush is several times the cache
//   slowdown by heat or power brake      NVML is asked around each block of samples; such blocks are dropped
//
// The floor of physics is the judge's. Nothing here changes a setting of the card.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/lock.h"
#include "trial/activity.h"
#include "trial/gpu_watch.h"
#include "trial/references.h"
#include "trial/trial.h"

namespace kforge::trial {

struct Contestant {
  std::string name;              // "" is the candidate
  std::string object;            // the shared object that build made
  std::string pytorch = {}, pattern = {};   // as Baseline
  std::vector<std::string> doubts = {};     // what its object alone speaks against it
  bool starts_threads = true;               // its object asks for a function that does
  std::string library = {};                 // path of one that it opens, beside those of the toolkit; ""
  std::vector<std::string> kernels = {};    // of its object, mangled; empty: whatever it launches is its own affair
};

// What a contestant's rung came to at one size.
struct TimedContestant {
  Timing timing;
  Activity activity;                       // of calls that CUPTI watched, after all timing
};

struct TimeRequest {
  const task::Task* task = nullptr;
  std::vector<Contestant> contestants;
  std::vector<task::Sizes> sizes;
  std::string cupti, no_cupti;           // path of libcupti; "", and why there is none
  std::string beside;                    // a timing loop of another's that takes turns with them (outside_loop.h); ""
  WorkerOptions worker, reference;       // of every contestant but for its object; of the reference
  GpuOptions gpu;
  TimeOptions options;
  Defences defences;
  double call_seconds = 20, reference_seconds = 20;
  std::uint64_t seed = 1;                // of the inputs and of the order in which they come
  PreparedStore* prepared = nullptr;     // keeps a search's draw from candidate to candidate; may be null
  GpuWatch* watch = nullptr;             // of the device, which is held; null: whoever holds it makes one
  std::function<void(std::string_view)> progress;
  std::function<bool()> stop;
};

// One per contestant and size, sizes first, and after each size's one of the loop beside them, if any. `on_call` gets the outputs of verified calls with their references, once for each
// answer that differs; its first argument is the contestant's place. Errors: the GPU cannot be used, the task's reference is wrong.
Expected<std::vector<TimedContestant>> time_contestants(const TimeRequest& request, const std::function<void(std::size_t, const CallEvidence&)>& on_call);

// Bytes per second, read and written counted, of a device-to-device copy of several hundred MiB: the measured ceiling of memory. No
// candidate takes part. Errors: the GPU cannot be used, or has no room.
Expected<double> measure_copy(const TimeRequest& request);

// Candidates are timed one at a time: holds the device against other processes of this user. Errors: failed.
Expected<FileLock> lock_gpu(const gpu::Device& device);

// What speaks against a time, from the figures alone; and us where the launcher's host part decides.
struct Doubts {
  double quiet_us = 0, quiet_empty_us = 0;      // from the end of the interval until the device is quiet: of samples, of empty ones
  double enqueue_us = 0;                        // the host's part of a call in a burst, by the parent's clock
  double slack_us = 0;                          // of the parent's clock per call
  double slow_us = 0;                           // 90th percentile of the samples: what a busy machine makes of an honest call
};
void judge_honesty(const Doubts& doubts, const Defences& defences, Timing& timing);
// What CUPTI saw against it: work that the given stream does not wait for, kernels from outside its object (`own`, mangled; empty: any may run).
void judge_activity(const Activity& seen, const std::vector<std::string>& own, const Defences& defences, Timing& timing);

}  // namespace kforge::trial
