// Opening a store, and the rows of runs.
#include "store/store.h"

#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "base/files.h"
#include "store/schema.h"

namespace kforge::store {
namespace {

constexpr double kPatienceForLookers = 0.5;   // seconds, with FileLock::is_held

constexpr const char* kRunColumns =
    "id, task_path, task_name, task_text, gpu, device, version, toolkit, started, seed, options, plan, seconds, outcome, outcome_why, "
    "goal_met, baseline, winner, best, summary";

RunRow read_run(const Row& row) {
  RunRow out;
  std::string* const texts[] = {&out.id, &out.task_path, &out.task_name, &out.task_text, &out.gpu, &out.device, &out.version, &out.toolkit, &out.started};
  for (int i = 0; i < 9; ++i) *texts[i] = row.text(i);
  out.seed = static_cast<std::uint64_t>(row.integer(9));
  out.options = row.text(10);
  out.plan = row.text(11);
  out.seconds = row.real(12);
  out.outcome = row.text(13);
  out.outcome_why = row.text(14);
  out.goal_met = row.integer(15) != 0;
  out.baseline = row.text(16);
  out.winner = row.text(17);
  out.best = row.text(18);
  out.summary = row.text(19);
  return out;
}

}  // namespace

std::filesystem::path store_folder(const std::string& folder) {
  if (!folder.empty()) return folder;
  const char* set = std::getenv("KFORGE_STORE");
  return set && *set ? std::filesystem::path(set) : std::filesystem::path(".kforge") / "store";
}

Expected<Store> Store::open(const std::filesystem::path& folder, bool create, double busy_seconds) {
  std::error_code ignored;
  const auto absolute = std::filesystem::absolute(folder, ignored);
  if (create)
    if (auto made = make_directories(absolute / "locks"); !made) {
      made.error().hint = "choose a folder that can be made and written: --store FOLDER, or KFORGE_STORE";
      return Unexpected(made.error());
    }
  auto database = Database::open(absolute / "store.db", create, busy_seconds);
  if (!database) return Unexpected(database.error());
  if (auto done = migrate(*database); !done) return Unexpected(done.error());
  return Store(absolute, std::move(*database));
}

std::filesystem::path Store::run_folder(const std::string& run) const {
  const bool usual = folder_.filename() == "store" && folder_.parent_path().filename() == ".kforge";
  return (usual ? folder_.parent_path() : folder_) / "runs" / run;
}

Expected<void> Store::begin_run(const RunRow& r) {
  return database_.run("INSERT INTO runs (id, task_path, task_name, task_text, gpu, device, version, toolkit, started, seed, options, plan) "
                       "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
                       {r.id, r.task_path, r.task_name, r.task_text, r.gpu, r.device, r.version, r.toolkit, r.started, static_cast<std::int64_t>(r.seed), r.options, r.plan});
}

Expected<void> Store::update_run(const RunRow& r) {
  return database_.run("UPDATE runs SET seconds = ?2, outcome = ?3, outcome_why = ?4, goal_met = ?5, baseline = ?6, winner = ?7, best = ?8, summary = ?9, plan = ?10 WHERE id = ?1",
                       {r.id, r.seconds, r.outcome, r.outcome_why, static_cast<std::int64_t>(r.goal_met), r.baseline, r.winner, r.best, r.summary, r.plan});
}

Expected<std::vector<RunRow>> Store::runs() {
  std::vector<RunRow> out;
  auto read = database_.run(fmt::format("SELECT {} FROM runs ORDER BY started, rowid", kRunColumns), {}, [&](const Row& row) { out.push_back(read_run(row)); });
  if (!read) return Unexpected(read.error());
  return out;
}

Expected<RunRow> Store::run(const std::string& id) {
  std::vector<RunRow> found;
  const auto keep = [&](const Row& row) { found.push_back(read_run(row)); };
  const std::string select = fmt::format("SELECT {} FROM runs ", kRunColumns);
  auto read = id == "last" ? database_.run(select + "ORDER BY started DESC, rowid DESC LIMIT 1", {}, keep)
                           : database_.run(select + "WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id = ?1 DESC, id LIMIT 2", {id}, keep);
  if (!read) return Unexpected(read.error());
  if (found.empty() || id.empty())
    return fail(ErrorCode::missing, id == "last" ? "the store has no run yet" : fmt::format("the store has no run '{}'", id), {folder_.string(), 0, 0}, "kforge runs lists them");
  if (found.size() > 1 && found[0].id != id)
    return fail(ErrorCode::bad_input, fmt::format("'{}' begins the names of several runs ({}, {}, ...)", id, found[0].id, found[1].id), {}, "give more of the name");
  return std::move(found.front());
}

Expected<RunRow> Store::unfinished_run() {
  const auto all = runs();
  if (!all) return Unexpected(all.error());
  if (all->empty()) return run("last");
  for (auto row = all->rbegin(); row != all->rend(); ++row)
    if ((row->outcome == "running" || row->outcome == "interrupted" || row->outcome == "failed") && !is_worked_on(row->id)) return *row;
  return fail(ErrorCode::missing, fmt::format("no run of the store is unfinished: the last, {}, {}", all->back().id, is_worked_on(all->back().id) ? "is being worked on" : "ended (" + all->back().outcome + ")"),
              {folder_.string(), 0, 0}, "kforge runs lists them; a run that ended goes on when it is named and given more: --resume " + all->back().id + " --budget-seconds N --candidates N");
}

bool Store::is_worked_on(const std::string& id) const { return FileLock::is_held(folder_ / "locks" / id); }

Expected<FileLock> Store::lock_run(const std::string& id) const {
  auto lock = FileLock::acquire(folder_ / "locks" / id, kPatienceForLookers);
  if (!lock && lock.error().code == ErrorCode::limit)
    return fail(ErrorCode::bad_input, fmt::format("the run {} is being worked on by another process", id), {}, "wait for it, or stop it first");
  return lock;
}

Expected<void> Store::add_event(const std::string& run, double at_s, const std::string& kind, const std::string& text) {
  return database_.run("INSERT INTO events SELECT ?1, COALESCE(MAX(number), 0) + 1, ?2, ?3, ?4 FROM events WHERE run = ?1", {run, at_s, kind, text});
}

Expected<std::vector<EventRow>> Store::events(const std::string& run) {
  std::vector<EventRow> out;
  auto read = database_.run("SELECT number, at_s, kind, text FROM events WHERE run = ?1 ORDER BY number", {run},
                            [&](const Row& row) { out.push_back({static_cast<std::uint64_t>(row.integer(0)), row.real(1), row.text(2), row.text(3)}); });
  if (!read) return Unexpected(read.error());
  return out;
}

Expected<void> Store::add_message(const std::string& run, const MessageRow& row) {
  const auto prompt = artefacts_.put(row.prompt);
  if (!prompt) return Unexpected(prompt.error());
  const auto answer = artefacts_.put(row.answer);
  if (!answer) return Unexpected(answer.error());
  return database_.run("INSERT INTO messages SELECT ?1, COALESCE(MAX(number), 0) + 1, ?2, ?3, ?4, ?5, ?6, ?7 FROM messages WHERE run = ?1",
                       {run, row.at_s, row.provider, std::int64_t{row.tools}, row.request, *prompt, *answer});
}

Expected<std::vector<MessageRow>> Store::messages(const std::string& run) {
  std::vector<MessageRow> out;
  auto read = database_.run("SELECT at_s, provider, tools, request, prompt, answer FROM messages WHERE run = ?1 ORDER BY number", {run},
                            [&](const Row& row) { out.push_back({row.real(0), row.text(1), row.integer(2) != 0, row.text(3), row.text(4), row.text(5)}); });
  if (!read) return Unexpected(read.error());
  for (MessageRow& row : out)
    for (std::string* text : {&row.prompt, &row.answer}) {
      auto whole = artefacts_.get(*text);
      if (!whole) return Unexpected(whole.error());
      *text = std::move(*whole);
    }
  return out;
}

}  // namespace kforge::store
