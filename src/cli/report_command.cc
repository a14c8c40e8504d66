// `kforge report`: a run or a verdict in one of six forms.
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "base/files.h"
#include "base/writable.h"
#include "cli/commands.h"
#include "cli/documents.h"
#include "cli/report_arguments.h"
#include "cli/terminal.h"
#include "kforge/figures.h"
#include "kforge/report.h"

namespace kforge::cli {
namespace {

using Figures = std::vector<KernelFigures>;

struct Form {
  std::string_view name;
  std::string (*of_run)(const RunRecord&, const Figures&);
  std::string (*of_verdict)(const Verdict&);
};
constexpr Form kForms[] = {
    {"markdown", to_markdown, to_markdown}, {"json", to_json, to_json}, {"html", to_html, to_html},
    {"junit", [](const RunRecord& run, const Figures&) { return to_junit(run); }, to_junit}, {"sarif", [](const RunRecord& run, const Figures&) { return to_sarif(run); }, to_sarif},
};

std::string rendered(const Document& document, const Figures& figures, const ReportArguments& arguments) {
  TextOptions text;
  text.colour = arguments.output.empty() && wants_colour(STDOUT_FILENO);
  text.all_cases = arguments.all;
  return std::visit([&](const auto& value) -> std::string {
    for (const Form& form : kForms) {
      if (form.name != arguments.format) continue;
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, RunRecord>) return form.of_run(value, figures);
      else return form.of_verdict(value);
    }
    return to_text(value, text);
  }, document);
}

}  // namespace

int run(const ReportArguments& arguments) {
  if (!arguments.output.empty())
    if (const auto writable = can_be_written(arguments.output); !writable) return report_error(writable.error());
  Figures figures;
  const auto document = read_document(arguments.run, arguments.store, &figures);
  if (!document) return report_error(document.error());
  const std::string text = rendered(*document, figures, arguments);
  if (arguments.output.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }
  const auto written = write_file_atomic(arguments.output, text);
  return written ? 0 : report_error(written.error());
}

}  // namespace kforge::cli
