// A reference's C++ as a small tree of what loop nests over arrays are written in, read from the syntax tree (syntax/tree.h). The planner
// follows it (pattern_walk.h) and templates are lifted out of it (template_lift.h). What lies outside the subset becomes `opaque`, which
// the planner passes over and the lifting refuses; no text is an error. Variables of a struct of arithmetic members are those members, each a
// variable named "best.value": where they are declared, set, copied and handed to functions.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kforge::propose::reference {

struct Statement;
struct Declared;

struct Expression {
  enum class Kind { opaque, number, name, unary, postfix, binary, assign, conditional, call, cast, index, member, list, lambda } kind = Kind::opaque;
  std::string text;                  // number as written; name ("numeric_limits::max": without std:: and template arguments); operator; member's name; cast's type
  std::vector<Expression> parts;     // call: the callee, then arguments; index: array, subscript; member: object; list: of {a, b} or a, b
  std::vector<Declared> parameters;                  // lambda
  std::shared_ptr<std::vector<Statement>> body;      // lambda
};

struct Declared {
  std::string name;                  // "" of auto [a, b]
  std::string type;                  // "unsigned long", "float", "auto": without qualifiers and stars; "" when it is no arithmetic type
  bool pointer = false;              // T* or T[]: its value is an address
  bool container = false;            // vector, array, local array
  bool reference = false;
  std::vector<Expression> initial;   // none, one, or a constructor's arguments
};

struct Statement {
  enum class Kind { block, expression, declaration, loop, range_loop, branch, leave, result, opaque } kind = Kind::block;
  std::vector<Statement> first;      // loop: its initialisation; branch: what is done when true; block: its statements
  std::vector<Statement> body;       // loop: what is repeated; branch: the other way
  std::vector<Expression> condition; // loop, branch, result, expression: none or one; range_loop: the range
  std::vector<Expression> step;      // loop
  std::vector<Declared> declared;    // declaration; range_loop: its variable
};

struct Function {
  std::string name;
  std::vector<Declared> parameters;
  std::vector<Statement> body;
  bool parses = true;                // no part of it is a syntax error
};

enum class Casts { keep, drop };

// All functions with a body, in order of the text; members of classes among them. Errors: as syntax::Tree::parse (no grammar here).
Expected<std::vector<Function>> functions_of(std::string_view text, Casts casts);
// The one of that name; null when there is none.
const Function* find(const std::vector<Function>& functions, std::string_view name);

// "max" of "numeric_limits::max".
std::string_view last_name(std::string_view name);

}  // namespace kforge::propose::reference
