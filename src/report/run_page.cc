// The page of a run. The order is that of a reader: what came out, how far that is from the floor, how it came about, and then the proof.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "kforge/figures.h"
#include "kforge/report.h"
#include "report/distance.h"
#include "report/figures.h"
#include "report/lesson.h"
#include "report/page_parts.h"
#include "report/plots.h"
#include "report/story.h"

namespace kforge {
namespace report {
namespace {

constexpr std::size_t kMaxRows = 300;             // candidates in the table
constexpr std::size_t kMaxSteps = 24;             // with their differences
constexpr std::size_t kPageBytes = 900 * 1000;    // differences stop where the page would exceed 1 MB

Html tile(const Html& figure, const Html& caption) { return Html::element("div", "tile", Html::element("b", figure) + Html::element("span", caption)); }

Html outcome_badge(const RunRecord& run) {
  if (run.goal_met) return Html::element("span", "badge good", Html::text(run.outcome));
  const bool bad = run.outcome == "failed" || run.winner.empty();
  return bad ? Html::element("span", "badge bad", Html::text(run.outcome)) : Html::element("span", "badge warn", Html::text(run.outcome));
}

Html tiles(const RunRecord& run, const Standing& s) {
  Html out;
  if (s.speedup > 0) out += tile(Html::text(gain_text(s.speedup)), Html::raw("faster than the kernel it started from"));
  if (s.winner_us > 0) out += tile(Html::text(time_text(s.winner_us)), Html::text("the winner's time, " + (s.time_source.empty() ? std::string("source unknown") : s.time_source)));
  if (s.roofline_fraction > 0) out += tile(Html::text(gain_text(1 / s.roofline_fraction)), Html::text(distance_text(s).substr(distance_text(s).find("the floor"))));
  if (s.program.stated) out += tile(Html::text(gain_text(s.program.speedup)), Html::raw("for the whole program"));
  const auto accepted = std::count_if(run.tried.begin(), run.tried.end(), [](const TriedCandidate& t) { return t.verdict.status == VerdictStatus::accepted; });
  out += tile(Html::figures("{} of {}", accepted, run.tried.size()), Html::text("candidates accepted, in " + human_seconds(run.seconds)));
  return Html::element("div", "tiles", out);
}

Html header(const RunRecord& run, const Standing& s) {
  Html out = Html::element("h1", Html::text(run.task_name) + Html::raw(" ") + outcome_badge(run));
  out += Html::element("p", "lead", Html::text(fmt::format("Forged for {}, judged on {}. {}", run.gpu, run.device.empty() ? "an unnamed device" : run.device, run.outcome_why)));
  return Html::element("header", out + tiles(run, s));
}

Html navigation() {
  return Html::raw("<nav><a href=\"#roofline\">Roofline</a><a href=\"#way\">How it came about</a><a href=\"#contributions\">Contributions</a><a href=\"#left\">What is left</a>"
                   "<a href=\"#audit\">Audit</a><a href=\"#reading\">Five-step reading</a><a href=\"#source\">Source</a><a href=\"#plan\">Plan</a><a href=\"#candidates\">Candidates</a></nav>\n");
}

Html plots(const RunRecord& run, const Standing& s) {
  const Html roof = roofline_plot(run, s), time = timeline_plot(run, s);
  Html out;
  if (!roof.empty()) {
    const Html what = s.work.operations > 0
        ? Html::raw("Attained rate against the GPU&#39;s roofs. Solid: DRAM and arithmetic; dashed: L2. Compulsory reads give the place on the axis; the gap above the winner is what is left.")
        : Html::raw("The task moves data and computes nothing: compulsory reads over time, against the DRAM rate.");
    out += Html::element("figure", roof + Html::element("figcaption", what));
  }
  if (!time.empty()) out += Html::element("figure", time + Html::element("figcaption", Html::raw("Candidates by time of verdict. Line: the best so far; crosses: rejected; hollow: verdict taken from the store.")));
  return out.empty() ? out : Html::element("div", "plots", out);
}

// The fault, its place in the source, and why it costs what it costs here: that is told once a contract (`told`).
Html fault(const Finding& finding, const std::string& source, const std::optional<hardware::DataSheet>& sheet, std::set<std::string>& told) {
  Html seen = Html::element("code", Html::text(finding.contract)) + Html::raw(" ") + Html::text(finding.message);
  if (!finding.measured.empty()) seen += Html::text(fmt::format("{} Measured {}{}.", finding.message.ends_with('.') ? "" : ".", finding.measured, finding.required.empty() ? "" : ", required " + finding.required));
  std::string lines;
  for (const NumberedLine& l : lines_around(source, finding.line)) lines += fmt::format("{:>5}  {}\n", l.number, l.text);
  if (!lines.empty()) seen += Html::element("pre", Html::text(lines));
  Html out = pair(Html::raw("seen"), seen);
  if (sheet && told.insert(finding.contract).second)
    if (const std::string reason = hardware_reason(finding.contract, *sheet); !reason.empty()) out += pair(Html::raw("why here"), Html::text(reason));
  return out;
}

Html start_faults(const Standing& s, const std::optional<hardware::DataSheet>& sheet, std::set<std::string>& told) {
  constexpr std::size_t kShown = 4;
  if (!s.baseline || s.baseline->verdict.findings.empty()) return {};
  Html facts;
  for (std::size_t i = 0; i < std::min(kShown, s.baseline->verdict.findings.size()); ++i) facts += fault(s.baseline->verdict.findings[i], s.baseline->candidate.source, sheet, told);
  return Html::element("article", "card", Html::element("h3", Html::raw("Where it started: what the kernel does wrong")) + Html::element("dl", "facts", facts));
}

Html attempts(const RunRecord& run) {
  Html items;
  for (const Attempt& attempt : did_not_help(run, 4)) items += Html::element("li", Html::text(move_title(attempt.tried->candidate) + ": " + attempt.why));
  return items.empty() ? Html() : Html::element("h3", Html::raw("What did not help")) + Html::element("ul", items);
}

// Of the words that the walk through the run uses.
Html glossary(const RunRecord& run) {
  Html items;
  for (const Word& word : words_in(explain_text(run, TextOptions{}))) items += pair(Html::text(std::string(word.word)), Html::text(std::string(word.meaning)));
  return items.empty() ? Html() : Html::element("dl", "facts", items);
}

Html step_facts(const StoryStep& step, const std::optional<hardware::DataSheet>& sheet, std::set<std::string>& told) {
  Html out;
  const Move& move = step.tried->candidate.move;
  for (const Finding* finding : step.answered) out += fault(*finding, step.before->candidate.source, sheet, told);
  if (step.answered.empty() && !move.answers.empty()) out += pair(Html::raw("answers"), Html::element("code", Html::text(move.answers)));
  out += pair(Html::raw("proposed by"), Html::text(step.tried->candidate.proposer));
  std::string parameters;
  for (const auto& [key, value] : step.tried->candidate.parameters) parameters += fmt::format("{}{} = {}", parameters.empty() ? "" : ", ", key, value);
  if (!parameters.empty()) out += pair(Html::raw("parameters"), Html::text(parameters));
  const std::string observed = step.observed_gain > 0 ? gain_text(step.observed_gain) : "not measured";
  out += pair(Html::raw("gain"), Html::text(fmt::format("{} (expected {})", observed, gain_text(step.expected_gain))));
  const std::string held = step.tried->verdict.time ? step.tried->verdict.time->bottleneck : "";
  out += pair(Html::raw("time"), Html::text(time_text(microseconds(*step.tried)) + (held.empty() ? "" : ", then bound by " + held)));
  return Html::element("dl", "facts", out);
}

Html rule_text(const StoryStep& step) {
  if (!step.rule) return {};
  return Html::element("h3", Html::text("Why: " + step.rule->title)) + markdown_to_html(step.rule->why) +
         Html::raw("<details><summary>What the rule says to do</summary>\n") + markdown_to_html(step.rule->what_to_do) + Html::element("p", "sub", Html::text("Rule " + step.rule->id + ". " + join(step.rule->sources, "; "))) + Html::raw("</details>\n");
}

Html way(const RunRecord& run) {
  Html out;
  if (const std::string fault = standing_of(run).start_fault; !fault.empty()) out += Html::element("p", Html::text("The kernel that the run started from is wrong: " + fault + "."));
  const auto sheet = sheet_of(run);
  std::set<std::string> told;
  out += start_faults(standing_of(run), sheet, told);
  std::size_t number = 0;
  for (const StoryStep& step : story_of(run)) {
    if (++number > kMaxSteps) return out + Html::element("p", Html::raw("Further steps are in the table of candidates."));
    Html card = step.observed_gain > 0 ? Html::element("span", "gain", Html::text(gain_text(step.observed_gain))) : Html();
    card += Html::element("h3", Html::figures("{}. ", number) + Html::text(move_title(step.tried->candidate))) + step_facts(step, sheet, told) + rule_text(step);
    if (step.before && !step.descends) card += Html::element("p", "sub", Html::raw("A new line: it is not made from the kernel before it."));
    if (step.before && out.size() < kPageBytes / 2)
      card += Html::raw("<details><summary>") + Html::figures("The change: {} lines added, {} removed", step.change.added, step.change.removed) + Html::raw("</summary>\n") + difference_view(step.change) + Html::raw("</details>\n");
    out += Html::element("article", "card", card);
  }
  return out + attempts(run);
}

Html left(const Standing& s) {
  if (s.winner_us <= 0) return Html::element("p", Html::raw("No accepted candidate has a time."));
  Html out;
  if (s.work.floor_us > 0) {
    const double factor = s.winner_us / s.work.floor_us;
    out += Html::element("p", Html::text(fmt::format("The floor of physics is {} (bound by {}): {}. The winner takes {}: at most {} is left to win.",
        time_text(s.work.floor_us), bound_text(s.work.bound), floor_text(s.work), time_text(s.winner_us), gain_text(factor))));
    if (factor < 1) out += Html::element("p", Html::raw("A time below the floor is an error of measurement or of the floor; it is no achievement."));
    else if (factor < 1.15) out += Html::element("p", Html::raw("Tuning has little left to give. Fewer bytes would: fusion with a neighbour, narrower types, or another algorithm."));
  }
  if (!s.bottleneck.empty()) out += Html::element("p", Html::text("What holds the winner back now: " + s.bottleneck + "."));
  if (s.time_source == "modelled") out += Html::element("p", Html::raw("The times are modelled from observed counts and the data sheet. They order candidates; on the hardware the factor can differ."));
  return out;
}

Html whole(const Standing& s) {
  if (!s.program.stated) return {};
  const ProgramGain& g = s.program;
  std::string text = fmt::format("The kernel is {:.1f}% of a program", 100 * g.share);
  if (g.total_us > 0) text += fmt::format(" of {}", time_text(g.total_us));
  text += fmt::format(". A kernel {} faster makes the program {} faster", gain_text(g.kernel_speedup), gain_text(g.speedup));
  if (g.total_us > 0) text += fmt::format(" ({})", time_text(g.total_after_us));
  text += std::isfinite(g.limit) ? fmt::format("; with a kernel that took no time it would be {}.", gain_text(g.limit)) : ".";
  return Html::element("p", Html::text(text)) + Html::element("p", "sub", Html::raw("Amdahl&#39;s law: 1 / (1 &minus; p + p / s)."));
}

Html plan_section(const Plan& plan) {
  Html sizes, steps, notes;
  for (const PlanSize& size : plan.sizes)
    sizes += Html::element("tr", Html::element("td", Html::element("code", Html::text(sizes_text(size)))) + Html::element("td", "num", Html::text(human_count(size.operations))) +
                                     Html::element("td", "num", Html::text(human_bytes(size.read_bytes + size.write_bytes))) + Html::element("td", Html::text(bound_text(size.bound))) +
                                     Html::element("td", "num", Html::text(time_text(size.floor_us))) + Html::element("td", "num", Html::text(time_text(size.target_us))));
  for (const PlanStep& step : plan.steps)
    steps += Html::element("li", Html::element("strong", Html::text(step.title)) + (step.enabled ? Html() : Html::raw(" <span class=\"badge\">off</span>")) +
                                     Html::element("span", "sub", Html::text(fmt::format("{} Expected {}.{}", step.why, gain_text(step.expected_gain), step.rule.empty() ? "" : " Rule " + step.rule + "."))));
  for (const std::string& note : plan.notes) notes += Html::element("li", Html::text(note));
  Html out = Html::element("p", Html::text(fmt::format("Pattern: {} ({:.0f}% sure): {}", plan.guess.pattern, 100 * plan.guess.confidence, plan.guess.why)));
  if (!sizes.empty())
    out += Html::element("div", "scroll", Html::element("table", Html::raw("<thead><tr><th>Size</th><th class=\"num\">Operations</th><th class=\"num\">Bytes</th><th>Bound</th><th class=\"num\">Floor</th><th class=\"num\">Target</th></tr></thead>") + Html::element("tbody", sizes)));
  if (!steps.empty()) out += Html::element("ol", "steps", steps);
  if (!notes.empty()) out += Html::element("ul", notes);
  return out;
}

Html candidates(const RunRecord& run) {
  Html rows;
  for (std::size_t i = 0; i < run.tried.size() && i < kMaxRows; ++i) {
    const TriedCandidate& t = run.tried[i];
    const Html cells = Html::element("td", "num", Html::figures("{}", i + 1)) + Html::element("td", Html::text(move_title(t.candidate)) + Html::element("span", "sub", Html::text(t.candidate.proposer + (t.reused ? ", from the store" : "")))) +
                       Html::element("td", badge(t.verdict.status)) + Html::element("td", "num", Html::text(time_text(microseconds(t)))) + Html::element("td", "num", Html::text(gain_text(t.observed_gain))) +
                       Html::element("td", Html::text(t.verdict.why)) + Html::element("td", Html::element("code", Html::text(short_id(t.candidate.id))));
    rows += t.candidate.id == run.winner ? Html::element("tr", "winner", cells) : Html::element("tr", cells);
  }
  if (rows.empty()) return {};
  const Html head = Html::raw("<thead><tr><th class=\"num\">No.</th><th>Move</th><th>Verdict</th><th class=\"num\">Time</th><th class=\"num\">Gain</th><th>Why</th><th>Id</th></tr></thead>");
  Html out = Html::element("div", "scroll", Html::element("table", head + Html::element("tbody", rows)));
  if (run.tried.size() > kMaxRows) out += Html::element("p", Html::figures("... and {} more.", run.tried.size() - kMaxRows));
  return out;
}

Html origin(const RunRecord& run) {
  return Html::element("footer", Html::text(fmt::format("Run {} of Kernel Forge {}, CUDA {}, started {}, seed {}, {}. Task {}.", run.id, run.version, run.toolkit, run.started, run.seed, human_seconds(run.seconds), run.task_path)));
}

Html proof(const TriedCandidate& winner, bool won, const SourceFigures& figures) {
  const Verdict& v = winner.verdict;
  Html out = section(Html::raw("audit"), won ? Html::raw("Audit of the winner") : Html::raw("Audit of the best candidate, which is not accepted"), audit_table(v));
  out += section(Html::raw("reading"), Html::raw("Five-step reading"), reading_list(v));
  out += section(Html::raw("findings"), Html::raw("Findings"), findings_list(v));
  out += section(Html::raw("source"), Html::raw("Annotated source"), annotated_source(winner.candidate.source, v.findings, figures));
  Html unproven;
  for (const std::string& item : v.unproven) unproven += Html::element("li", Html::text(item));
  if (!unproven.empty()) out += section(Html::raw("unproven"), Html::raw("Unproven"), Html::element("ul", unproven));
  return out + section(Html::raw("resources"), Html::raw("Resources"), resources_table(v)) + section(Html::raw("cases"), Html::raw("Cases"), cases_table(v));
}

}  // namespace
}  // namespace report

std::string to_html(const RunRecord& run) { return to_html(run, std::vector<KernelFigures>{}); }

std::string to_html(const RunRecord& run, const std::vector<KernelFigures>& figures) {
  using namespace report;
  const Standing s = standing_of(run);
  Html body = header(run, s) + navigation();
  body += section(Html::raw("roofline"), Html::raw("Where it stands"), plots(run, s));
  body += section(Html::raw("way"), Html::raw("How it came about"), way(run));
  const Html bars = contribution_bars(run);
  body += section(Html::raw("contributions"), Html::raw("What each step contributes"), bars.empty() ? Html::element("p", Html::raw("No contributions were measured.")) : Html::element("div", "scroll", bars));
  body += section(Html::raw("left"), Html::raw("What is left to the roofline"), left(s));
  body += section(Html::raw("whole"), Html::raw("The share in the whole"), whole(s));
  if (const TriedCandidate* shown = shown_of(run)) body += proof(*shown, shown == s.winner, shown->candidate.id == run.best ? source_figures(figures, shown->verdict.candidate) : SourceFigures{});
  body += section(Html::raw("words"), Html::raw("Words"), glossary(run));
  body += section(Html::raw("plan"), Html::raw("The plan"), plan_section(run.plan));
  body += section(Html::raw("candidates"), Html::raw("All candidates"), candidates(run));
  return document("Kernel Forge: " + run.task_name, body + origin(run));
}

}  // namespace kforge
