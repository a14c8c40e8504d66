// What expressions are worth: integers as polynomials, floating values by the loads that they come from.
#include <array>
#include <charconv>

#include "propose/pattern_walker.h"

namespace kforge::propose::pattern {
namespace {

Value number(const Expression& e) {
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

bool compares(const std::string& op) {
  return op == "<" || op == ">" || op == "<=" || op == ">=" || op == "==" || op == "!=" || op == "&&" || op == "||";
}

Value arithmetic(const std::string& op, const Value& a, const Value& b) {
  if (op == "+") return integer(a.poly + b.poly);
  if (op == "-") return integer(a.poly - b.poly);
  if (op == "*") return integer(a.poly * b.poly);
  std::set<std::string> names = a.poly.names();
  names.merge(b.poly.names());
  return integer(a.poly.as_constant().has_value() && b.poly.as_constant().has_value() ? Polynomial::constant(2) : Polynomial::unknown(names));
}

Value moved(const std::string& op, Value a, Value b) {
  if (a.kind != Value::Kind::address) std::swap(a, b);
  if (b.kind == Value::Kind::address) return integer(Polynomial::unknown({}));   // a distance
  if (b.kind == Value::Kind::data) a.poly = a.poly + Polynomial::atom("$data");
  else a.poly = op == "-" ? a.poly - b.poly : a.poly + b.poly;
  return a;
}

bool same(const Expression& a, const Expression& b) {
  return a.kind == b.kind && a.text == b.text && a.parts.size() == b.parts.size() &&
         std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), [](const Expression& x, const Expression& y) { return same(x, y); });
}

bool mentions_same(const Expression& e, const Expression& wanted) {
  return same(e, wanted) || std::any_of(e.parts.begin(), e.parts.end(), [&](const Expression& part) { return mentions_same(part, wanted); });
}

}  // namespace

bool mentions(const Expression& e, const std::string& name) {
  if (e.kind == Expression::Kind::name && e.text == name) return true;
  return std::any_of(e.parts.begin(), e.parts.end(), [&](const Expression& part) { return mentions(part, name); });
}

Value Walker::load(const Value& address, bool by_data) {
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
  std::string key = address.array + "|";
  for (const auto& [names, factor] : address.poly.terms()) {
    for (const std::string& name : names) key += name + "*";
    key += std::to_string(factor) + "+";
  }
  if (!by_data) out.identity = identities_.emplace(key, static_cast<int>(identities_.size()) + 1).first->second;
  return out;
}

// The address of an element expression.
bool Walker::place(const Expression& e, Place& out) {
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
    base.poly = base.poly + Polynomial::unknown({});
  } else {
    base.poly = base.poly + subscript.poly;
  }
  out.by_data = out.by_data || base.poly.names().contains("$data");
  out.address = base;
  return true;
}

void Walker::store(const Place& to, const Value& from, const std::string& op, bool self) {
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
}

Value Walker::value(const Expression& e) {
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
    case Expression::Kind::cast: return value(e.parts[0]);
    case Expression::Kind::opaque: break;
  }
  return data();
}

Value Walker::name(const Expression& e) {
  const Variable* variable = find(e.text);
  if (variable) {
    if (variable->value.kind == Value::Kind::address && references_.contains(e.text)) return load(variable->value);
    return variable->value;
  }
  const std::string last(reference::last_name(e.text));
  if (reference::find(functions_, last)) {
    Value out;
    out.kind = Value::Kind::function;
    return out;
  }
  if (last == "INFINITY" || last == "NAN" || last == "M_PI" || last.starts_with("FLT_") || last.starts_with("DBL_")) return data();
  return integer(Polynomial::constant(3));   // a constant of the file: some number
}

// Adds one to, or takes it from, a variable or an element.
void Walker::change(const Expression& target, const std::string& op) {
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

Value Walker::unary(const Expression& e) {
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

Value Walker::binary(const Expression& e) {
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

Value Walker::combined(const std::string& op, const Value& a, const Value& b) {
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

Value Walker::conditional(const Expression& e) {
  const Value condition = value(e.parts[0]);
  const Value yes = value(e.parts[1]), no = value(e.parts[2]);
  if (yes.kind == Value::Kind::integer && no.kind == Value::Kind::integer) return yes.poly.names().size() >= no.poly.names().size() ? yes : no;
  if (yes.kind == Value::Kind::address) return yes;
  Value out = data();
  out.origin = yes.origin;
  out.origin.add(no.origin);
  if (condition.kind == Value::Kind::data && !condition.origin.arrays.empty() && !yes.origin.arrays.empty()) out.origin.extreme = true;
  out.factors = yes.factors.empty() ? no.factors : yes.factors;
  return out;
}

Value Walker::assign(const Expression& e) {
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
void Walker::note_exchange(const Place& at, const Value& from) {
  const Access& source = facts_.loads[static_cast<std::size_t>(from.load)];
  if (!(source.index == at.address.poly)) facts_.exchanges = true;
}

Value Walker::assign_variable(const Expression& e, Variable& variable, Value from) {
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

Value Walker::member(const Expression& e) {
  const Value object = value(e.parts[0]);
  if (object.kind == Value::Kind::address) {
    if (e.text == "size" || e.text == "length") return integer(Polynomial::atom("size(" + object.array + ")"));
    return object;
  }
  return object;
}

}  // namespace kforge::propose::pattern
