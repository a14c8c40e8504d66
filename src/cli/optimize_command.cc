// `kforge optimize`: the main job, with its progress on the terminal.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/person.h"
#include "cli/terminal.h"
#include "kforge/optimize.h"
#include "kforge/report.h"

namespace kforge::cli {
namespace {

std::atomic<int> interrupts{0};

// The first interrupt ends the run cleanly; a second one ends the program, and the run can be resumed all the same.
extern "C" void on_interrupt(int number) {
  if (interrupts.fetch_add(1) == 0) return;
  std::signal(number, SIG_DFL);
  std::raise(number);
}

std::string microseconds(double us) { return us > 0 ? fmt::format("{:.4g} us", us) : std::string("no time yet"); }

// What matters first: a terminal cuts the line at its width.
std::string line_of(const kforge::Progress& p) {
  std::string out = fmt::format("{:>4.0f}/{:.0f} s  {} of {} accepted", p.seconds, p.budget_seconds, p.accepted, p.candidates);
  if (p.best_us > 0) {
    out += fmt::format("  best {}", microseconds(p.best_us));
    if (p.baseline_us > 0) out += fmt::format(" {:.1f}x", p.baseline_us / p.best_us);
    if (!p.bottleneck.empty()) out += "  [" + p.bottleneck + "]";
    if (p.floor_us > 0) out += fmt::format("  floor {}", microseconds(p.floor_us));
    out += ": " + p.best;
  }
  if (!p.not_judged.empty()) out += "  [not known: " + p.not_judged + "]";
  if (p.step != "judging") out = fmt::format("{}  {}", p.step, out);
  return out;
}

// "plan,candidate"; "usual" without a value of the option; false for another word.
bool read_kinds(const std::string& text, ReviewKinds& kinds) {
  if (text == "usual") return true;
  kinds = {false, false, false};
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == "plan") kinds.plan = true;
    else if (word == "candidate") kinds.candidate = true;
    else if (word == "feedback") kinds.feedback = true;
    else return false;
  }
  return true;
}

// Into the file that was asked for.
Expected<void> write_winner(const RunRecord& run, const std::string& path) {
  const TriedCandidate* best = run.find(run.best);
  if (path.empty() || !best) return {};
  auto written = write_file_atomic(path, best->candidate.source);
  if (!written) written.error().hint = "the winner is in " + run.folder + "/winner.cu";
  return written;
}

}  // namespace

int run(const OptimizeArguments& arguments) {
  OptimizeOptions options = arguments.options;
  options.output = arguments.output;
  const bool reviews = !arguments.review.empty();
  if (reviews && (!is_terminal(STDIN_FILENO) || !is_terminal(STDERR_FILENO)))
    return report_error({ErrorCode::bad_input, "--review needs a terminal", {}, "edit the plan instead: kforge plan TASK > plan.toml, then --plan plan.toml"});
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  options.interrupted = [] { return interrupts.load() > 0; };
  if (reviews) options.review = ask_person;
  if (reviews && !read_kinds(arguments.review, options.review_kinds))
    return report_error({ErrorCode::bad_input, "--review takes plan, candidate and feedback", {}, "--review plan,candidate,feedback"});
  const auto finished = [&] {
    cli::Progress progress;
    options.progress = [&](const kforge::Progress& p) { progress.step(line_of(p)); };
    options.told = [&](std::string_view text) { progress.step("model  " + std::string(text)); };
    return optimize(options);
  }();
  if (!finished) return report_error(finished.error());
  TextOptions text;
  text.colour = wants_colour(STDOUT_FILENO);
  std::fputs(arguments.json ? to_json(*finished).c_str() : to_text(*finished, text).c_str(), stdout);
  const std::string output = arguments.output.empty() && !options.resume.empty() ? kept_output(options.store, finished->id).value_or("") : arguments.output;
  if (const auto written = write_winner(*finished, output); !written) return report_error({ErrorCode::failed, written.error().message, written.error().where, written.error().hint});
  if (!arguments.json) {
    if (!finished->best.empty()) fmt::print("{} {}\n", finished->winner.empty() ? "best so far" : "winner", output.empty() ? finished->folder + "/winner.cu" : output);
    if (finished->outcome == "interrupted") fmt::print("go on with: kforge optimize --resume {}\n", finished->id);
  }
  return finished->winner.empty() ? 1 : 0;
}

}  // namespace kforge::cli
