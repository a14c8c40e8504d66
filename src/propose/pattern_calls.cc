// Calls: functions of the text and lambdas are run in place, algorithms of the library are the loops that they stand for.
#include <array>

#include "propose/pattern_walker.h"

namespace kforge::propose::pattern {
namespace {

constexpr std::array<std::string_view, 8> kExponentials{"exp", "expf", "exp2", "exp2f", "expm1", "expm1f", "expl", "exp10"};
constexpr std::array<std::string_view, 5> kRoots{"sqrt", "sqrtf", "rsqrt", "rsqrtf", "sqrtl"};
constexpr std::array<std::string_view, 6> kExtremes{"max", "min", "fmax", "fmin", "fmaxf", "fminf"};
constexpr std::array<std::string_view, 5> kSorts{"sort", "stable_sort", "partial_sort", "nth_element", "qsort"};

}  // namespace

Value Walker::call(const Expression& e) {
  const Expression& callee = e.parts[0];
  if (callee.kind == Expression::Kind::member) return method(e);
  if (callee.kind == Expression::Kind::lambda) return inlined(callee.parameters, *callee.body, e);
  if (callee.kind != Expression::Kind::name) return data();
  if (const Variable* variable = find(callee.text); variable && variable->value.lambda) return inlined(variable->value.lambda->parameters, *variable->value.lambda->body, e);
  const std::string name(reference::last_name(callee.text));
  if (const Function* function = reference::find(functions_, name)) return inlined(function->parameters, function->body, e);
  return library(name, e);
}

Value Walker::inlined(const std::vector<Declared>& parameters, const std::vector<Statement>& body, const Expression& e) {
  std::vector<Value> arguments;
  for (std::size_t i = 0; i < parameters.size() && i + 1 < e.parts.size(); ++i) arguments.push_back(value(e.parts[i + 1]));
  return inlined(parameters, body, e, arguments);
}

// A function of the text or a lambda, on these values; `e` is the call, whose arguments references are written back to.
Value Walker::inlined(const std::vector<Declared>& parameters, const std::vector<Statement>& body, const Expression& e, const std::vector<Value>& arguments) {
  if (++calls_ > kMaxCalls) {
    --calls_;
    return data();
  }
  std::map<std::string, Variable> scope;
  std::vector<std::pair<std::string, std::string>> back;   // references to scalars
  for (std::size_t i = 0; i < parameters.size() && i < arguments.size(); ++i) {
    const std::string& own = parameters[i].name;
    scope[own] = {arguments[i], loops_.size()};
    if (i + 1 >= e.parts.size()) continue;
    const bool reference = parameters[i].reference && !parameters[i].container;
    if (reference && e.parts[i + 1].kind == Expression::Kind::name) {
      back.emplace_back(own, e.parts[i + 1].text);
      if (const Variable* variable = find(e.parts[i + 1].text)) scope[own].depth = variable->depth;
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

Value Walker::method(const Expression& e) {
  const Expression& callee = e.parts[0];
  const Value object = value(callee.parts[0]);
  std::vector<Value> arguments;
  for (std::size_t i = 1; i < e.parts.size(); ++i) arguments.push_back(value(e.parts[i]));
  if (object.kind != Value::Kind::address) return data();
  const std::string& what = callee.text;
  if (what == "size" || what == "length") return integer(Polynomial::atom("size(" + object.array + ")"));
  if (what == "begin" || what == "data" || what == "cbegin") return object;
  if (what == "end" || what == "cend") {
    Value end = object;
    end.poly = end.poly + Polynomial::unknown({});
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
Value Walker::element_of(const Value& range, const std::string& counter) {
  Value at = range;
  at.poly = at.poly + Polynomial::atom(counter);
  return load(at, at.poly.names().contains("$data"));
}

Value Walker::library(const std::string& name, const Expression& e) {
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

int Walker::loop_names(const Polynomial& poly) const {
  const auto names = poly.names();
  return static_cast<int>(std::count_if(names.begin(), names.end(), [&](const std::string& n) { return facts_.loops.contains(n); }));
}

// What a function that is handed to an algorithm makes of elements.
Value Walker::applied(const Expression& function, const std::vector<Value>& elements) {
  const Expression nothing;
  if (function.kind == Expression::Kind::lambda) return inlined(function.parameters, *function.body, nothing, elements);
  if (function.kind == Expression::Kind::name) {
    if (const Variable* variable = find(function.text); variable && variable->value.lambda)
      return inlined(variable->value.lambda->parameters, *variable->value.lambda->body, nothing, elements);
    if (const Function* known = reference::find(functions_, reference::last_name(function.text))) return inlined(known->parameters, known->body, nothing, elements);
  }
  Value out = data();
  for (const Value& element : elements) out.origin.add(element.origin);
  return out;
}

// for_each(first, last, f): a loop over the elements.
Value Walker::visited(const std::vector<Value>& arguments, const Expression& e) {
  const std::string counter = fresh_counter("item");
  facts_.loops[counter] = {counter, false};
  loops_.push_back(counter);
  (void)applied(e.parts.back(), {element_of(arguments[0], counter)});
  loops_.pop_back();
  return data();
}

Value Walker::copied(const std::string& name, const std::vector<Value>& arguments, const Expression& e) {
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
  at.address.poly = at.address.poly + Polynomial::atom(counter);
  at.by_data = to.poly.names().contains("$data");
  store(at, element, "=", false);
  loops_.pop_back();
  return data();
}

Value Walker::folded(const std::string& name, const std::vector<Value>& arguments) {
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
  at.poly = at.poly + Polynomial::atom("$best");
  return at;
}

}  // namespace kforge::propose::pattern
