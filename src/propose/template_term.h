// What one output element is, as a formula: a shared tree over loads, sizes, scalars and index variables, with reductions and scans as
// nodes of their own. It is the form in which templates know a computation, wherever it came from (a reference that was lifted,
// template_lift.h, or a task's formula).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/polynomial.h"

namespace kforge::propose {

struct Term;
using TermPtr = std::shared_ptr<const Term>;

struct Term {
  enum class Kind {
    number,      // text: the literal, without suffix
    size,        // text: a size of the task (an integer)
    scalar,      // text: a scalar of the task
    index,       // text: an index variable (an integer)
    load,        // text: tensor; args: one index a dimension
    unary,       // text: - ! ~
    binary,      // text: the operator of C++
    select,      // args: condition, yes, no
    call,        // text: a function of <cmath>, or max, min, clamp
    to_real,     // a cast to a floating type
    to_integer,  // a cast to an integer type
    to_bool,
    reduce,      // text: sum product max min or and; args: body, extent; variable: index variable of the body
    arg_reduce,  // text: max or min: the first index at which the body has it; args and variable as reduce
    scan,        // text: inclusive or exclusive sum; args: body; variable: the position that runs
    carried,     // a value of the loop iteration before; none is left in a lifted computation
  };
  Kind kind = Kind::number;
  std::string text;
  std::vector<TermPtr> args;
  std::string variable;
};

TermPtr make_term(Term::Kind kind, std::string text, std::vector<TermPtr> args = {}, std::string variable = {});
TermPtr number_term(std::int64_t value);
TermPtr binary_term(std::string op, TermPtr left, TermPtr right);   // folds integers and + 0, * 1
TermPtr select_term(TermPtr condition, TermPtr yes, TermPtr no);    // a + b or a, by a condition, is a + (b or 0)

// Equal text for equal structure. Not for people.
std::string key_of(const TermPtr& term);
// For people and tests: "(x[i, j] + max_c{x[i, c], cols})".
std::string readable(const TermPtr& term);
bool same(const TermPtr& a, const TermPtr& b);
bool contains(const TermPtr& term, const std::function<bool(const Term&)>& test);
// The tree with each node for which `change` gives a value replaced by it (its inside is not visited then).
TermPtr rewrite(const TermPtr& term, const std::function<TermPtr(const TermPtr&)>& change);
std::optional<std::int64_t> integer_of(const TermPtr& term);
// Whether it is an integer whatever the tensors' types are: loads and scalars are not known to be.
bool is_integer_valued(const TermPtr& term);
// The integer type of fewer than 32 bits that C++ calls so, as CUDA C++ spells it ("unsigned char" of "uint8_t"); "" for others.
std::string_view narrow_integer(std::string_view type);

// As a sum of products over sizes, index variables and other integer terms ("atoms", by key). `atoms` gets the term of each factor.
syntax::Polynomial polynomial_of(const TermPtr& term, std::map<std::string, TermPtr>& atoms);
// REQUIRES: `polynomial` is known.
TermPtr term_of(const syntax::Polynomial& polynomial, const std::map<std::string, TermPtr>& atoms);

// `flat` as one index a dimension of an array with these strides: flat = sum of index[k] * stride[k], by dividing each monomial by the
// first stride that divides it. Nothing when a monomial is left, a stride is no monomial, or one of them is unknown.
std::optional<std::vector<TermPtr>> split_index(const TermPtr& flat, const std::vector<syntax::Polynomial>& strides, std::map<std::string, TermPtr> atoms);

}  // namespace kforge::propose
