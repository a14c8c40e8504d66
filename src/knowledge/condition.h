// Conditions of rules on measured quantities: "memory_l1_wavefronts_shared > memory_l1_wavefronts_shared_ideal".
//
//   condition := and { "||" and }      and     := compare { "&&" compare }
//   compare   := sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]
//   sum       := product { ("+" | "-") product }
//   product   := unary { ("*" | "/") unary }
//   unary     := "-" unary | NUMBER | NAME | "(" condition ")"
//
// NAME is a letter or underscore, then letters, digits, underscores and dots: metric names of Nsight Compute as they are. Arithmetic is
// in double precision. A quantity that is not known makes what depends on it unknown; `false && unknown` is false all the same.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kforge/knowledge.h"

namespace kforge::knowledge {

class Condition {
 public:
  // Errors: bad_input; where.column counts from 1 inside `text`.
  static Expected<Condition> parse(std::string_view text);

  // Nothing: a quantity that decides is not known, or a division by zero.
  std::optional<bool> holds(const Quantities& quantities) const;
  const std::vector<std::string>& names() const { return names_; }   // in order of first appearance, each once

 private:
  friend class ConditionParser;
  enum class Op : unsigned char { number, name, negate, add, subtract, multiply, divide, less, less_equal, greater, greater_equal, equal, not_equal, both, either };
  struct Node { Op op; int left = -1, right = -1; double number = 0; };
  std::optional<double> value(int index, const Quantities& quantities) const;

  std::vector<Node> nodes_;   // children before parents; the root is the last
  std::vector<std::string> names_;
};

// Names that a condition may use: metrics of evidence/metric.h, "sheet.KEY" of data sheets, and the list in docs/knowledge.md.
bool is_known_quantity(std::string_view name);
std::vector<std::string> known_quantities();

}  // namespace kforge::knowledge
