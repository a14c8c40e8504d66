// A ledger of processor and wall time by stage: threads and finished processes of a run add to it.
//
// What runs in this process adds the time of its own thread (StageTimer); what runs outside adds what the system reports of a process that
// ended. The rest of the run's processor time is the difference to process_cpu_seconds().
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <mutex>
#include <string_view>
#include <vector>

#include "kforge/cost.h"

namespace kforge {

// Thread-safe.
class CostLedger {
 public:
  void add(std::string_view stage, double cpu_s, double wall_s);
  std::vector<StageCost> stages() const;   // in order of first use

 private:
  mutable std::mutex mutex_;
  std::vector<StageCost> stages_;
};

// Adds this thread's time from its construction to its destruction, without that of timers inside it. `ledger` may be null.
class StageTimer {
 public:
  StageTimer(CostLedger* ledger, std::string_view stage);
  ~StageTimer();
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  CostLedger* ledger_;
  std::string_view stage_;
  StageTimer* outer_;
  double cpu_before_, wall_inside_ = 0, cpu_inside_ = 0;
  std::chrono::steady_clock::time_point start_;
};

// User and system.
double cpu_seconds(const rusage& usage);

// The same of this process and of the children that it waited for.
double process_cpu_seconds();

}  // namespace kforge
