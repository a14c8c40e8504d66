#include "judge/goal.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "judge/answer.h"

namespace kforge::judge {
namespace {

struct Part {
  Status status = Status::unknown;
  std::string measured, required;
};

Part at_most(const char* what, double us, double most, const std::string& source) {
  if (us <= 0) return {Status::unknown, fmt::format("{} is not known", what), fmt::format("{} <= {:.4g} us", what, most)};
  return {us <= most ? Status::passed : Status::failed, fmt::format("{} {:.4g} us {}", what, us, source), fmt::format("{} <= {:.4g} us", what, most)};
}

Part at_roofline(double us, double floor_us, double fraction, const std::string& source) {
  const std::string required = fmt::format(">= {:.0f}% of the roofline", 100 * fraction);
  if (us <= 0 || floor_us <= 0) return {Status::unknown, floor_us <= 0 ? "the floor of physics is not known" : "the time is not known", required};
  return {floor_us / us >= fraction ? Status::passed : Status::failed, fmt::format("{:.0f}% of the roofline {}", 100 * floor_us / us, source), required};
}

std::string short_name(const std::string& versus) { return versus.ends_with(".cu") ? std::filesystem::path(versus).filename().string() : versus; }

Part against_baselines(const task::Goal& goal, const GoalFigures& figures, double us, const std::string& source) {
  const double ratio = goal.ratio.value_or(1);
  std::vector<std::string> names, missing;
  double best = 0;
  std::string best_name;
  for (const std::string& versus : goal.versus) {
    names.push_back(short_name(versus));
    const auto found = figures.baselines_us.find(versus);
    const double known = found != figures.baselines_us.end() ? found->second : versus == "roofline" ? figures.floor_us : 0;
    if (known <= 0) missing.push_back(names.back());
    else if (best == 0 || known < best) {
      best = known;
      best_name = names.back();
    }
  }
  Part part{Status::unknown, "", fmt::format(">= {:.2f}x {}", ratio, join(names, ", "))};
  if (us <= 0) part.measured = "the time is not known";
  else if (best > 0 && best / us < ratio) part = {Status::failed, fmt::format("{:.2f}x {} {}", best / us, best_name, source), part.required};
  else if (!missing.empty()) part.measured = fmt::format("the time of {} is not known here", join(missing, ", "));
  else part = {Status::passed, fmt::format("{:.2f}x {} {}", best / us, best_name, source), part.required};
  return part;
}

}  // namespace

ContractReport judge_goal(const task::Goal& goal, const GoalFigures& figures) {
  const double us = figures.time ? figures.time->us : 0;
  const bool measured_here = figures.time && figures.time->source == "measured";
  const std::string source = measured_here ? "(measured)" : "(modelled)";
  std::vector<Part> parts;
  if (goal.us) parts.push_back(at_most("time", us, *goal.us, source));
  if (goal.p99_us) parts.push_back(at_most("p99", measured_here ? figures.time->p99_us : 0, *goal.p99_us, source));
  if (goal.roofline) parts.push_back(at_roofline(us, figures.floor_us, *goal.roofline, source));
  if (!goal.versus.empty()) parts.push_back(against_baselines(goal, figures, us, source));
  ContractReport report;
  report.id = "goal";
  report.evidence = measured_here ? "gpu" : "modelled";
  std::vector<std::string> measured, required;
  const auto any = [&](Status status) { return std::any_of(parts.begin(), parts.end(), [&](const Part& p) { return p.status == status; }); };
  report.status = any(Status::failed) ? Status::failed : any(Status::unknown) || parts.empty() ? Status::unknown : Status::passed;
  for (const Part& part : parts) {
    measured.push_back(part.measured);
    required.push_back(part.required);
  }
  report.measured = join(measured, "; ");
  report.required = join(required, "; ");
  return report;
}

void settle_goal(Verdict& verdict, const task::Task& task, const GoalFigures& figures) {
  const auto found = std::find_if(verdict.contracts.begin(), verdict.contracts.end(), [](const ContractReport& c) { return c.id == "goal"; });
  if (!task.goal || found == verdict.contracts.end() || found->level == Level::off) return;
  const Level level = found->level;
  *found = judge_goal(*task.goal, figures);
  found->level = level;
  answer(verdict, false);
}

}  // namespace kforge::judge
