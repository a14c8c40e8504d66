#include "model/tunables.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/text.h"
#include "task/expression.h"

namespace kforge::model {
namespace {

constexpr std::string_view kMark = "// tune:", kRuleMark = "// tune where:";

// Where in a line the number of a declaration stands.
struct Declared { Tunable tunable; std::size_t at = 0, length = 0; };

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::optional<Declared> declared_in(std::string_view line) {
  const std::size_t mark = line.find(kMark);
  if (mark == std::string_view::npos) return std::nullopt;
  std::string_view code = line.substr(0, mark);
  while (!code.empty() && (std::isspace(static_cast<unsigned char>(code.back())) || code.back() == ';' || code.back() == '}')) code.remove_suffix(1);
  std::size_t start = code.size();
  while (start > 0 && is_word(code[start - 1])) --start;
  const auto value = parse_unsigned(code.substr(start));
  if (!value || *value > (1u << 30)) return std::nullopt;
  // The name stands before the number, with `=`, `{` or blanks between.
  std::size_t end = start;
  while (end > 0 && (std::isspace(static_cast<unsigned char>(code[end - 1])) || code[end - 1] == '=' || code[end - 1] == '{')) --end;
  std::size_t begin = end;
  while (begin > 0 && is_word(code[begin - 1])) --begin;
  if (begin == end || std::isdigit(static_cast<unsigned char>(code[begin]))) return std::nullopt;
  Declared out{{std::string(code.substr(begin, end - begin)), static_cast<std::int64_t>(*value), {}}, start, code.size() - start};
  for (const std::string_view piece : split(line.substr(mark + kMark.size()), ','))
    for (const std::string_view word : split_words(piece))
      if (const auto choice = parse_unsigned(word); choice && *choice <= (1u << 30)) out.tunable.choices.push_back(static_cast<std::int64_t>(*choice));
  out.tunable.choices.push_back(out.tunable.value);
  std::sort(out.tunable.choices.begin(), out.tunable.choices.end());
  out.tunable.choices.erase(std::unique(out.tunable.choices.begin(), out.tunable.choices.end()), out.tunable.choices.end());
  if (out.tunable.choices.size() < 2 || out.tunable.choices.size() > kMostChoices) return std::nullopt;
  return out;
}

}  // namespace

Tunables tunables_of(std::string_view source) {
  Tunables out;
  for (const std::string_view line : split_lines(source)) {
    if (const std::size_t at = line.find(kRuleMark); at != std::string_view::npos) out.rules.emplace_back(trim(line.substr(at + kRuleMark.size())));
    auto declared = declared_in(line);
    const bool known = declared && std::any_of(out.parameters.begin(), out.parameters.end(), [&](const Tunable& t) { return t.name == declared->tunable.name; });
    if (declared && !known && out.parameters.size() < kMostParameters) out.parameters.push_back(std::move(declared->tunable));
  }
  task::Sizes names;
  for (const Tunable& t : out.parameters) names[t.name] = t.value;
  std::erase_if(out.rules, [&](const std::string& rule) {
    const auto parsed = task::Expression::parse_condition(rule);
    return !parsed || !parsed->value(names);
  });
  return out;
}

propose::Values Tunables::values() const {
  propose::Values out;
  for (const Tunable& t : parameters) out[t.name] = t.value;
  return out;
}

propose::Space Tunables::space() const {
  std::vector<propose::Dimension> dimensions;
  for (const Tunable& t : parameters) dimensions.push_back({t.name, t.choices});
  std::vector<task::Expression> conditions;
  for (const std::string& rule : rules)
    if (auto parsed = task::Expression::parse_condition(rule)) conditions.push_back(std::move(*parsed));
  const propose::Values written = values();
  return propose::Space(std::move(dimensions), [&](const propose::Values& point) {
    if (point == written) return true;   // it was judged already, whatever the rules say
    return std::all_of(conditions.begin(), conditions.end(), [&](const task::Expression& c) { return c.value(point).value_or(0) != 0; });
  });
}

std::string with_values(std::string_view source, const propose::Values& values) {
  std::string out;
  for (const std::string_view line : split_lines(source)) {
    std::string text(line);
    if (const auto declared = declared_in(line))
      if (const auto value = values.find(declared->tunable.name); value != values.end()) text.replace(declared->at, declared->length, std::to_string(value->second));
    out += text + "\n";
  }
  return out;
}

}  // namespace kforge::model
