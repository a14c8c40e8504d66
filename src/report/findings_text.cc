// Findings as a terminal shows them: place, contract, message, the source around it.
#include <string>

#include <fmt/format.h>

#include "kforge/report.h"
#include "report/excerpt.h"
#include "report/style.h"

namespace kforge {
namespace {

using report::Colour;
using report::Painter;
using report::printable;

std::string place(const Finding& f) {
  std::string text = printable(f.file);
  if (f.line > 0) text += fmt::format(":{}", f.line);
  if (f.line > 0 && f.column > 0) text += fmt::format(":{}", f.column);
  return text;
}

std::string finding_text(const Finding& f, const Painter& paint, report::SourceFiles& files) {
  const Colour colour = f.severity == Severity::error ? Colour::red : Colour::yellow;
  std::string text = fmt::format("{}: {}: {}\n", paint(Colour::bold, place(f)), paint(colour, fmt::format("{}[{}]", name(f.severity), printable(f.contract))),
                                 printable(f.message));
  text += files.excerpt(f.file, f.line, f.column, paint);
  const auto row = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) text += fmt::format("       {} {}\n", paint(Colour::dim, fmt::format("{:<9}", key)), printable(value));
  };
  row("kernel", f.kernel);
  row("measured", f.measured);
  row("required", f.required);
  if (f.other_line > 0) row("other", fmt::format("{}:{}", f.other_file, f.other_line));
  if (f.count > 1) row("times", std::to_string(f.count));
  row("cause", f.cause);
  for (const std::string& advice : f.advice) row("advice", advice);
  for (const std::string& detail : f.details) row("", detail);
  return text + "\n";
}

}  // namespace

std::string to_text(const std::vector<Finding>& findings, const TextOptions& options) {
  const Painter paint(options.colour);
  report::SourceFiles files;
  std::string text;
  int shown = 0;
  for (const Finding& finding : findings) {
    if (shown == options.max_findings) break;
    text += finding_text(finding, paint, files);
    ++shown;
  }
  const std::size_t rest = findings.size() - static_cast<std::size_t>(shown);
  if (rest > 0) text += fmt::format("... and {} more findings (--json shows all)\n\n", rest);
  return text;
}

}  // namespace kforge
