// From a formula's words to its typed graph, by recursive descent; every error has line and column.
#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "task/formula_functions.h"
#include "task/formula_lexer.h"
#include "task/wording.h"

namespace kforge::task::formula {
namespace {

constexpr int kMaxDepth = 64;

struct Symbol {
  std::string_view text;
  Op op;
};
// Loosest first; "not" stands between and/or and the comparisons.
constexpr std::array<Symbol, 2> kOr{{{"or", Op::logical_or}, {"||", Op::logical_or}}};
constexpr std::array<Symbol, 2> kAnd{{{"and", Op::logical_and}, {"&&", Op::logical_and}}};
constexpr std::array<Symbol, 6> kCompare{{{"<", Op::less}, {"<=", Op::less_equal}, {">", Op::greater}, {">=", Op::greater_equal},
                                          {"==", Op::equal}, {"!=", Op::not_equal}}};
constexpr std::array<Symbol, 2> kSum{{{"+", Op::add}, {"-", Op::subtract}}};
constexpr std::array<Symbol, 3> kProduct{{{"*", Op::multiply}, {"/", Op::divide}, {"@", Op::matmul}}};
constexpr std::array<std::span<const Symbol>, 5> kLevels{kOr, kAnd, kCompare, kSum, kProduct};
constexpr std::size_t kCompareLevel = 2;

constexpr std::array<std::string_view, 7> kWords{"and", "or", "not", "true", "false", "True", "False"};
bool is_word(std::string_view text) { return std::find(kWords.begin(), kWords.end(), text) != kWords.end(); }

class Parser {
 public:
  Parser(std::string_view text, const Task& task, std::vector<Word> words) : text_(text), task_(task), builder_(task), words_(std::move(words)) {}

  Expected<Formula> run() {
    while (true) {
      while (peek().token == Token::line_end || is(";")) ++at_;
      if (peek().token == Token::end) break;
      if (auto done = statement(); !done) return Unexpected(done.error());
      if (peek().token != Token::end && peek().token != Token::line_end && !is(";")) return unexpected();
    }
    if (auto all = check_outputs(); !all) return Unexpected(all.error());
    return Formula{std::string(text_), builder_.take(), std::move(outputs_)};
  }

 private:
  const Word& peek() const { return words_[at_]; }
  bool is(std::string_view text) const {
    return (peek().token == Token::symbol || (peek().token == Token::name && is_word(text))) && peek().text == text;
  }
  bool take(std::string_view text) {
    if (!is(text)) return false;
    ++at_;
    return true;
  }
  Unexpected unexpected(std::string_view wanted = {}) const {
    const bool ends = peek().token == Token::end || peek().token == Token::line_end;
    const std::string found = ends ? "the end" : fmt::format("'{}'", printable(peek().text, 20));
    if (wanted.empty()) return wrong_formula(peek().place, fmt::format("unexpected {}", found), "statements are ended by ';' or a new line");
    return wrong_formula(peek().place, fmt::format("{} is expected, this is {}", wanted, found), "see docs/task-file.md, Formulas");
  }

  // ---- Statements

  Expected<void> statement() {
    const Word target = peek();
    if (target.token != Token::name || is_word(target.text)) return unexpected("a name to assign to");
    ++at_;
    if (!take("=")) return unexpected("'='");
    auto value = level(0);
    if (!value) return Unexpected(value.error());
    const std::string name(target.text);
    if (values_.contains(name)) return wrong_formula(target.place, fmt::format("'{}' is assigned twice", name), "give the second value another name");
    const auto tensor = std::find_if(task_.tensors.begin(), task_.tensors.end(), [&](const Tensor& t) { return t.name == name; });
    if (tensor != task_.tensors.end()) {
      if (auto stored = check_store(*tensor, *value, target.place); !stored) return stored;
      outputs_.push_back({name, *value});
    } else if (auto local = check_local(name, target.place); !local) {
      return local;
    }
    values_.emplace(name, *value);
    return {};
  }

  Expected<void> check_local(const std::string& name, Place place) {
    const auto scalar = std::find_if(task_.scalars.begin(), task_.scalars.end(), [&](const Scalar& s) { return s.name == name; });
    const bool size = std::find(builder_.sizes().begin(), builder_.sizes().end(), name) != builder_.sizes().end();
    if (scalar == task_.scalars.end() && !size) return {};
    return wrong_formula(place, fmt::format("'{}' is a {}: it cannot be assigned", name, size ? "size" : "scalar"), "choose another name");
  }

  Expected<void> check_store(const Tensor& tensor, NodeId value, Place place) {
    const Node& node = builder_[value];
    if (tensor.role == Role::in) return wrong_formula(place, fmt::format("'{}' is an input: it cannot be assigned", tensor.name), "role = \"out\" or \"inout\"");
    if (!node.shape.empty() && !same_shape(node.shape, tensor.shape))
      return wrong_formula(place, fmt::format("'{}' is declared {}, the formula gives {}", tensor.name, to_string(tensor.shape), to_string(node.shape)),
                           "the shapes must be equal; keepdims, expand and reductions over axis= change the formula's");
    const bool takes_real = is_float(tensor.dtype);
    if (takes_real || node.kind == Kind::boolean || (node.kind == Kind::integer && tensor.dtype != Dtype::boolean)) return {};
    return wrong_formula(place, fmt::format("'{}' is declared {}, the formula gives {}", tensor.name, task::name(tensor.dtype), name(node.kind)),
                         tensor.dtype == Dtype::boolean ? "a comparison gives truth values: x != 0" : "int(...) drops the fraction");
  }

  Expected<void> check_outputs() const {
    for (const Tensor& tensor : task_.tensors) {
      if (tensor.role == Role::in || values_.contains(tensor.name)) continue;
      return wrong_formula({}, fmt::format("the formula never assigns the output '{}'", tensor.name), fmt::format("{} = ...", tensor.name));
    }
    return {};
  }

  // ---- Expressions

  Expected<NodeId> apply(Op op, NodeId a, NodeId b, Place place) {
    if (op == Op::matmul) return builder_.matmul(a, b, place);
    return builder_.apply(op, {a, b}, place);
  }

  Expected<NodeId> level(std::size_t depth) {
    if (depth == kLevels.size()) return unary();
    if (depth == kCompareLevel && (is("not") || is("!"))) return logical_not();
    auto left = level(depth + 1);
    while (left) {
      const Word word = peek();
      const auto symbol = std::find_if(kLevels[depth].begin(), kLevels[depth].end(), [&](const Symbol& s) { return is(s.text); });
      if (symbol == kLevels[depth].end()) break;
      ++at_;
      auto right = level(depth + 1);
      if (!right) return right;
      left = apply(symbol->op, *left, *right, word.place);
      if (depth == kCompareLevel && left && peek().token == Token::symbol &&
          std::any_of(kCompare.begin(), kCompare.end(), [&](const Symbol& s) { return is(s.text); }))
        return wrong_formula(peek().place, "comparisons do not chain", "a < b and b < c");
    }
    return left;
  }

  Expected<NodeId> logical_not() {
    const Word word = words_[at_++];
    if (++depth_ > kMaxDepth) return too_deep();
    auto operand = level(kCompareLevel);
    --depth_;
    if (!operand) return operand;
    return builder_.apply(Op::logical_not, {*operand}, word.place);
  }

  Unexpected too_deep() const { return wrong_formula(peek().place, fmt::format("nested deeper than {}", kMaxDepth), "name the parts: m = ...; y = m * 2"); }

  Expected<NodeId> unary() {
    const Word word = peek();
    const bool minus = is("-");
    if (!minus && !is("+")) return power();
    ++at_;
    if (++depth_ > kMaxDepth) return too_deep();
    auto operand = unary();
    --depth_;
    if (!operand || !minus) return operand;
    const Node& node = builder_[*operand];
    if (node.op == Op::constant && node.kind != Kind::boolean) return builder_.constant(-node.number, node.kind, word.place);
    return builder_.apply(Op::negate, {*operand}, word.place);
  }

  // Small integer powers are products: exact, cheap, and integers of integers.
  Expected<NodeId> power() {
    auto base = primary();
    if (!base || !is("**")) return base;
    const Word word = words_[at_++];
    auto exponent = unary();
    if (!exponent) return exponent;
    const Node& e = builder_[*exponent];
    if (e.op == Op::constant && e.number == 0.5) return builder_.apply(Op::sqrt, {*base}, word.place);
    if (e.op != Op::constant || e.kind == Kind::boolean || (e.number != 2 && e.number != 3 && e.number != 4))
      return builder_.apply(Op::power, {*base, *exponent}, word.place);
    auto square = builder_.apply(Op::multiply, {*base, *base}, word.place);
    if (!square || builder_[*exponent].number == 2) return square;
    return builder_.apply(Op::multiply, {*square, builder_[*exponent].number == 3 ? *base : *square}, word.place);
  }

  Expected<NodeId> primary() {
    const Word word = peek();
    if (word.token == Token::integer || word.token == Token::real) {
      ++at_;
      return builder_.constant(word.number, word.token == Token::integer ? Kind::integer : Kind::real, word.place);
    }
    if (take("true") || take("True")) return builder_.constant(1, Kind::boolean, word.place);
    if (take("false") || take("False")) return builder_.constant(0, Kind::boolean, word.place);
    if (word.token == Token::name && !is_word(word.text)) {
      ++at_;
      if (is("(")) return call(word);
      return value_of(word);
    }
    if (!take("(")) return unexpected("a value");
    if (++depth_ > kMaxDepth) return too_deep();
    auto inside = level(0);
    --depth_;
    if (!inside) return inside;
    if (!take(")")) return unexpected("')'");
    return inside;
  }

  Expected<NodeId> value_of(const Word& word) {
    if (const auto known = values_.find(std::string(word.text)); known != values_.end()) return known->second;
    const auto tensor = std::find_if(task_.tensors.begin(), task_.tensors.end(), [&](const Tensor& t) { return t.name == word.text; });
    if (tensor != task_.tensors.end() && tensor->role == Role::out)
      return wrong_formula(word.place, fmt::format("the output '{}' is read before it is assigned", word.text), "role = \"inout\" gives it a value from the start");
    if (const auto node = builder_.named(word.text, word.place)) return *node;
    std::vector<std::string_view> known;
    for (const Tensor& t : task_.tensors) known.push_back(t.name);
    for (const Scalar& s : task_.scalars) known.push_back(s.name);
    for (const std::string& s : builder_.sizes()) known.push_back(s);
    for (const auto& [local, unused] : values_) known.push_back(local);
    return wrong_formula(word.place, fmt::format("no tensor, scalar, size or local '{}'", printable(word.text)), suggestion(word.text, known));
  }

  // ---- Calls

  Expected<NodeId> call(const Word& word) {
    auto function = find_function(word.text, word.place);
    if (!function) return Unexpected(function.error());
    take("(");
    if (++depth_ > kMaxDepth) return too_deep();
    Call call{word.text, word.place, {}, {}, false};
    while (!is(")")) {
      if (auto done = argument(call, **function); !done) return Unexpected(done.error());
      if (!is(")") && !take(",")) return unexpected("',' or ')'");
    }
    ++at_;
    --depth_;
    const auto count = static_cast<int>(call.operands.size());
    const FunctionRow& row = **function;
    if (count < row.fewest || count > row.most)
      return wrong_formula(word.place, fmt::format("{} takes {} operand{}, here are {}", row.name,
                                                   row.fewest == row.most ? fmt::format("{}", row.fewest) : fmt::format("{} to {}", row.fewest, row.most),
                                                   row.most == 1 ? "" : "s", count),
                           row.takes_axis && count == row.most + 1 ? fmt::format("the axis has a name: {}(x, axis=1)", row.name) : "");
    return row.make(builder_, call);
  }

  Expected<void> argument(Call& call, const FunctionRow& row) {
    if (is("[")) return list(call, row);
    const bool named = peek().token == Token::name && words_[at_ + 1].token == Token::symbol && words_[at_ + 1].text == "=";
    if (!named) {
      auto operand = level(0);
      if (!operand) return Unexpected(operand.error());
      call.operands.push_back(*operand);
      return {};
    }
    const Word key = peek();
    at_ += 2;
    if (key.text == "axis" && row.takes_axis) return is("[") ? list(call, row) : one_axis(call);
    if (key.text == "keepdims" && row.takes_keepdims) {
      call.keepdims = is("true") || is("True");
      if (!call.keepdims && !is("false") && !is("False")) return unexpected("true or false");
      ++at_;
      return {};
    }
    return wrong_formula(key.place, fmt::format("{} takes no '{}'", row.name, printable(key.text)),
                         row.takes_keepdims ? "known: axis, keepdims" : row.takes_axis ? "known: axis" : "it takes operands only");
  }

  Expected<void> list(Call& call, const FunctionRow& row) {
    if (!row.takes_axis) return wrong_formula(peek().place, fmt::format("{} takes no list", row.name));
    if (!call.axes.empty()) return wrong_formula(peek().place, "the axes are given twice");
    take("[");
    while (!take("]")) {
      if (auto axis = one_axis(call); !axis) return axis;
      if (!is("]") && !take(",")) return unexpected("',' or ']'");
    }
    if (call.axes.empty()) return wrong_formula(call.place, "the list of axes is empty", "leave axis out to take all of them");
    return {};
  }

  Expected<void> one_axis(Call& call) {
    const bool negative = take("-");
    if (peek().token != Token::integer || peek().number > 64) return unexpected("an axis (a small integer)");
    call.axes.push_back(static_cast<std::int64_t>(negative ? -peek().number : peek().number));
    ++at_;
    return {};
  }

  std::string_view text_;
  const Task& task_;
  Builder builder_;
  std::vector<Word> words_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::map<std::string, NodeId> values_;   // locals and assigned outputs
  std::vector<Assignment> outputs_;
};

}  // namespace

std::string_view name(Kind kind) {
  constexpr std::array<std::string_view, 3> kNames{"a truth value", "an integer", "a real number"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string to_string(const Shape& shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) out += (i > 0 ? ", " : "") + shape[i];
  return out + "]";
}

Expected<Formula> parse(std::string_view text, const Task& task) {
  auto words = split_formula(text);
  if (!words) return Unexpected(words.error());
  return Parser(text, task, std::move(*words)).run();
}

Expected<Formula> of(const Task& task) { return parse(task.formula, task); }

}  // namespace kforge::task::formula
