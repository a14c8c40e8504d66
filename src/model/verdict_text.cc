#include "model/verdict_text.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "evidence/metric.h"
#include "judge/contract_table.h"

namespace kforge::model {
namespace {

constexpr std::uint32_t kContextLines = 2;       // of the source before and after a finding's line
constexpr std::size_t kLongestText = 600;        // of one field: compilers and candidates may say a lot
constexpr std::size_t kCasesNamed = 6;

// Other people's text: control characters would leave the prompt's form.
std::string plain(std::string_view text) {
  std::string out(text.substr(0, kLongestText));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
  if (text.size() > kLongestText) out += " ...";
  return out;
}

std::string time_text(double us) { return us > 0 ? human_seconds(us * 1e-6) : "no time"; }

std::string excerpt(std::string_view source, std::uint32_t line) {
  const auto lines = split_lines(source);
  if (line == 0 || line > lines.size()) return {};
  std::string out;
  const std::uint32_t first = line > kContextLines ? line - kContextLines : 1;
  for (std::uint32_t i = first; i <= std::min<std::uint32_t>(line + kContextLines, static_cast<std::uint32_t>(lines.size())); ++i)
    out += fmt::format("{} {:>4} | {}\n", i == line ? ">" : " ", i, lines[i - 1]);
  return out;
}

std::string one_finding(const Finding& f, std::string_view source, bool all_details) {
  std::string out = fmt::format("{} [{}]{}: {}\n", name(f.severity), f.contract, f.line > 0 ? fmt::format(" line {}", f.line) : "", plain(f.message));
  out += excerpt(source, f.line);
  const auto row = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) out += fmt::format("  {} {}\n", key, plain(value));
  };
  row("kernel", f.kernel);
  row("measured", f.measured);
  row("required", f.required);
  if (f.other_line > 0) row("other party: line", std::to_string(f.other_line));
  row("cause:", f.cause);
  for (const std::string& advice : f.advice) row("advice:", advice);
  row("rule:", f.rule);
  for (std::size_t i = 0; i < f.details.size() && (all_details || i < 2); ++i) row("", f.details[i]);
  return out;
}

// Errors before warnings before notes; else as the judge has them.
std::vector<std::size_t> order_of(const std::vector<Finding>& findings) {
  std::vector<std::size_t> out(findings.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = i;
  std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) { return findings[a].severity < findings[b].severity; });
  return out;
}

std::string sizes_text(const CaseReport& c) {
  std::string out;
  for (const auto& [name, value] : c.sizes) out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, value);
  return c.values.empty() || c.values == "declared" ? out : out + " (" + c.values + ")";
}

// Which of the cases fail and which do not: the pattern often says what is wrong.
std::string cases_text(const Verdict& verdict) {
  std::vector<std::string> failed, passed;
  std::set<std::string> seen;
  for (const CaseReport& c : verdict.cases) {
    if (c.status != Status::failed && c.status != Status::passed) continue;
    const std::string text = sizes_text(c);
    if (seen.insert(text + std::string(name(c.status))).second) (c.status == Status::failed ? failed : passed).push_back(text);
  }
  if (failed.empty()) return {};
  const auto named = [](std::vector<std::string>& list) {
    const std::size_t rest = list.size() > kCasesNamed ? list.size() - kCasesNamed : 0;
    list.resize(list.size() - rest);
    return join(list, "; ") + (rest > 0 ? fmt::format("; and {} more", rest) : "");
  };
  std::string out = "Fails at: " + named(failed) + "\n";
  if (!passed.empty()) out += "Right at: " + named(passed) + "\n";
  return out;
}

std::string resources_text(const Verdict& verdict) {
  std::string out;
  for (const ResourceReport& r : verdict.resources)
    out += fmt::format("Kernel {}: {} registers, {} bytes of shared memory, {} bytes spilled, {} warps per SM (limited by {})\n", plain(r.kernel), r.registers, r.shared_bytes, r.spill_bytes, r.warps_per_sm, r.limiter);
  return out;
}

std::string time_line(const Verdict& verdict) {
  if (!verdict.time || verdict.time->us <= 0) return {};
  return fmt::format("Time: {} ({}){}\n", time_text(verdict.time->us), verdict.time->source, verdict.time->bottleneck.empty() ? "" : ", " + plain(verdict.time->bottleneck));
}

const Finding* principal(const Verdict& verdict) {
  const auto order = order_of(verdict.findings);
  return order.empty() ? nullptr : &verdict.findings[order[0]];
}

// The candidate's file lies where the run has it; a model knows it as kernel.cu.
std::string without_paths(std::string text, const Verdict& verdict) { return verdict.candidate.empty() ? text : replace_all(text, verdict.candidate, "kernel.cu"); }

// Of a verdict that is an error the judge's words hold seconds of this machine; what is unknown says enough.
std::string why_of(const Verdict& verdict) {
  if (verdict.status != VerdictStatus::error) return plain(verdict.why);
  std::vector<std::string> unknown;
  for (const ContractReport& c : verdict.contracts)
    if (c.status == Status::unknown && c.level == Level::required) unknown.push_back(c.id);
  return unknown.empty() ? plain(verdict.why) : "could not establish " + join(unknown, ", ");
}

std::string whole_text(const Verdict& verdict, std::string_view source, const VerdictWords& words) {
  std::string out = fmt::format("{}: {}\n", verdict.status == VerdictStatus::accepted ? "Accepted" : verdict.status == VerdictStatus::rejected ? "Rejected" : "Not judged to the end", why_of(verdict));
  out += time_line(verdict) + resources_text(verdict) + cases_text(verdict);
  const auto order = order_of(verdict.findings);
  for (std::size_t i = 0; i < std::min(order.size(), words.findings); ++i) out += "\n" + one_finding(verdict.findings[order[i]], source, i == 0);
  if (order.size() > words.findings) out += fmt::format("\nand {} further findings\n", order.size() - words.findings);
  for (const ContractReport& c : verdict.contracts)
    if (c.status == Status::failed && std::none_of(verdict.findings.begin(), verdict.findings.end(), [&](const Finding& f) { return f.contract == c.id; }))
      out += fmt::format("\n{} [{}]: measured {}, required {}\n", c.level == Level::required ? "error" : "advice", c.id, plain(c.measured), plain(c.required));
  return out;
}

bool fails_correctness(const Verdict& verdict) {
  return std::any_of(verdict.contracts.begin(), verdict.contracts.end(), [](const ContractReport& c) {
    const auto* row = judge::find_contract(c.id);
    return row && row->group == judge::Group::correctness && c.level == Level::required && c.status == Status::failed;
  });
}

// Neither a contract nor a line nor a counter.
std::string bare_line(const Verdict& verdict) {
  for (const ContractReport& c : verdict.contracts)
    if (c.id == "build" && c.status == Status::failed) return "does not compile";
  if (verdict.status == VerdictStatus::error) return "was not judged to the end";
  double worst = 0;
  for (const CaseReport& c : verdict.cases)
    for (const TensorReport& t : c.tensors) worst = std::max(worst, t.max_abs);
  return fmt::format("compiles, {}, largest absolute error {:.3g}, {}", fails_correctness(verdict) ? "wrong" : "right", worst, time_text(verdict.time ? verdict.time->us : 0));
}

}  // namespace

std::string verdict_text(const Verdict& verdict, std::string_view source, const VerdictWords& words) {
  if (words.bare) return fmt::format("It {}.\n", bare_line(verdict));
  return without_paths(whole_text(verdict, source, words), verdict);
}

std::string outcome_line(const Verdict& verdict, bool bare) {
  if (bare) return bare_line(verdict);
  std::string out(name(verdict.status));
  if (verdict.status != VerdictStatus::accepted) {
    const Finding* first = principal(verdict);
    out += first && first->severity == Severity::error
               ? fmt::format(": {}{}{}", first->contract, first->line > 0 ? fmt::format(" at line {}", first->line) : "", first->measured.empty() ? "" : fmt::format(" ({})", plain(first->measured)))
                              : ": " + why_of(verdict);
  }
  if (verdict.time && verdict.time->us > 0) out += ", " + time_text(verdict.time->us);
  return without_paths(std::move(out), verdict);
}

std::string finding_text(const Verdict& verdict, std::size_t index, std::string_view source) {
  const auto order = order_of(verdict.findings);
  return index < order.size() ? without_paths(one_finding(verdict.findings[order[index]], source, true), verdict) : std::string();
}

namespace {

using evidence::Counters;
using evidence::Metric;

std::string ratio(std::uint64_t is, std::uint64_t ideal) { return ideal == 0 ? "-" : fmt::format("{:.2f}", static_cast<double>(is) / static_cast<double>(ideal)); }

std::string counters_text(const Counters& c) {
  std::string out = fmt::format("{} warp instructions", human_count(static_cast<double>(c[Metric::inst_executed])));
  if (c[Metric::global_requests] > 0)
    out += fmt::format("; {} global requests, {} sectors ({} times the ideal)", human_count(static_cast<double>(c[Metric::global_requests])), human_count(static_cast<double>(c[Metric::global_sectors])),
                       ratio(c[Metric::global_sectors], c[Metric::global_sectors_ideal]));
  if (c[Metric::shared_requests] > 0)
    out += fmt::format("; {} shared wavefronts ({} times the ideal)", human_count(static_cast<double>(c[Metric::shared_wavefronts])), ratio(c[Metric::shared_wavefronts], c[Metric::shared_wavefronts_ideal]));
  if (c[Metric::local_requests] > 0) out += fmt::format("; {} local requests", human_count(static_cast<double>(c[Metric::local_requests])));
  if (c[Metric::atomic_requests] > 0) out += fmt::format("; {} atomic requests", human_count(static_cast<double>(c[Metric::atomic_requests])));
  if (c[Metric::barriers] > 0) out += fmt::format("; {} barriers", human_count(static_cast<double>(c[Metric::barriers])));
  if (c[Metric::divergent_branches] > 0) out += fmt::format("; {} of {} branches divergent", human_count(static_cast<double>(c[Metric::divergent_branches])), human_count(static_cast<double>(c[Metric::branches])));
  if (c[Metric::special_ops] > 0) out += fmt::format("; {} special operations", human_count(static_cast<double>(c[Metric::special_ops])));
  return out;
}

std::string shape_text(const evidence::LaunchShape& s) {
  return fmt::format("<<<({}, {}, {}), ({}, {}, {}), {} bytes>>>", s.grid.x, s.grid.y, s.grid.z, s.block.x, s.block.y, s.block.z, s.dynamic_shared_bytes);
}

// The line of the file itself: frames of headers have lines that mean nothing in it.
std::uint32_t line_of(const evidence::LineProfile& line) {
  for (const evidence::SourceFrame& frame : line.position.frames)
    if (frame.file.ends_with(".cu")) return frame.line;
  return 0;
}

}  // namespace

std::string profile_text(const std::vector<evidence::KernelProfile>& profiles, std::string_view source, std::size_t lines) {
  const auto texts = split_lines(source);
  std::string out;
  for (const evidence::KernelProfile& kernel : profiles) {
    out += fmt::format("Kernel {}: {} launches {}{}\n  {}; {:.1f} independent loads in flight a warp\n", plain(kernel.kernel), kernel.launch_count,
                       kernel.launches.empty() ? "" : shape_text(kernel.launches[0]), kernel.sampled ? " (sampled blocks)" : "", counters_text(kernel.totals), kernel.loads_in_flight);
    std::map<std::uint32_t, Counters> by_line;
    for (const evidence::LineProfile& line : kernel.lines) by_line[line_of(line)] += line.counters;
    std::vector<std::pair<std::uint32_t, Counters>> hot(by_line.begin(), by_line.end());
    const auto weight = [](const Counters& c) { return c[Metric::inst_executed] + 4 * c[Metric::global_sectors] + 2 * c[Metric::shared_wavefronts]; };
    std::stable_sort(hot.begin(), hot.end(), [&](const auto& a, const auto& b) { return weight(a.second) > weight(b.second); });
    for (std::size_t i = 0; i < std::min(lines, hot.size()); ++i) {
      const std::uint32_t number = hot[i].first;
      out += fmt::format("  line {}: {}\n    {}\n", number, counters_text(hot[i].second), number > 0 && number <= texts.size() ? trim(texts[number - 1]) : std::string_view());
    }
  }
  return out;
}

std::string ptx_excerpt(std::string_view ptx, std::uint32_t line, std::size_t bytes) {
  const auto lines = split_lines(ptx);
  std::set<std::string_view> own;   // numbers of the candidate's files; headers have lines, too
  for (const std::string_view text : lines)
    if (const auto words = split_words(text); words.size() > 2 && words[0] == ".file" && text.find(".cu\"") != std::string_view::npos) own.insert(words[1]);
  std::string out;
  bool inside = line == 0;
  for (const std::string_view text : lines) {
    const auto words = split_words(text);
    if (words.empty()) continue;
    const bool is_kernel = text.find(".entry") != std::string_view::npos || text.find(".func") != std::string_view::npos;
    if (words[0] == ".loc" && line > 0) inside = words.size() > 2 && own.count(words[1]) > 0 && parse_unsigned(words[2]) == std::optional<std::uint64_t>(line);
    if (words[0].starts_with(".loc") || words[0].starts_with(".file") || words[0].starts_with("//")) continue;
    if (!inside && !is_kernel) continue;
    if (out.size() + text.size() > bytes) return out + "...\n";
    out += std::string(text) + "\n";
  }
  return out;
}

namespace {

// "//## File "/x/kernel.cu", line 12 inlined at "/x/kernel.cu", line 40": whether one of the places is this line of a candidate's file.
bool names_line(std::string_view comment, std::uint32_t line) {
  const std::string wanted = fmt::format(".cu\", line {}", line);
  for (std::size_t at = comment.find(wanted); at != std::string_view::npos; at = comment.find(wanted, at + 1)) {
    const std::size_t end = at + wanted.size();
    if (end == comment.size() || std::isdigit(static_cast<unsigned char>(comment[end])) == 0) return true;
  }
  return false;
}

}  // namespace

std::string sass_excerpt(std::string_view sass, std::uint32_t line, std::size_t bytes) {
  std::string out;
  bool inside = line == 0, in_comments = false;
  for (const std::string_view text : split_lines(sass)) {
    const std::string_view trimmed = trim(text);
    if (trimmed.starts_with("//##")) {
      if (!in_comments) inside = line == 0;
      in_comments = true;
      inside = inside || names_line(trimmed, line);
      continue;
    }
    in_comments = false;
    const bool is_kernel = trimmed.starts_with(".text.") && trimmed.ends_with(":");
    if (is_kernel) inside = line == 0;
    if (!is_kernel && !(inside && trimmed.starts_with("/*")) && !(line == 0 && trimmed.starts_with(".L_") && trimmed.ends_with(":"))) continue;
    if (trimmed.find("NOP;") != std::string_view::npos) continue;   // what fills up to the end of a line of the instruction cache
    if (out.size() + trimmed.size() > bytes) return out + "...\n";
    out += std::string(trimmed) + "\n";
  }
  return out;
}

}  // namespace kforge::model
