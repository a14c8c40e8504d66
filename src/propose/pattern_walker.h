// The abstract run that pattern_walk.h promises. Its statements are run in pattern_walk.cc, its expressions in pattern_expressions.cc,
// calls of functions and algorithms in pattern_calls.cc. Only those three include this.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "propose/pattern_walk.h"
#include "propose/reference_source.h"

namespace kforge::propose::pattern {

using reference::Declared;
using reference::Expression;
using reference::Function;
using reference::Statement;
using syntax::Polynomial;

inline constexpr int kMaxSteps = 200000, kMaxCalls = 12;

struct Value {
  enum class Kind { integer, address, data, function } kind = Kind::integer;
  Polynomial poly;                  // integer; address: the offset
  std::string array;                // address
  Origin origin;                    // data
  std::vector<int> factors;         // data: a product of these loads
  int load = -1;                    // data: exactly this load
  int identity = 0;                 // equal values have equal numbers; 0: none
  bool one = false;                 // the constant 1
  const Expression* lambda = nullptr;
};

inline Value integer(Polynomial poly) {
  Value out;
  out.poly = std::move(poly);
  return out;
}
inline Value data() {
  Value out;
  out.kind = Value::Kind::data;
  return out;
}

struct Variable {
  Value value;
  std::size_t depth = 0;            // loops around its declaration
};

template <class List>
bool has(const List& list, std::string_view word) { return std::find(list.begin(), list.end(), word) != list.end(); }

class Walker {
 public:
  Walker(const std::vector<Function>& functions, Facts& facts) : functions_(functions), facts_(facts) {}
  void run(const Function& function);

 private:
  struct Change { std::string name; Polynomial by; };          // at each turn of a loop
  struct Place { Value address; bool by_data = false; };       // of an element

  Variable* find(const std::string& name);
  std::string fresh_counter(const std::string& wanted);
  bool guarded() const { return guards_ > 0; }

  // Statements
  void block(const std::vector<Statement>& statements);
  void run_statement(const Statement& statement);
  void declare(const Declared& one);
  void branch(const Statement& statement);
  void loop(const Statement& statement);
  void range_loop(const Statement& statement);
  bool constant_bound(const Statement& statement);
  void changes_in(const Expression& e, bool nested, std::vector<Change>& out);
  void changes_in(const std::vector<Statement>& statements, bool nested, std::vector<Change>& out);
  void gathers_in(const Expression& e, std::set<std::string>& out);
  void gathers_in(const std::vector<Statement>& statements, std::set<std::string>& out);
  bool simple(const Expression& e, Polynomial& out);

  // Accesses
  Value load(const Value& address, bool by_data = false);
  bool place(const Expression& e, Place& out);
  void store(const Place& to, const Value& from, const std::string& op, bool self);

  // Expressions
  Value value(const Expression& e);
  Value name(const Expression& e);
  void change(const Expression& target, const std::string& op);
  Value unary(const Expression& e);
  Value binary(const Expression& e);
  Value combined(const std::string& op, const Value& a, const Value& b);
  Value conditional(const Expression& e);
  Value assign(const Expression& e);
  Value assign_variable(const Expression& e, Variable& variable, Value from);
  void note_exchange(const Place& at, const Value& from);
  Value member(const Expression& e);

  // Calls
  Value call(const Expression& e);
  Value inlined(const std::vector<Declared>& parameters, const std::vector<Statement>& body, const Expression& e);
  Value inlined(const std::vector<Declared>& parameters, const std::vector<Statement>& body, const Expression& e, const std::vector<Value>& arguments);
  Value method(const Expression& e);
  Value element_of(const Value& range, const std::string& counter);
  Value library(const std::string& name, const Expression& e);
  Value applied(const Expression& function, const std::vector<Value>& elements);
  Value visited(const std::vector<Value>& arguments, const Expression& e);
  Value copied(const std::string& name, const std::vector<Value>& arguments, const Expression& e);
  Value folded(const std::string& name, const std::vector<Value>& arguments);
  int loop_names(const Polynomial& poly) const;

  const std::vector<Function>& functions_;
  Facts& facts_;
  std::vector<std::map<std::string, Variable>> scopes_;
  std::vector<std::string> loops_;
  std::vector<Value> results_;
  std::map<std::string, Origin> contents_;              // of arrays that were written
  std::map<std::string, std::set<std::string>> running_;
  std::map<std::string, int> counters_, identities_;
  std::set<std::string> references_;                    // names that stand for elements
  std::set<std::string> compared_names_;
  std::vector<std::set<std::string>> compared_;
  int guards_ = 0, steps_ = 0, calls_ = 0, last_identity_ = 1000000;
};

bool mentions(const Expression& e, const std::string& name);

}  // namespace kforge::propose::pattern
