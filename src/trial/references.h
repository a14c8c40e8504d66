// Expected outputs, computed ahead of the candidate by a worker of their own on a thread of its own.
//
// They never enter the candidate's process: they go from the reference's arena into this process and stay.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "trial/tensors.h"
#include "trial/worker_process.h"

namespace kforge::trial {

struct Job {
  task::Case run;              // .seed is that of the call
  std::uint32_t call = 0;
};
// The references that came with a call, in the order of its outputs.
std::vector<SharedList<double>> references_in(const CallEvidence& call);
// One job a call, in order.
std::vector<Job> jobs_of(const std::vector<task::Case>& cases, bool measure);

inline constexpr std::size_t kPreparedAhead = 3;                     // calls prepared before they are asked for
inline constexpr std::size_t kPreparedAtOnce = kPreparedAhead + 2;   // with the one that runs and the one that is being prepared

class SealedInputs;

struct Prepared {
  std::vector<SharedBytes> inputs;
  std::vector<SharedList<double>> outputs;    // of the out and inout tensors, in the task's order
  std::vector<std::vector<std::vector<double>>> further;   // the same of further draws, after a case's last call (task/cases.h, draws_to_pool)
  std::shared_ptr<const SealedInputs> sealed;   // in place of inputs and outputs: of a run on sampled blocks
  std::string unanswered;      // why there are no outputs: a reference that is too slow for a size that is timed
  bool dropped = false;        // adversarial values on which the reference overflows (contracts.md, "Values")
  std::optional<Error> error;
};

class References {
 public:
  // `store` may be null; without need of it no worker is started.
  References(const task::Task& task, WorkerOptions options, double call_seconds, std::vector<Job> jobs, PreparedStore* store);
  ~References();               // stops the thread and its worker
  Prepared next();             // of the next job; blocks. REQUIRES: at most once per job
  // By how much each element of the outputs moves with the last bits of the job's inputs, infinite where it is finite no longer; `outputs`: those of the job. Empty: nothing
  // is known. REQUIRES: always called by one thread, which outlives this.
  std::vector<std::vector<double>> moves(const Job& job, const std::vector<SharedBytes>& inputs, const std::vector<SharedList<double>>& outputs);

 private:
  void produce();
  Expected<WorkerProcess*> working(std::unique_ptr<WorkerProcess>& worker, const Job& job) const;
  Prepared of_worker(std::unique_ptr<WorkerProcess>& worker, const Job& job) const;
  // `nudge`: the last bits of normal inputs are changed as it says.
  Expected<std::vector<std::vector<double>>> run(WorkerProcess& worker, const Job& job, const std::vector<std::span<const std::byte>>& inputs, std::optional<std::uint64_t> nudge = {}) const;
  Prepared prepare(WorkerProcess& worker, const Job& job) const;
  void add_further(WorkerProcess& worker, Job job, Prepared& out) const;
  void push(Prepared prepared);

  std::unique_ptr<WorkerProcess> nudging_;   // of moves()
  const task::Task& task_;
  const WorkerOptions options_;
  const double call_seconds_;
  const std::vector<Job> jobs_;
  PreparedStore* const store_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Prepared> ready_;
  bool stopped_ = false;
  std::thread thread_;         // last: it uses all the others
};

}  // namespace kforge::trial
