#include "propose/template_lift.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "propose/template_source.h"

namespace kforge::propose {
namespace {

using Kind = Term::Kind;
using Source = SourceExpr;
using Statement = SourceStatement;

constexpr std::int64_t kMaxUnrolled = 16;
constexpr int kMaxSteps = 20000;       // statements executed: a bound on unrolled nests

constexpr std::array<std::string_view, 36> kFunctions{
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "rsqrt", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh",
    "cosh", "tanh", "erf", "erfc", "pow", "fabs", "abs", "floor", "ceil", "round", "trunc", "fmod", "hypot", "fma", "max", "min", "clamp", "copysign"};

std::string plain_function(std::string name) {
  if (name == "fmax" || name == "fmaxf") return "max";
  if (name == "fmin" || name == "fminf") return "min";
  if (name.size() > 1 && name.back() == 'f' && name != "erf") {
    const std::string shorter = name.substr(0, name.size() - 1);
    if (std::find(kFunctions.begin(), kFunctions.end(), shorter) != kFunctions.end()) return shorter;
  }
  return name;
}

bool is_integer_type(std::string_view type) {
  return type.find("float") == type.npos && type.find("double") == type.npos && type.find("half") == type.npos && type.find("bool") == type.npos &&
         type.find("bfloat") == type.npos && type.find("auto") == type.npos;
}

std::string plain_number(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '\''), text.end());
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  while (!text.empty()) {
    const char c = static_cast<char>(std::tolower(static_cast<unsigned char>(text.back())));
    if (c == 'l' || c == 'u' || (c == 'f' && !hexadecimal)) text.pop_back();
    else break;
  }
  return text;
}

TermPtr infinity(bool negative) {
  TermPtr term = make_term(Kind::number, "INFINITY");
  return negative ? make_term(Kind::unary, "-", {term}) : term;
}

// Whether the literal is so large that as the start of a maximum (minimum: so small) it stands for "nothing yet".
bool is_extreme(const TermPtr& term, bool low) {
  TermPtr inner = term;
  while (inner->kind == Kind::to_real || inner->kind == Kind::to_integer) inner = inner->args[0];
  bool negative = false;
  if (inner->kind == Kind::unary && inner->text == "-") {
    negative = true;
    inner = inner->args[0];
  }
  if (inner->kind != Kind::number || negative != low) return false;
  if (inner->text == "INFINITY") return true;
  const auto value = parse_double(inner->text);
  return value && *value >= 1e30;
}

class Lifter {
 public:
  Lifter(const task::Task& task, const SourceFunction& function) : task_(task), function_(function) {}

  std::optional<Lifted> lift(std::string& why) {
    if (!bind_parameters()) why_ = "the reference's parameters are not the tensors, sizes and scalars of the task";
    else run(function_.body);
    if (why_.empty()) close_stores("");
    if (why_.empty() && done_.empty()) why_ = "the reference writes no output that was understood";
    why = why_;
    if (!why_.empty()) return std::nullopt;
    return Lifted{std::move(done_)};
  }

 private:
  struct Pointer {
    std::string tensor;
    TermPtr offset;
  };
  struct Written {
    std::string tensor;
    std::vector<TermPtr> index;
    TermPtr value;
    std::vector<LiftedLoop> loops;
    bool adds = false;
    std::size_t order = 0;
  };
  struct State {
    std::map<std::string, TermPtr> locals;       // nullptr: unknown
    std::map<std::string, Pointer> pointers;
    std::map<std::string, Written> written;      // by "tensor[key of index]"
  };

  bool bind_parameters() {
    std::vector<std::pair<Kind, std::string>> wanted;
    for (const auto& tensor : task_.tensors) wanted.emplace_back(Kind::load, tensor.name);
    for (const auto& size : task_.size_names()) wanted.emplace_back(Kind::size, size);
    for (const auto& scalar : task_.scalars) wanted.emplace_back(Kind::scalar, scalar.name);
    if (wanted.size() != function_.parameters.size()) return false;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto& parameter = function_.parameters[i];
      const bool pointer = parameter.type.find('*') != std::string::npos;
      if (pointer != (wanted[i].first == Kind::load)) return false;
      if (pointer) state_.pointers[parameter.name] = {wanted[i].second, number_term(0)};
      else state_.locals[parameter.name] = make_term(wanted[i].first, wanted[i].second);
    }
    for (const auto& tensor : task_.tensors) strides_[tensor.name] = strides_of(tensor, atoms_);
    return true;
  }

  TermPtr give_up(std::string why) {
    if (why_.empty()) why_ = std::move(why);
    return number_term(0);
  }
  bool ok() const { return why_.empty(); }
  const task::Tensor& tensor(const std::string& name) const {
    return *std::find_if(task_.tensors.begin(), task_.tensors.end(), [&](const auto& t) { return t.name == name; });
  }

  // --- statements ---

  void run(const std::vector<Statement>& body) {
    for (const Statement& s : body) {
      if (!ok() || returned_) return;
      if (++steps_ > kMaxSteps) give_up("the reference unrolls to too many statements");
      step(s);
    }
  }

  void step(const Statement& s) {
    switch (s.kind) {
      case Statement::Kind::declare: return declare(s);
      case Statement::Kind::lambda: lambdas_[s.name] = &s; return;
      case Statement::Kind::expression: evaluate(*s.value); return;
      case Statement::Kind::loop: return loop(s);
      case Statement::Kind::branch: return branch(s);
      case Statement::Kind::give_back:
        if (s.value) returned_ = evaluate(*s.value);
        else give_up("the reference returns early");
        return;
      case Statement::Kind::opaque: give_up("the reference holds a statement that is not understood"); return;
    }
  }

  void declare(const Statement& s) {
    state_.pointers.erase(s.name);
    if (s.type.find('*') != std::string::npos || (s.value && s.type.find("auto") != std::string::npos && pointer_of(*s.value))) {
      const auto pointer = s.value ? pointer_of(*s.value) : std::nullopt;
      if (pointer) state_.pointers[s.name] = *pointer;
      else give_up("a pointer that does not point into a tensor");
      return;
    }
    TermPtr value = s.value ? evaluate(*s.value) : nullptr;
    if (value && is_integer_type(s.type) && !is_integer(value)) value = make_term(Kind::to_integer, s.type, {value});
    if (value && !is_integer_type(s.type) && s.type.find("auto") == std::string::npos && s.type != "bool" && value->kind == Kind::number && parse_integer(value->text))
      value = make_term(Kind::number, value->text);
    state_.locals[s.name] = value;
  }

  void branch(const Statement& s) {
    const TermPtr condition = evaluate(*s.value);
    if (const auto known = integer_of(condition)) return run(*known ? s.body : s.otherwise);
    const State before = state_;
    run(s.body);
    State yes = std::move(state_);
    state_ = before;
    run(s.otherwise);
    if (!ok()) return;
    for (auto& [name, value] : state_.locals) {
      const auto other = yes.locals.find(name);
      if (other == yes.locals.end()) continue;
      if (!other->second || !value) value = nullptr;
      else if (other->second != value) value = select_term(condition, other->second, value);
    }
    for (auto& [key, one] : yes.written) merge_written(key, one, condition, true);
    for (auto& [key, one] : state_.written)
      if (!yes.written.contains(key)) merge_written(key, one, condition, false);
  }

  void merge_written(const std::string& key, const Written& one, const TermPtr& condition, bool first) {
    const auto at = state_.written.find(key);
    if (at == state_.written.end()) {   // in one branch only: what was there stays otherwise
      if (tensor(one.tensor).role != task::Role::inout) {
        give_up("an output is written in one branch only");
        return;
      }
      Written copy = one;
      const TermPtr old = make_term(Kind::load, one.tensor, one.index);
      copy.value = select_term(condition, first ? one.value : old, first ? old : one.value);
      state_.written.emplace(key, copy);
    } else if (at->second.value != one.value && first) {
      if (at->second.adds != one.adds) give_up("an output is written in two ways");
      at->second.value = select_term(condition, one.value, at->second.value);
    } else if (!first) {
      give_up("an output is written in one branch only");
    }
  }

  void loop(const Statement& s) {
    const TermPtr low = evaluate(*s.value), high = evaluate(*s.end);
    if (!ok()) return;
    const auto from = integer_of(low), to = integer_of(high);
    const auto shadowed = state_.locals.find(s.name);
    const bool shadows = shadowed != state_.locals.end();
    const TermPtr outer = shadows ? shadowed->second : nullptr;
    if (from && to && *to - *from <= kMaxUnrolled) unrolled(s, *from, *to);
    else if (from) symbolic(s, *from, high);
    else give_up("a loop does not start at a number");
    state_.locals.erase(s.name);
    if (shadows) state_.locals[s.name] = outer;
  }

  void unrolled(const Statement& s, std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to && ok(); ++i) {
      state_.locals[s.name] = number_term(i);
      run(s.body);
    }
  }

  // One step with the index as a symbol. A first, dry one tells which values a step changes.
  void symbolic(const Statement& s, std::int64_t from, const TermPtr& high) {
    const State before = state_;
    const std::size_t done = done_.size();
    const std::string variable = s.name + "." + std::to_string(++variables_);
    const TermPtr index = make_term(Kind::index, variable);
    const LiftedLoop own{variable, high};
    state_.locals[s.name] = index;
    loops_.push_back(own);
    run(s.body);
    if (!ok()) return;
    std::vector<std::string> changed_locals, changed_outputs;
    for (const auto& [name, value] : before.locals)
      if (name != s.name && state_.locals[name] != value) changed_locals.push_back(name);
    for (const auto& [key, one] : before.written)
      if (state_.written[key].value != one.value) changed_outputs.push_back(key);

    state_ = before;
    done_.resize(done);
    state_.locals[s.name] = index;
    for (const std::string& name : changed_locals) state_.locals[name] = make_term(Kind::carried, name);
    for (const std::string& key : changed_outputs) state_.written[key].value = make_term(Kind::carried, key);
    run(s.body);
    if (!ok()) return;
    close_stores(variable);
    std::map<std::string, TermPtr> starts, steps;
    for (const std::string& name : changed_locals) {
      starts[name] = before.locals.at(name);
      steps[name] = state_.locals[name];
    }
    for (const std::string& key : changed_outputs) {
      starts[key] = before.written.at(key).value;
      steps[key] = state_.written[key].value;
    }
    for (const auto& [name, step] : steps) {
      const TermPtr result = step ? fold_carried(name, starts[name], step, index, from, high, starts) : nullptr;
      if (state_.written.contains(name)) {
        if (!result) give_up("an output is carried from one step of a loop to the next in a way that is not understood");
        else state_.written[name].value = result;
      } else {
        state_.locals[name] = result;
      }
    }
    for (std::size_t i = done; i < done_.size(); ++i) resolve_scans(done_[i], steps, starts, variable, from);
    loops_.pop_back();
    if (from != 0 && done_.size() > done) give_up("a loop over outputs does not start at 0");
    // What was declared inside is gone.
    for (auto at = state_.locals.begin(); at != state_.locals.end();) at = before.locals.contains(at->first) ? std::next(at) : state_.locals.erase(at);
    state_.pointers = before.pointers;
  }

  // The value after the loop, or nullptr.
  TermPtr fold_carried(const std::string& name, const TermPtr& start, const TermPtr& step, const TermPtr& index, std::int64_t from, const TermPtr& high,
                       const std::map<std::string, TermPtr>& starts) {
    if (!start) return nullptr;
    const auto is_own = [&](const TermPtr& t) { return t->kind == Kind::carried && t->text == name; };
    const auto holds_carried = [](const TermPtr& t) { return contains(t, [](const Term& inner) { return inner.kind == Kind::carried; }); };
    std::string op;
    TermPtr body;
    if (step->kind == Kind::binary && step->args.size() == 2) {
      static const std::map<std::string, std::string> kOps{{"+", "sum"}, {"*", "product"}, {"|", "or"}, {"||", "or"}, {"&", "and"}, {"&&", "and"}};
      const auto found = kOps.find(step->text);
      if (found != kOps.end() && is_own(step->args[0])) op = found->second, body = step->args[1];
      else if (found != kOps.end() && is_own(step->args[1])) op = found->second, body = step->args[0];
      else if (step->text == "-" && is_own(step->args[0])) op = "sum", body = make_term(Kind::unary, "-", {step->args[1]});
      else flatten_sum(step, is_own, op, body);
    } else if (step->kind == Kind::call && (step->text == "max" || step->text == "min") && step->args.size() == 2) {
      for (int own = 0; own < 2; ++own)
        if (is_own(step->args[own])) op = step->text, body = step->args[1 - own];
    } else if (step->kind == Kind::call && step->text == "fma" && is_own(step->args[2])) {
      op = "sum", body = binary_term("*", step->args[0], step->args[1]);
    } else if (step->kind == Kind::select) {
      return fold_select(name, start, step, index, from, high, starts);
    }
    if (op.empty() || holds_carried(body)) return nullptr;
    return finish(op, start, body, index, from, high);
  }

  // carried + a + b, in any association.
  template <class Own>
  void flatten_sum(const TermPtr& step, const Own& is_own, std::string& op, TermPtr& body) {
    std::vector<TermPtr> parts;
    int owns = 0;
    const std::function<void(const TermPtr&)> collect = [&](const TermPtr& t) {
      if (t->kind == Kind::binary && t->text == "+") {
        collect(t->args[0]);
        collect(t->args[1]);
      } else if (t->kind == Kind::binary && t->text == "-") {
        collect(t->args[0]);
        parts.push_back(make_term(Kind::unary, "-", {t->args[1]}));
      } else if (is_own(t)) {
        ++owns;
      } else {
        parts.push_back(t);
      }
    };
    collect(step);
    if (owns != 1 || parts.empty()) return;
    op = "sum";
    body = parts[0];
    for (std::size_t i = 1; i < parts.size(); ++i) body = binary_term("+", body, parts[i]);
  }

  // "if (v > best) best = v" and the index of the best.
  TermPtr fold_select(const std::string& name, const TermPtr& start, const TermPtr& step, const TermPtr& index, std::int64_t from, const TermPtr& high,
                      const std::map<std::string, TermPtr>& starts) {
    const TermPtr condition = step->args[0];
    const bool own_is_no = step->args[2]->kind == Kind::carried && step->args[2]->text == name;
    if (!own_is_no || condition->kind != Kind::binary) return nullptr;
    TermPtr left = condition->args[0], right = condition->args[1];
    std::string op = condition->text;
    const auto holds_carried = [](const TermPtr& t) { return contains(t, [](const Term& inner) { return inner.kind == Kind::carried; }); };
    if (holds_carried(left) && !holds_carried(right)) {
      std::swap(left, right);
      op = op == "<" ? ">" : op == ">" ? "<" : op == "<=" ? ">=" : op == ">=" ? "<=" : op;
    }
    if (holds_carried(left) || (op != ">" && op != "<" && op != ">=" && op != "<=")) return nullptr;
    const std::string best = op[0] == '>' ? "max" : "min";
    if (right->kind == Kind::carried && right->text == name && same(left, step->args[1])) return finish(best, start, left, index, from, high);
    if (!same(step->args[1], index) || op.size() == 2) return nullptr;   // only the first index of equals
    // best = x[c] > x[best] ? c : best, or best value and index side by side.
    const TermPtr at_own = rewrite(left, [&](const TermPtr& t) { return same(t, index) ? make_term(Kind::carried, name) : nullptr; });
    const bool beside = right->kind == Kind::carried && starts.contains(right->text);
    if (!same(at_own, right) && !beside) return nullptr;
    if (integer_of(start) != std::optional<std::int64_t>(0) || from > 1) return nullptr;
    return make_term(Kind::arg_reduce, best, {left, high}, index->text);
  }

  TermPtr finish(const std::string& op, const TermPtr& start, const TermPtr& body, const TermPtr& index, std::int64_t from, const TermPtr& high) {
    const TermPtr reduced = make_term(Kind::reduce, op, {body, high}, index->text);
    const auto first = [&] { return rewrite(body, [&](const TermPtr& t) { return same(t, index) ? number_term(0) : nullptr; }); };
    if (op == "max" || op == "min") {
      if ((from == 0 && is_extreme(start, op == "max")) || (from <= 1 && same_value(start, first()))) return reduced;
      return from == 0 ? make_term(Kind::call, op, {start, reduced}) : nullptr;
    }
    if (op == "sum" && from == 1 && same_value(start, first())) return reduced;
    if (from != 0) return nullptr;
    const auto value = integer_of(start);
    const auto real = start->kind == Kind::number ? parse_double(start->text) : std::nullopt;
    const double neutral = op == "product" || op == "and" ? 1 : 0;
    if ((value && static_cast<double>(*value) == neutral) || (real && *real == neutral)) return reduced;
    const std::string combine = op == "sum" ? "+" : op == "product" ? "*" : op == "or" ? "|" : "&";
    return make_term(Kind::binary, combine, {start, reduced});
  }
  static bool same_value(const TermPtr& a, const TermPtr& b) {
    const auto bare = [](const TermPtr& t) {
      return rewrite(t, [](const TermPtr& inner) { return inner->kind == Kind::to_real ? inner->args[0] : nullptr; });
    };
    return same(bare(a), bare(b));
  }

  // Values that a step stores while something is carried: scans.
  void resolve_scans(LiftedStore& store, const std::map<std::string, TermPtr>& steps, const std::map<std::string, TermPtr>& starts, const std::string& variable,
                     std::int64_t from) {
    const auto is_carried = [](const Term& t) { return t.kind == Kind::carried; };
    if (!contains(store.value, is_carried)) return;
    for (const auto& [name, step] : steps) {
      if (!step || step->kind != Kind::binary || step->text != "+" || from != 0) continue;
      const auto is_own = [&name = name](const TermPtr& t) { return t->kind == Kind::carried && t->text == name; };
      const int own = is_own(step->args[0]) ? 0 : is_own(step->args[1]) ? 1 : -1;
      if (own < 0 || contains(step->args[1 - own], is_carried)) continue;
      const auto start = starts.at(name) && starts.at(name)->kind == Kind::number ? parse_double(starts.at(name)->text) : std::nullopt;
      if (!start || *start != 0) continue;
      const TermPtr body = step->args[1 - own];
      store.value = rewrite(store.value, [&](const TermPtr& t) -> TermPtr {
        if (same(t, step)) return make_term(Kind::scan, "inclusive", {body}, variable);
        if (is_own(t)) return make_term(Kind::scan, "exclusive", {body}, variable);
        return nullptr;
      });
    }
    // What an outer loop carries is resolved there.
    for (const auto& [name, step] : steps)
      if (contains(store.value, [&name = name](const Term& t) { return t.kind == Kind::carried && t.text == name; })) give_up("a value is carried from one step of a loop to the next in a way that is not understood");
  }

  // Moves what was written at indices that name `variable` (all: "") to the results, in the order of writing.
  void close_stores(const std::string& variable) {
    std::vector<Written> closed;
    for (auto at = state_.written.begin(); at != state_.written.end();) {
      const bool inside = variable.empty() || std::any_of(at->second.index.begin(), at->second.index.end(), [&](const TermPtr& i) {
                            return contains(i, [&](const Term& t) { return t.kind == Kind::index && t.text == variable; });
                          });
      if (!inside) {
        ++at;
        continue;
      }
      closed.push_back(std::move(at->second));
      at = state_.written.erase(at);
    }
    std::sort(closed.begin(), closed.end(), [](const Written& a, const Written& b) { return a.order < b.order; });
    for (Written& one : closed) {
      if (!one.value) {
        give_up("an output's value is not understood");
        return;
      }
      done_.push_back({one.tensor, one.index, one.value, one.loops, one.adds});
    }
  }

  // --- expressions ---

  std::optional<Pointer> pointer_of(const Source& e) {
    if (e.kind == Source::Kind::name) {
      const auto found = state_.pointers.find(e.text);
      return found == state_.pointers.end() ? std::nullopt : std::optional(found->second);
    }
    if (e.kind == Source::Kind::binary && e.text == "+") {
      auto pointer = pointer_of(e.args[0]);
      if (!pointer) return std::nullopt;
      pointer->offset = binary_term("+", pointer->offset, evaluate(e.args[1]));
      return pointer;
    }
    return std::nullopt;
  }

  // The element that an lvalue names; nothing for a local.
  std::optional<std::pair<std::string, std::vector<TermPtr>>> element(const Source& e) {
    std::optional<Pointer> pointer;
    TermPtr flat;
    if (e.kind == Source::Kind::index) {
      pointer = pointer_of(e.args[0]);
      flat = evaluate(e.args[1]);
    } else if (e.kind == Source::Kind::unary && e.text == "*") {
      pointer = pointer_of(e.args[0]);
      flat = number_term(0);
    }
    if (!pointer || !ok()) return std::nullopt;
    flat = binary_term("+", pointer->offset, flat);
    auto index = split_index(flat, strides_.at(pointer->tensor), atoms_);
    if (!index) {
      give_up("an index into " + pointer->tensor + " is not a sum of its dimensions' strides");
      return std::nullopt;
    }
    return std::pair(pointer->tensor, std::move(*index));
  }
  static std::string element_key(const std::string& tensor, const std::vector<TermPtr>& index) {
    std::string key = tensor + "[";
    for (const TermPtr& i : index) key += key_of(i) + ";";
    return key + "]";
  }

  TermPtr read(const std::string& tensor_name, const std::vector<TermPtr>& index) {
    const auto found = state_.written.find(element_key(tensor_name, index));
    if (found != state_.written.end() && !found->second.adds) return found->second.value;
    if (found != state_.written.end()) return give_up("a scattered output is read");
    return make_term(Kind::load, tensor_name, index);
  }

  TermPtr write(const std::string& tensor_name, std::vector<TermPtr> index, TermPtr value) {
    if (tensor(tensor_name).role == task::Role::in) return give_up("the reference writes an input");
    const std::string key = element_key(tensor_name, index);
    const bool scattered = std::any_of(index.begin(), index.end(), [](const TermPtr& i) { return contains(i, [](const Term& t) { return t.kind == Kind::load; }); });
    Written one{tensor_name, index, std::move(value), loops_, false, ++order_};
    if (scattered) {
      const bool adds = one.value->kind == Kind::binary && one.value->text == "+" && one.value->args[0]->kind == Kind::load && one.value->args[0]->text == tensor_name;
      if (!adds) return give_up("a scattered output is not added to");
      one.value = one.value->args[1];
      one.adds = true;
    }
    state_.written[key] = one;
    return one.value;
  }

  TermPtr local(const std::string& name) {
    if (name == "INFINITY" || name == "HUGE_VAL" || name == "numeric_limits::infinity" || name == "FLT_MAX" || name == "DBL_MAX" || name == "numeric_limits::max")
      return infinity(false);
    if (name == "numeric_limits::lowest") return infinity(true);
    if (name == "M_PI") return make_term(Kind::number, "3.14159265358979323846");
    if (name == "M_SQRT1_2") return make_term(Kind::number, "0.70710678118654752440");
    if (name == "M_SQRT2") return make_term(Kind::number, "1.41421356237309504880");
    if (name == "true" || name == "false") return number_term(name == "true");
    const auto found = state_.locals.find(name);
    if (found == state_.locals.end() || !found->second) return give_up("the value of `" + name + "` is not understood");
    return found->second;
  }

  static bool is_integer(const TermPtr& t) {
    return (t->kind == Kind::number && parse_integer(t->text)) || t->kind == Kind::size || t->kind == Kind::index || t->kind == Kind::to_integer || t->kind == Kind::arg_reduce;
  }

  TermPtr cast(const std::string& type, TermPtr value) {
    if (type.find("bool") != std::string::npos) return make_term(Kind::to_bool, "bool", {value});
    if (is_integer_type(type)) return is_integer(value) ? value : make_term(Kind::to_integer, type, {value});
    return value->kind == Kind::to_real ? value : make_term(Kind::to_real, "real", {value});
  }

  TermPtr assign(const Source& e) {
    TermPtr value = evaluate(e.args[1]);
    const Source& target = e.args[0];
    if (e.text != "=") value = binary_term(e.text.substr(0, e.text.size() - 1), evaluate(target), value);
    return store(target, value);
  }
  TermPtr store(const Source& target, TermPtr value) {
    if (!ok()) return value;
    if (target.kind == Source::Kind::name && state_.locals.contains(target.text)) return state_.locals[target.text] = value;
    if (auto at = element(target)) return write(at->first, std::move(at->second), std::move(value));
    return give_up("an assignment to something that is neither a local nor an output");
  }

  TermPtr call(const Source& e) {
    std::vector<TermPtr> args;
    for (const Source& arg : e.args) args.push_back(evaluate(arg));
    if (const auto found = lambdas_.find(e.text); found != lambdas_.end()) return inlined(*found->second, args);
    const std::string name = plain_function(e.text);
    if (std::find(kFunctions.begin(), kFunctions.end(), name) == kFunctions.end()) return give_up("a call of `" + e.text + "`");
    return make_term(Kind::call, name, std::move(args));
  }
  TermPtr inlined(const Statement& lambda, const std::vector<TermPtr>& args) {
    if (args.size() != lambda.parameters.size() || ++depth_ > 8) return give_up("a call of `" + lambda.name + "`");
    const auto saved = state_.locals;
    for (std::size_t i = 0; i < args.size(); ++i) state_.locals[lambda.parameters[i]] = args[i];
    TermPtr outer = std::move(returned_);
    returned_ = nullptr;
    run(lambda.body);
    TermPtr value = std::move(returned_);
    returned_ = std::move(outer);
    state_.locals = saved;
    --depth_;
    return value ? value : give_up("`" + lambda.name + "` returns nothing");
  }

  TermPtr evaluate(const Source& e) {
    if (!ok()) return number_term(0);
    switch (e.kind) {
      case Source::Kind::number: return make_term(Kind::number, plain_number(e.text));
      case Source::Kind::name: return local(e.text);
      case Source::Kind::call: return call(e);
      case Source::Kind::index: {
        const auto at = element(e);
        return at ? read(at->first, at->second) : give_up("an array that is no tensor");
      }
      case Source::Kind::unary: return unary(e);
      case Source::Kind::binary: {
        TermPtr left = evaluate(e.args[0]);
        return binary_term(e.text, left, evaluate(e.args[1]));
      }
      case Source::Kind::ternary: {
        TermPtr condition = evaluate(e.args[0]);
        TermPtr yes = evaluate(e.args[1]);
        return select_term(condition, yes, evaluate(e.args[2]));
      }
      case Source::Kind::cast: return cast(e.text, evaluate(e.args[0]));
      case Source::Kind::assign: return assign(e);
      case Source::Kind::post: {
        TermPtr old = evaluate(e.args[0]);
        store(e.args[0], binary_term(e.text.substr(1), old, number_term(1)));
        return old;
      }
    }
    return number_term(0);
  }
  TermPtr unary(const Source& e) {
    if (e.text == "*") {
      const auto at = element(e);
      return at ? read(at->first, at->second) : give_up("an array that is no tensor");
    }
    TermPtr inner = evaluate(e.args[0]);
    if (e.text == "++" || e.text == "--") return store(e.args[0], binary_term(e.text.substr(1), inner, number_term(1)));
    if (e.text == "+") return inner;
    if (const auto value = integer_of(inner); value && e.text == "-") return number_term(-*value);
    return make_term(Kind::unary, e.text, {inner});
  }

  const task::Task& task_;
  const SourceFunction& function_;
  State state_;
  std::map<std::string, const Statement*> lambdas_;
  std::map<std::string, TermPtr> atoms_;
  std::map<std::string, std::vector<Polynomial>> strides_;
  std::vector<LiftedLoop> loops_;
  std::vector<LiftedStore> done_;
  TermPtr returned_;
  std::string why_;
  int variables_ = 0, steps_ = 0, depth_ = 0;
  std::size_t order_ = 0;
};

TermPtr extent_of(const Source& e) {
  switch (e.kind) {
    case Source::Kind::number: return make_term(Kind::number, e.text);
    case Source::Kind::name: return make_term(Kind::size, e.text);
    case Source::Kind::binary: {
      const TermPtr left = extent_of(e.args[0]), right = extent_of(e.args[1]);
      return left && right ? binary_term(e.text, left, right) : nullptr;
    }
    case Source::Kind::call: {
      std::vector<TermPtr> args;
      for (const Source& arg : e.args) args.push_back(extent_of(arg));
      if (std::find(args.begin(), args.end(), nullptr) != args.end()) return nullptr;
      return make_term(Kind::call, e.text, std::move(args));
    }
    default: return nullptr;
  }
}

}  // namespace

TermPtr extent_term(std::string_view expression) {
  const auto function = parse_reference("void f() { return " + std::string(expression) + "; }", "f");
  if (!function || function->body.size() != 1 || !function->body[0].value) return nullptr;
  return extent_of(*function->body[0].value);
}

std::vector<Polynomial> strides_of(const task::Tensor& tensor, std::map<std::string, TermPtr>& atoms) {
  std::vector<Polynomial> strides(tensor.shape.size());
  Polynomial running;
  running.terms[{}] = 1;
  for (std::size_t k = tensor.shape.size(); k-- > 0;) {
    const TermPtr own = tensor.strides.empty() ? nullptr : extent_term(tensor.strides[k]);
    strides[k] = own ? polynomial_of(own, atoms) : running;
    if (const TermPtr extent = extent_term(tensor.shape[k])) running = running * polynomial_of(extent, atoms);
  }
  return strides;
}

std::optional<Lifted> lift_reference(const task::Task& task, std::string_view reference_text, std::string& why) {
  const auto function = parse_reference(reference_text, task.function);
  if (!function) {
    why = "the reference defines no function `" + task.function + "` that can be read";
    return std::nullopt;
  }
  return Lifter(task, *function).lift(why);
}

}  // namespace kforge::propose
