#include "mcp/tool_words.h"

#include <fmt/format.h>

#include "kforge/report.h"

namespace kforge::mcp {

Expected<std::string> candidate_file(const ToolCall& call, const std::string& path, const std::string& source) {
  if (!source.empty()) return call.workspace->write_source(source);
  return call.workspace->file(path);
}

Expected<CheckOptions> check_options(const ToolCall& call) {
  CheckOptions out;
  const auto task = call.workspace->file(call.text("task"));
  if (!task) return Unexpected(task.error());
  out.task = *task;
  if (call.has("candidate") && call.has("source")) return fail(ErrorCode::bad_input, "`candidate` (a path) and `source` (a text) were both given", {}, "leave out one of them");
  if (call.has("candidate") || call.has("source")) {
    const auto candidate = candidate_file(call, call.text("candidate"), call.text("source"));
    if (!candidate) return Unexpected(candidate.error());
    out.candidate = *candidate;
  }
  if (call.has("gpu")) {
    out.gpu = call.text("gpu");
    // A sheet of the user's own is a file, too.
    if (out.gpu.find('/') != std::string::npos || out.gpu.ends_with(".toml")) {
      const auto sheet = call.workspace->file(out.gpu);
      if (!sheet) return Unexpected(sheet.error());
      out.gpu = *sheet;
    }
  }
  out.seed = static_cast<std::uint64_t>(call.integer("seed", 1));
  out.only_correctness = call.flag("only_correctness");
  out.progress = call.progress;
  out.interrupted = call.cancelled;
  return out;
}

std::string time_text(const Verdict& verdict) { return verdict.time && verdict.time->us > 0 ? fmt::format("{:.4g} us, {}", verdict.time->us, verdict.time->source) : "no time"; }

std::string finding_text(const Finding& f) {
  std::string out = fmt::format("{}[{}]{}: {}", name(f.severity), f.contract, f.line > 0 ? fmt::format(" line {}", f.line) : "", f.message);
  if (!f.measured.empty()) out += fmt::format(" (measured {}{})", f.measured, f.required.empty() ? "" : ", required " + f.required);
  if (!f.advice.empty()) out += "\n   do: " + f.advice.front();
  return out;
}

Json finding_json(const Finding& f) {
  return {{"contract", f.contract}, {"severity", name(f.severity)}, {"line", f.line}, {"message", f.message}, {"measured", f.measured}, {"required", f.required},
          {"cause", f.cause}, {"advice", f.advice}, {"rule", f.rule}};
}

void add_link(Answer& answer, Link link) {
  answer.text += fmt::format("{}: {} ({})\n", link.kind, link.uri, link.what);
  answer.data["handles"][link.kind] = link.uri;
  answer.links.push_back(std::move(link));
}

void add_verdict_links(const ToolCall& call, const Verdict& verdict, const std::string& source, Answer& answer) {
  const Link kept = call.workspace->keep("verdict", "application/json", "the whole verdict, schema kforge.verdict/1", to_json(verdict));
  add_link(answer, kept);
  add_link(answer, {"report", "kforge://report" + kept.uri.substr(std::string("kforge://verdict").size()), "text/markdown", "the verdict as a report"});
  if (!source.empty()) add_link(answer, call.workspace->keep("source", "text/x-cuda", "the candidate's source", source));
}

}  // namespace kforge::mcp
