// What a CUDA file consists of: its functions, its kernel launches, its named constants; and where a name was declared.
//
// This is a view on the tree, not a compiler: templates are not instantiated and macros are not expanded. A question that the text cannot
// answer is answered cautiously ("may be written").
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/tree.h"

namespace kforge::syntax {

struct Parameter {
  Node node;                // the parameter_declaration
  Node identifier;
  std::string name;
  std::string element;      // "float" of `const float* __restrict__ x`, "int" of `int n`
  bool pointer = false;     // exactly one star
  bool reference = false;
  bool is_const = false;    // of what is pointed to
  bool restricted = false;
};

struct Function {
  Node definition, declarator, identifier, parameter_list, body;
  std::string name;
  std::vector<Parameter> parameters;
  bool global = false;      // a kernel
  bool device = false;
  bool is_template = false;

  const Parameter* find(std::string_view parameter) const;
};

struct Launch {
  Node call;                // kernel<<<grid, block, shared, stream>>>(arguments)
  std::string kernel;
  Node grid, block, shared, stream;  // null where left out
  std::vector<Node> arguments;
  Node host_body;           // of the function that launches
};

class Program {
 public:
  // Errors: as Tree::parse.
  static Expected<Program> parse(std::string source);

  const Tree& tree() const { return tree_; }
  const std::string& source() const { return tree_.source(); }
  const std::vector<Function>& functions() const { return functions_; }
  const std::vector<Launch>& launches() const { return launches_; }
  std::vector<const Function*> kernels() const;                   // that parse without an error
  const Function* find(std::string_view function) const;          // the only one of that name; null when there is none or several
  std::vector<const Launch*> launches_of(std::string_view kernel) const;

  // The integer that an expression is whatever runs: literals, `constexpr int` and `#define` names, + - * / %.
  std::optional<std::int64_t> constant(const Node& expression) const;
  bool is_macro(std::string_view name) const { return macros_.contains(std::string(name)); }
  bool has_word(std::string_view word) const;
  // `wanted`, or with _2, _3, ... the first that occurs nowhere in the file.
  std::string fresh_name(std::string_view wanted) const;

 private:
  Tree tree_;
  std::vector<Function> functions_;
  std::vector<Launch> launches_;
  std::map<std::string, std::string> macros_;
  std::map<std::string, Node> constants_;
  std::string constant_text(std::string_view name) const;
  void collect(const Node& node, bool is_template);
};

// The declarator (init_declarator, array_declarator, pointer_declarator, identifier) that a use of a name refers to, in its function;
// null when it is declared elsewhere. A parameter gives its parameter_declaration.
Node declarator_of(const Node& identifier);
std::string declared_name(const Node& declarator);
// "float" of `const float v = 1`; qualifiers and storage classes left out.
std::string declared_type(const Node& declarator);
Node initial_value(const Node& declarator);   // null when there is none

// Identifiers of that name below a node, fields left out.
std::vector<Node> uses(const Node& scope, std::string_view name);
// True when an identifier node is assigned to, incremented, or has its address taken (an element of it does not count).
bool is_write(const Node& identifier);
bool may_be_written(const Node& scope, std::string_view name);

}  // namespace kforge::syntax
