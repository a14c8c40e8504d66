// `eval`: one run a task, and what the runs say together.
#include "kforge/eval.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "forge/standing.h"
#include "llm/budget.h"
#include "llm/providers.h"
#include "llm/record.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;

constexpr int kLevels = 2;   // below the suite's folder

void find_tasks(const fs::path& folder, int levels, std::vector<std::string>& out) {
  const auto names = list_directory(folder);
  if (!names) return;
  std::error_code ignored;
  for (const std::string& name : *names) {
    const fs::path path = folder / name;
    if (name == "task.toml" && fs::is_regular_file(path, ignored)) out.push_back(path.string());
    else if (levels > 0 && !name.starts_with('.') && fs::is_directory(path, ignored)) find_tasks(path, levels - 1, out);
  }
}

Expected<std::vector<std::string>> tasks_of(const std::string& suite) {
  std::vector<std::string> out;
  std::error_code ignored;
  if (fs::is_directory(suite, ignored)) find_tasks(suite, kLevels, out);
  else {
    const auto text = read_file(suite, 1 << 20);
    if (!text) return Unexpected(text.error());
    for (const std::string_view line : split_lines(*text))
      if (const auto path = trim(line.substr(0, line.find('#'))); !path.empty()) out.push_back((fs::path(suite).parent_path() / path).string());
  }
  if (out.empty()) return fail(ErrorCode::bad_input, "the suite has no task", {suite, 0, 0}, "a folder with task.toml files below it, or a text file with a task's path a line");
  return out;
}

std::string name_of(const std::string& task) {
  const fs::path path = fs::absolute(task).lexically_normal();
  return path.filename() == "task.toml" ? path.parent_path().filename().string() : path.stem().string();
}

// What the model was asked, from the run's record of exchanges; a run that asked none has none.
Expected<void> add_usage(const std::string& store, EvalRow& row) {
  const auto text = message_record(store, row.run);
  if (!text && text.error().code == ErrorCode::missing) {
    row.dollars = 0;
    return {};
  }
  if (!text) return Unexpected(text.error());
  const auto record = llm::read_record(*text, row.run);
  if (!record) return Unexpected(record.error());
  row.answers = record->exchanges.size();
  row.dollars = 0;
  for (const llm::Exchange& exchange : record->exchanges) {
    row.input_tokens += exchange.answer.usage.input;
    row.output_tokens += exchange.answer.usage.output;
    const auto price = llm::find_price(exchange.answer.model);
    if (!price) return Unexpected(price.error());
    if (!*price) row.dollars.reset();
    else if (row.dollars) *row.dollars += llm::money_of(exchange.answer.usage, **price);
  }
  return {};
}

void take(const RunRecord& run, EvalRow& row) {
  row.run = run.id;
  row.outcome = run.outcome;
  row.why = run.outcome_why;
  for (const TriedCandidate& tried : run.tried) {
    ++row.candidates;
    row.right += forge::standing_of(tried.verdict).right();
  }
  const TriedCandidate* best = run.find(run.best);
  const TriedCandidate* baseline = run.baseline.empty() ? nullptr : run.find(run.baseline);
  if (baseline && baseline->verdict.time) row.baseline_us = baseline->verdict.time->us;
  if (!best) return;
  row.correct = forge::standing_of(best->verdict).right();
  row.accepted = run.winner == run.best;
  if (!best->verdict.time) return;
  row.us = best->verdict.time->us;
  row.time_source = best->verdict.time->source;
  if (row.us > 0 && row.baseline_us > 0) row.speedup = row.baseline_us / row.us;
}

}  // namespace

Expected<EvalReport> evaluate(const EvalOptions& options) {
  const auto tasks = tasks_of(options.suite);
  if (!tasks) return Unexpected(tasks.error());
  if (!options.optimize.model.spec.empty())
    if (const auto known = llm::find_provider(options.optimize.model.spec); !known) return Unexpected(known.error());
  EvalReport report{options.suite, options.optimize.model.spec, {}};
  for (const std::string& task : *tasks) {
    if (options.optimize.interrupted && options.optimize.interrupted()) break;
    EvalRow& row = report.rows.emplace_back();
    row.path = task;
    row.task = name_of(task);
    const auto start = std::chrono::steady_clock::now();
    OptimizeOptions one = options.optimize;
    one.task = task;
    one.model.spec = replace_all(one.model.spec, "{task}", row.task);
    one.progress = [&](const Progress& p) {
      if (options.progress) options.progress(fmt::format("{} of {}, {}: {}, {} candidates", report.rows.size(), tasks->size(), row.task, p.step, p.candidates));
    };
    const auto run = optimize(one);
    if (run) take(*run, row);
    else row.outcome = "failed", row.why = to_string(run.error());
    if (run)
      if (auto used = add_usage(one.store, row); !used) row.why += "; its use of the model is not known: " + to_string(used.error());
    row.seconds = seconds_since(start);
    if (options.done) options.done(row);
  }
  return report;
}

}  // namespace kforge
