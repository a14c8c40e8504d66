// The functions that formulas call: one row each, with the arguments that it takes and what it becomes.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "task/formula_builder.h"

namespace kforge::task::formula {

// Arguments of a call, sorted out by the parser.
struct Call {
  std::string_view name;
  Place place;
  std::vector<NodeId> operands;
  std::vector<std::int64_t> axes;   // axis=1, axis=[0, 1], or a list in brackets; empty: not given
  bool keepdims = false;
};

struct FunctionRow {
  std::string_view name;
  int fewest = 1, most = 1;         // operands
  bool takes_axis = false, takes_keepdims = false;
  Expected<NodeId> (*make)(Builder& builder, const Call& call);
};

std::span<const FunctionRow> function_table();
// The row; bad_input with the nearest name.
Expected<const FunctionRow*> find_function(std::string_view name, Place place);

}  // namespace kforge::task::formula
