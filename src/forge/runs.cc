// `runs`: what the store has, for people and programs.
#include <algorithm>

#include "base/text.h"
#include "forge/journal.h"
#include "forge/kernel_figures.h"
#include "kforge/figures.h"
#include "store/word_list.h"

namespace kforge {
namespace {

// What is not at its end and is in nobody's hands was cut off: its process was killed, or the machine went down.
store::RunRow as_it_stands(store::RunRow row, const store::Store& store) {
  if (row.outcome != "running" || store.is_worked_on(row.id)) return row;
  row.outcome = "interrupted";
  row.outcome_why = "its process ended before it did; go on with kforge optimize --resume " + row.id;
  return row;
}

}  // namespace

Expected<std::vector<RunSummary>> list_runs(const std::string& folder) {
  auto store = store::Store::open(store::store_folder(folder), false);
  if (!store) return Unexpected(store.error());
  const auto rows = store->runs();
  if (!rows) return Unexpected(rows.error());
  std::vector<RunSummary> out;
  for (const store::RunRow& each : *rows) {
    const store::RunRow row = as_it_stands(each, *store);
    RunSummary& run = out.emplace_back();
    run.id = row.id;
    run.task_name = row.task_name;
    run.gpu = row.gpu;
    run.started = row.started;
    run.outcome = row.outcome;
    run.seconds = row.seconds;
    const auto words = store::from_word_list(row.summary);
    if (words.size() < 4) continue;
    run.candidates = parse_unsigned(words[0]).value_or(0);
    run.accepted = parse_unsigned(words[1]).value_or(0);
    run.best_us = parse_double(words[2]).value_or(0);
    run.baseline_us = parse_double(words[3]).value_or(0);
  }
  return out;
}

Expected<RunRecord> load_run(const std::string& folder, const std::string& id) {
  auto store = store::Store::open(store::store_folder(folder), false);
  if (!store) return Unexpected(store.error());
  const auto row = store->run(id);
  if (!row) return Unexpected(row.error());
  return forge::record_of(*store, as_it_stands(*row, *store));
}

Expected<std::vector<KernelFigures>> load_figures(const std::string& folder, const std::string& id) {
  auto store = store::Store::open(store::store_folder(folder), false);
  if (!store) return Unexpected(store.error());
  const auto row = store->run(id);
  if (!row) return Unexpected(row.error());
  const auto journal = forge::Journal::reopen(*store, *row);
  if (!journal) return Unexpected(journal.error());
  const forge::Entry* best = journal->find(row->best);
  return best ? forge::figures_of(best->profiles, best->verdict.candidate) : std::vector<KernelFigures>{};
}

Expected<std::vector<RunEvent>> load_events(const std::string& folder, const std::string& id) {
  auto store = store::Store::open(store::store_folder(folder), false);
  if (!store) return Unexpected(store.error());
  const auto row = store->run(id);
  if (!row) return Unexpected(row.error());
  const auto events = store->events(row->id);
  if (!events) return Unexpected(events.error());
  std::vector<RunEvent> out;
  for (const store::EventRow& e : *events) out.push_back({e.at_s, e.kind, e.text});
  return out;
}

}  // namespace kforge
