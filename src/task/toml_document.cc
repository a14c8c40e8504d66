#include "task/toml_document.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/tomlplusplus.h"

namespace kforge::task {
namespace {

// Bytes of the UTF-8 sequence at the start of `text` (RFC 3629: shortest form, no surrogates); 0 when there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool surrogate = first == 0xED && byte(1) >= 0xA0;
  const bool beyond = first == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

// toml++ 3.3 bounds nested values but not dotted keys, and frees deep tables recursively.
constexpr std::ptrdiff_t kMaxDotsInLine = 100;

class Converter {
 public:
  explicit Converter(const std::string& file) : file_(file) {}

  TomlValue value(const toml::node& node) const {
    TomlValue out;
    out.where = place(node.source());
    if (const auto* table = node.as_table()) fill_table(*table, out);
    else if (const auto* array = node.as_array()) fill_array(*array, out);
    else fill_scalar(node, out);
    return out;
  }

 private:
  using Kind = TomlValue::Kind;

  Where place(const toml::source_region& region) const {
    return {file_, static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
  }

  void fill_table(const toml::table& table, TomlValue& out) const {
    out.kind = Kind::table;
    for (const auto& [key, child] : table) out.entries.push_back({std::string(key.str()), place(key.source()), value(child)});
    std::stable_sort(out.entries.begin(), out.entries.end(), [](const TomlEntry& a, const TomlEntry& b) {
      return std::pair(a.where.line, a.where.column) < std::pair(b.where.line, b.where.column);
    });
  }

  void fill_array(const toml::array& array, TomlValue& out) const {
    out.kind = Kind::array;
    for (const auto& child : array) out.items.push_back(value(child));
  }

  static void fill_scalar(const toml::node& node, TomlValue& out) {
    if (const auto* text = node.as_string()) {
      out.kind = Kind::string;
      out.text = text->get();
    } else if (const auto* integer = node.as_integer()) {
      out.kind = Kind::integer;
      out.integer = integer->get();
      out.real = static_cast<double>(integer->get());
    } else if (const auto* real = node.as_floating_point()) {
      out.kind = Kind::real;
      out.real = real->get();
    } else if (const auto* boolean = node.as_boolean()) {
      out.kind = Kind::boolean;
      out.boolean = boolean->get();
    } else {
      out.kind = Kind::date;
    }
  }

  const std::string& file_;
};

Expected<void> check_lines(std::string_view text, const std::string& file) {
  int line = 1;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto row = text.substr(0, end);
    for (std::size_t i = 0, length = 0; i < row.size(); i += length) {
      length = sequence_length(row.substr(i));
      if (length == 0)
        return fail(ErrorCode::bad_input, fmt::format("byte 0x{:02x} is not UTF-8 text", static_cast<unsigned char>(row[i])),
                    {file, line, static_cast<int>(i) + 1}, "save the file as UTF-8");
    }
    if (std::count(row.begin(), row.end(), '.') > kMaxDotsInLine)
      return fail(ErrorCode::bad_input, fmt::format("more than {} dots in one line", kMaxDotsInLine), {file, line, 1},
                  "keys of a task file are at most two levels deep");
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
  }
  return {};
}

}  // namespace

std::string_view describe(TomlValue::Kind kind) {
  static constexpr std::array<std::string_view, 7> kNames{"a string", "an integer", "a number", "a boolean",
                                                          "a date or time", "an array", "a table"};
  return kNames[static_cast<std::size_t>(kind)];
}

Expected<TomlValue> parse_toml(std::string_view text, const std::string& file) {
  if (text.size() > kMaxTaskFileBytes)
    return fail(ErrorCode::bad_input, fmt::format("the file has {} bytes, at most {} are read", text.size(), kMaxTaskFileBytes),
                {file, 1, 1}, "is this a task file?");
  if (auto checked = check_lines(text, file); !checked) return Unexpected(checked.error());
  const auto result = toml::parse(text, std::string_view(file));
  if (!result) {
    const auto& error = result.error();
    const auto& begin = error.source().begin;
    return fail(ErrorCode::bad_input, fmt::format("no valid TOML: {}", error.description()),
                {file, static_cast<int>(std::max<toml::source_index>(begin.line, 1)), static_cast<int>(std::max<toml::source_index>(begin.column, 1))},
                "see docs/task-file.md; strings need quotes, keys may appear once");
  }
  return Converter(file).value(result.table());
}

}  // namespace kforge::task
