// A reference's C++ as a tree: the subset that loop nests over arrays are written in. What is outside the subset becomes an opaque
// expression; nothing here fails on what a compiler takes, and a text of any kind ends in a tree.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kforge::propose::pattern {

struct Statement;

struct Expression {
  enum class Kind { opaque, number, name, unary, postfix, binary, assign, conditional, call, index, member, list, lambda } kind = Kind::opaque;
  std::string text;                  // number, name (std:: dropped), operator, member's name
  std::vector<Expression> parts;     // call: the callee, then arguments; index: array, subscript; member: object
  std::vector<std::string> parameters;               // lambda
  std::shared_ptr<std::vector<Statement>> body;      // lambda
};

struct Declared {
  std::string name;
  bool pointer = false;              // T* or T[]: its value is an address
  bool container = false;            // vector, array
  bool reference = false;
  std::vector<Expression> initial;   // none, one, or a constructor's arguments
};

struct Statement {
  enum class Kind { block, expression, declaration, loop, range_loop, branch, leave, result } kind = Kind::block;
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
};

// All functions with a body, in order of the text; members of classes among them.
std::vector<Function> parse_functions(std::string_view text);

}  // namespace kforge::propose::pattern
