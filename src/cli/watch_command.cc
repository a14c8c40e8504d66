// `kforge check --watch`: a verdict after each change, for people beside an editor and agents that have a shell.
#include <atomic>
#include <csignal>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/terminal.h"
#include "kforge/report.h"
#include "kforge/watch.h"

namespace kforge::cli {
namespace {

using Json = nlohmann::ordered_json;

std::atomic<bool> stopped{false};
void on_stop(int) { stopped = true; }

std::string one_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::string error_json(const Error& error) {
  return one_line({{"schema", "kforge.error/1"}, {"exit_code", error.code == ErrorCode::bad_input ? 2 : 3}, {"message", error.message}, {"where", to_string(error.where)}, {"hint", error.hint}});
}

}  // namespace

int watch_and_judge(const CheckArguments& arguments) {
  std::signal(SIGINT, on_stop);
  std::signal(SIGTERM, on_stop);
  cli::Progress progress;
  WatchOptions options;
  options.check = arguments.options;
  options.check.progress = [&](std::string_view text) { progress.step(text); };
  options.check.interrupted = [] { return stopped.load(); };
  options.answer = [&](const Expected<Verdict>& verdict) {
    TextOptions text;
    text.colour = wants_colour(STDOUT_FILENO);
    text.all_cases = arguments.all;
    if (verdict) std::fputs(arguments.json ? one_line(Json::parse(to_json(*verdict))).c_str() : to_text(*verdict, text).c_str(), stdout);
    else if (arguments.json) std::fputs(error_json(verdict.error()).c_str(), stdout);
    else report_error(verdict.error());
    // Whoever reads has gone: nothing is left to do.
    if (std::fflush(stdout) != 0) stopped = true;
  };
  const auto watched = watch(options);
  return watched ? 0 : report_error(watched.error());
}

}  // namespace kforge::cli
