// `kforge ci`: recorded pairs of task and candidate, judged again.
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "base/files.h"
#include "base/writable.h"
#include "cli/commands.h"
#include "cli/report_arguments.h"
#include "cli/terminal.h"
#include "kforge/check.h"
#include "kforge/export.h"

namespace kforge::cli {
namespace {

int record(const CiArguments& arguments) {
  CheckOptions options;
  options.task = arguments.record[0];
  options.candidate = arguments.record[1];
  options.gpu = arguments.gpu;
  options.only_correctness = arguments.only_correctness;
  const auto path = record_pair(arguments.folder, arguments.name, options, check);
  if (!path) return report_error(path.error());
  fmt::print("{}\n", *path);
  return 0;
}

}  // namespace

int run(const CiArguments& arguments) {
  if (!arguments.record.empty()) return record(arguments);
  if (!arguments.junit.empty())
    if (const auto writable = can_be_written(arguments.junit); !writable) return report_error(writable.error());
  const auto report = [&] {
    Progress progress;
    return run_ci(arguments.folder, arguments.slower, check, [&](std::string_view step) { progress.step(step); });
  }();
  if (!report) return report_error(report.error());
  std::fputs(arguments.json ? to_json(*report).c_str() : to_text(*report, wants_colour(STDOUT_FILENO)).c_str(), stdout);
  if (!arguments.junit.empty()) {
    if (const auto written = write_file_atomic(arguments.junit, to_junit(*report)); !written) return report_error(written.error());
  }
  return report->passed() ? 0 : 1;
}

}  // namespace kforge::cli
