// A TOML text as a plain tree in which every key and value knows its line and column. This is the only door to toml++:
// the rest of the room reads this tree, so that every complaint about a task can point at the place it is about.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kforge::task {

struct TomlEntry;

struct TomlValue {
  enum class Kind : std::uint8_t { string, integer, real, boolean, date, array, table };
  Kind kind = Kind::table;
  Where where;                       // of the value; of the header for a table
  std::string text;                  // string
  std::int64_t integer = 0;
  double real = 0;                   // real, and integer widened
  bool boolean = false;
  std::vector<TomlValue> items;      // array
  std::vector<TomlEntry> entries;    // table, in the order of the file
};

struct TomlEntry {
  std::string key;
  Where where;
  TomlValue value;
};

// "a string", "an array": for messages.
std::string_view describe(TomlValue::Kind kind);

inline constexpr std::size_t kMaxTaskFileBytes = 256 * 1024;

// The root table. `file` is the name that errors show. Errors: bad_input with the place (syntax, text that is not UTF-8,
// more than kMaxTaskFileBytes, values nested too deep, duplicate keys).
Expected<TomlValue> parse_toml(std::string_view text, const std::string& file);

}  // namespace kforge::task
