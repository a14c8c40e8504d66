// `kforge eval`: how a model does on a suite of tasks.
#include <atomic>
#include <csignal>
#include <cstdio>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/terminal.h"
#include "kforge/eval.h"

namespace kforge::cli {
namespace {

std::atomic<bool> stopped{false};
void on_stop(int) { stopped = true; }

}  // namespace

int run(const EvalArguments& arguments) {
  std::signal(SIGINT, on_stop);
  std::signal(SIGTERM, on_stop);
  EvalOptions options = arguments.options;
  options.optimize.interrupted = [] { return stopped.load(); };
  const auto report = [&] {
    cli::Progress progress;
    options.progress = [&](std::string_view text) { progress.step(text); };
    return evaluate(options);
  }();
  if (!report) return report_error(report.error());
  std::fputs((arguments.json ? to_json(*report) : to_text(*report)).c_str(), stdout);
  return report->correct_rate() == 1 ? 0 : 1;
}

}  // namespace kforge::cli
