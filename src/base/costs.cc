#include "base/costs.h"

#include <time.h>

#include <algorithm>
#include <array>

namespace kforge {
namespace {

struct StageRow { std::string_view stage; StageKind kind; };
constexpr std::array<StageRow, 11> kStages = {{{"nvcc", StageKind::compiler}, {"preprocessor", StageKind::compiler}, {"cudafe++", StageKind::compiler},
    {"cicc", StageKind::compiler}, {"ptxas", StageKind::compiler}, {"fatbinary", StageKind::compiler}, {"c++", StageKind::compiler}, {"ld", StageKind::compiler},
    {"reference compiler", StageKind::compiler}, {"compile server", StageKind::compiler}, {"emulate", StageKind::emulation}}};

double thread_cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

thread_local StageTimer* innermost = nullptr;   // of this thread

}  // namespace

StageKind kind_of_stage(std::string_view stage) {
  const auto* row = std::find_if(kStages.begin(), kStages.end(), [&](const StageRow& r) { return r.stage == stage; });
  return row == kStages.end() ? StageKind::other : row->kind;
}

double cpu_seconds(const std::vector<StageCost>& costs) {
  double sum = 0;
  for (const StageCost& cost : costs) sum += cost.cpu_s;
  return sum;
}

double other_cpu_seconds(const std::vector<StageCost>& costs) {
  double sum = 0;
  for (const StageCost& cost : costs) sum += kind_of_stage(cost.stage) == StageKind::other ? cost.cpu_s : 0;
  return sum;
}

void CostLedger::add(std::string_view stage, double cpu_s, double wall_s) {
  const std::lock_guard lock(mutex_);
  auto found = std::find_if(stages_.begin(), stages_.end(), [&](const StageCost& cost) { return cost.stage == stage; });
  if (found == stages_.end()) found = stages_.insert(stages_.end(), {std::string(stage), 0, 0, 0});
  found->cpu_s += cpu_s;
  found->wall_s += wall_s;
  ++found->times;
}

std::vector<StageCost> CostLedger::stages() const {
  const std::lock_guard lock(mutex_);
  return stages_;
}

StageTimer::StageTimer(CostLedger* ledger, std::string_view stage)
    : ledger_(ledger), stage_(stage), outer_(innermost), cpu_before_(thread_cpu_seconds()), start_(std::chrono::steady_clock::now()) {
  innermost = this;
}

StageTimer::~StageTimer() {
  innermost = outer_;
  const double cpu = thread_cpu_seconds() - cpu_before_, wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  if (outer_) {
    outer_->cpu_inside_ += cpu;
    outer_->wall_inside_ += wall;
  }
  if (ledger_) ledger_->add(stage_, cpu - cpu_inside_, wall - wall_inside_);
}

double cpu_seconds(const rusage& usage) {
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + 1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

double process_cpu_seconds() {
  double sum = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    ::getrusage(who, &usage);
    sum += cpu_seconds(usage);
  }
  return sum;
}

}  // namespace kforge
