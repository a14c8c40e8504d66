// `run`: the program's own output passes by; what we have to say goes to stderr, after it.
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "base/counted.h"
#include "base/files.h"
#include "base/writable.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "kforge/program.h"
#include "kforge/report.h"

namespace kforge::cli {
namespace {

constexpr int kCannotRun = 125;

// A wrong call is one of every command; what else keeps the program from running has a code that no program is likely to have.
int cannot_run(const Error& error) {
  const int code = report_error(error);
  return error.code == ErrorCode::bad_input ? code : kCannotRun;
}

void print_stats(const ProgramRun& run) {
  const auto instructions = static_cast<double>(run.thread_instructions);
  fmt::print(stderr, "kforge: {} of {}, {} in {:.3f} s ({:.0f} M/s); program {:.3f} s, build {:.3f} s\n", counted(run.launches, "launch", "launches"), counted(run.kernels, "kernel"),
             counted(run.thread_instructions, "thread-instruction"), run.device_seconds, run.device_seconds > 0 ? instructions / run.device_seconds / 1e6 : 0.0, run.program_seconds, run.build_seconds);
}

void print_findings(const ProgramRun& run) {
  TextOptions text;
  text.colour = wants_colour(STDERR_FILENO);
  text.max_findings = 100;
  std::fputs(to_text(run.findings, text).c_str(), stderr);
  std::size_t errors = 0;
  for (const Finding& finding : run.findings) errors += finding.severity == Severity::error ? 1 : 0;
  if (!run.findings.empty()) fmt::print(stderr, "kforge: {}, {}\n", counted(errors, "error"), counted(run.findings.size() - errors, "piece of advice", "pieces of advice"));
}

}  // namespace

int run(const RunArguments& arguments) {
  if (!arguments.profile.empty())
    if (const auto writable = can_be_written(arguments.profile); !writable) return cannot_run(writable.error());
  const auto result = run_program(arguments.options);
  if (!result) return cannot_run(result.error());
  if (!result->started) {
    std::fputs(result->build_output.c_str(), stderr);
    fmt::print(stderr, "kforge: {} did not build\n", arguments.options.files.front());
    return result->exit_code;
  }
  print_findings(*result);
  for (const std::string& note : result->notes) fmt::print(stderr, "kforge: {}\n", note);
  if (!result->unsupported.empty()) fmt::print(stderr, "kforge: the emulated GPU cannot run this program: {}\n", result->unsupported);
  if (arguments.stats) print_stats(*result);
  if (!arguments.profile.empty()) {
    if (const auto written = write_file_atomic(arguments.profile, result->profile_json); !written) {
      static_cast<void>(report_error(written.error()));
      return kCannotRun;
    }
  }
  return result->exit_code;
}

}  // namespace kforge::cli
