#include "forge/standing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/contract_table.h"

namespace kforge::forge {
namespace {

double comparable(double us) { return us > 0 ? us : std::numeric_limits<double>::infinity(); }

bool fails(const Verdict& verdict, judge::Group group) {
  return std::any_of(verdict.contracts.begin(), verdict.contracts.end(), [&](const ContractReport& c) {
    const auto* row = judge::find_contract(c.id);
    return row && row->group == group && c.level == Level::required && c.status == Status::failed;
  });
}

}  // namespace

Standing standing_of(const Verdict& verdict) {
  Standing out;
  out.us = verdict.time ? verdict.time->us : 0;
  if (verdict.status == VerdictStatus::accepted) out.grade = Grade::accepted;
  else if (verdict.status == VerdictStatus::error) out.grade = Grade::unproven;
  else if (fails(verdict, judge::Group::correctness)) out.grade = Grade::wrong;
  else if (fails(verdict, judge::Group::performance)) out.grade = Grade::slow;
  else out.grade = fails(verdict, judge::Group::goal) ? Grade::far_from_goal : Grade::wrong;
  // Rejected for what is missing: a contract that must be known and is not proves nothing.
  if (out.right() && out.grade != Grade::accepted &&
      std::any_of(verdict.contracts.begin(), verdict.contracts.end(), [](const ContractReport& c) {
        const auto* row = judge::find_contract(c.id);
        return row && row->group == judge::Group::correctness && row->must_know && c.status == Status::unknown && c.level != Level::off;
      }))
    out.grade = Grade::unproven;
  return out;
}

bool better(const Standing& a, const Standing& b) {
  if (a.grade != b.grade) return a.grade < b.grade;
  return comparable(a.us) < comparable(b.us);
}

bool more_promising(const Standing& a, const Standing& b) {
  if (a.right() != b.right()) return a.right();
  if (comparable(a.us) != comparable(b.us)) return comparable(a.us) < comparable(b.us);
  return a.grade < b.grade;
}

std::string bottleneck_of(const Verdict& verdict, const Plan& plan) {
  for (const Finding& finding : verdict.findings) {
    if (finding.severity == Severity::note) continue;
    return finding.contract + (finding.cause.empty() ? "" : ": " + finding.cause);
  }
  return plan.sizes.empty() ? "" : plan.sizes.front().bound;
}

std::string unknown_of(const Verdict& verdict) {
  for (const ContractReport& c : verdict.contracts)
    if (c.level == Level::required && c.status == Status::unknown && !c.measured.empty()) return c.id + ": " + c.measured;
  return verdict.why;
}

double reward_of(const Standing& standing, double baseline_us) {
  if (standing.grade == Grade::wrong) return -1;
  if (standing.grade == Grade::unproven) return 0;
  const double gain = standing.us > 0 && baseline_us > 0 ? std::log2(baseline_us / standing.us) : 0;
  return gain + (standing.grade == Grade::accepted ? 1 : 0);
}

}  // namespace kforge::forge
