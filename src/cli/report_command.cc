// `kforge report`: a run or a verdict in one of six forms.
#include <cstdio>
#include <fstream>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/documents.h"
#include "cli/report_arguments.h"
#include "cli/terminal.h"
#include "kforge/figures.h"
#include "kforge/report.h"

namespace kforge::cli {
namespace {

struct Form {
  std::string_view name;
  std::string (*of_run)(const RunRecord&);
  std::string (*of_verdict)(const Verdict&);
};
constexpr Form kForms[] = {
    {"markdown", to_markdown, to_markdown}, {"json", to_json, to_json}, {"junit", to_junit, to_junit}, {"sarif", to_sarif, to_sarif}, {"html", to_html, to_html},
};

// A run of the store has its figures there; one that was read from a document has none.
Expected<std::string> page_of(const RunRecord& run, const std::string& store) {
  if (run.folder.empty()) return to_html(run);
  const auto figures = load_figures(store, run.id);
  if (!figures) return Unexpected(figures.error());
  return to_html(run, *figures);
}

std::string rendered(const Document& document, const ReportArguments& arguments) {
  TextOptions text;
  text.colour = arguments.output.empty() && wants_colour(STDOUT_FILENO);
  text.all_cases = arguments.all;
  return std::visit([&](const auto& value) -> std::string {
    for (const Form& form : kForms) {
      if (form.name != arguments.format) continue;
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, RunRecord>) return form.of_run(value);
      else return form.of_verdict(value);
    }
    return to_text(value, text);
  }, document);
}

}  // namespace

int run(const ReportArguments& arguments) {
  const auto document = read_document(arguments.run, arguments.store);
  if (!document) return report_error(document.error());
  const auto* shown = arguments.format == "html" ? std::get_if<RunRecord>(&*document) : nullptr;
  const auto page = shown ? page_of(*shown, arguments.store) : Expected<std::string>(rendered(*document, arguments));
  if (!page) return report_error(page.error());
  const std::string& text = *page;
  if (arguments.output.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }
  std::ofstream out(arguments.output, std::ios::binary);
  out << text;
  out.close();
  if (!out) return report_error({ErrorCode::failed, "cannot write the report", {arguments.output, 0, 0}, "-o names another file"});
  return 0;
}

}  // namespace kforge::cli
