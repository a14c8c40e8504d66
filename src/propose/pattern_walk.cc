#include "propose/pattern_walk.h"

#include <algorithm>

#include "propose/pattern_walker.h"

namespace kforge::propose::pattern {
namespace {

// A statement that leaves the block it stands in.
bool leaves(const std::vector<Statement>& statements) {
  if (statements.size() != 1) return false;
  const Statement& only = statements[0];
  if (only.kind == Statement::Kind::block) return leaves(only.first);
  return only.kind == Statement::Kind::leave || only.kind == Statement::Kind::result;
}

}  // namespace

void Walker::run(const Function& function) {
  scopes_.emplace_back();
  for (const Declared& parameter : function.parameters) {
    Value value;
    if (parameter.pointer || parameter.container) {
      value.kind = Value::Kind::address;
      value.array = parameter.name;
    } else {
      value.poly = Polynomial::atom(parameter.name);
    }
    scopes_.back()[parameter.name] = {value, 0};
  }
  block(function.body);
  facts_.found = steps_ < kMaxSteps;
}

Variable* Walker::find(const std::string& name) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
    if (const auto found = scope->find(name); found != scope->end()) return &found->second;
  return nullptr;
}

std::string Walker::fresh_counter(const std::string& wanted) {
  const int used = counters_[wanted]++;
  return used == 0 ? wanted : wanted + "'" + std::to_string(used);
}

// A branch that leaves guards what comes after it.
void Walker::block(const std::vector<Statement>& statements) {
  const int guards = guards_;
  for (const Statement& statement : statements) run_statement(statement);
  guards_ = guards;
}

void Walker::run_statement(const Statement& statement) {
  if (++steps_ > kMaxSteps) return;
  switch (statement.kind) {
    case Statement::Kind::block:
      scopes_.emplace_back();
      block(statement.first);
      scopes_.pop_back();
      break;
    case Statement::Kind::expression: (void)value(statement.condition[0]); break;
    case Statement::Kind::declaration:
      for (const Declared& one : statement.declared) declare(one);
      break;
    case Statement::Kind::loop: loop(statement); break;
    case Statement::Kind::range_loop: range_loop(statement); break;
    case Statement::Kind::branch: branch(statement); break;
    case Statement::Kind::result:
      if (!statement.condition.empty()) {
        const Value result = value(statement.condition[0]);
        if (!results_.empty()) results_.back() = results_.back().kind == Value::Kind::data && result.kind != Value::Kind::data ? results_.back() : result;
      }
      break;
    case Statement::Kind::leave:
    case Statement::Kind::opaque: break;
  }
}

void Walker::declare(const Declared& one) {
  Variable variable;
  variable.depth = loops_.size();
  if (one.container && !one.reference) {
    variable.value.kind = Value::Kind::address;
    variable.value.array = fresh_counter("@" + one.name);
    for (const Expression& argument : one.initial) {
      const Value given = value(argument);
      if (given.kind == Value::Kind::data) contents_[variable.value.array].add(given.origin);
      if (given.kind == Value::Kind::address) {   // a copy of another array
        const Value element = load(given);
        contents_[variable.value.array].add(element.origin);
      }
    }
  } else if (!one.initial.empty()) {
    variable.value = value(one.initial[0]);
    if (one.pointer && variable.value.kind == Value::Kind::data) variable.value.kind = Value::Kind::address;
  } else {
    variable.value = integer(Polynomial::constant(0));
  }
  if (!one.name.empty()) scopes_.back()[one.name] = variable;
}

void Walker::branch(const Statement& statement) {
  const Value condition = statement.condition.empty() ? Value{} : value(statement.condition[0]);
  const bool on_data = condition.kind == Value::Kind::data && (!condition.origin.arrays.empty() || !condition.origin.gathered.empty());
  const std::set<std::string> compared = compared_names_;
  guards_ += on_data;
  compared_.push_back(compared);
  scopes_.emplace_back();
  block(statement.first);
  scopes_.pop_back();
  scopes_.emplace_back();
  block(statement.body);
  scopes_.pop_back();
  compared_.pop_back();
  if (on_data && leaves(statement.first)) return;   // what follows is guarded until the block ends
  guards_ -= on_data;
}

void Walker::changes_in(const Expression& e, bool nested, std::vector<Change>& out) {
  const bool crement = (e.kind == Expression::Kind::unary || e.kind == Expression::Kind::postfix) && (e.text == "++" || e.text == "--");
  const bool adds = e.kind == Expression::Kind::assign && (e.text == "+=" || e.text == "-=");
  const bool halves = e.kind == Expression::Kind::assign && (e.text == "/=" || e.text == "*=");
  if ((crement || adds || halves) && e.parts[0].kind == Expression::Kind::name) {
    if (const Variable* variable = find(e.parts[0].text); variable && (variable->value.kind == Value::Kind::integer || variable->value.kind == Value::Kind::address)) {
      Polynomial by = Polynomial::unknown({});
      bool counts = true;
      if (crement) by = Polynomial::constant(e.text == "++" ? 1 : -1);
      else if (adds) counts = simple(e.parts[1], by);
      if (adds && e.text == "-=") by = Polynomial::constant(-1) * by;
      if (counts) out.push_back({e.parts[0].text, nested ? Polynomial::unknown({}) : by});
    }
  }
  for (const Expression& part : e.parts) changes_in(part, nested, out);
}

// Scalars that a loop's own statements gather data into: "sum += x[i]", "best = max(best, x[i])".
void Walker::gathers_in(const Expression& e, std::set<std::string>& out) {
  if (e.kind == Expression::Kind::assign && e.parts[0].kind == Expression::Kind::name) {
    Polynomial by;
    const std::string& name = e.parts[0].text;
    const bool folds = e.text == "+=" || e.text == "-=" || e.text == "*=" || (e.text == "=" && mentions(e.parts[1], name));
    const Variable* variable = find(name);
    if (folds && variable && variable->value.kind != Value::Kind::address && !references_.contains(name) && !simple(e.parts[1], by)) out.insert(name);
  }
  for (const Expression& part : e.parts) gathers_in(part, out);
}

void Walker::gathers_in(const std::vector<Statement>& statements, std::set<std::string>& out) {
  for (const Statement& s : statements) {
    if (s.kind == Statement::Kind::loop || s.kind == Statement::Kind::range_loop) continue;
    for (const Expression& e : s.condition) gathers_in(e, out);
    gathers_in(s.first, out);
    gathers_in(s.body, out);
  }
}

// A sum or product of integers that are known here.
bool Walker::simple(const Expression& e, Polynomial& out) {
  if (e.kind == Expression::Kind::number && e.text.find('.') == std::string::npos) {
    out = value(e).poly;
    return true;
  }
  if (e.kind == Expression::Kind::name) {
    const Variable* variable = find(e.text);
    if (!variable || variable->value.kind != Value::Kind::integer) return variable == nullptr;
    out = variable->value.poly;
    return true;
  }
  Polynomial a, b;
  if (e.kind != Expression::Kind::binary || !simple(e.parts[0], a) || !simple(e.parts[1], b)) return false;
  out = e.text == "+" ? a + b : e.text == "-" ? a - b : e.text == "*" ? a * b : Polynomial::unknown({});
  return true;
}

void Walker::changes_in(const std::vector<Statement>& statements, bool nested, std::vector<Change>& out) {
  for (const Statement& s : statements) {
    const bool deeper = nested || s.kind == Statement::Kind::loop || s.kind == Statement::Kind::range_loop;
    for (const Expression& e : s.condition) changes_in(e, deeper, out);
    for (const Expression& e : s.step) changes_in(e, deeper, out);
    for (const Declared& d : s.declared)
      for (const Expression& e : d.initial) changes_in(e, nested, out);
    changes_in(s.first, s.kind == Statement::Kind::loop ? nested : deeper, out);
    changes_in(s.body, deeper, out);
  }
}

void Walker::loop(const Statement& statement) {
  scopes_.emplace_back();
  block(statement.first);
  std::vector<Change> changes;
  for (const Expression& e : statement.step) changes_in(e, false, changes);
  for (const Expression& e : statement.condition) changes_in(e, false, changes);
  changes_in(statement.body, false, changes);
  std::string wanted = "loop";
  if (!statement.first.empty() && !statement.first[0].declared.empty()) wanted = statement.first[0].declared[0].name;
  else if (!changes.empty()) wanted = changes[0].name;
  Loop info{fresh_counter(wanted), false};
  std::map<std::string, Value> before;
  for (const Change& change : changes)
    if (Variable* variable = find(change.name)) before.emplace(change.name, variable->value);
  for (const Change& change : changes) {
    Variable* variable = find(change.name);
    if (variable) variable->value.poly = variable->value.poly + Polynomial::atom(info.counter) * change.by;
    if (variable) variable->value.identity = 0;
  }
  std::set<std::string> gathered;   // what they hold at the start of a turn comes from the turns before
  gathers_in(statement.body, gathered);
  for (const std::string& name : gathered) {
    Variable* variable = find(name);
    Value held = data();
    held.origin = variable->value.origin;
    held.origin.gathered.insert(name);
    variable->value = held;
    running_[name] = {info.counter};
  }
  info.constant = constant_bound(statement);
  facts_.loops[info.counter] = info;
  loops_.push_back(info.counter);
  bool on_data = false;
  for (const Expression& e : statement.condition) on_data = !value(e).origin.arrays.empty();
  guards_ += on_data;
  scopes_.emplace_back();
  block(statement.body);
  scopes_.pop_back();
  guards_ -= on_data;
  for (const Expression& e : statement.step) (void)value(e);
  loops_.pop_back();
  for (const auto& [name, old] : before)
    if (Variable* variable = find(name); variable && variable->value.kind != Value::Kind::data) variable->value.poly = old.poly + Polynomial::unknown({});
  scopes_.pop_back();
}

// Compared with a constant, as far as it can be seen: "k < 3", "k <= kRadius" (a constant of the file).
bool Walker::constant_bound(const Statement& statement) {
  if (statement.condition.empty()) return false;
  const Expression& e = statement.condition[0];
  if (e.kind != Expression::Kind::binary || e.parts.size() != 2) return false;
  const auto constant = [&](const Expression& side) {
    if (side.kind == Expression::Kind::number) return true;
    if (side.kind == Expression::Kind::name) {
      const Variable* variable = find(side.text);
      return variable == nullptr || (variable->value.kind == Value::Kind::integer && variable->value.poly.as_constant().has_value());
    }
    return side.kind == Expression::Kind::unary && side.parts[0].kind == Expression::Kind::number;
  };
  return constant(e.parts[1]);
}

void Walker::range_loop(const Statement& statement) {
  scopes_.emplace_back();
  const Value range = value(statement.condition[0]);
  const std::string counter = fresh_counter(statement.declared.empty() ? "item" : statement.declared[0].name);
  facts_.loops[counter] = {counter, range.kind != Value::Kind::address};
  loops_.push_back(counter);
  if (!statement.declared.empty()) {
    Value at = range;
    at.poly = at.poly + Polynomial::atom(counter);
    Variable variable;
    variable.value = range.kind != Value::Kind::address ? data() : statement.declared[0].reference ? at : load(at);
    variable.depth = loops_.size();
    references_.insert(statement.declared[0].name);
    scopes_.back()[statement.declared[0].name] = variable;
  }
  block(statement.body);
  loops_.pop_back();
  scopes_.pop_back();
}

void Origin::add(const Origin& other) {
  arrays.insert(other.arrays.begin(), other.arrays.end());
  gathered.insert(other.gathered.begin(), other.gathered.end());
  exponential |= other.exponential;
  root |= other.root;
  quotient |= other.quotient;
  difference |= other.difference;
  square |= other.square;
  other_function |= other.other_function;
  extreme |= other.extreme;
  indexed |= other.indexed;
}

Facts follow(std::string_view text, std::string_view function) {
  Facts facts;
  const auto functions = reference::functions_of(text, reference::Casts::drop);
  if (!functions || functions->empty()) return facts;
  const Function* found = reference::find(*functions, function);
  const Function& target = found ? *found : functions->back();
  Walker(*functions, facts).run(target);
  std::set<std::string> written;
  for (const Access& store : facts.stores) written.insert(store.array);
  for (const Declared& parameter : target.parameters) {
    if (!parameter.pointer) continue;
    (written.contains(parameter.name) ? facts.outputs : facts.inputs).push_back(parameter.name);
  }
  return facts;
}

}  // namespace kforge::propose::pattern
