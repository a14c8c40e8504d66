#include "task/expression.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "task/wording.h"

namespace kforge::task {
namespace {

constexpr std::size_t kMaxLength = 1024;
constexpr int kMaxDepth = 64;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

Unexpected wrong(std::string_view text, int column, std::string message, std::string hint) {
  return fail(ErrorCode::bad_input, fmt::format("expression '{}': {}", printable(text), message), {"", 0, column}, std::move(hint));
}

constexpr std::string_view kHelp =
    "sizes and integers with + - * / % ( ) min max ceil_div; conditions add < <= > >= == != && || !";

}  // namespace

bool is_identifier(std::string_view text) {
  return !text.empty() && text.size() <= 64 && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

bool Expression::is_truth(Op op) { return op >= Op::less || op == Op::logical_not; }

class ExpressionParser {
  using Op = Expression::Op;
  struct Symbol {
    std::string_view text;
    Op op;
  };
  // Longer spellings before their prefixes.
  static constexpr std::array<Symbol, 1> kOr{{{"||", Op::logical_or}}};
  static constexpr std::array<Symbol, 1> kAnd{{{"&&", Op::logical_and}}};
  static constexpr std::array<Symbol, 6> kCompare{{{"<=", Op::less_equal}, {">=", Op::greater_equal}, {"==", Op::equal},
                                                   {"!=", Op::not_equal}, {"<", Op::less}, {">", Op::greater}}};
  static constexpr std::array<Symbol, 2> kSum{{{"+", Op::add}, {"-", Op::subtract}}};
  static constexpr std::array<Symbol, 3> kProduct{{{"*", Op::multiply}, {"/", Op::divide}, {"%", Op::remainder}}};
  static constexpr std::array<Symbol, 3> kFunctions{{{"min", Op::minimum}, {"max", Op::maximum}, {"ceil_div", Op::ceil_div}}};
  static constexpr std::array<std::span<const Symbol>, 5> kLevels{kOr, kAnd, kCompare, kSum, kProduct};

 public:
  explicit ExpressionParser(std::string_view text) : text_(text) { out_.text_ = std::string(text); }

  Expected<Expression> run(bool truth) {
    if (text_.size() > kMaxLength) return wrong(text_, 1, fmt::format("longer than {} characters", kMaxLength), "name the parts as sizes");
    auto root = level(0);
    if (!root) return Unexpected(root.error());
    skip_space();
    if (at_ != text_.size()) return error("unexpected '{}'", printable(text_.substr(at_), 12));
    if (auto typed = require(*root, truth); !typed) return Unexpected(typed.error());
    return std::move(out_);
  }

 private:
  template <class... A>
  Unexpected error(fmt::format_string<A...> format, A&&... arguments) const {
    return wrong(text_, column(), fmt::format(format, std::forward<A>(arguments)...), std::string(kHelp));
  }
  int column() const { return static_cast<int>(at_) + 1; }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(std::string_view symbol) {
    skip_space();
    if (text_.substr(at_, symbol.size()) != symbol) return false;
    at_ += symbol.size();
    return true;
  }
  const Symbol* take_any(std::span<const Symbol> symbols) {
    for (const auto& symbol : symbols)
      if (take(symbol.text)) return &symbol;
    return nullptr;
  }
  int add(Expression::Node node) {
    out_.nodes_.push_back(node);
    return static_cast<int>(out_.nodes_.size()) - 1;
  }
  Expected<void> require(int node, bool truth) const {
    const auto& found = out_.nodes_[static_cast<std::size_t>(node)];
    if (Expression::is_truth(found.op) == truth) return {};
    return wrong(text_, found.column, truth ? "a condition is expected, this is an integer" : "an integer is expected, this is a condition",
                 std::string(kHelp));
  }
  static bool takes_truth(Op op) { return op == Op::logical_and || op == Op::logical_or || op == Op::logical_not; }

  // One level of binary operators, loosest first; comparisons do not chain.
  Expected<int> level(std::size_t depth) {
    if (depth == kLevels.size()) return unary();
    auto left = level(depth + 1);
    while (left) {
      const int column_of_operator = (skip_space(), column());
      const auto* symbol = take_any(kLevels[depth]);
      if (symbol == nullptr) break;
      auto right = level(depth + 1);
      if (!right) return right;
      for (const int side : {*left, *right})
        if (auto typed = require(side, takes_truth(symbol->op)); !typed) return Unexpected(typed.error());
      left = add({symbol->op, *left, *right, 0, column_of_operator});
    }
    return left;
  }

  Expected<int> unary() {
    skip_space();
    const int column_of_operator = column();
    const bool bang = take("!");
    if (!bang && !take("-")) return primary();
    if (++depth_ > kMaxDepth) return error("nested deeper than {}", kMaxDepth);
    auto operand = unary();
    --depth_;
    if (!operand) return operand;
    if (auto typed = require(*operand, bang); !typed) return Unexpected(typed.error());
    return add({bang ? Op::logical_not : Op::negate, *operand, -1, 0, column_of_operator});
  }

  Expected<int> primary() {
    skip_space();
    if (at_ == text_.size()) return error("a size, an integer or '(' is missing at the end");
    if (is_digit(text_[at_])) return integer();
    if (is_letter(text_[at_])) return word();
    if (take("(")) return inside();
    return error("unexpected '{}'", printable(text_.substr(at_), 12));
  }

  Expected<int> inside() {
    if (++depth_ > kMaxDepth) return error("nested deeper than {}", kMaxDepth);
    auto node = level(0);
    --depth_;
    if (!node) return node;
    if (!take(")")) return error("')' is missing");
    return node;
  }

  Expected<int> integer() {
    const int start = column();
    std::int64_t number = 0;
    const auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (code != std::errc{}) return error("the integer does not fit 64 bits");
    at_ = static_cast<std::size_t>(end - text_.data());
    if (at_ < text_.size() && (is_letter(text_[at_]) || text_[at_] == '.')) return error("unexpected '{}' after an integer", text_[at_]);
    return add({Op::number, -1, -1, number, start});
  }

  Expected<int> word() {
    const int start = column();
    std::size_t end = at_;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
    const auto name = text_.substr(at_, end - at_);
    at_ = end;
    skip_space();
    if (at_ < text_.size() && text_[at_] == '(') return call(name, start);
    if (!is_identifier(name)) return wrong(text_, start, "a name has more than 64 characters", "shorten it");
    auto& names = out_.names_;
    const auto found = std::find(names.begin(), names.end(), name);
    const int index = static_cast<int>(found - names.begin());
    if (found == names.end()) names.emplace_back(name);
    return add({Op::name, index, -1, 0, start});
  }

  Expected<int> call(std::string_view name, int start) {
    const auto found = std::find_if(kFunctions.begin(), kFunctions.end(), [&](const Symbol& symbol) { return symbol.text == name; });
    if (found == kFunctions.end()) {
      constexpr std::array<std::string_view, 3> known{"min", "max", "ceil_div"};
      return wrong(text_, start, fmt::format("no function '{}'", printable(name)), suggestion(name, known));
    }
    take("(");
    if (++depth_ > kMaxDepth) return error("nested deeper than {}", kMaxDepth);
    auto left = level(0);
    if (!left) return left;
    if (!take(",")) return error("',' is missing: {} takes two arguments", name);
    auto right = level(0);
    if (!right) return right;
    --depth_;
    if (!take(")")) return error("')' is missing");
    for (const int side : {*left, *right})
      if (auto typed = require(side, false); !typed) return Unexpected(typed.error());
    return add({found->op, *left, *right, 0, start});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Expression out_;
};

Expected<Expression> Expression::parse(std::string_view text) { return ExpressionParser(text).run(false); }
Expected<Expression> Expression::parse_condition(std::string_view text) { return ExpressionParser(text).run(true); }

std::vector<Expression::Part> Expression::parts() const {
  constexpr std::array<std::string_view, 20> kSpelling{"", "", "-", "!", "+", "-", "*", "/", "%", "min", "max", "ceil_div", "<", "<=", ">", ">=", "==", "!=", "&&", "||"};
  std::vector<Part> out;
  for (const Node& node : nodes_) {
    if (node.op == Op::number) out.push_back({std::to_string(node.number)});
    else if (node.op == Op::name) out.push_back({names_[static_cast<std::size_t>(node.left)]});
    else out.push_back({std::string(kSpelling[static_cast<std::size_t>(node.op)]), node.left, node.right});
  }
  return out;
}

// Recursion is bounded by the length of the text (kMaxLength).
template <class Named>
Expected<std::int64_t> Expression::node_value(int index, const Named& named) const {
  const auto& node = nodes_[static_cast<std::size_t>(index)];
  if (node.op == Op::number) return node.number;
  if (node.op == Op::name) return named(node);
  auto left = node_value(node.left, named);
  if (!left || node.right < 0) return left ? combine(node, *left, 0) : left;
  if (node.op == Op::logical_and && *left == 0) return 0;
  if (node.op == Op::logical_or && *left != 0) return 1;
  auto right = node_value(node.right, named);
  return right ? combine(node, *left, *right) : right;
}

Expected<std::int64_t> Expression::value(const Sizes& sizes) const {
  return node_value(static_cast<int>(nodes_.size()) - 1, [&](const Node& node) -> Expected<std::int64_t> {
    const auto& name = names_[static_cast<std::size_t>(node.left)];
    if (const auto found = sizes.find(name); found != sizes.end()) return found->second;
    std::vector<std::string_view> known;
    for (const auto& [size, unused] : sizes) known.push_back(size);
    return wrong(text_, node.column, fmt::format("no size '{}'", name), suggestion(name, known));
  });
}

Expected<std::int64_t> Expression::value_of(std::span<const std::optional<std::int64_t>> numbers) const {
  return node_value(static_cast<int>(nodes_.size()) - 1, [&](const Node& node) -> Expected<std::int64_t> {
    const auto name = static_cast<std::size_t>(node.left);
    if (numbers[name]) return *numbers[name];
    return wrong(text_, node.column, fmt::format("no size '{}'", names_[name]), {});
  });
}

Expected<std::int64_t> Expression::combine(const Node& node, std::int64_t a, std::int64_t b) const {
  std::int64_t result = 0;
  bool overflow = false;
  const bool divides = node.op == Op::divide || node.op == Op::remainder || node.op == Op::ceil_div;
  if (divides && b == 0) return wrong(text_, node.column, "division by zero", "exclude such sizes with `where`");
  if (divides && a == std::numeric_limits<std::int64_t>::min() && b == -1) overflow = true;
  switch (overflow ? Op::number : node.op) {
    case Op::negate: overflow = __builtin_sub_overflow(std::int64_t{0}, a, &result); break;
    case Op::add: overflow = __builtin_add_overflow(a, b, &result); break;
    case Op::subtract: overflow = __builtin_sub_overflow(a, b, &result); break;
    case Op::multiply: overflow = __builtin_mul_overflow(a, b, &result); break;
    case Op::divide: result = a / b; break;
    case Op::remainder: result = a % b; break;
    case Op::ceil_div: result = a / b + (a % b != 0 && (a > 0) == (b > 0) ? 1 : 0); break;
    case Op::minimum: result = std::min(a, b); break;
    case Op::maximum: result = std::max(a, b); break;
    case Op::less: result = a < b; break;
    case Op::less_equal: result = a <= b; break;
    case Op::greater: result = a > b; break;
    case Op::greater_equal: result = a >= b; break;
    case Op::equal: result = a == b; break;
    case Op::not_equal: result = a != b; break;
    case Op::logical_not: result = a == 0; break;
    case Op::logical_and:
    case Op::logical_or: result = b != 0; break;  // the left side did not decide
    case Op::number:
    case Op::name: break;
  }
  if (overflow) return wrong(text_, node.column, "the result does not fit 64 bits", "use smaller sizes");
  return result;
}

Expected<std::int64_t> evaluate(std::string_view expression, const Sizes& sizes) {
  auto parsed = Expression::parse(expression);
  if (!parsed) return Unexpected(parsed.error());
  auto value = parsed->value(sizes);
  if (value && *value < 0)
    return wrong(expression, 1, fmt::format("the value is {}, an extent cannot be negative", *value), "exclude such sizes with `where`");
  return value;
}

Expected<bool> holds(std::string_view condition, const Sizes& sizes) {
  auto parsed = Expression::parse_condition(condition);
  if (!parsed) return Unexpected(parsed.error());
  auto value = parsed->value(sizes);
  if (!value) return Unexpected(value.error());
  return *value != 0;
}

}  // namespace kforge::task
