// What transformations ask of a kernel: how it is launched, which statements guard it, whether an expression may be moved.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "propose/transform.h"
#include "syntax/index.h"
#include "syntax/program.h"

namespace kforge::propose {

// The expressions of a grid or a block, x first; absent ones are 1.
struct Extent {
  std::vector<syntax::Node> parts;
  syntax::Node container;     // (a, b) of dim3 block(a, b); or the whole expression of one number
  bool own = false;           // what `container` stands in serves this launch alone: it may be edited
};

struct LaunchView {
  const syntax::Launch* launch = nullptr;
  Extent grid, block;
};

struct KernelView {
  const syntax::Program* program = nullptr;
  const syntax::Function* kernel = nullptr;
  syntax::Indices indices;
  std::vector<LaunchView> launches;
  std::vector<syntax::Access> accesses;

  // The same in all launches, and known; nothing otherwise or when there is no launch.
  std::optional<std::int64_t> block(std::size_t axis) const;
  std::optional<std::int64_t> threads() const;
  bool one_dimensional() const;                 // y and z of every block are 1, and no index but x is used
  bool uses_shared() const;
  bool has(std::string_view text) const;        // the body's text contains it
};

// Of every kernel that parses, is launched, and has no preprocessor conditional in its body. Made once for a Known.
// REQUIRES: `known` is of this program, which outlives the views.
const std::vector<KernelView>& kernel_views(const syntax::Program& program, const Known& known);

Extent extent_of(const syntax::Program& program, const syntax::Node& expression);

// "threadIdx.x" and the like, by axis.
std::string thread_index(std::size_t axis);
std::string block_index(std::size_t axis);

// `if (condition) return;` at the top of a body, or an `if` that holds all the rest of it.
struct Guard {
  syntax::Node statement, condition;   // of the if; condition without its parentheses
  bool returns = false;                // true: what follows runs where the condition is false
};
std::optional<Guard> guard_of(const syntax::Node& body);

// No side effect, nothing but values known to C and CUDA's mathematical functions, and the file's __device__ functions that
// take everything by value or by pointer to const.
bool is_pure(const syntax::Program& program, const syntax::Node& expression);
bool is_mathematical(std::string_view function);

// The one simple counted loop `for (T i = first; i < last; ++i)` (also <=, i++, i += 1).
struct CountedLoop {
  syntax::Node loop, declarator, first, last, condition, update, body;
  std::string variable;
  bool inclusive = false;
};
std::optional<CountedLoop> counted_loop(const syntax::Node& loop);

std::vector<syntax::Node> statements_of(const syntax::Node& body);  // of a compound statement, or the one statement itself
// The #pragma unroll that stands before a loop; null when there is none.
syntax::Node pragma_of(const syntax::Node& loop);
// Puts a statement on a line of its own before a loop and its pragma.
void insert_before_loop(const syntax::Node& loop, const std::string& statement, syntax::Edits& edits);
// Where new lines may follow a statement: behind a comment that stands on its last line.
std::size_t place_after(const syntax::Program& program, const syntax::Node& statement);
std::string text_of(const syntax::Node& node);
// The expression in parentheses unless it needs none as an operand.
std::string operand(const syntax::Node& expression);

// `name` with the occurrences in `node` replaced by `by`; the text of the node otherwise.
std::string with_replaced(const syntax::Node& node, std::string_view name, const std::string& by);

// The changed program as a rewrite, or nothing if edits overlap or it has more syntax errors than before.
std::vector<Rewrite> finished(const syntax::Program& program, const syntax::Edits& edits, std::string title, double gain);

// The type's size in bytes and its short vector's name ("float4" for 4 floats); 0 and "" for types without one.
struct VectorType { std::size_t bytes = 0; std::size_t lanes = 0; std::string_view name; };
VectorType vector_type(std::string_view element);
bool is_arithmetic_type(std::string_view type);

// "(n + 255) / 256" and its kin: the quantity that is divided, rounding up, and the divisor's node.
struct CeilDivision {
  std::string quantity;
  syntax::Node divisor, addend;   // addend is the expression added before the division
};
std::optional<CeilDivision> ceil_division(const syntax::Program& program, const syntax::Node& expression);

}  // namespace kforge::propose
