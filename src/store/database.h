// SQLite behind four small types, so that no other file knows its C interface.
//
// A Database is one connection, for one thread at a time; several connections, of one process or of many, may use one file at once. It is in
// write-ahead mode with full synchronisation: a committed transaction survives a kill of the process at any point and a loss of power,
// one that was not committed leaves no trace, and readers never wait for a writer. A writer waits for another one at most the busy timeout.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"

struct sqlite3;

namespace kforge::store {

using Value = std::variant<std::nullptr_t, std::int64_t, double, std::string>;

// One row of an answer, valid while it is handed out. Columns count from 0; a NULL reads as 0 or "".
class Row {
 public:
  explicit Row(void* statement) : statement_(statement) {}
  std::string text(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;

 private:
  void* statement_;
};

class Database {
 public:
  // Errors: missing when the file is not there and `create` is false; failed when it cannot be opened or is no database.
  static Expected<Database> open(const std::filesystem::path& file, bool create, double busy_seconds);

  // One statement with its parameters ("?1", "?2", ...); `each` is called once a row. Errors: limit when another process held the
  // database longer than the busy timeout; failed with SQLite's words.
  Expected<void> run(std::string_view sql, const std::vector<Value>& values = {}, const std::function<void(const Row&)>& each = {});
  // Several statements without parameters.
  Expected<void> script(const std::string& sql);
  // Rows that the last statement changed.
  int changes() const;

  // All of `body` or nothing. Takes the write lock at once, so that what `body` reads still holds when it writes.
  Expected<void> transaction(const std::function<Expected<void>()>& body);

 private:
  struct Closer { void operator()(sqlite3* connection) const; };
  Database(std::unique_ptr<sqlite3, Closer> connection, std::string file) : connection_(std::move(connection)), file_(std::move(file)) {}
  Error error(int code) const;

  std::unique_ptr<sqlite3, Closer> connection_;
  std::string file_;
};

}  // namespace kforge::store
