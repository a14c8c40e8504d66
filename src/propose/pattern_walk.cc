#include "propose/pattern_walk.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

namespace kforge::propose::pattern {
namespace {

constexpr std::size_t kMaxTerms = 64;
constexpr int kMaxSteps = 200000, kMaxCalls = 12;

Polynomial unknown_of(const std::set<std::string>& names) {
  Polynomial out;
  std::vector<std::string> key{"#"};
  key.insert(key.end(), names.begin(), names.end());
  std::sort(key.begin(), key.end());
  key.erase(std::unique(key.begin(), key.end()), key.end());
  out.terms[key] = 1;
  return out;
}

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
  std::string function;
};

Value integer(Polynomial poly) {
  Value out;
  out.poly = std::move(poly);
  return out;
}
Value data() {
  Value out;
  out.kind = Value::Kind::data;
  return out;
}

struct Variable {
  Value value;
  std::size_t depth = 0;            // loops around its declaration
};

constexpr std::array<std::string_view, 8> kExponentials{"exp", "expf", "exp2", "exp2f", "expm1", "expm1f", "expl", "exp10"};
constexpr std::array<std::string_view, 5> kRoots{"sqrt", "sqrtf", "rsqrt", "rsqrtf", "sqrtl"};
constexpr std::array<std::string_view, 6> kExtremes{"max", "min", "fmax", "fmin", "fmaxf", "fminf"};
constexpr std::array<std::string_view, 5> kSorts{"sort", "stable_sort", "partial_sort", "nth_element", "qsort"};

template <class List>
bool has(const List& list, std::string_view word) { return std::find(list.begin(), list.end(), word) != list.end(); }

class Walker {
 public:
  Walker(const std::vector<Function>& functions, Facts& facts) : functions_(functions), facts_(facts) {}

  void run(const Function& function) {
    scopes_.emplace_back();
    for (const Declared& parameter : function.parameters) {
      Value value;
      if (parameter.pointer || parameter.container) {
        value.kind = Value::Kind::address;
        value.array = parameter.name;
      } else {
        value.poly = Polynomial::variable(parameter.name);
      }
      scopes_.back()[parameter.name] = {value, 0};
    }
    block(function.body);
    facts_.found = steps_ < kMaxSteps;
  }

 private:
  // ---- Variables

  Variable* find(const std::string& name) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto found = scope->find(name); found != scope->end()) return &found->second;
    return nullptr;
  }
  const Function* function_named(const std::string& name) const {
    const auto found = std::find_if(functions_.begin(), functions_.end(), [&](const Function& f) { return f.name == name; });
    return found == functions_.end() ? nullptr : &*found;
  }

  std::string fresh_counter(const std::string& wanted) {
    const int used = counters_[wanted]++;
    return used == 0 ? wanted : wanted + "'" + std::to_string(used);
  }

  bool guarded() const { return guards_ > 0; }

  // ---- Statements

  // A branch that leaves guards what comes after it.
  void block(const std::vector<Statement>& statements) {
    const int guards = guards_;
    for (const Statement& statement : statements) run_statement(statement);
    guards_ = guards;
  }

  static bool leaves(const std::vector<Statement>& statements) {
    if (statements.size() != 1) return false;
    const Statement& only = statements[0];
    if (only.kind == Statement::Kind::block) return leaves(only.first);
    return only.kind == Statement::Kind::leave || only.kind == Statement::Kind::result;
  }

  void run_statement(const Statement& statement) {
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
      case Statement::Kind::leave: break;
    }
  }

  void declare(const Declared& one) {
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

  void branch(const Statement& statement) {
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

  // Variables that change in a loop, and by how much at each turn: "#" when that is not simple.
  struct Change { std::string name; Polynomial by; };

  void changes_in(const Expression& e, bool nested, std::vector<Change>& out) {
    const bool crement = (e.kind == Expression::Kind::unary || e.kind == Expression::Kind::postfix) && (e.text == "++" || e.text == "--");
    const bool adds = e.kind == Expression::Kind::assign && (e.text == "+=" || e.text == "-=");
    const bool halves = e.kind == Expression::Kind::assign && (e.text == "/=" || e.text == "*=");
    if ((crement || adds || halves) && e.parts[0].kind == Expression::Kind::name) {
      if (const Variable* variable = find(e.parts[0].text); variable && (variable->value.kind == Value::Kind::integer || variable->value.kind == Value::Kind::address)) {
        Polynomial by = unknown_of({});
        bool counts = true;
        if (crement) by = Polynomial::constant(e.text == "++" ? 1 : -1);
        else if (adds) counts = simple(e.parts[1], by);
        if (adds && e.text == "-=") by = Polynomial::constant(-1) * by;
        if (counts) out.push_back({e.parts[0].text, nested ? unknown_of({}) : by});
      }
    }
    for (const Expression& part : e.parts) changes_in(part, nested, out);
  }

  // Scalars that a loop's own statements gather data into: "sum += x[i]", "best = max(best, x[i])".
  void gathers_in(const Expression& e, std::set<std::string>& out) {
    if (e.kind == Expression::Kind::assign && e.parts[0].kind == Expression::Kind::name) {
      Polynomial by;
      const std::string& name = e.parts[0].text;
      const bool folds = e.text == "+=" || e.text == "-=" || e.text == "*=" || (e.text == "=" && mentions(e.parts[1], name));
      const Variable* variable = find(name);
      if (folds && variable && variable->value.kind != Value::Kind::address && !references_.contains(name) && !simple(e.parts[1], by)) out.insert(name);
    }
    for (const Expression& part : e.parts) gathers_in(part, out);
  }
  void gathers_in(const std::vector<Statement>& statements, std::set<std::string>& out) {
    for (const Statement& s : statements) {
      if (s.kind == Statement::Kind::loop || s.kind == Statement::Kind::range_loop) continue;
      for (const Expression& e : s.condition) gathers_in(e, out);
      gathers_in(s.first, out);
      gathers_in(s.body, out);
    }
  }

  // A sum or product of integers that are known here.
  bool simple(const Expression& e, Polynomial& out) {
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
    out = e.text == "+" ? a + b : e.text == "-" ? a - b : e.text == "*" ? a * b : unknown_of({});
    return true;
  }

  void changes_in(const std::vector<Statement>& statements, bool nested, std::vector<Change>& out) {
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

  static bool mentions_size(const Polynomial& poly) { return !poly.is_constant(); }

  void loop(const Statement& statement) {
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
      if (variable) variable->value.poly = variable->value.poly + Polynomial::variable(info.counter) * change.by;
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
      if (Variable* variable = find(name); variable && variable->value.kind != Value::Kind::data) variable->value.poly = old.poly + unknown_of({});
    scopes_.pop_back();
  }

  // Compared with a constant, as far as it can be seen: "k < 3", "k <= kRadius" (a constant of the file).
  bool constant_bound(const Statement& statement) {
    if (statement.condition.empty()) return false;
    const Expression& e = statement.condition[0];
    if (e.kind != Expression::Kind::binary || e.parts.size() != 2) return false;
    const auto constant = [&](const Expression& side) {
      if (side.kind == Expression::Kind::number) return true;
      if (side.kind == Expression::Kind::name) {
        const Variable* variable = find(side.text);
        return variable == nullptr || (variable->value.kind == Value::Kind::integer && variable->value.poly.is_constant());
      }
      return side.kind == Expression::Kind::unary && side.parts[0].kind == Expression::Kind::number;
    };
    return constant(e.parts[1]);
  }

  void range_loop(const Statement& statement) {
    scopes_.emplace_back();
    const Value range = value(statement.condition[0]);
    const std::string counter = fresh_counter(statement.declared.empty() ? "item" : statement.declared[0].name);
    facts_.loops[counter] = {counter, range.kind != Value::Kind::address};
    loops_.push_back(counter);
    if (!statement.declared.empty()) {
      Value at = range;
      at.poly = at.poly + Polynomial::variable(counter);
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

  // ---- Accesses

  Value load(const Value& address, bool by_data = false, const Origin& of_index = {}) {
    Access access{address.array, address.poly, by_data, loops_, {}, {}, false, false, guarded(), false, -1};
    facts_.loads.push_back(access);
    Value out = data();
    out.load = static_cast<int>(facts_.loads.size()) - 1;
    out.factors = {out.load};
    const auto content = contents_.find(address.array);
    if (address.array.starts_with("@")) {
      if (content != contents_.end()) out.origin = content->second;
    } else {
      out.origin.arrays.insert(address.array);
      if (content != contents_.end()) out.origin.add(content->second);
    }
    (void)of_index;
    std::string key = address.array + "|";
    for (const auto& [names, factor] : address.poly.terms) {
      for (const std::string& name : names) key += name + "*";
      key += std::to_string(factor) + "+";
    }
    if (!by_data) out.identity = identities_.emplace(key, static_cast<int>(identities_.size()) + 1).first->second;
    return out;
  }

  struct Place { Value address; bool by_data = false; };

  // The address of an element expression.
  bool place(const Expression& e, Place& out) {
    if (e.kind == Expression::Kind::unary && e.text == "*") {
      out.address = value(e.parts[0]);
      return out.address.kind == Value::Kind::address;
    }
    if (e.kind == Expression::Kind::name) {
      const Variable* variable = find(e.text);
      if (!variable || variable->value.kind != Value::Kind::address || !references_.contains(e.text)) return false;
      out.address = variable->value;
      return true;
    }
    if (e.kind != Expression::Kind::index) return false;
    Value base = value(e.parts[0]);
    const Value subscript = value(e.parts[1]);
    if (base.kind != Value::Kind::address) return false;
    if (subscript.kind == Value::Kind::data) {
      out.by_data = true;
      base.poly = base.poly + unknown_of({});
    } else {
      base.poly = base.poly + subscript.poly;
    }
    out.by_data = out.by_data || base.poly.names().contains("$data");
    out.address = base;
    return true;
  }

  void store(const Place& to, const Value& from, const std::string& op, bool self) {
    Access access;
    access.array = to.address.array;
    access.index = to.address.poly;
    access.by_data = to.by_data;
    access.loops = loops_;
    access.origin = from.origin;
    access.factors = from.factors;
    access.guarded = guarded();
    access.updates = op != "=" || self || (guarded() && !compared_.empty() && compared_.back().contains(to.address.array));
    access.counts = op != "=" && from.one;
    access.copied = from.load;
    access.copies = op == "=" && from.load >= 0;
    contents_[access.array].add(from.origin);
    facts_.stores.push_back(access);
    const std::set<std::string> index_names = access.index.names();
    std::set<std::string> along;
    for (const std::string& counter : loops_)
      if (!index_names.contains(counter)) along.insert(counter);
    if (access.updates && !along.empty() && !to.by_data && (!from.origin.arrays.empty() || !from.factors.empty())) {
      facts_.gathered.push_back({from.origin.extreme || op == "=" ? Gather::extreme : op == "*=" ? Gather::product : Gather::sum, access.array, access.index, along, loops_,
                                 from.origin, from.factors});
      contents_[access.array].gathered.insert(access.array);
    }
    // A sum that is still being gathered, stored under the counter that it is gathered over.
    for (const std::string& name : from.origin.gathered)
      if (const auto running = running_.find(name); running != running_.end())
        for (const std::string& counter : running->second)
          if (!loops_.empty() && std::find(loops_.begin(), loops_.end(), counter) != loops_.end() && index_names.contains(counter)) facts_.carries = true;
    stores_by_loop_.push_back({static_cast<int>(facts_.stores.size()) - 1});
  }

  // ---- Expressions

  Value value(const Expression& e) {
    if (++steps_ > kMaxSteps) return data();
    switch (e.kind) {
      case Expression::Kind::number: return number(e);
      case Expression::Kind::name: return name(e);
      case Expression::Kind::unary: return unary(e);
      case Expression::Kind::postfix: {
        const Value old = value(e.parts[0]);
        change(e.parts[0], e.text);
        return old;
      }
      case Expression::Kind::binary: return binary(e);
      case Expression::Kind::assign: return assign(e);
      case Expression::Kind::conditional: return conditional(e);
      case Expression::Kind::call: return call(e);
      case Expression::Kind::index: {
        Place at;
        return place(e, at) ? load(at.address, at.by_data) : data();
      }
      case Expression::Kind::member: return member(e);
      case Expression::Kind::list: {
        Value out = data();
        for (const Expression& part : e.parts) out = value(part);
        return out;
      }
      case Expression::Kind::lambda: {
        Value out;
        out.kind = Value::Kind::function;
        out.lambda = &e;
        return out;
      }
      case Expression::Kind::opaque: break;
    }
    return data();
  }

  static Value number(const Expression& e) {
    long long parsed = 0;
    std::string digits = e.text;
    digits.erase(std::remove(digits.begin(), digits.end(), '\''), digits.end());
    const bool hex = digits.starts_with("0x");
    const bool real = !hex && digits.find_first_of(".eEfF") != std::string::npos;
    Value out = real ? data() : integer({});
    if (!real) {
      std::from_chars(digits.data() + (hex ? 2 : 0), digits.data() + digits.size(), parsed, hex ? 16 : 10);
      out.poly = Polynomial::constant(parsed);
    }
    out.one = real ? digits.starts_with("1.0") || digits == "1.f" || digits == "1." : parsed == 1;
    return out;
  }

  Value name(const Expression& e) {
    const Variable* variable = find(e.text);
    if (variable) {
      if (variable->value.kind == Value::Kind::address && references_.contains(e.text)) return load(variable->value);
      return variable->value;
    }
    Value out;
    if (function_named(e.text)) {
      out.kind = Value::Kind::function;
      out.function = e.text;
      return out;
    }
    if (e.text == "INFINITY" || e.text == "NAN" || e.text == "M_PI" || e.text.starts_with("FLT_") || e.text.starts_with("DBL_")) return data();
    return integer(Polynomial::constant(3));   // a constant of the file: some number
  }

  // Adds one to, or takes it from, a variable or an element.
  void change(const Expression& target, const std::string& op) {
    const long long by = op == "++" ? 1 : -1;
    if (target.kind == Expression::Kind::name) {
      if (Variable* variable = find(target.text)) {
        if (variable->value.kind != Value::Kind::data) variable->value.poly = variable->value.poly + Polynomial::constant(by);
        return;
      }
    }
    Place at;
    if (!place(target, at)) return;
    Value one = integer(Polynomial::constant(1));
    one.one = true;
    store(at, one, "+=", true);
  }

  Value unary(const Expression& e) {
    if (e.text == "*") {
      Place at;
      return place(e, at) ? load(at.address, at.by_data) : data();
    }
    if (e.text == "++" || e.text == "--") {
      change(e.parts[0], e.text);
      return e.parts[0].kind == Expression::Kind::name ? value(e.parts[0]) : data();
    }
    if (e.text == "&") {
      Place at;
      if (place(e.parts[0], at)) return at.address;
      return value(e.parts[0]);
    }
    Value inner = value(e.parts[0]);
    if (e.text == "-" && inner.kind == Value::Kind::integer) inner.poly = Polynomial::constant(-1) * inner.poly;
    inner.one = false;
    if (e.text == "-" && inner.kind == Value::Kind::data) inner.load = -1;
    return inner;
  }

  static bool compares(const std::string& op) {
    return op == "<" || op == ">" || op == "<=" || op == ">=" || op == "==" || op == "!=" || op == "&&" || op == "||";
  }

  Value binary(const Expression& e) {
    Value a = value(e.parts[0]), b = value(e.parts[1]);
    if (compares(e.text)) {
      if (e.text != "&&" && e.text != "||") compared_names_.clear();
      for (const Value* side : {&a, &b}) {
        if (side->load >= 0) compared_names_.insert(facts_.loads[static_cast<std::size_t>(side->load)].array);
      }
      for (const Expression& part : e.parts)
        if (part.kind == Expression::Kind::name) compared_names_.insert(part.text);
      Value out = data();
      out.origin = a.origin;
      out.origin.add(b.origin);
      return out;
    }
    if (a.kind == Value::Kind::integer && b.kind == Value::Kind::integer) return arithmetic(e.text, a, b);
    if (a.kind == Value::Kind::address || b.kind == Value::Kind::address) return moved(e.text, a, b);
    Value out = combined(e.text, a, b);
    if (e.text == "*" && same(e.parts[0], e.parts[1])) out.origin.square = true;
    return out;
  }

  static Value arithmetic(const std::string& op, const Value& a, const Value& b) {
    if (op == "+") return integer(a.poly + b.poly);
    if (op == "-") return integer(a.poly - b.poly);
    if (op == "*") return integer(a.poly * b.poly);
    std::set<std::string> names = a.poly.names();
    names.merge(b.poly.names());
    return integer(a.poly.is_constant() && b.poly.is_constant() ? Polynomial::constant(2) : unknown_of(names));
  }

  static Value moved(const std::string& op, Value a, Value b) {
    if (a.kind != Value::Kind::address) std::swap(a, b);
    if (b.kind == Value::Kind::address) return integer(unknown_of({}));   // a distance
    if (b.kind == Value::Kind::data) a.poly = a.poly + Polynomial::variable("$data");
    else a.poly = op == "-" ? a.poly - b.poly : a.poly + b.poly;
    return a;
  }

  Value combined(const std::string& op, const Value& a, const Value& b) {
    Value out = data();
    out.origin = a.origin;
    out.origin.add(b.origin);
    const bool both = !a.origin.arrays.empty() && !b.origin.arrays.empty();
    const bool a_data = a.kind == Value::Kind::data && (!a.origin.arrays.empty() || !a.origin.gathered.empty() || !a.factors.empty());
    const bool b_data = b.kind == Value::Kind::data && (!b.origin.arrays.empty() || !b.origin.gathered.empty() || !b.factors.empty());
    if (op == "*") {
      out.factors = a.factors;
      out.factors.insert(out.factors.end(), b.factors.begin(), b.factors.end());
      if (a.identity != 0 && a.identity == b.identity) out.origin.square = true;
    }
    if (op == "/") {
      out.origin.quotient = out.origin.quotient || b_data;
      out.factors = a.factors;
      if (b.kind == Value::Kind::integer && !b.origin.gathered.empty()) out.origin.quotient = true;
    }
    if (op == "-" && a_data && b_data && (both || !b.origin.gathered.empty())) out.origin.difference = true;
    // Indices that come from data stay data; a sum with an integer keeps it so.
    if (op == "+" || op == "-") out.factors = a_data && b_data ? std::vector<int>{} : a_data ? a.factors : b.factors;
    out.origin.extreme = out.origin.indexed = false;   // of a maximum itself only
    out.identity = a_data || b_data ? ++last_identity_ : 0;
    return out;
  }

  Value conditional(const Expression& e) {
    const Value condition = value(e.parts[0]);
    const Value yes = value(e.parts[1]), no = value(e.parts[2]);
    if (yes.kind == Value::Kind::integer && no.kind == Value::Kind::integer) return yes.poly.names().size() >= no.poly.names().size() ? yes : no;
    if (yes.kind == Value::Kind::address) return yes;
    Value out = data();
    out.origin = yes.origin;
    out.origin.add(no.origin);
    if (condition.kind == Value::Kind::data && !condition.origin.arrays.empty() && !yes.origin.arrays.empty()) out.origin.extreme = true;
    out.factors = yes.factors.empty() ? no.factors : yes.factors;
    if (!e.parts[0].parts.empty() && e.parts[0].parts[0].kind == Expression::Kind::name) selecting_ = e.parts[0].parts[0].text;
    return out;
  }

  static bool mentions(const Expression& e, const std::string& name) {
    if (e.kind == Expression::Kind::name && e.text == name) return true;
    return std::any_of(e.parts.begin(), e.parts.end(), [&](const Expression& part) { return mentions(part, name); });
  }
  static bool same(const Expression& a, const Expression& b) {
    return a.kind == b.kind && a.text == b.text && a.parts.size() == b.parts.size() &&
           std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), [](const Expression& x, const Expression& y) { return same(x, y); });
  }
  static bool mentions_same(const Expression& e, const Expression& wanted) {
    return same(e, wanted) || std::any_of(e.parts.begin(), e.parts.end(), [&](const Expression& part) { return mentions_same(part, wanted); });
  }

  Value assign(const Expression& e) {
    const Expression& target = e.parts[0];
    Value from = value(e.parts[1]);
    Place at;
    if (target.kind != Expression::Kind::name || references_.contains(target.text)) {
      if (!place(target, at)) return from;
      const bool self = e.text == "=" && mentions_same(e.parts[1], target);
      if (e.text == "=" && guarded() && from.load >= 0 && facts_.loads[static_cast<std::size_t>(from.load)].array == at.address.array) note_exchange(at, from);
      store(at, from, e.text, self);
      return from;
    }
    Variable* variable = find(target.text);
    if (!variable) return from;
    return assign_variable(e, *variable, from);
  }

  // Two elements of one array trade places under a condition on data.
  void note_exchange(const Place& at, const Value& from) {
    const Access& source = facts_.loads[static_cast<std::size_t>(from.load)];
    if (!(source.index == at.address.poly)) facts_.exchanges = true;
  }

  Value assign_variable(const Expression& e, Variable& variable, Value from) {
    const std::string& name = e.parts[0].text;
    const bool outside = variable.depth < loops_.size();
    const bool self = e.text != "=" || mentions(e.parts[1], name);
    const bool from_data = from.kind == Value::Kind::data && (!from.origin.arrays.empty() || !from.factors.empty() || !from.origin.gathered.empty());
    const bool kept = e.text == "=" && guarded() && !compared_.empty() && compared_.back().contains(name);
    if (outside && guarded() && e.text == "=" && from.kind == Value::Kind::integer) {
      for (const std::string& counter : loops_)
        if (from.poly.names().contains(counter)) facts_.chooses_index = true;
    }
    const std::set<std::string> along(loops_.begin() + static_cast<std::ptrdiff_t>(std::min(variable.depth, loops_.size())), loops_.end());
    const bool folds = outside && from_data && (self || (guarded() && e.text == "="));
    if (folds) {
      Gather kind = e.text == "*=" ? Gather::product : Gather::sum;
      if (e.text == "=" && (from.origin.extreme || kept || guarded())) kind = Gather::extreme;
      if (e.text == "/=" || e.text == "-=") kind = Gather::sum;
      Accumulation found{kind, name, {}, along, loops_, from.origin, from.factors};
      if (!(e.text == "/=" || (e.text == "*=" && along.empty()))) facts_.gathered.push_back(found);
      running_[name] = along;
      if (from.origin.indexed && kind == Gather::extreme) facts_.chooses_index = true;
      Value gathered = data();
      gathered.origin = from.origin;
      gathered.origin.add(variable.value.origin);
      gathered.origin.gathered.insert(name);
      variable.value = gathered;
      return gathered;
    }
    if (e.text == "=") {
      const bool joins = guarded() && variable.value.kind == Value::Kind::data && from.kind == Value::Kind::integer;   // either of the two
      if (!joins) variable.value = from;
      return variable.value;
    }
    if (variable.value.kind == Value::Kind::integer && from.kind == Value::Kind::integer && (e.text == "+=" || e.text == "-=" || e.text == "*=")) {
      variable.value = arithmetic(e.text.substr(0, 1), variable.value, from);
    } else if (variable.value.kind == Value::Kind::address) {
      variable.value = moved(e.text.substr(0, 1), variable.value, from);
    } else {
      Value old = variable.value;
      variable.value = combined(e.text.substr(0, 1), old, from);
    }
    return variable.value;
  }

  Value member(const Expression& e) {
    const Value object = value(e.parts[0]);
    if (object.kind == Value::Kind::address) {
      if (e.text == "size" || e.text == "length") return integer(Polynomial::variable("size(" + object.array + ")"));
      return object;
    }
    return object;
  }

  // ---- Calls

  Value call(const Expression& e) {
    const Expression& callee = e.parts[0];
    if (callee.kind == Expression::Kind::member) return method(e);
    if (callee.kind == Expression::Kind::lambda) return inlined(callee.parameters, *callee.body, {}, e);
    if (callee.kind != Expression::Kind::name) return data();
    if (const Variable* variable = find(callee.text); variable && variable->value.kind == Value::Kind::function) {
      if (variable->value.lambda) return inlined(variable->value.lambda->parameters, *variable->value.lambda->body, {}, e);
    }
    if (const Function* function = function_named(callee.text)) {
      std::vector<std::string> names;
      for (const Declared& parameter : function->parameters) names.push_back(parameter.name);
      return inlined(names, function->body, function->parameters, e);
    }
    return library(callee.text, e);
  }

  Value inlined(const std::vector<std::string>& names, const std::vector<Statement>& body, const std::vector<Declared>& parameters, const Expression& e) {
    std::vector<Value> arguments;
    for (std::size_t i = 0; i < names.size() && i + 1 < e.parts.size(); ++i) arguments.push_back(value(e.parts[i + 1]));
    return inlined(names, body, parameters, e, arguments);
  }

  // A function of the text or a lambda, on these values; `e` is the call, whose arguments references are written back to.
  Value inlined(const std::vector<std::string>& names, const std::vector<Statement>& body, const std::vector<Declared>& parameters, const Expression& e,
                const std::vector<Value>& arguments) {
    if (++calls_ > kMaxCalls) {
      --calls_;
      return data();
    }
    std::map<std::string, Variable> scope;
    std::vector<std::pair<std::string, std::string>> back;   // references to scalars
    for (std::size_t i = 0; i < names.size() && i < arguments.size(); ++i) {
      scope[names[i]] = {arguments[i], loops_.size()};
      if (i + 1 >= e.parts.size()) continue;
      const bool reference = i < parameters.size() && parameters[i].reference && !parameters[i].container;
      if (reference && e.parts[i + 1].kind == Expression::Kind::name) {
        back.emplace_back(names[i], e.parts[i + 1].text);
        if (const Variable* variable = find(e.parts[i + 1].text)) scope[names[i]].depth = variable->depth;
      }
    }
    scopes_.push_back(std::move(scope));
    results_.push_back(integer(Polynomial::constant(0)));
    const int guards = guards_;
    block(body);
    guards_ = guards;
    Value out = results_.back();
    results_.pop_back();
    const auto finished = scopes_.back();
    scopes_.pop_back();
    for (const auto& [inside, outside] : back)
      if (Variable* variable = find(outside)) variable->value = finished.at(inside).value;
    --calls_;
    return out;
  }

  Value method(const Expression& e) {
    const Expression& callee = e.parts[0];
    const Value object = value(callee.parts[0]);
    std::vector<Value> arguments;
    for (std::size_t i = 1; i < e.parts.size(); ++i) arguments.push_back(value(e.parts[i]));
    if (object.kind != Value::Kind::address) return data();
    const std::string& what = callee.text;
    if (what == "size" || what == "length") return integer(Polynomial::variable("size(" + object.array + ")"));
    if (what == "begin" || what == "data" || what == "cbegin") return object;
    if (what == "end" || what == "cend") {
      Value end = object;
      end.poly = end.poly + unknown_of({});
      return end;
    }
    if (what == "push_back" || what == "emplace_back") {
      for (const Value& argument : arguments) contents_[object.array].add(argument.origin);
      return data();
    }
    if (what == "at" && !arguments.empty()) {
      Value element = object;
      element.poly = element.poly + arguments[0].poly;
      return load(element, arguments[0].kind == Value::Kind::data);
    }
    return what == "assign" || what == "resize" || what == "clear" ? data() : load(object);
  }

  // The elements that a library function runs over, as a loop of its own.
  Value element_of(const Value& range, const std::string& counter) {
    Value at = range;
    at.poly = at.poly + Polynomial::variable(counter);
    return load(at, at.poly.names().contains("$data"));
  }

  Value library(const std::string& name, const Expression& e) {
    std::vector<Value> arguments;
    for (std::size_t i = 1; i < e.parts.size(); ++i) arguments.push_back(value(e.parts[i]));
    facts_.calls.insert(name);
    if (has(kSorts, name)) return data();
    if (name == "swap" && guarded()) facts_.exchanges = true;
    const bool address = !arguments.empty() && arguments[0].kind == Value::Kind::address;
    if ((name == "copy" || name == "copy_n" || name == "memcpy" || name == "memmove" || name == "transform") && address && arguments.size() >= 3) return copied(name, arguments, e);
    if ((name == "accumulate" || name == "reduce" || name == "inner_product" || name == "transform_reduce" || name == "max_element" || name == "min_element") && address)
      return folded(name, arguments);
    if ((name == "partial_sum" || name == "inclusive_scan" || name == "exclusive_scan") && address && arguments.size() >= 3) {
      facts_.carries = true;
      return data();
    }
    if (name == "for_each" && address) return visited(arguments, e);
    if (name == "fill" || name == "fill_n" || name == "memset" || name == "assert") return data();
    const bool all_integers = std::all_of(arguments.begin(), arguments.end(), [](const Value& v) { return v.kind == Value::Kind::integer; });
    if (all_integers && !arguments.empty() && (has(kExtremes, name) || name == "clamp" || name == "abs")) {
      const auto widest = std::max_element(arguments.begin(), arguments.end(), [&](const Value& a, const Value& b) { return loop_names(a.poly) < loop_names(b.poly); });
      return integer(widest->poly);
    }
    Value out = data();
    const bool counter = std::any_of(arguments.begin(), arguments.end(), [&](const Value& v) { return v.kind == Value::Kind::integer && loop_names(v.poly) > 0; });
    for (const Value& argument : arguments) {
      if (counter && argument.kind == Value::Kind::data && !argument.origin.arrays.empty()) out.origin.indexed = true;
      out.origin.add(argument.kind == Value::Kind::address ? load(argument).origin : argument.origin);
      if (out.factors.empty()) out.factors = argument.factors;
    }
    if (!has(kExtremes, name) && !out.origin.indexed) out.origin.extreme = false;
    out.origin.exponential = out.origin.exponential || has(kExponentials, name);
    out.origin.root = out.origin.root || has(kRoots, name);
    if (name.starts_with("rsqrt")) out.origin.quotient = true;
    if (has(kExtremes, name)) out.origin.extreme = true;
    if (!has(kExponentials, name) && !has(kRoots, name) && !has(kExtremes, name)) out.origin.other_function = true;
    if (name == "pow" && arguments.size() == 2 && arguments[1].poly == Polynomial::constant(2)) out.origin.square = true;
    if (name == "fma" || name == "fmaf") {   // the first two are factors
      out.factors.clear();
      for (std::size_t i = 0; i < 2 && i < arguments.size(); ++i) out.factors.insert(out.factors.end(), arguments[i].factors.begin(), arguments[i].factors.end());
    }
    return out;
  }

  int loop_names(const Polynomial& poly) const {
    const auto names = poly.names();
    return static_cast<int>(std::count_if(names.begin(), names.end(), [&](const std::string& n) { return facts_.loops.contains(n); }));
  }

  // What a function that is handed to an algorithm makes of elements.
  Value applied(const Expression& function, const std::vector<Value>& elements) {
    const Expression nothing;
    if (function.kind == Expression::Kind::lambda) return inlined(function.parameters, *function.body, {}, nothing, elements);
    if (function.kind == Expression::Kind::name) {
      if (const Variable* variable = find(function.text); variable && variable->value.lambda)
        return inlined(variable->value.lambda->parameters, *variable->value.lambda->body, {}, nothing, elements);
      if (const Function* known = function_named(function.text)) {
        std::vector<std::string> names;
        for (const Declared& parameter : known->parameters) names.push_back(parameter.name);
        return inlined(names, known->body, {}, nothing, elements);
      }
    }
    Value out = data();
    for (const Value& element : elements) out.origin.add(element.origin);
    return out;
  }

  // for_each(first, last, f): a loop over the elements.
  Value visited(const std::vector<Value>& arguments, const Expression& e) {
    const std::string counter = fresh_counter("item");
    facts_.loops[counter] = {counter, false};
    loops_.push_back(counter);
    (void)applied(e.parts.back(), {element_of(arguments[0], counter)});
    loops_.pop_back();
    return data();
  }

  Value copied(const std::string& name, const std::vector<Value>& arguments, const Expression& e) {
    const bool c_order = name == "memcpy" || name == "memmove";   // the target comes first
    const Value& from = arguments[c_order ? 1 : 0];
    const Value& to = arguments[c_order ? 0 : name == "transform" && arguments.size() > 4 ? 3 : 2];
    if (from.kind != Value::Kind::address || to.kind != Value::Kind::address) return data();
    const std::string counter = fresh_counter("copy");
    facts_.loops[counter] = {counter, false};
    loops_.push_back(counter);
    Value element = element_of(from, counter);
    if (name == "transform") {
      const Value second = arguments.size() > 4 ? element_of(arguments[2], counter) : Value{};
      element = applied(e.parts.back(), {element, second});
    }
    Place at;
    at.address = to;
    at.address.poly = at.address.poly + Polynomial::variable(counter);
    at.by_data = to.poly.names().contains("$data");
    store(at, element, "=", false);
    loops_.pop_back();
    return data();
  }

  Value folded(const std::string& name, const std::vector<Value>& arguments) {
    const std::string counter = fresh_counter("fold");
    facts_.loops[counter] = {counter, false};
    loops_.push_back(counter);
    Value element = element_of(arguments[0], counter);
    if ((name == "inner_product" || name == "transform_reduce") && arguments.size() >= 3 && arguments[2].kind == Value::Kind::address)
      element = combined("*", element, element_of(arguments[2], counter));
    const bool extreme = name == "max_element" || name == "min_element";
    facts_.gathered.push_back({extreme ? Gather::extreme : Gather::sum, counter, {}, {counter}, loops_, element.origin, element.factors});
    loops_.pop_back();
    element.origin.gathered.insert(counter);
    element.load = -1;
    if (!extreme) return element;
    Value at = arguments[0];
    at.poly = at.poly + Polynomial::variable("$best");
    return at;
  }

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
  std::vector<std::vector<int>> stores_by_loop_;
  std::string selecting_;
  int guards_ = 0, steps_ = 0, calls_ = 0, last_identity_ = 1000000;
};

}  // namespace

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

Polynomial Polynomial::constant(long long value) {
  Polynomial out;
  if (value != 0) out.terms[{}] = value;
  return out;
}

Polynomial Polynomial::variable(const std::string& name) {
  Polynomial out;
  out.terms[{name}] = 1;
  return out;
}

bool Polynomial::is_constant() const { return terms.empty() || (terms.size() == 1 && terms.begin()->first.empty()); }

std::set<std::string> Polynomial::names() const {
  std::set<std::string> out;
  for (const auto& [key, factor] : terms) out.insert(key.begin(), key.end());
  return out;
}

Polynomial Polynomial::coefficient(const std::string& name) const {
  Polynomial out;
  for (const auto& [key, factor] : terms) {
    const auto at = std::find(key.begin(), key.end(), name);
    if (at == key.end()) continue;
    std::vector<std::string> rest(key.begin(), at);
    rest.insert(rest.end(), at + 1, key.end());
    if (std::find(rest.begin(), rest.end(), name) == rest.end()) out.terms[rest] += factor;
  }
  return out;
}

Polynomial Polynomial::without(const std::set<std::string>& names) const {
  Polynomial out;
  for (const auto& [key, factor] : terms)
    if (std::none_of(key.begin(), key.end(), [&](const std::string& name) { return names.contains(name); })) out.terms[key] = factor;
  return out;
}

Polynomial operator+(const Polynomial& a, const Polynomial& b) {
  Polynomial out = a;
  for (const auto& [key, factor] : b.terms) {
    long long sum = 0;
    if (__builtin_add_overflow(out.terms[key], factor, &sum)) sum = 0;
    if (sum == 0) out.terms.erase(key);
    else out.terms[key] = sum;
  }
  return out.terms.size() > kMaxTerms ? unknown_of(out.names()) : out;
}

Polynomial operator-(const Polynomial& a, const Polynomial& b) { return a + Polynomial::constant(-1) * b; }

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  Polynomial out;
  for (const auto& [left, x] : a.terms)
    for (const auto& [right, y] : b.terms) {
      std::vector<std::string> key = left;
      key.insert(key.end(), right.begin(), right.end());
      std::sort(key.begin(), key.end());
      long long product = 0;
      if (key.size() > 12 || __builtin_mul_overflow(x, y, &product)) return unknown_of([&] { auto n = a.names(); n.merge(b.names()); return n; }());
      Polynomial term;
      term.terms[key] = product;
      out = out + term;
    }
  return out;
}

Facts follow(const std::vector<Function>& functions, std::string_view function) {
  Facts facts;
  if (functions.empty()) return facts;
  const auto found = std::find_if(functions.begin(), functions.end(), [&](const Function& f) { return f.name == function; });
  const Function& target = found == functions.end() ? functions.back() : *found;
  Walker(functions, facts).run(target);
  std::set<std::string> written;
  for (const Access& store : facts.stores) written.insert(store.array);
  for (const Declared& parameter : target.parameters) {
    if (!parameter.pointer) continue;
    (written.contains(parameter.name) ? facts.outputs : facts.inputs).push_back(parameter.name);
  }
  return facts;
}

}  // namespace kforge::propose::pattern
