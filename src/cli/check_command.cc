#include <cstdio>

#include <unistd.h>

#include "cli/commands.h"
#include "cli/terminal.h"
#include "kforge/report.h"

namespace kforge::cli {

int run(const CheckArguments& arguments) {
  CheckOptions options = arguments.options;
  const auto verdict = [&] {
    Progress progress;
    options.progress = [&](std::string_view text) { progress.step(text); };
    return check(options);
  }();
  if (!verdict) return report_error(verdict.error());
  TextOptions text;
  text.colour = wants_colour(STDOUT_FILENO);
  text.all_cases = arguments.all;
  std::fputs(arguments.json ? to_json(*verdict).c_str() : to_text(*verdict, text).c_str(), stdout);
  return exit_code(*verdict);
}

}  // namespace kforge::cli
