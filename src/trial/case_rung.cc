#include "trial/case_rung.h"

#include <fmt/format.h>

namespace kforge::trial {

void CaseRung::fail(const task::Case& run, const std::string& what, bool stop, RungStatus status) {
  if (rung.status != RungStatus::failed) {
    rung.why = fmt::format("{}: {}", run.label, what);
    rung.status = status;
  }
  if (stop) stopped_why_ = fmt::format("not run: {} ended the trial ({})", run.label, what);
}

bool CaseRung::stopped() {
  if (stopped_why_.empty() && stop_ && stop_()) stopped_why_ = "not run: the trial was ended early";
  return !stopped_why_.empty();
}

}  // namespace kforge::trial
