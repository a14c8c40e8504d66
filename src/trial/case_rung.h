// What a rung that runs cases comes to: the first failure names it, and the first end of the trial skips the cases that follow.
#pragma once

#include <functional>
#include <string>

#include "trial/trial.h"

namespace kforge::trial {

class CaseRung {
 public:
  explicit CaseRung(const std::function<bool()>& stop) : stop_(stop) {}

  Rung rung;

  // A failure stays, whatever comes later; of anything else the last is told. `stop`: no further case runs.
  void fail(const task::Case& run, const std::string& what, bool stop, RungStatus status = RungStatus::failed);
  // Whether no further case is to run: after such a failure, or because the trial is told to end.
  bool stopped();
  const std::string& stopped_why() const { return stopped_why_; }

 private:
  const std::function<bool()>& stop_;   // of the request; may be empty
  std::string stopped_why_;
};

}  // namespace kforge::trial
