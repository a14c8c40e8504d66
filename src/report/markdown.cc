// Markdown (GitHub's flavour) of verdicts and runs: for merge requests and notes.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "kforge/figures.h"
#include "kforge/report.h"
#include "report/audit.h"
#include "report/figures.h"
#include "report/html.h"
#include "report/line_figures.h"
#include "report/story.h"

namespace kforge {
namespace {

using namespace report;

std::string esc(std::string_view text) { return markdown_escape(text); }

// A fence longer than any run of backticks inside.
std::string code_block(std::string_view language, std::string_view text) {
  std::size_t longest = 2, run = 0;
  std::string clean;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
    const auto byte = static_cast<unsigned char>(c);
    clean += (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f ? '?' : c;
  }
  const std::string fence(longest + 1, '`');
  return fmt::format("{}{}\n{}{}{}\n", fence, language, clean, clean.ends_with('\n') ? "" : "\n", fence);
}

std::string audit_table(const Verdict& verdict) {
  std::string out = "| layer | metric | status | expected | measured | likely cause |\n|---|---|---|---|---|---|\n";
  for (const AuditLayer& layer : audit(verdict))
    for (const AuditRow& row : layer.rows)
      out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", layer.title, row.contract, name(row.status), esc(row.expected), esc(row.measured), esc(row.cause));
  return out;
}

std::string findings_text(const Verdict& verdict) {
  std::string out;
  for (const Finding& f : verdict.findings) {
    out += fmt::format("- **{}** {}:{}: {}\n", esc(f.contract), esc(f.file), f.line, esc(f.message));
    if (!f.measured.empty()) out += fmt::format("  - measured {}, required {}\n", esc(f.measured), esc(f.required));
    if (!f.cause.empty()) out += fmt::format("  - cause: {}\n", esc(f.cause));
    for (const std::string& advice : f.advice) out += fmt::format("  - advice: {}\n", esc(advice));
    if (!f.rule.empty()) out += fmt::format("  - rule: {}\n", esc(f.rule));
  }
  return out;
}

// Lines that do a hundredth of the work of a kind, or are worth a look.
std::string lines_table(const SourceFigures& figures, std::string_view source) {
  constexpr double kShare = 0.01;
  const auto texts = split_lines(source);
  const auto columns = telling_columns(figures);
  std::string rows;
  for (const auto& [number, metrics] : figures.lines) {
    if (number > texts.size()) continue;
    std::string cells;
    bool look = false, busy = false;
    for (const std::size_t i : columns) {
      const LineColumn& column = line_columns()[i];
      const bool marked = column.worth_a_look(metrics, figures.all);
      const std::string text = column.text(metrics, figures.all);
      cells += marked ? fmt::format(" **{}** |", text) : fmt::format(" {} |", text);
      look |= marked;
    }
    for (const auto& [name, count] : metrics)
      if (const auto all = figures.all.find(name); all != figures.all.end()) busy |= static_cast<double>(count) >= kShare * static_cast<double>(all->second);
    if (look || busy) rows += fmt::format("| {} |{} {} |\n", number, cells, esc(trim(texts[number - 1])));
  }
  if (rows.empty()) return "";
  std::string heads = "| line |", rules = "|---|";
  for (const std::size_t i : columns) {
    heads += fmt::format(" {} |", line_columns()[i].head);
    rules += "---|";
  }
  return heads + " source |\n" + rules + "---|\n" + rows;
}

std::string steps_text(const Verdict& verdict) {
  std::string out;
  int number = 0;
  for (const ReadingStep& step : five_steps(verdict)) out += fmt::format("{}. **{}** {} {}\n", ++number, step.title, step.question, esc(step.answer));
  return out;
}

std::string heading(std::string_view title, const std::string& content) { return content.empty() ? "" : fmt::format("\n## {}\n\n{}", title, content); }

std::string unproven(const Verdict& verdict) {
  std::string out;
  for (const std::string& item : verdict.unproven) out += "- " + esc(item) + "\n";
  return out;
}

std::string patch(const Difference& change) {
  std::string text;
  for (const Hunk& hunk : change.hunks) {
    text += "@@\n";
    for (const DiffLine& line : hunk.lines) text += fmt::format("{}{}\n", line.kind, line.text);
  }
  return text.empty() ? "" : code_block("diff", text);
}

std::string story(const RunRecord& run) {
  std::string out;
  int number = 0;
  for (const StoryStep& step : story_of(run)) {
    out += fmt::format("### {}. {}\n\n", ++number, esc(move_title(step.tried->candidate)));
    for (const Finding* finding : step.answered) out += fmt::format("Seen before: {}: {}\n\n", esc(finding->contract), esc(finding->message));
    out += fmt::format("{} (expected {}), now {}.", step.observed_gain > 0 ? gain_text(step.observed_gain) : "Gain not known", gain_text(step.expected_gain), time_text(microseconds(*step.tried)));
    out += step.rule ? fmt::format(" Rule `{}`: {}.\n\n", step.rule->id, esc(step.rule->title)) : "\n\n";
    if (step.before && !step.descends) out += "A new line: it is not made from the kernel before it.\n\n";
    if (step.before) out += patch(step.change) + "\n";
  }
  return out;
}

std::string contributions(const RunRecord& run) {
  if (run.contributions.empty()) return {};
  std::string out = "| move | slower without it | how it was found |\n|---|---|---|\n";
  for (const Contribution& c : run.contributions) out += fmt::format("| {} | {} | {} |\n", esc(c.move.title.empty() ? c.move.id : c.move.title), gain_text(c.factor), esc(c.how));
  return out;
}

std::string standing_text(const Standing& s) {
  std::string out;
  if (s.winner_us > 0) out += fmt::format("- winner: {} ({})\n", time_text(s.winner_us), esc(s.time_source));
  if (!s.bottleneck.empty()) out += fmt::format("- bound by {}\n", esc(s.bottleneck));
  if (!s.start_fault.empty()) out += fmt::format("- the kernel it started from is wrong: {}\n", esc(s.start_fault));
  if (s.speedup > 0) out += fmt::format("- {} faster than the kernel it started from ({})\n", gain_text(s.speedup), time_text(s.baseline_us));
  if (s.roofline_fraction > 0) out += fmt::format("- {:.3g} times the floor of {}, bound by {}: {}\n", 1 / s.roofline_fraction, time_text(s.work.floor_us), esc(bound_text(s.work.bound)), floor_text(s.work));
  if (s.program.stated)
    out += fmt::format("- the kernel is {:.1f}% of its program, which becomes {} faster (at most {})\n", 100 * s.program.share, gain_text(s.program.speedup),
                       std::isfinite(s.program.limit) ? gain_text(s.program.limit) : "without limit");
  return out;
}

std::string candidates(const RunRecord& run) {
  std::string out = "| no. | id | move | verdict | time | gain | why |\n|---|---|---|---|---|---|---|\n";
  int number = 0;
  for (const TriedCandidate& t : run.tried)
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", ++number, esc(short_id(t.candidate.id)), esc(move_title(t.candidate)), name(t.verdict.status), time_text(microseconds(t)),
                       gain_text(t.observed_gain), esc(t.verdict.why));
  return out;
}

}  // namespace

std::string to_markdown(const Verdict& v) {
  std::string out = fmt::format("# {} {}\n\n{} on {}: {}\n", esc(v.candidate), name(v.status), esc(v.task), esc(v.device), esc(v.why));
  out += heading("Findings", findings_text(v)) + heading("Audit", audit_table(v)) + heading("Five-step reading", steps_text(v)) + heading("Unproven", unproven(v));
  return out;
}

std::string to_markdown(const Profile& profile) {
  return to_markdown(profile.verdict) + heading("Where the time goes", lines_table(source_figures(profile.kernels, profile.candidate), profile.candidate_text)) +
      heading("Source", code_block("cuda", profile.candidate_text));
}

std::string to_markdown(const RunRecord& run) { return to_markdown(run, {}); }

std::string to_markdown(const RunRecord& run, const std::vector<KernelFigures>& figures) {
  const Standing s = standing_of(run);
  std::string out = fmt::format("# {}: {}\n\n{} Forged for {}, judged on {}.\n\n{}", esc(run.task_name), esc(run.outcome), esc(run.outcome_why), esc(run.gpu), esc(run.device), standing_text(s));
  out += heading("How it came about", story(run)) + heading("What each step contributes", contributions(run));
  if (const TriedCandidate* shown = shown_of(run)) {
    const Verdict& v = shown->verdict;
    out += heading(shown == s.winner ? "Audit of the winner" : "Audit of the best candidate, which is not accepted", audit_table(v)) + heading("Five-step reading", steps_text(v));
    out += heading("Findings", findings_text(v)) + heading("Unproven", unproven(v));
    if (shown->candidate.id == run.best) out += heading("Where the time goes", lines_table(source_figures(figures, v.candidate), shown->candidate.source));
    out += heading("Source", code_block("cuda", shown->candidate.source));
  }
  out += heading("All candidates", candidates(run));
  return out + fmt::format("\nRun {} of Kernel Forge {}, CUDA {}, started {}, seed {}, {}.\n", esc(run.id), esc(run.version), esc(run.toolkit), esc(run.started), run.seed, human_seconds(run.seconds));
}

}  // namespace kforge
