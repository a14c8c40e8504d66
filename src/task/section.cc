#include "task/section.h"

#include <array>
#include <cmath>
#include <system_error>

#include "task/expression.h"

namespace kforge::task {
namespace {

// Words that cannot name a parameter of a C or C++ function.
constexpr std::string_view kKeywords[] = {
    "alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class", "const", "constexpr", "continue",
    "decltype", "default", "delete", "do", "double", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend",
    "goto", "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "nullptr", "operator", "or", "private",
    "protected", "public", "register", "return", "short", "signed", "sizeof", "static", "struct", "switch", "template", "this", "throw",
    "true", "try", "typedef", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "while", "xor", "main", "stream"};

}  // namespace

Unexpected relocate(Error error, const TomlValue& value) {
  const int inside = error.where.column;
  error.where = value.where;
  // The opening quote is one column; a string over several lines has no such simple place.
  if (inside > 0 && value.text.find('\n') == std::string::npos) error.where.column += inside;
  return Unexpected(std::move(error));
}

Done expect(const TomlValue& value, TomlValue::Kind kind) {
  if (value.kind == kind) return {};
  return wrong_value(value, fmt::format("{} is expected, this is {}", describe(kind), describe(value.kind)), "see docs/task-file.md");
}

Expected<std::string> read_text(const TomlValue& value) {
  if (auto kind = expect(value, TomlValue::Kind::string); !kind) return Unexpected(kind.error());
  if (value.text.empty()) return wrong_value(value, "the text is empty", "leave the key out, or say something");
  if (value.text.find('\0') != std::string::npos) return wrong_value(value, "the text holds a NUL character", "remove it");
  return value.text;
}

Expected<double> read_number(const TomlValue& value) {
  if (value.kind != TomlValue::Kind::integer && value.kind != TomlValue::Kind::real)
    return wrong_value(value, fmt::format("a number is expected, this is {}", describe(value.kind)), "see docs/task-file.md");
  if (!std::isfinite(value.real)) return wrong_value(value, "the number is not finite", "give a finite number");
  return value.real;
}

Expected<std::vector<std::string>> read_texts(const TomlValue& value) {
  if (auto kind = expect(value, TomlValue::Kind::array); !kind) return Unexpected(kind.error());
  std::vector<std::string> texts;
  for (const auto& item : value.items) {
    auto text = read_text(item);
    if (!text) return Unexpected(text.error());
    texts.push_back(std::move(*text));
  }
  return texts;
}

Expected<std::string> read_identifier(const TomlValue& value, std::string_view what) {
  auto text = read_text(value);
  if (!text) return text;
  if (!is_identifier(*text))
    return wrong_value(value, fmt::format("'{}' is no {}", printable(*text), what), "a letter or _, then letters, digits and _; at most 64");
  for (const auto keyword : kKeywords)
    if (*text == keyword) return wrong_value(value, fmt::format("'{}' is a reserved word, no {}", *text, what), "choose another name");
  return text;
}

Expected<std::string> read_path(const TomlValue& value, const Reading& reading) {
  auto text = read_text(value);
  if (!text) return text;
  const std::filesystem::path path = (reading.folder / *text).lexically_normal();
  std::error_code error;
  if (reading.check_files && !std::filesystem::is_regular_file(path, error))
    return wrong_value(value, fmt::format("no file '{}'", printable(path.string(), 200)), "paths start from the task file's folder");
  return path.string();
}

Expected<std::size_t> read_choice(const TomlValue& value, std::string_view what, std::span<const std::string_view> known) {
  auto text = read_text(value);
  if (!text) return Unexpected(text.error());
  const auto found = std::find(known.begin(), known.end(), *text);
  if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
  return wrong_value(value, fmt::format("unknown {} '{}'", what, printable(*text)), suggestion(*text, known));
}

}  // namespace kforge::task
