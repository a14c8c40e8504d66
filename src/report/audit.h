// The audit of a verdict in four layers (requirement B8): syntax, safety, hardware, golden data. Each row: metric, expected, measured,
// likely cause. And the five-step reading of a kernel (B12): which contracts are read in which order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kforge/verdict.h"

namespace kforge::report {

struct AuditRow {
  std::string contract;     // id
  std::string statement;    // what it says, in words
  Level level = Level::required;
  Status status = Status::unknown;
  std::string expected, measured, cause, evidence;
};

struct AuditLayer {
  std::string title;
  std::vector<AuditRow> rows;
};
std::vector<AuditLayer> audit(const Verdict& verdict);

struct ReadingStep {
  std::string title, question;
  std::vector<AuditRow> rows;
  bool good = true;         // no row failed or is unknown
  std::string answer;       // one sentence
};
std::vector<ReadingStep> five_steps(const Verdict& verdict);

}  // namespace kforge::report
