// `kforge profile`: what a candidate's kernels did, per kernel and per source line.
#include <cstdio>

#include <unistd.h>

#include "cli/commands.h"
#include "cli/terminal.h"
#include "kforge/profile.h"

namespace kforge::cli {
namespace {

int print_code(const kforge::Profile& made, bool sass) {
  if (made.ptx.empty()) std::fputs(to_text(made.verdict.findings, TextOptions{}).c_str(), stderr);
  if (made.ptx.empty()) return report_error({ErrorCode::failed, "it has no code: " + made.verdict.why, {made.candidate, 0, 0}, "kforge check says more"});
  const auto code = sass ? machine_code(made.ptx) : Expected<std::string>(made.ptx);
  if (!code) return report_error(code.error());
  std::fputs(code->c_str(), stdout);
  return 0;
}

std::string rendered(const kforge::Profile& made, const ProfileArguments& arguments) {
  if (arguments.format == "json") return to_json(made);
  if (arguments.format == "markdown") return to_markdown(made);
  if (arguments.format == "html") return to_html(made);
  TextOptions text;
  text.colour = wants_colour(STDOUT_FILENO);
  text.all_cases = arguments.all;
  return to_text(made, text);
}

}  // namespace

int run(const ProfileArguments& arguments) {
  CheckOptions options = arguments.options;
  const auto made = [&] {
    Progress progress;
    options.progress = [&](std::string_view text) { progress.step(text); };
    return profile(options);
  }();
  if (!made) return report_error(made.error());
  if (!arguments.code.empty()) return print_code(*made, arguments.code == "sass");
  std::fputs(rendered(*made, arguments).c_str(), stdout);
  return made->kernels.empty() ? exit_code(made->verdict) == 1 ? 1 : 3 : 0;
}

}  // namespace kforge::cli
