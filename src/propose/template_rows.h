// Computations along rows: outer dimensions index a row, reductions run over its inner dimensions, outputs are elements of the row or one
// value of it. Softmax, norms, row sums, arg-reductions, matrix times vector: one canonical form for all of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "propose/template_binding.h"

namespace kforge::propose {

// Nested reductions with one operation are one, over several variables.
struct Reduction {
  Term::Kind kind = Term::Kind::reduce;
  std::string op;
  std::vector<std::string> variables;
  std::vector<TermPtr> extents;
  TermPtr body;                    // over #k and @k
  TermPtr term;                    // as it stands in other terms
  int level = 0;                   // 0: its body needs no other reduction
};

// How a tensor is read.
enum class Reading { element, column, row, single };

struct RowOutput {
  std::string tensor;
  bool is_element = false;         // else one value a row
  TermPtr value;
};

// Outer variables are named "#0", "#1"..., inner ones "@0"...
struct RowForm {
  std::vector<TermPtr> outer, inner;            // extents
  std::vector<Reduction> reductions;            // in order of level
  std::vector<RowOutput> outputs;
  std::map<std::string, Reading> readings;      // by tensor
};
// Whether memory runs along a row, or across it: of a matrix that is reduced along its first axis each column is such a row.
enum class Order { along, across };
std::optional<RowForm> row_form(const Computation& computation, Order order = Order::along);

TermPtr renamed(const TermPtr& term, const std::string& from, const std::string& to);
// The plain index variables of a store or load, or nothing. Extents that are the literal 1 may be indexed by 0: such a variable is "".
std::optional<std::vector<std::string>> plain_index(const std::vector<TermPtr>& index);
// A store whose index is each of its loops' variables once, over the whole tensor.
bool covers_tensor(const LiftedStore& store, const task::Task& task);
Reduction flattened(const TermPtr& term);

// Text of the neutral element and of "a op b".
std::string identity_text(const Reduction& reduction, const task::Task& task);
std::string combine_text(const Reduction& reduction, const task::Task& task, const std::string& a, const std::string& b);
std::string reduction_type(const Reduction& reduction, const task::Task& task);

}  // namespace kforge::propose
