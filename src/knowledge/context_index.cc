#include "knowledge/context_index.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/files.h"
#include "base/hash.h"
#include "base/paths.h"
#include "base/text.h"
#include "knowledge/context_text.h"

namespace kforge::knowledge {
namespace {

namespace fs = std::filesystem;
using store::Row;
using store::Value;

constexpr int kVersion = 1;                        // an index of another one is made anew
constexpr double kBusySeconds = 30;
constexpr std::size_t kFilesAtOnce = 100;          // of one transaction
constexpr std::size_t kMostTerms = 64;
constexpr std::int64_t kRecentNs = 2'000'000'000;  // a file may change again within its time stamp's resolution

constexpr const char* kSchema = R"sql(
CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, bytes INTEGER NOT NULL, modified_ns INTEGER NOT NULL, hash TEXT NOT NULL, note TEXT NOT NULL);
CREATE TABLE passage (id INTEGER PRIMARY KEY, file INTEGER NOT NULL REFERENCES file(id), first INTEGER NOT NULL, last INTEGER NOT NULL);
CREATE INDEX passage_of_file ON passage(file, first);
CREATE VIRTUAL TABLE words USING fts5(title, text, tokenize = 'porter unicode61');
)sql";

Expected<store::Database> open_database(const fs::path& file) {
  auto database = store::Database::open(file, true, kBusySeconds);
  if (!database) return database;
  std::int64_t version = 0;
  auto made = database->transaction([&]() -> Expected<void> {
    if (auto read = database->run("PRAGMA user_version", {}, [&](const Row& row) { version = row.integer(0); }); !read) return read;
    if (version == kVersion) return {};
    if (auto dropped = database->script("DROP TABLE IF EXISTS words; DROP TABLE IF EXISTS passage; DROP TABLE IF EXISTS file;"); !dropped) return dropped;
    if (auto created = database->script(kSchema); !created) return created;
    return database->script(fmt::format("PRAGMA user_version = {}", kVersion));
  });
  if (!made) return Unexpected(made.error());
  return database;
}

struct Stamp {
  std::int64_t id = 0, bytes = 0, modified_ns = 0;
  std::string hash, note;
};
using Known = std::map<std::string, Stamp>;   // by path

// What a file that changed is now.
struct Reading {
  ContextFile file;
  std::string hash, note;
  std::vector<TextPassage> passages;
  bool same = false;            // only its time changed
};

Reading read_again(const ContextFile& file, const Stamp* known, std::int64_t now_ns) {
  Reading out{file, "", "", {}, false};
  const auto hash = hash_file(file.path);
  if (!hash) out.note = hash.error().message;
  else out.hash = *hash;
  if (now_ns - file.modified_ns < kRecentNs) out.file.modified_ns = 0;
  out.same = known && hash && known->hash == *hash && known->note.empty();
  if (!hash || out.same) return out;
  const auto lines = context_lines(file);
  if (!lines) out.note = lines.error().message + (lines.error().hint.empty() ? "" : " (" + lines.error().hint + ")");
  else out.passages = cut_into_passages(*lines, file.kind);
  return out;
}

Expected<void> forget(store::Database& database, std::int64_t file) {
  if (auto done = database.run("DELETE FROM words WHERE rowid IN (SELECT id FROM passage WHERE file = ?1)", {file}); !done) return done;
  if (auto done = database.run("DELETE FROM passage WHERE file = ?1", {file}); !done) return done;
  return database.run("DELETE FROM file WHERE id = ?1", {file});
}

Expected<void> take_in(store::Database& database, const Reading& reading) {
  const auto bytes = static_cast<std::int64_t>(reading.file.bytes);
  if (reading.same)
    return database.run("UPDATE file SET bytes = ?2, modified_ns = ?3 WHERE path = ?1", {reading.file.path, bytes, reading.file.modified_ns});
  std::vector<std::int64_t> before;   // another process may have taken it in meanwhile
  if (auto done = database.run("SELECT id FROM file WHERE path = ?1", {reading.file.path}, [&](const Row& row) { before.push_back(row.integer(0)); }); !done) return done;
  for (const std::int64_t id : before)
    if (auto done = forget(database, id); !done) return done;
  if (auto done = database.run("INSERT INTO file (path, bytes, modified_ns, hash, note) VALUES (?1, ?2, ?3, ?4, ?5)",
                               {reading.file.path, bytes, reading.file.modified_ns, reading.hash, reading.note}); !done) return done;
  for (const TextPassage& passage : reading.passages) {
    if (auto done = database.run("INSERT INTO passage (file, first, last) SELECT id, ?2, ?3 FROM file WHERE path = ?1",
                                 {reading.file.path, std::int64_t{passage.first_line}, std::int64_t{passage.last_line}}); !done) return done;
    if (auto done = database.run("INSERT INTO words (rowid, title, text) VALUES (last_insert_rowid(), ?1, ?2)", {passage.title, passage.text}); !done) return done;
  }
  return {};
}

bool is_word_byte(char c) { return std::isalnum(static_cast<unsigned char>(c)) || static_cast<unsigned char>(c) >= 0x80; }

// The query as FTS5 reads it: each word quoted, so that nothing in it is an operator; any may be there, the rank counts them.
std::string match_expression(std::string_view query) {
  std::vector<std::string> terms;
  const auto add = [&](std::string term) {
    if (terms.size() < kMostTerms && std::find(terms.begin(), terms.end(), term) == terms.end()) terms.push_back(std::move(term));
  };
  for (const std::string_view word : split_words(query)) {
    std::string whole, part;
    std::vector<std::string> parts;
    for (const char c : word) {
      if (c != '"') whole += c;
      if (is_word_byte(c)) part += c;
      else if (!part.empty()) parts.push_back(std::exchange(part, {}));
    }
    if (!part.empty()) parts.push_back(part);
    if (parts.empty()) continue;
    add('"' + whole + '"');
    if (parts.size() > 1)
      for (const std::string& piece : parts) add('"' + piece + '"');
  }
  return join(terms, " OR ");
}

}  // namespace

Expected<ContextIndex> ContextIndex::open(const std::vector<std::string>& folders, const fs::path& database) {
  std::vector<Root> roots;
  for (const std::string& folder : folders) {
    std::error_code failed;
    const fs::path path = fs::canonical(folder, failed);
    if (failed || !fs::is_directory(path, failed)) return fail(ErrorCode::bad_input, "there is no such context folder", {folder, 0, 0}, "--context takes a folder");
    std::string named = folder;
    while (named.size() > 1 && named.ends_with('/')) named.pop_back();
    roots.push_back({named, path.string()});
  }
  fs::path file = database;
  if (file.empty()) {
    const auto cache = cache_folder();
    if (!cache) return Unexpected(cache.error());
    file = *cache / "context.db";
  }
  auto opened = open_database(file);
  if (!opened) return Unexpected(opened.error());
  ContextIndex index(std::move(*opened), std::move(roots));
  if (auto done = index.update(); !done) return Unexpected(done.error());
  return index;
}

// " AND (...)" that holds for files below the roots; appends to the values.
std::string ContextIndex::below_roots(std::vector<Value>& values) const {
  std::string any;
  for (const Root& root : roots_) {
    values.emplace_back(root.path == "/" ? root.path : root.path + "/");
    any += fmt::format("{}substr(file.path, 1, length(?{})) = ?{}", any.empty() ? "" : " OR ", values.size(), values.size());
  }
  return any.empty() ? " AND 0" : " AND (" + any + ")";
}

Expected<void> ContextIndex::update() {
  std::vector<std::string> folders;
  for (const Root& root : roots_) folders.push_back(root.path);
  ContextWalk walk = walk_context(folders);
  for (const std::string& note : walk.notes) notes_.push_back(note);
  Known known;
  std::vector<Value> values;
  const std::string below = below_roots(values);
  if (auto done = database_.run("SELECT id, path, bytes, modified_ns, hash, note FROM file WHERE 1" + below, values, [&](const Row& row) {
        known[row.text(1)] = {row.integer(0), row.integer(2), row.integer(3), row.text(4), row.text(5)};
      }); !done) return done;

  const std::int64_t now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::vector<Reading> readings;
  const auto write = [&]() -> Expected<void> {
    if (readings.empty()) return {};
    auto done = database_.transaction([&]() -> Expected<void> {
      for (const Reading& reading : readings)
        if (auto taken = take_in(database_, reading); !taken) return taken;
      return {};
    });
    readings.clear();
    return done;
  };
  std::set<std::string> there;
  for (const ContextFile& file : walk.files) {
    there.insert(file.path);
    const auto at = known.find(file.path);
    const Stamp* stamp = at == known.end() ? nullptr : &at->second;
    std::string note = stamp ? stamp->note : "";
    // What could not be read is tried again: a program that was missing may be there now.
    if (!stamp || !note.empty() || stamp->bytes != static_cast<std::int64_t>(file.bytes) || stamp->modified_ns != file.modified_ns) {
      readings.push_back(read_again(file, stamp, now_ns));
      note = readings.back().note;
      if (readings.size() == kFilesAtOnce)
        if (auto done = write(); !done) return done;
    }
    if (note.empty()) ++files_;
    else notes_.push_back(named(file.path) + ": " + note);
  }
  if (auto done = write(); !done) return done;
  std::vector<std::int64_t> gone;
  for (const auto& [path, stamp] : known)
    if (!there.contains(path)) gone.push_back(stamp.id);
  if (gone.empty()) return {};
  return database_.transaction([&]() -> Expected<void> {
    for (const std::int64_t id : gone)
      if (auto done = forget(database_, id); !done) return done;
    return {};
  });
}

std::string ContextIndex::named(const std::string& path) const {
  for (const Root& root : roots_)
    if (path.starts_with(root.path == "/" ? root.path : root.path + "/")) return root.named + path.substr(root.path == "/" ? 0 : root.path.size());
  return path;
}

Expected<std::vector<ContextPassage>> ContextIndex::search(std::string_view query, std::size_t count) {
  const std::string expression = match_expression(query);
  if (expression.empty()) return fail(ErrorCode::bad_input, "the query has no word to search for");
  std::vector<ContextPassage> out;
  std::vector<Value> values{expression, static_cast<std::int64_t>(count)};
  const std::string below = below_roots(values);
  auto done = database_.run("SELECT file.path, passage.first, passage.last, words.text FROM words JOIN passage ON passage.id = words.rowid JOIN file ON file.id = passage.file "
                            "WHERE words MATCH ?1" + below + " ORDER BY bm25(words, 3.0, 1.0), file.path, passage.first LIMIT ?2", values, [&](const Row& row) {
    out.push_back({named(row.text(0)), static_cast<std::uint32_t>(row.integer(1)), static_cast<std::uint32_t>(row.integer(2)), row.text(3)});
  });
  if (!done) return Unexpected(done.error());
  return out;
}

Expected<ContextPassage> ContextIndex::read(const std::string& file, int first_line, int last_line) {
  std::vector<Value> values{std::int64_t{first_line}, std::int64_t{last_line}};
  const std::string below = below_roots(values);
  ContextPassage out{file, 0, 0, ""};
  for (const Root& root : roots_) {
    if (!file.starts_with(root.named + "/")) continue;
    auto wanted = values;
    wanted.emplace_back((root.path == "/" ? "" : root.path) + file.substr(root.named.size()));
    auto done = database_.run(fmt::format("SELECT passage.first, passage.last, words.text FROM passage JOIN words ON words.rowid = passage.id JOIN file ON file.id = passage.file "
                              "WHERE passage.first <= ?2 AND passage.last >= ?1{} AND file.path = ?{} ORDER BY passage.id", below, wanted.size()), wanted, [&](const Row& row) {
      if (out.text.empty()) out.first_line = static_cast<std::uint32_t>(row.integer(0));
      out.last_line = static_cast<std::uint32_t>(row.integer(1));
      out.text += row.text(2);
    });
    if (!done) return Unexpected(done.error());
    if (!out.text.empty()) return out;
  }
  return fail(ErrorCode::bad_input, fmt::format("the context folders hold no such lines: {} to {}", first_line, last_line), {file, 0, 0}, "search names files and lines");
}

}  // namespace kforge::knowledge
