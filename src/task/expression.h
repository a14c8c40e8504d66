// Integer expressions and conditions over size names, as task files write them: "ceil_div(cols, 4) + 1", "cols % 4 == 0".
//
//   condition  := and { "||" and }            and     := compare { "&&" compare }
//   compare    := sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]
//   sum        := product { ("+" | "-") product }
//   product    := unary { ("*" | "/" | "%") unary }
//   unary      := "-" unary | "!" unary | primary
//   primary    := INTEGER | NAME | "(" condition ")" | ("min" | "max" | "ceil_div") "(" sum "," sum ")"
//
// Arithmetic is on 64-bit integers with every overflow an error; division truncates as in C; && and || do not
// evaluate what they need not. Truth and integers do not mix: "a + (b < c)" is an error.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "task/task.h"

namespace kforge::task {

class Expression {
 public:
  // Errors: bad_input; where.column counts from 1 inside `text`, where.file is empty.
  static Expected<Expression> parse(std::string_view text);            // an integer
  static Expected<Expression> parse_condition(std::string_view text);  // a truth value

  // The integer, of any sign; 0 or 1 for a condition. Errors: bad_input as evaluate(), negative results allowed.
  Expected<std::int64_t> value(const Sizes& sizes) const;
  // The same of numbers in the order of names(), some of which may be unknown: for whoever asks often.
  Expected<std::int64_t> value_of(std::span<const std::optional<std::int64_t>> numbers) const;

  // Names in order of first appearance, each once.
  const std::vector<std::string>& names() const { return names_; }

  // The tree, children before parents, the root last. A leaf is an integer or a name; else `text` is the operator or function of one or two parts.
  struct Part {
    std::string text;
    int left = -1, right = -1;
  };
  std::vector<Part> parts() const;

 private:
  friend class ExpressionParser;
  enum class Op : std::uint8_t {
    number, name, negate, logical_not, add, subtract, multiply, divide, remainder, minimum, maximum, ceil_div,
    less, less_equal, greater, greater_equal, equal, not_equal, logical_and, logical_or,
  };
  struct Node {
    Op op = Op::number;
    int left = -1, right = -1;   // nodes; of a name: `left` is its index in names_
    std::int64_t number = 0;
    int column = 0;              // of the operator or operand, from 1
  };
  static bool is_truth(Op op);
  template <class Named>   // Named: what a name's node stands for
  Expected<std::int64_t> node_value(int index, const Named& named) const;
  Expected<std::int64_t> combine(const Node& node, std::int64_t a, std::int64_t b) const;

  std::string text_;
  std::vector<Node> nodes_;  // children before parents; the root is the last
  std::vector<std::string> names_;
};

// Whether `where`-style condition holds. Errors: bad_input.
Expected<bool> holds(std::string_view condition, const Sizes& sizes);

// A letter or underscore, then letters, digits, underscores; at most 64 characters.
bool is_identifier(std::string_view text);

}  // namespace kforge::task
