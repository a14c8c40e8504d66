#include "store/database.h"

#include <sys/resource.h>

#include <fmt/format.h>
#include <sqlite3.h>

namespace kforge::store {
namespace {

sqlite3_stmt* of(void* statement) { return static_cast<sqlite3_stmt*>(statement); }

struct Finalizer {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalizer>;

int bind(sqlite3_stmt* statement, int index, const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value))
    return sqlite3_bind_text64(statement, index, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return sqlite3_bind_int64(statement, index, *number);
  if (const auto* real = std::get_if<double>(&value)) return sqlite3_bind_double(statement, index, *real);
  return sqlite3_bind_null(statement, index);
}

// SQLite does not keep why a write failed.
bool files_are_limited() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

}  // namespace

std::string Row::text(int column) const {
  const auto* bytes = sqlite3_column_text(of(statement_), column);
  return bytes ? std::string(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_column_bytes(of(statement_), column))) : std::string();
}
std::int64_t Row::integer(int column) const { return sqlite3_column_int64(of(statement_), column); }
double Row::real(int column) const { return sqlite3_column_double(of(statement_), column); }

void Database::Closer::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

Error Database::error(int code) const {
  const std::string words = connection_ ? sqlite3_errmsg(connection_.get()) : sqlite3_errstr(code);
  if ((code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED)
    return {ErrorCode::limit, "another process holds the store: " + words, {file_, 0, 0}, "wait for it, or choose another store with KFORGE_STORE"};
  if ((code & 0xff) == SQLITE_NOTADB || (code & 0xff) == SQLITE_CORRUPT)
    return {ErrorCode::failed, "this is no store of Kernel Forge: " + words, {file_, 0, 0}, "move it away, or choose another store with KFORGE_STORE"};
  if ((code & 0xff) == SQLITE_FULL) return {ErrorCode::failed, "the disk is full: " + words, {file_, 0, 0}, "free some space and resume the run"};
  if ((code & 0xff) == SQLITE_IOERR && files_are_limited())
    return {ErrorCode::failed, "a file of the store cannot be written: " + words, {file_, 0, 0}, "files may not grow beyond `ulimit -f` here: raise that limit and resume the run; nothing that was told as done is lost"};
  return {ErrorCode::failed, "the store cannot be used: " + words, {file_, 0, 0}, "is its folder writable, and on a local disk?"};
}

Expected<Database> Database::open(const std::filesystem::path& file, bool create, double busy_seconds) {
  std::error_code ignored;
  if (!create && !std::filesystem::exists(file, ignored)) return fail(ErrorCode::missing, "there is no store", {file.string(), 0, 0}, "kforge optimize makes one");
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open_v2(file.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX | (create ? SQLITE_OPEN_CREATE : 0), nullptr);
  Database database(std::unique_ptr<sqlite3, Closer>(raw), file.string());
  if (opened != SQLITE_OK) return Unexpected(database.error(opened));
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_timeout(raw, static_cast<int>(busy_seconds * 1000));
  for (const char* pragma : {"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA foreign_keys=ON"})
    if (auto done = database.run(pragma); !done) return Unexpected(done.error());
  return database;
}

Expected<void> Database::run(std::string_view sql, const std::vector<Value>& values, const std::function<void(const Row&)>& each) {
  sqlite3_stmt* raw = nullptr;
  if (const int code = sqlite3_prepare_v2(connection_.get(), sql.data(), static_cast<int>(sql.size()), &raw, nullptr); code != SQLITE_OK) return Unexpected(error(code));
  const Statement statement(raw);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (const int code = bind(raw, static_cast<int>(i) + 1, values[i]); code != SQLITE_OK) return Unexpected(error(code));
  for (;;) {
    const int code = sqlite3_step(raw);
    if (code == SQLITE_DONE) return {};
    if (code != SQLITE_ROW) return Unexpected(error(code));
    if (each) each(Row(raw));
  }
}

Expected<void> Database::script(const std::string& sql) {
  const int code = sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return Unexpected(error(code));
  return {};
}

int Database::changes() const { return sqlite3_changes(connection_.get()); }

Expected<void> Database::transaction(const std::function<Expected<void>()>& body) {
  if (auto begun = run("BEGIN IMMEDIATE"); !begun) return begun;
  auto done = body();
  if (done) done = run("COMMIT");
  if (!done) static_cast<void>(run("ROLLBACK"));   // where COMMIT failed there may be nothing to take back
  return done;
}

}  // namespace kforge::store
