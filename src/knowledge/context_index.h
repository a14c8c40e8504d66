// The index of context folders: a full-text index (SQLite FTS5) of the passages of all files that hold text.
//
// It lies in the cache and may be deleted at any time. Opening brings it up to date: a file is read again when its size or time changed and
// taken in again when its content did; what is gone from the folders is gone from the index. Several processes may use it at once. An index is for one
// thread at a time.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kforge/context.h"
#include "store/database.h"

namespace kforge::knowledge {

class ContextIndex {
 public:
  // `database`: the index's file; by default context.db of the cache. Errors: bad_input (no such folder), failed.
  static Expected<ContextIndex> open(const std::vector<std::string>& folders, const std::filesystem::path& database = {});

  // The passages that fit the words best, by BM25; letter case and word endings do not count. A word with punctuation inside ("cp.async.bulk") counts
  // whole and in its parts. Errors: bad_input when the query has no word.
  Expected<std::vector<ContextPassage>> search(std::string_view query, std::size_t count);

  // Lines of a file that the index holds, named as passages name it, as far as they have text: no other file is read. Errors: bad_input (no such file or
  // lines).
  Expected<ContextPassage> read(const std::string& file, int first_line, int last_line);

  // Files that were not taken in, and why: a line each.
  const std::vector<std::string>& notes() const { return notes_; }
  std::size_t files() const { return files_; }

 private:
  struct Root {
    std::string named, path;   // as the user wrote it, and where it is
  };
  ContextIndex(store::Database database, std::vector<Root> roots) : database_(std::move(database)), roots_(std::move(roots)) {}
  Expected<void> update();
  std::string named(const std::string& path) const;
  std::string below_roots(std::vector<store::Value>& values) const;

  store::Database database_;
  std::vector<Root> roots_;
  std::vector<std::string> notes_;
  std::size_t files_ = 0;
};

}  // namespace kforge::knowledge
