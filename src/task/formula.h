// Formulas: what a kernel computes, said as "y = gelu(x * w + b)" in the task file. From one typed graph come the float64 reference
// that candidates are compared with (formula_reference.cc), a plain CUDA kernel to start from (formula_naive.cc), the CUDA expressions
// that templates fill in (formula_cuda.h) and an interpreter that is the tests' oracle (formula_evaluate.cc).
//
//   formula    := statement { (";" | NEWLINE) statement }          statement  := NAME "=" or
//   or         := and { ("or" | "||") and }                        and        := not { ("and" | "&&") not }
//   not        := ("not" | "!") not | compare                      compare    := sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]
//   sum        := product { ("+" | "-") product }                  product    := unary { ("*" | "/" | "@") unary }
//   unary      := ("-" | "+") unary | power                        power      := primary [ "**" unary ]
//   primary    := NUMBER | "true" | "false" | NAME | "(" or ")" | NAME "(" [ argument { "," argument } ] ")"
//   argument   := [ NAME "=" ] ( or | "[" INTEGER { "," INTEGER } "]" )
//
// A name is a tensor, a scalar, a size, or a local that an earlier statement gave. `#` begins a comment.
//
// Shapes are lists of size expressions. Operands broadcast by numpy's rules: aligned at the last axis, an extent that is the literal
// 1 stretches. Extents are equal when they are equal for all sizes. Besides, a result of a reduction without keepdims takes the
// axes that it lost back (with extent 1) where it meets an operand that has them: x - max(x, axis=1) is by row. Where both readings
// fit and differ (square shapes) the formula is ambiguous and refused.
//
// Kinds: truth values, integers, reals. Integers stay integers under + - * min max abs sum; "/" and every function of analysis gives
// reals. A real is stored to an integer tensor only through int(), floor() and the like are reals.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "task/formula_ops.h"
#include "task/task.h"

namespace kforge::task::formula {

using NodeId = std::int32_t;
inline constexpr NodeId kNoNode = -1;

enum class Kind : std::uint8_t { boolean, integer, real };
std::string_view name(Kind kind);   // "a truth value", "an integer", "a real number"

// Extents as size expressions, outermost first; "1" stretches. A rank of 0 is one number.
using Shape = std::vector<std::string>;
std::string to_string(const Shape& shape);   // "[rows, cols]"

// One operation. Children stand before their parents in Formula::nodes; equal operations are one node.
struct Node {
  Op op = Op::constant;
  Kind kind = Kind::real;
  Shape shape;
  std::vector<NodeId> inputs;
  double number = 0;              // constant
  std::string name;               // tensor, scalar, size; arange: its extent (a size expression)
  // Reductions and scans: axes of the input, ascending. permute: output axis i is input axis axes[i]. align: output axis i is input
  // axis axes[i], or -1 for an axis of extent 1 that is put in.
  std::vector<int> axes;
  int line = 1, column = 1;       // in the formula
};

struct Assignment {
  std::string tensor;             // out or inout, each once
  NodeId value = kNoNode;
};

struct Formula {
  std::string text;
  std::vector<Node> nodes;
  std::vector<Assignment> outputs;   // in the order of the statements
  const Node& operator[](NodeId id) const { return nodes[static_cast<std::size_t>(id)]; }
};

// Parses, types and checks `text` against the task's tensors (names, roles, dtypes, shapes) and scalars; task.formula is not read.
// Errors: bad_input; where.line and where.column count from 1 inside `text`, where.file is empty.
Expected<Formula> parse(std::string_view text, const Task& task);

// task.formula parsed. REQUIRES: the task has one; a task that was read from a file has a formula that parses.
Expected<Formula> of(const Task& task);

// ---- Structure

// How an operation's operand is indexed from the operation's own index space: dimension of the space per axis, or -1 where the axis has
// extent 1. The operand is aligned at the last axis.
std::vector<int> broadcast_axes(const Shape& operand, const Shape& space);

// Nodes that `root` needs, children first, `root` last; stops at (and includes) reductions, scans and products when `through_reductions`
// is false.
std::vector<NodeId> reachable(const Formula& formula, NodeId root, bool through_reductions = true);

enum class Structure : std::uint8_t {
  element_wise,     // each output element from the elements at the same (broadcast) index
  row_reduction,    // reductions over one and the same set of trailing axes, then nothing or element-wise work: sums, softmax, norms
  reduction,        // reductions over other axes
  scan,
  matmul,           // one product, perhaps with an element-wise prologue and epilogue
  permutation,      // axes change places, no arithmetic across elements
  mixed,
};
std::string_view name(Structure structure);
Structure structure(const Formula& formula);

// The steps of a row_reduction, in order of dependency. REQUIRES: structure() == row_reduction.
struct RowReduction {
  Shape outer, inner;                  // kept axes, reduced axes
  std::vector<NodeId> reductions;      // each may use the ones before it
  bool outputs_rows = false;           // some output has the inner axes (softmax); else only reduced values (sum)
};
RowReduction row_reduction(const Formula& formula);

// Arithmetic of one run, a multiply-add as two. Special functions and divisions count as one.
double operations(const Formula& formula, const Sizes& sizes);

// Length of the longest sum or product as a size expression, "" when the formula has none: the default of [numerics] reduction.
std::string reduction_length(const Formula& formula);

// ---- Oracle and sources

// Values by interpretation in double, an output each, row-major without strides. `inputs`: of in and inout tensors, the same way. For small sizes:
// every intermediate result is kept. Errors: bad_input (an input that is missing or has another length; more than 2^28 elements).
Expected<std::map<std::string, std::vector<double>>> evaluate(const Formula& formula, const Task& task, const Sizes& sizes,
                                                              const std::map<std::string, std::vector<double>>& inputs);

// C++17 that computes the task in double, with the interface of a reference (docs/task-file.md).
Expected<std::string> to_reference_source(const Task& task);
// CUDA that is right at every size and slow: one thread an output element, or a row where rows are reduced.
Expected<std::string> to_naive_source(const Task& task);

// The same, written into the cache under a name that depends on their text; the path. Errors: failed (the cache).
Expected<std::string> write_reference(const Task& task);
Expected<std::string> write_naive(const Task& task);

}  // namespace kforge::task::formula
