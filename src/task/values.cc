#include "task/values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "base/text.h"
#include "task/dtype_convert.h"
#include "task/expression.h"
#include "task/wording.h"

namespace kforge::task {
namespace {

struct Kind {
  std::string_view name;
  std::size_t arguments;
  bool drawn;
  bool expressions;        // arguments may be expressions over sizes
  std::string_view usage;
};

constexpr std::array<Kind, 7> kKinds{{
    {"normal", 2, true, false, "normal(mean, standard deviation)"},
    {"uniform", 2, true, false, "uniform(lowest, highest)"},
    {"integers", 2, true, true, "integers(lowest, highest), both included"},
    {"constant", 1, false, true, "constant(value)"},
    {"ramp", 2, false, false, "ramp(start, step)"},
    {"one_hot", 0, false, false, "one_hot"},
    {"permutation", 0, false, false, "permutation"},
}};

const Kind* find_kind(std::string_view name) {
  const auto found = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& kind) { return kind.name == name; });
  return found == kKinds.end() ? nullptr : &*found;
}

Unexpected wrong(std::string_view text, std::size_t at, std::string_view message, std::string hint) {
  return fail(ErrorCode::bad_input, fmt::format("values '{}': {}", printable(text), message), {"", 0, static_cast<int>(at) + 1},
              std::move(hint));
}

// Pieces between commas that are outside parentheses, so that "integers(0, min(a, b))" has two.
std::vector<std::string_view> split_arguments(std::string_view text) {
  std::vector<std::string_view> pieces;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (text[i] == ',' && depth == 0) {
      pieces.push_back(trim(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  if (!trim(text).empty()) pieces.push_back(trim(text.substr(start)));
  return pieces;
}

bool ordered_pair(std::string_view kind) { return kind == "uniform" || kind == "integers"; }

// Why these arguments cannot be; "" when they can.
std::string_view complaint(const Values& values, const std::vector<double>& arguments) {
  if (values.kind == "normal" && arguments[1] < 0) return "the standard deviation is negative";
  if (ordered_pair(values.kind) && arguments[0] > arguments[1]) return "the lowest value is above the highest";
  if (values.kind == "integers" && (std::trunc(arguments[0]) != arguments[0] || std::trunc(arguments[1]) != arguments[1]))
    return "the bounds are no integers";
  return "";
}

Expected<void> parse_argument(std::string_view text, std::string_view piece, const Kind& kind, Values& out) {
  const auto at = static_cast<std::size_t>(piece.data() - text.data());
  if (const auto number = parse_double(piece.starts_with('+') ? piece.substr(1) : piece)) {
    if (!std::isfinite(*number)) return wrong(text, at, "an argument is not finite", std::string(kind.usage));
    out.arguments.push_back(*number);
    out.expressions.emplace_back();
    return {};
  }
  if (!kind.expressions) return wrong(text, at, fmt::format("'{}' is no number", printable(piece, 24)), std::string(kind.usage));
  if (auto parsed = Expression::parse(piece); !parsed) {
    auto error = parsed.error();
    error.where.column += static_cast<int>(at);
    return Unexpected(error);
  }
  out.arguments.push_back(0);
  out.expressions.emplace_back(piece);
  return {};
}

bool is_literal(const Values& values) {
  return std::all_of(values.expressions.begin(), values.expressions.end(), [](const std::string& e) { return e.empty(); });
}

Expected<void> check_type(std::string_view text, const Values& values, Dtype dtype) {
  const auto& type = row(dtype);
  if (type.floating || values.kind == "one_hot" || values.kind == "permutation" || values.kind == "normal") return {};
  for (std::size_t i = 0; i < values.arguments.size(); ++i)
    if (values.kind != "ramp" && (values.arguments[i] < type.lowest || values.arguments[i] > type.highest))
      return wrong(text, 0, fmt::format("{} is outside {}", values.arguments[i], type.name),
                   fmt::format("{} holds {} to {}", type.name, type.lowest, type.highest));
  return {};
}

}  // namespace

Expected<Values> parse_values(std::string_view text, Dtype dtype) {
  const auto open = std::min(text.find('('), text.size());
  const auto name = trim(text.substr(0, open));
  const auto* kind = find_kind(name);
  if (kind == nullptr) {
    std::array<std::string_view, kKinds.size()> known;
    std::transform(kKinds.begin(), kKinds.end(), known.begin(), [](const Kind& k) { return k.name; });
    return wrong(text, 0, fmt::format("no distribution '{}'", printable(name, 24)), suggestion(name, known));
  }
  const auto rest = trim(text.substr(open));
  if (!rest.empty() && rest.back() != ')') return wrong(text, text.size(), "')' is missing at the end", std::string(kind->usage));
  const auto pieces = rest.empty() ? std::vector<std::string_view>{} : split_arguments(rest.substr(1, rest.size() - 2));
  if (pieces.size() != kind->arguments)
    return wrong(text, open, fmt::format("{} arguments, {} takes {}", pieces.size(), name, kind->arguments), std::string(kind->usage));
  Values out{std::string(name), {}, {}};
  for (const auto piece : pieces)
    if (auto parsed = parse_argument(text, piece, *kind, out); !parsed) return Unexpected(parsed.error());
  if (is_literal(out)) {
    if (const auto why = complaint(out, out.arguments); !why.empty()) return wrong(text, open, why, std::string(kind->usage));
    if (auto checked = check_type(text, out, dtype); !checked) return Unexpected(checked.error());
  }
  return out;
}

Values default_values(Dtype dtype) {
  if (is_float(dtype)) return {"normal", {0, 1}, {"", ""}};
  if (dtype == Dtype::boolean) return {"integers", {0, 1}, {"", ""}};
  return row(dtype).lowest < 0 ? Values{"integers", {-8, 8}, {"", ""}} : Values{"integers", {0, 16}, {"", ""}};
}

Expected<std::vector<double>> arguments_at(const Values& values, const Sizes& sizes) {
  const auto* kind = find_kind(values.kind);
  if (values.kind == "normal" && values.arguments.empty()) return std::vector<double>{0, 1};  // a tensor that a program made
  if (kind == nullptr || values.arguments.size() != kind->arguments)
    return fail(ErrorCode::bad_input, fmt::format("no distribution '{}' with {} arguments", printable(values.kind), values.arguments.size()));
  auto arguments = values.arguments;
  for (std::size_t i = 0; i < arguments.size() && i < values.expressions.size(); ++i) {
    if (values.expressions[i].empty()) continue;
    auto parsed = Expression::parse(values.expressions[i]);
    auto number = parsed ? parsed->value(sizes) : Unexpected(parsed.error());
    if (!number) return Unexpected(number.error());
    arguments[i] = static_cast<double>(*number);
  }
  if (const auto why = complaint(values, arguments); !why.empty())
    return fail(ErrorCode::bad_input, fmt::format("values {}({}): {} at these sizes", values.kind, arguments.front(), why), {},
                "exclude such sizes with `where`");
  return arguments;
}

ValueRange declared_range(const Values& values, const std::vector<double>& arguments, Dtype dtype) {
  ValueRange range;
  if (ordered_pair(values.kind)) range = {arguments[0], arguments[1]};
  if (values.kind == "constant") range = {arguments[0], arguments[0]};
  const double most = max_finite(dtype);
  const double least = is_float(dtype) ? -most : row(dtype).lowest;
  range.lowest = std::max(range.lowest, least);
  range.highest = std::min(range.highest, most);
  return range;
}

bool is_drawn(const Values& values) {
  const auto* kind = find_kind(values.kind);
  return kind != nullptr && kind->drawn;
}

}  // namespace kforge::task
