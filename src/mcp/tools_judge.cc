// Tools that judge: check_candidate, profile_candidate, compare.
#include <algorithm>

#include <fmt/format.h>

#include "base/counted.h"
#include "base/files.h"
#include "base/text.h"
#include "mcp/tool_words.h"

namespace kforge::mcp {
namespace {

std::string counts(const Verdict& verdict) {
  const auto of = [&](Severity severity) { return std::count_if(verdict.findings.begin(), verdict.findings.end(), [&](const Finding& f) { return f.severity == severity; }); };
  return fmt::format("{}, {}", counted(of(Severity::error), "error"), counted(of(Severity::warning), "warning"));
}

std::string source_of(const CheckOptions& options) {
  const auto text = read_file(options.candidate, 4 << 20);
  return text ? *text : "";
}

void add_verdict(const Verdict& verdict, std::size_t most, Answer& answer) {
  answer.text += fmt::format("{}: {}\ntime: {}{}\n", name(verdict.status), verdict.why, time_text(verdict), verdict.time && !verdict.time->bottleneck.empty() ? "; " + verdict.time->bottleneck : "");
  answer.data["status"] = name(verdict.status);
  answer.data["why"] = verdict.why;
  answer.data["us"] = verdict.time && verdict.time->us > 0 ? Json(verdict.time->us) : Json(nullptr);
  answer.data["time_source"] = verdict.time ? verdict.time->source : "";
  answer.data["device"] = verdict.device;
  Json findings = Json::array();
  if (!verdict.findings.empty()) answer.text += fmt::format("findings: {}\n", counts(verdict));
  for (const Finding& finding : verdict.findings) {
    if (findings.size() == most) break;
    findings.push_back(finding_json(finding));
    answer.text += fmt::format("{}. {}\n", findings.size(), finding_text(finding));
  }
  if (findings.size() < verdict.findings.size()) answer.text += fmt::format("and {} more, in the verdict\n", verdict.findings.size() - findings.size());
  answer.data["findings"] = std::move(findings);
  answer.data["findings_in_all"] = verdict.findings.size();
  if (verdict.status == VerdictStatus::accepted && !verdict.unproven.empty()) answer.text += fmt::format("not proven: {}\n", join(verdict.unproven, "; "));
}

// The lines that execute most instructions or waste most.
std::vector<std::pair<const KernelFigures*, const LineFigures*>> hottest(const Profile& profile, std::size_t most) {
  const auto weight = [](const std::pair<const KernelFigures*, const LineFigures*>& line) {
    const auto found = line.second->metrics.find("smsp__inst_executed.sum");
    const double instructions = found == line.second->metrics.end() ? 0 : static_cast<double>(found->second);
    return instructions * std::max(sectors_over_ideal(line.second->metrics), wavefronts_over_ideal(line.second->metrics));
  };
  std::vector<std::pair<const KernelFigures*, const LineFigures*>> out;
  for (const KernelFigures& kernel : profile.kernels)
    for (const LineFigures& line : kernel.lines) out.emplace_back(&kernel, &line);
  std::stable_sort(out.begin(), out.end(), [&](const auto& a, const auto& b) { return weight(a) > weight(b); });
  if (out.size() > most) out.resize(most);
  return out;
}

}  // namespace

Expected<Answer> check_candidate(const ToolCall& call) {
  auto options = check_options(call);
  if (!options) return Unexpected(options.error());
  const auto verdict = check(*options);
  if (!verdict) return Unexpected(verdict.error());
  Answer answer;
  add_verdict(*verdict, static_cast<std::size_t>(call.integer("findings", 5)), answer);
  add_verdict_links(call, *verdict, source_of(*options), answer);
  return answer;
}

Expected<Answer> profile_candidate(const ToolCall& call) {
  auto options = check_options(call);
  if (!options) return Unexpected(options.error());
  const auto made = profile(*options);
  if (!made) return Unexpected(made.error());
  Answer answer;
  add_verdict(made->verdict, 3, answer);
  Json kernels = Json::array(), lines = Json::array();
  for (const KernelFigures& kernel : made->kernels) {
    answer.text += fmt::format("kernel {}: {}; sectors {:.2f} times the ideal, wavefronts {:.2f} times, {:.1f} of 32 lanes active\n", kernel.kernel, join(kernel.shapes, "; "),
                               sectors_over_ideal(kernel.metrics), wavefronts_over_ideal(kernel.metrics), 32 * lanes_active(kernel.metrics));
    kernels.push_back({{"kernel", kernel.kernel}, {"shapes", kernel.shapes}, {"metrics", kernel.metrics}});
  }
  const auto source = split_lines(made->candidate_text);
  for (const auto& [kernel, line] : hottest(*made, static_cast<std::size_t>(call.integer("lines", 12)))) {
    const bool ours = line->file == made->candidate && line->line > 0 && line->line <= source.size();
    answer.text += fmt::format("line {}: sectors x{:.2f}, wavefronts x{:.2f}, {:.1f} lanes: {}\n", line->line, sectors_over_ideal(line->metrics), wavefronts_over_ideal(line->metrics), 32 * lanes_active(line->metrics),
                               ours ? trim(source[line->line - 1]) : std::string_view(line->file));
    lines.push_back({{"kernel", kernel->kernel}, {"line", line->line}, {"metrics", line->metrics}});
  }
  answer.data["kernels"] = std::move(kernels);
  answer.data["lines"] = std::move(lines);
  add_link(answer, call.workspace->keep("profile", "application/json", "every metric of every line, schema kforge.profile/1", to_json(*made)));
  add_link(answer, call.workspace->keep("listing", "text/plain", "the source with figures beside its lines", to_text(*made, TextOptions{})));
  if (!made->ptx.empty()) {
    const Link ptx = call.workspace->keep("ptx", "text/plain", "its PTX", made->ptx);
    add_link(answer, ptx);
    add_link(answer, {"sass", "kforge://sass" + ptx.uri.substr(std::string("kforge://ptx").size()), "text/plain", "its machine code, with the lines of the source"});
  }
  add_verdict_links(call, made->verdict, made->candidate_text, answer);
  return answer;
}

Expected<Answer> compare(const ToolCall& call) {
  auto options = check_options(call);
  if (!options) return Unexpected(options.error());
  struct Entry { std::string name, path; };
  std::vector<Entry> entries;
  for (const std::string& path : call.texts("candidates")) {
    auto file = call.workspace->file(path);
    if (!file) return Unexpected(file.error());
    entries.push_back({path, std::move(*file)});
  }
  for (const std::string& source : call.texts("sources")) {
    auto file = call.workspace->write_source(source);
    if (!file) return Unexpected(file.error());
    entries.push_back({fmt::format("source {}", entries.size() - call.texts("candidates").size() + 1), std::move(*file)});
  }
  if (entries.size() < 2) return fail(ErrorCode::bad_input, "compare takes at least two candidates: paths in `candidates`, texts in `sources`");
  struct Row { std::string name; Verdict verdict; };
  std::vector<Row> rows;
  for (const Entry& entry : entries) {
    CheckOptions one = *options;
    one.candidate = entry.path;
    one.progress = [&](std::string_view text) { call.progress(fmt::format("{} of {}, {}: {}", rows.size() + 1, entries.size(), entry.name, text)); };
    auto verdict = check(one);
    if (!verdict) return Unexpected(verdict.error());
    rows.push_back({entry.name, std::move(*verdict)});
  }
  const auto rank = [](const Row& row) { return std::pair(row.verdict.status != VerdictStatus::accepted, row.verdict.time && row.verdict.time->us > 0 ? row.verdict.time->us : 1e300); };
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return rank(a) < rank(b); });
  const double best = rows.front().verdict.time ? rows.front().verdict.time->us : 0;
  Answer answer;
  answer.data["rows"] = Json::array();
  for (const Row& row : rows) {
    const double us = row.verdict.time ? row.verdict.time->us : 0;
    const Link kept = call.workspace->keep("verdict", "application/json", row.name, to_json(row.verdict));
    answer.text += fmt::format("{:<9} {:>20} {:>7} {}: {}\n", name(row.verdict.status), time_text(row.verdict), best > 0 && us > 0 ? fmt::format("{:.2f}x", us / best) : "-", row.name, row.verdict.why);
    answer.data["rows"].push_back({{"candidate", row.name}, {"status", name(row.verdict.status)}, {"us", us > 0 ? Json(us) : Json(nullptr)}, {"why", row.verdict.why}, {"verdict", kept.uri}});
    answer.links.push_back(kept);
  }
  return answer;
}

}  // namespace kforge::mcp
