#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/terminal.h"
#include "kforge/report.h"

namespace kforge::cli {
namespace {

int run_folder(const CheckArguments& arguments) {
  BatchOptions options;
  options.check = arguments.options;
  options.folder = arguments.options.candidate;
  options.out = arguments.out;
  options.jobs = arguments.jobs;
  const auto rows = [&] {
    Progress progress;
    options.progress = [&](const std::string& candidate, std::string_view text) { progress.step(fmt::format("{}: {}", candidate, text)); };
    return check_folder(options);
  }();
  if (!rows) return report_error(rows.error());
  auto json = nlohmann::ordered_json::array();
  int code = 0;
  for (const BatchRow& row : *rows) {
    if (row.status != "accepted") code = std::max(code, row.status == "rejected" ? 1 : 3);
    if (arguments.json) json.push_back({{"candidate", row.candidate}, {"status", row.status}, {"why", row.why}, {"us", row.us}, {"time_source", row.time_source}, {"kept", row.kept}});
    else fmt::print("{:<9} {:<32} {:>12}  {}\n", row.status, row.candidate, row.us > 0 ? fmt::format("{:.4g} us", row.us) : "-", row.why);
  }
  if (arguments.json) fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  return code;
}

}  // namespace

int run(const CheckArguments& arguments) {
  if (arguments.watch) return watch_and_judge(arguments);
  std::error_code ignored;
  if (!arguments.out.empty() || std::filesystem::is_directory(arguments.options.candidate, ignored)) return run_folder(arguments);
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
