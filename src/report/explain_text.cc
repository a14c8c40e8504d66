// The walk through a run for those who learn CUDA: what was wrong and at which line, why that is slow on this GPU, what changed, what it gained.
#include <algorithm>

#include <fmt/format.h>

#include "base/counted.h"
#include "base/text.h"
#include "kforge/report.h"
#include "report/audit.h"
#include "report/lesson.h"
#include "report/run_text.h"
#include "report/story.h"

namespace kforge {
namespace {

using namespace report;

constexpr int kMaxDiffLines = 60;
constexpr std::size_t kFaultsOfStart = 4, kFailedAttempts = 4;

std::string change_text(const Difference& change, const Painter& paint) {
  std::string out;
  int shown = 0;
  for (const Hunk& hunk : change.hunks) {
    for (const DiffLine& l : hunk.lines) {
      if (++shown > kMaxDiffLines) return out + "      ... (kforge report --format html shows all)\n";
      const std::string text = fmt::format("      {}{}", l.kind, printable(l.text));
      out += (l.kind == '+' ? paint(Colour::green, text) : l.kind == '-' ? paint(Colour::red, text) : paint(Colour::dim, text)) + "\n";
    }
    out += "      " + paint(Colour::dim, "...") + "\n";
  }
  return out;
}

std::string indented(std::string_view text) {
  std::string out;
  for (const std::string_view l : split_lines(text)) out += "    " + printable(l) + "\n";
  return out;
}

// The fault, its place in the source, and why it costs what it costs here.
std::string fault_text(const Finding& finding, const std::string& source, const std::optional<hardware::DataSheet>& sheet, bool told, const Painter& paint) {
  std::string out = line(paint, "seen", fmt::format("{}: {}{}", finding.contract, finding.message, finding.line > 0 ? fmt::format(" (line {})", finding.line) : ""));
  if (told) return out;   // above, with all that belongs to it
  if (!finding.measured.empty()) out += line(paint, "measured", finding.measured + (finding.required.empty() ? "" : ", required " + finding.required));
  for (const NumberedLine& l : lines_around(source, finding.line)) {
    const std::string text = fmt::format("  {:>6} | {}", l.number, printable(l.text));
    out += "    " + (l.number == finding.line ? paint(Colour::bold, text) : paint(Colour::dim, text)) + "\n";
  }
  if (sheet) out += line(paint, "why here", hardware_reason(finding.contract, *sheet));
  return out;
}

std::string start_text(const Standing& s, const std::optional<hardware::DataSheet>& sheet, const Painter& paint) {
  if (!s.baseline || s.baseline->verdict.findings.empty()) return {};
  std::string out = heading(paint, "Where it started: what the kernel does wrong");
  std::size_t shown = 0;
  for (const Finding& finding : s.baseline->verdict.findings) {
    if (shown++ == kFaultsOfStart) break;
    out += fault_text(finding, s.baseline->candidate.source, sheet, false, paint);
  }
  if (const auto& time = s.baseline->verdict.time; time && !time->bottleneck.empty()) out += line(paint, "held by", time->bottleneck);
  return out;
}

bool is_told(const Finding* finding, const Standing& s) {
  if (!s.baseline) return false;
  const auto& findings = s.baseline->verdict.findings;
  for (std::size_t i = 0; i < std::min(kFaultsOfStart, findings.size()); ++i)
    if (&findings[i] == finding) return true;
  return false;
}

std::string step_text(const StoryStep& step, int number, const Standing& s, const std::optional<hardware::DataSheet>& sheet, const Painter& paint) {
  std::string out = heading(paint, fmt::format("Step {}: {}", number, printable(move_title(step.tried->candidate))));
  if (step.before && !step.descends) out += line(paint, "from", "a new line: it is not made from the kernel before it");
  for (const Finding* finding : step.answered) out += fault_text(*finding, step.before->candidate.source, sheet, is_told(finding, s), paint);
  const std::string& answers = step.tried->candidate.move.answers;
  if (step.answered.empty() && sheet && !hardware_reason(answers, *sheet).empty()) out += line(paint, "answers", answers) + line(paint, "why here", hardware_reason(answers, *sheet));
  if (step.rule) out += line(paint, "rule", step.rule->id + ": " + step.rule->title) + indented(step.rule->why) + line(paint, "what to do", " ") + indented(step.rule->what_to_do);
  if (step.before) out += line(paint, "change", fmt::format("{} added, {} removed", counted(step.change.added, "line"), step.change.removed)) + change_text(step.change, paint);
  out += line(paint, "gain", fmt::format("{} (expected {}), now {}", step.observed_gain > 0 ? gain_text(step.observed_gain) : "not known", gain_text(step.expected_gain), time_text(microseconds(*step.tried))));
  const auto held = [](const TriedCandidate* tried) { return tried && tried->verdict.time ? tried->verdict.time->bottleneck : std::string(); };
  if (!held(step.tried).empty()) out += line(paint, "held by", (held(step.before).empty() ? "" : "before: " + held(step.before) + "; now: ") + held(step.tried));
  return out;
}

}  // namespace

std::string explain_text(const RunRecord& run, const TextOptions& options) {
  const Painter paint(options.colour);
  const Standing s = standing_of(run);
  const auto sheet = sheet_of(run);
  std::string out = paint(Colour::bold, printable(run.task_name)) + fmt::format(" on {}\n", printable(run.gpu));
  out += line(paint, "pattern", fmt::format("{} ({:.0f}% sure): {}", run.plan.guess.pattern, 100 * run.plan.guess.confidence, run.plan.guess.why));
  if (s.work.floor_us > 0) out += line(paint, "floor", fmt::format("{}, bound by {}: {}", time_text(s.work.floor_us), bound_text(s.work.bound), floor_text(s.work)));
  if (s.baseline) out += line(paint, "start", fmt::format("{}, {}", move_title(s.baseline->candidate), s.start_fault.empty() ? time_text(s.baseline_us) : "which is wrong: " + printable(s.start_fault)));
  out += start_text(s, sheet, paint);
  int number = 0;
  for (const StoryStep& step : story_of(run)) out += step_text(step, ++number, s, sheet, paint);
  if (number == 0) out += "\nNo step: nothing was accepted that beats the start.\n";
  if (const auto attempts = did_not_help(run, kFailedAttempts); !attempts.empty()) {
    out += heading(paint, "What did not help");
    for (const Attempt& attempt : attempts) out += fmt::format("  {}: {}\n", printable(move_title(attempt.tried->candidate)), printable(attempt.why));
  }
  if (s.winner) {
    out += heading(paint, "Reading the winner in five steps");
    int step_number = 0;
    for (const ReadingStep& step : five_steps(s.winner->verdict)) out += fmt::format("  {}. {}: {}\n     {}\n", ++step_number, paint(Colour::bold, step.title), step.question, printable(step.answer));
  }
  const auto words = words_in(out);
  if (!words.empty()) out += heading(paint, "Words");
  for (const Word& word : words) out += fmt::format("  {}: {}\n", paint(Colour::bold, word.word), word.meaning);
  return out + contribution_text(run, paint) + answer_text(run, s, paint);
}

}  // namespace kforge
