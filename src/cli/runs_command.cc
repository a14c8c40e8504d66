// `kforge runs`: the runs of the store, or one of them as list, tree, steps or training records.
#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/run_tree.h"
#include "cli/terminal.h"
#include "kforge/report.h"

namespace kforge::cli {
namespace {

int print_list(const RunsArguments& arguments) {
  const auto runs = list_runs(arguments.store);
  if (!runs) return report_error(runs.error());
  if (arguments.json) {
    auto out = nlohmann::ordered_json::array();
    for (const RunSummary& r : *runs)
      out.push_back({{"id", r.id}, {"task", r.task_name}, {"gpu", r.gpu}, {"started", r.started}, {"outcome", r.outcome}, {"candidates", r.candidates},
                     {"accepted", r.accepted}, {"best_us", r.best_us}, {"baseline_us", r.baseline_us}, {"seconds", r.seconds}});
    fmt::print("{}\n", out.dump(2));
    return 0;
  }
  fmt::print("{:<42} {:<8} {:<12} {:>6} {:>8} {:>12} {:>8} {:>8}\n", "run", "gpu", "outcome", "tried", "accepted", "best us", "gain", "seconds");
  for (const RunSummary& r : *runs)
    fmt::print("{:<42} {:<8} {:<12} {:>6} {:>8} {:>12} {:>8} {:>8.0f}\n", r.id, r.gpu, r.outcome, r.candidates, r.accepted, r.best_us > 0 ? fmt::format("{:.4g}", r.best_us) : "-",
               r.best_us > 0 && r.baseline_us > 0 ? fmt::format("{:.2f}x", r.baseline_us / r.best_us) : "-", r.seconds);
  return 0;
}

int print_steps(const RunsArguments& arguments) {
  const auto events = load_events(arguments.store, arguments.run);
  if (!events) return report_error(events.error());
  for (const RunEvent& e : *events) fmt::print("{:>8.1f} s  {:<14} {}\n", e.at_s, e.kind, e.text);
  return 0;
}

int print_costs(const RunsArguments& arguments) {
  const auto record = load_run(arguments.store, arguments.run);
  if (!record) return report_error(record.error());
  const auto judged = static_cast<double>(std::count_if(record->tried.begin(), record->tried.end(), [](const TriedCandidate& t) { return !t.reused; }));
  const double cpu = cpu_seconds(record->costs);
  fmt::print("{:<20} {:<10} {:>7} {:>10} {:>10} {:>14} {:>7}\n", "stage", "kind", "times", "cpu s", "wall s", "cpu s/judged", "share");
  for (const StageCost& c : record->costs) {
    const StageKind kind = kind_of_stage(c.stage);
    fmt::print("{:<20} {:<10} {:>7} {:>10.2f} {:>10.2f} {:>14.3f} {:>6.1f}%\n", c.stage, kind == StageKind::compiler ? "compiler" : kind == StageKind::emulation ? "emulation" : "", c.times, c.cpu_s, c.wall_s,
               judged > 0 ? c.cpu_s / judged : 0.0, cpu > 0 ? 100 * c.cpu_s / cpu : 0.0);
  }
  fmt::print("{:<20} {:<10} {:>7} {:>10.2f} {:>10.2f} {:>14.3f}   neither compiler nor emulation: {:.1f}%\n", "all", "", judged, cpu, record->seconds, judged > 0 ? cpu / judged : 0.0,
             cpu > 0 ? 100 * other_cpu_seconds(record->costs) / cpu : 0.0);
  return 0;
}

// To a file, or to stdout as "-".
int write_text(const Expected<std::string>& text, const std::string& path) {
  if (!text) return report_error(text.error());
  if (path == "-") {
    std::fwrite(text->data(), 1, text->size(), stdout);   // main says it when stdout took less
    return 0;
  }
  const auto written = write_file_atomic(path, *text);
  return written ? 0 : report_error(written.error());
}

}  // namespace

int run(const RunsArguments& arguments) {
  if (arguments.run.empty()) {
    if (!arguments.tree && !arguments.steps && !arguments.costs && arguments.training_records.empty() && arguments.messages.empty()) return print_list(arguments);
    return report_error({ErrorCode::bad_input, "which run?", {}, "kforge runs RUN --tree; kforge runs lists them"});
  }
  if (!arguments.training_records.empty()) return write_text(training_records(arguments.store, arguments.run), arguments.training_records);
  if (!arguments.messages.empty()) return write_text(message_record(arguments.store, arguments.run), arguments.messages);
  if (arguments.steps) return print_steps(arguments);
  if (arguments.costs) return print_costs(arguments);
  const auto record = load_run(arguments.store, arguments.run);
  if (!record) return report_error(record.error());
  TextOptions text;
  text.colour = wants_colour(STDOUT_FILENO);
  std::fputs((arguments.json ? to_json(*record) : arguments.tree ? tree_text(*record) : to_text(*record, text)).c_str(), stdout);
  return 0;
}

}  // namespace kforge::cli
