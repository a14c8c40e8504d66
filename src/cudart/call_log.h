// What the interface contract hears of a call: which runtime functions the candidate used, and faults that the host side
// caused. Bounded: a candidate that calls a million functions costs no more than one that calls a few.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cudart/status.h"
#include "evidence/launch_log.h"

namespace kforge::cudart {

class CallLog {
 public:
  void clear();
  // Equal records are counted, not repeated.
  void record(evidence::RuntimeCall call);
  void violate(evidence::Violation violation);
  void move_into(evidence::LaunchLog& log);
  std::size_t violation_count() const { return violations_.size(); }

 private:
  std::vector<evidence::RuntimeCall> calls_;
  std::vector<evidence::Violation> violations_;
};

}  // namespace kforge::cudart
