// Reads the tables of a task file by tables: one row a key, with the function that reads it. A section is its rows; unknown keys,
// repeated work and missing keys are handled here once.
#pragma once

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "task/toml_document.h"
#include "task/wording.h"

namespace kforge::task {

using Done = Expected<void>;

// What reading needs besides the value: the folder that relative paths start from.
struct Reading {
  std::filesystem::path folder;
  bool check_files = false;   // files that the task names must exist
};

template <class T>
struct Field {
  std::string_view key;
  bool required;
  Done (*read)(const TomlValue& value, T& out, const Reading& reading);
};

inline Unexpected wrong_value(const TomlValue& value, std::string message, std::string hint = {}) {
  return fail(ErrorCode::bad_input, std::move(message), value.where, std::move(hint));
}

// `error` of a parser that counts columns inside the string `value`, moved to its place in the file.
Unexpected relocate(Error error, const TomlValue& value);

Done expect(const TomlValue& value, TomlValue::Kind kind);
Expected<std::string> read_text(const TomlValue& value);                   // not empty
Expected<double> read_number(const TomlValue& value);                      // finite; integers too
Expected<std::vector<std::string>> read_texts(const TomlValue& value);     // an array of strings
Expected<std::string> read_identifier(const TomlValue& value, std::string_view what);  // of C and C++, no keyword
// A path, resolved against the task file's folder.
Expected<std::string> read_path(const TomlValue& value, const Reading& reading);

// The index of the string in `known`.
Expected<std::size_t> read_choice(const TomlValue& value, std::string_view what, std::span<const std::string_view> known);

template <class T>
Done read_table(const TomlValue& table, std::string_view name, std::span<const Field<T>> fields, T& out, const Reading& reading) {
  if (auto kind = expect(table, TomlValue::Kind::table); !kind) return kind;
  for (const auto& entry : table.entries) {
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const Field<T>& f) { return f.key == entry.key; });
    if (field == fields.end()) {
      std::vector<std::string_view> known;
      for (const auto& f : fields) known.push_back(f.key);
      return fail(ErrorCode::bad_input, fmt::format("unknown key '{}' in {}", printable(entry.key), name), entry.where, suggestion(entry.key, known));
    }
    if (auto done = field->read(entry.value, out, reading); !done) return done;
  }
  for (const auto& field : fields) {
    const bool given = std::any_of(table.entries.begin(), table.entries.end(), [&](const TomlEntry& e) { return e.key == field.key; });
    if (field.required && !given)
      return fail(ErrorCode::bad_input, fmt::format("missing key '{}' in {}", field.key, name), table.where, "see docs/task-file.md");
  }
  return {};
}

}  // namespace kforge::task
