// A run as a terminal shows it: shortest answer last, where the eye ends up.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/counted.h"
#include "base/text.h"
#include "kforge/report.h"
#include "report/audit.h"
#include "report/distance.h"
#include "report/figures.h"
#include "report/run_text.h"
#include "report/story.h"
#include "report/style.h"

namespace kforge::report {

std::string line(const Painter& paint, std::string_view key, const std::string& value) {
  return value.empty() ? "" : fmt::format("  {} {}\n", paint(Colour::dim, fmt::format("{:<13}", key)), printable(value));
}

std::string heading(const Painter& paint, std::string_view title) { return "\n" + paint(Colour::bold, title) + "\n"; }

namespace {

Colour colour_of(Status status) { return status == Status::passed ? Colour::green : status == Status::failed ? Colour::red : Colour::yellow; }

std::string way_text(const RunRecord& run, const Painter& paint) {
  std::string out;
  const Standing s = standing_of(run);
  if (s.baseline) out += fmt::format("  {:>10}  {}{}\n", time_text(s.baseline_us), printable(move_title(s.baseline->candidate)), s.start_fault.empty() ? "" : paint(Colour::red, ", which is wrong"));
  for (const StoryStep& step : story_of(run)) {
    const std::string gain = step.observed_gain > 0 ? gain_text(step.observed_gain) : "-";
    const std::string rule = step.tried->candidate.move.rule.empty() ? "" : " [" + step.tried->candidate.move.rule + "]";
    out += fmt::format("  {:>10}  {} {}{}\n", time_text(microseconds(*step.tried)), paint(Colour::green, fmt::format("{:<7}", gain)), printable(move_title(step.tried->candidate)), paint(Colour::dim, printable(rule) + (step.before && !step.descends ? " (a new line, not made from the one above)" : "")));
  }
  return out.empty() ? out : heading(paint, "How it came about") + out;
}

}  // namespace

std::string contribution_text(const RunRecord& run, const Painter& paint) {
  if (run.contributions.empty()) return {};
  std::string out = heading(paint, "Contributions (how much slower without it)");
  for (const Contribution& c : run.contributions) out += fmt::format("  {:<7} {} {}\n", gain_text(c.factor), printable(c.move.title.empty() ? c.move.id : c.move.title), paint(Colour::dim, "(" + printable(c.how) + ")"));
  return out;
}

namespace {

std::string audit_text(const Verdict& verdict, const TextOptions& options, const Painter& paint) {
  std::string out = heading(paint, "Audit of the winner");
  for (const AuditLayer& layer : audit(verdict)) {
    const auto passed = std::count_if(layer.rows.begin(), layer.rows.end(), [](const AuditRow& row) { return row.status == Status::passed; });
    out += fmt::format("  {}: {} of {} passed\n", layer.title, passed, layer.rows.size());
    for (const AuditRow& row : layer.rows) {
      if (row.status == Status::passed && !options.all_cases) continue;
      out += fmt::format("    {} {:<22} {}, expected {}{}\n", paint(colour_of(row.status), fmt::format("{:<8}", name(row.status))), printable(row.contract), printable(row.measured), printable(row.expected),
                         row.cause.empty() || row.cause == row.measured ? "" : ": " + printable(row.cause));
    }
  }
  return out;
}

std::string left_text(const Standing& s, const Painter& paint) {
  std::string out = line(paint, "bound by", s.bottleneck);
  if (const std::string distance = distance_text(s); !distance.empty()) out += line(paint, "left", distance);
  if (s.program.stated)
    out += line(paint, "whole", fmt::format("{:.1f}% of the program, which becomes {} faster (at most {})", 100 * s.program.share, gain_text(s.program.speedup),
                                            std::isfinite(s.program.limit) ? gain_text(s.program.limit) : "without limit"));
  return out;
}

std::string candidates_text(const RunRecord& run, const TextOptions& options, const Painter& paint) {
  if (!options.all_cases) return {};
  std::string out = heading(paint, "Candidates");
  for (const TriedCandidate& t : run.tried) {
    const Colour colour = t.verdict.status == VerdictStatus::accepted ? Colour::green : t.verdict.status == VerdictStatus::rejected ? Colour::red : Colour::yellow;
    out += fmt::format("  {} {} {:>10} {}: {}\n", short_id(t.candidate.id), paint(colour, fmt::format("{:<8}", name(t.verdict.status))), time_text(microseconds(t)), printable(move_title(t.candidate)), printable(t.verdict.why));
  }
  return out;
}

// Where the time went: the question behind a slow run.
std::string cost_text(const RunRecord& run) {
  const auto judged = std::count_if(run.tried.begin(), run.tried.end(), [](const TriedCandidate& t) { return !t.reused; });
  const double cpu = cpu_seconds(run.costs);
  if (judged == 0 || cpu <= 0 || run.seconds <= 0) return {};
  double compilers = 0;
  for (const StageCost& cost : run.costs) compilers += kind_of_stage(cost.stage) == StageKind::compiler ? cost.cpu_s : 0;
  const double other = other_cpu_seconds(run.costs);
  return fmt::format("{:.0f} candidates/min, {:.2f} s of processor time each: compilers {:.0f}%, emulation {:.0f}%, the rest {:.1f}%", 60 * static_cast<double>(judged) / run.seconds,
                     cpu / static_cast<double>(judged), 100 * compilers / cpu, 100 * std::max(0.0, cpu - compilers - other) / cpu, 100 * other / cpu);
}

}  // namespace

std::string answer_text(const RunRecord& run, const Standing& s, const Painter& paint) {
  const auto accepted = std::count_if(run.tried.begin(), run.tried.end(), [](const TriedCandidate& t) { return t.verdict.status == VerdictStatus::accepted; });
  std::string out = "\n" + paint(run.goal_met ? Colour::green : run.winner.empty() ? Colour::red : Colour::yellow, printable(run.outcome)) + fmt::format(" {}: {}\n", printable(run.task_name), printable(run.outcome_why));
  if (s.winner) {
    std::string text = fmt::format("{} {}", time_text(s.winner_us), s.time_source);
    if (s.speedup > 0) text += fmt::format(", {} {} {}", gain_text(s.speedup), s.speedup >= 1 ? "faster than" : "the speed of", time_text(s.baseline_us));
    out += line(paint, "winner", fmt::format("{} ({})", move_title(s.winner->candidate), short_id(run.winner))) + line(paint, "time", text);
  }
  if (!s.start_fault.empty()) out += line(paint, "start", fmt::format("{} is wrong: {}", move_title(s.baseline->candidate), printable(s.start_fault)));
  out += left_text(s, paint);
  out += line(paint, "cost", cost_text(run));
  return out + line(paint, "run", fmt::format("{} on {}: {} of {} accepted in {}", run.id, run.device, accepted, counted(run.tried.size(), "candidate"), human_seconds(run.seconds)));
}

}  // namespace kforge::report

namespace kforge {

using namespace report;

std::string to_text(const RunRecord& run, const TextOptions& options) {
  const Painter paint(options.colour);
  const Standing s = standing_of(run);
  std::string out = candidates_text(run, options, paint) + way_text(run, paint) + contribution_text(run, paint);
  if (s.winner) out += audit_text(s.winner->verdict, options, paint);
  return out + answer_text(run, s, paint);
}

}  // namespace kforge
