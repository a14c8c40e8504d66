#include "store/schema.h"

#include <array>

#include <fmt/format.h>

namespace kforge::store {
namespace {

// Once released, a migration never changes: the next version appends one.
constexpr std::array<const char*, 4> kMigrations{R"sql(
CREATE TABLE runs (
  id TEXT PRIMARY KEY, task_path TEXT NOT NULL, task_name TEXT NOT NULL, task_text TEXT NOT NULL, gpu TEXT NOT NULL, device TEXT NOT NULL,
  version TEXT NOT NULL, toolkit TEXT NOT NULL, started TEXT NOT NULL, seed INTEGER NOT NULL, options TEXT NOT NULL, plan TEXT NOT NULL,
  seconds REAL NOT NULL DEFAULT 0, outcome TEXT NOT NULL DEFAULT 'running', outcome_why TEXT NOT NULL DEFAULT '',
  goal_met INTEGER NOT NULL DEFAULT 0, baseline TEXT NOT NULL DEFAULT '', winner TEXT NOT NULL DEFAULT '', best TEXT NOT NULL DEFAULT '',
  summary TEXT NOT NULL DEFAULT '');

CREATE TABLE candidates (
  run TEXT NOT NULL REFERENCES runs(id), id TEXT NOT NULL, round INTEGER NOT NULL, place INTEGER NOT NULL, purpose TEXT NOT NULL,
  parent TEXT NOT NULL, proposer TEXT NOT NULL, move TEXT NOT NULL, title TEXT NOT NULL, answers TEXT NOT NULL, rule TEXT NOT NULL,
  expected_gain REAL NOT NULL, source TEXT NOT NULL, flags TEXT NOT NULL, parameters TEXT NOT NULL,
  PRIMARY KEY (run, id));
CREATE INDEX candidates_in_order ON candidates(run, round, place);

CREATE TABLE verdicts (
  run TEXT NOT NULL, candidate TEXT NOT NULL, key TEXT NOT NULL, status TEXT NOT NULL, us REAL NOT NULL, reward REAL NOT NULL,
  observed_gain REAL NOT NULL, verdict TEXT NOT NULL, profile TEXT NOT NULL, ptx TEXT NOT NULL, bottleneck TEXT NOT NULL,
  started_s REAL NOT NULL, build_s REAL NOT NULL, judge_s REAL NOT NULL, reused INTEGER NOT NULL,
  PRIMARY KEY (run, candidate), FOREIGN KEY (run, candidate) REFERENCES candidates(run, id));
CREATE INDEX verdicts_by_key ON verdicts(key);

CREATE TABLE verifications (
  run TEXT NOT NULL, candidate TEXT NOT NULL, seed INTEGER NOT NULL, status TEXT NOT NULL, verdict TEXT NOT NULL,
  PRIMARY KEY (run, candidate, seed), FOREIGN KEY (run, candidate) REFERENCES candidates(run, id));

CREATE TABLE dead_ends (
  run TEXT NOT NULL, candidate TEXT NOT NULL, why TEXT NOT NULL,
  PRIMARY KEY (run, candidate), FOREIGN KEY (run, candidate) REFERENCES candidates(run, id));

CREATE TABLE contributions (
  run TEXT NOT NULL REFERENCES runs(id), place INTEGER NOT NULL, candidate TEXT NOT NULL, ablated TEXT NOT NULL, factor REAL NOT NULL, how TEXT NOT NULL,
  PRIMARY KEY (run, place));

CREATE TABLE events (
  run TEXT NOT NULL REFERENCES runs(id), number INTEGER NOT NULL, at_s REAL NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY (run, number));

CREATE TABLE winners (
  pattern TEXT NOT NULL, sizes TEXT NOT NULL, dtype TEXT NOT NULL, gpu TEXT NOT NULL, toolkit TEXT NOT NULL, version TEXT NOT NULL,
  interface TEXT NOT NULL, run TEXT NOT NULL, candidate TEXT NOT NULL, us REAL NOT NULL,
  PRIMARY KEY (pattern, sizes, dtype, gpu, toolkit, version, interface),
  FOREIGN KEY (run, candidate) REFERENCES candidates(run, id));

CREATE TABLE gains (
  run TEXT NOT NULL, candidate TEXT NOT NULL, move TEXT NOT NULL, title TEXT NOT NULL, pattern TEXT NOT NULL, gpu TEXT NOT NULL,
  expected REAL NOT NULL, observed REAL NOT NULL,
  PRIMARY KEY (run, candidate), FOREIGN KEY (run, candidate) REFERENCES candidates(run, id));
CREATE INDEX gains_by_move ON gains(move, pattern, gpu);
)sql",
                                                  "ALTER TABLE contributions ADD COLUMN title TEXT NOT NULL DEFAULT '';",
                                                  R"sql(
CREATE TABLE cases (
  run TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL, pattern TEXT NOT NULL, gpu TEXT NOT NULL, device TEXT NOT NULL, time_source TEXT NOT NULL,
  contract TEXT NOT NULL, finding TEXT NOT NULL, move TEXT NOT NULL, title TEXT NOT NULL, rule TEXT NOT NULL, before_us REAL NOT NULL, after_us REAL NOT NULL,
  PRIMARY KEY (run, after), FOREIGN KEY (run, after) REFERENCES candidates(run, id), FOREIGN KEY (run, before) REFERENCES candidates(run, id));
)sql",
                                                  R"sql(
CREATE TABLE messages (
  run TEXT NOT NULL REFERENCES runs(id), number INTEGER NOT NULL, at_s REAL NOT NULL, provider TEXT NOT NULL, tools INTEGER NOT NULL,
  request TEXT NOT NULL, prompt TEXT NOT NULL, answer TEXT NOT NULL,
  PRIMARY KEY (run, number));
)sql"};

Expected<int> version_of(Database& database) {
  int version = 0;
  auto read = database.run("PRAGMA user_version", {}, [&](const Row& row) { version = static_cast<int>(row.integer(0)); });
  if (!read) return Unexpected(read.error());
  return version;
}

}  // namespace

int schema_version() { return static_cast<int>(kMigrations.size()); }

Expected<void> migrate(Database& database) {
  for (;;) {
    const auto version = version_of(database);
    if (!version) return Unexpected(version.error());
    if (*version == schema_version()) return {};
    if (*version > schema_version())
      return fail(ErrorCode::unsupported, fmt::format("the store has version {}, this program knows versions up to {}", *version, schema_version()), {},
                  "use the newer Kernel Forge that made it, or another store (KFORGE_STORE)");
    // Another process may have been first: the version is read again under the write lock.
    auto done = database.transaction([&]() -> Expected<void> {
      const auto now = version_of(database);
      if (!now || *now != *version) return now ? Expected<void>() : Unexpected(now.error());
      if (auto made = database.script(kMigrations[static_cast<std::size_t>(*version)]); !made) return made;
      return database.script(fmt::format("PRAGMA user_version = {}", *version + 1));
    });
    if (!done) return done;
  }
}

}  // namespace kforge::store
