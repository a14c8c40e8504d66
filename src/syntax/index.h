// What a kernel reads and writes, and by which index: each access with its array and its index as a Polynomial of thread and block
// indices, sizes and loop variables. Locals that are set once are replaced by their value, pointers by their base and offset.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "syntax/polynomial.h"
#include "syntax/program.h"

namespace kforge::syntax {

enum class Space : std::uint8_t { global, shared, local, unknown };

struct Access {
  Node node;                 // the subscript_expression or pointer_expression
  Space space = Space::unknown;
  std::string base;          // the parameter's or array's name; "" when it is not known
  Polynomial index;          // in elements, of the innermost subscript's array
  std::vector<Polynomial> outer;  // of the other subscripts of s[a][b], left to right
  bool read = false, write = false, atomic = false;
};

class Indices {
 public:
  // REQUIRES: both outlive this.
  Indices(const Program& program, const Function& function) : program_(program), function_(function) {}
  Polynomial value(const Node& expression) const { return value(expression, 0); }
  std::vector<Access> accesses(const Node& scope) const;
  // True if it has the same value in all threads of a block.
  bool uniform(const Node& expression) const;

 private:
  const Program& program_;
  const Function& function_;
  // Names that are being resolved (a loop's variable may be its own source), and those that are known; by place of declaration.
  mutable std::set<std::size_t> open_;
  mutable std::map<std::size_t, Polynomial> known_;
  mutable std::map<std::string, std::vector<Node>, std::less<>> writes_;  // of the body's names, gathered once
  const std::vector<Node>& writes_of(std::string_view name) const;
  struct Place { Space space; std::string base; Polynomial offset; };
  Polynomial value(const Node& expression, int depth) const;
  Polynomial value_of_name(const Node& identifier, int depth) const;
  Polynomial value_of_declared(const std::string& name, const Node& declarator, int depth) const;
  Polynomial value_of_loop(const Node& loop, const Node& declarator, int depth) const;
  Polynomial made_of(const std::string& text, const std::vector<Node>& parts, int depth) const;
  Place place(const Node& pointer, int depth) const;
  Access access(const Node& node) const;
};

bool is_shared_array(const Node& declarator);
// Atoms that differ between the threads of a block.
bool differs_between_threads(const Polynomial& value);

}  // namespace kforge::syntax
