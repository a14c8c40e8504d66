#include "propose/template_lift.h"

#include <algorithm>

#include "base/text.h"
#include "propose/reference_source.h"
#include "propose/template_emit.h"
#include "propose/template_fold.h"
#include "propose/template_words.h"

namespace kforge::propose {
namespace {

using syntax::Polynomial;
using Kind = Term::Kind;
using reference::Declared;
using reference::Statement;
using Source = reference::Expression;

constexpr std::int64_t kMaxUnrolled = 16;
constexpr const char* kCarried = "an output is carried from one step of a loop to the next in a way that is not understood";
constexpr int kMaxSteps = 20000;       // statements executed: a bound on unrolled nests

class Lifter {
 public:
  Lifter(const task::Task& task, const reference::Function& function) : task_(task), function_(function) {}

  std::optional<Lifted> lift(std::string& why) {
    if (!bind_parameters()) why_ = "the reference's parameters are not the tensors, sizes and scalars of the task";
    else run(function_.body);
    if (why_.empty()) close_stores("");
    if (why_.empty() && done_.empty()) why_ = "the reference writes no output that was understood";
    why = why_;
    return why_.empty() ? std::optional(Lifted{std::move(done_)}) : std::nullopt;
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
      if (parameter.pointer != (wanted[i].first == Kind::load)) return false;
      if (parameter.pointer) state_.pointers[parameter.name] = {wanted[i].second, number_term(0)};
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
      case Statement::Kind::block: return run(s.first);
      case Statement::Kind::declaration:
        for (const Declared& one : s.declared) declare(one);
        return;
      case Statement::Kind::expression: evaluate(s.condition[0]); return;
      case Statement::Kind::loop: return loop(s);
      case Statement::Kind::branch: return branch(s);
      case Statement::Kind::result:
        if (!s.condition.empty()) returned_ = evaluate(s.condition[0]);
        else give_up("the reference returns early");
        return;
      case Statement::Kind::range_loop:
      case Statement::Kind::leave:
      case Statement::Kind::opaque: give_up("the reference holds a statement that is not understood"); return;
    }
  }

  void declare(const Declared& d) {
    state_.pointers.erase(d.name);
    const Source* given = d.initial.size() == 1 ? &d.initial[0] : nullptr;
    if (given && given->kind == Source::Kind::lambda) {
      lambdas_[d.name] = given;
      return;
    }
    if (d.name.empty() || d.type.empty() || d.container || d.initial.size() > 1) {
      give_up("the declaration of `" + d.name + "` is not understood");
      return;
    }
    if (d.pointer || (given && d.type == "auto" && pointer_of(*given))) {
      const auto pointer = given ? pointer_of(*given) : std::nullopt;
      if (pointer) state_.pointers[d.name] = *pointer;
      else give_up("a pointer that does not point into a tensor");
      return;
    }
    TermPtr value = given ? evaluate(*given) : nullptr;
    if (value && is_integer_type(d.type) && !fits(value, d.type)) value = make_term(Kind::to_integer, d.type, {value});
    state_.locals[d.name] = value;
    types_[d.name] = d.type;
  }

  void branch(const Statement& s) {
    const TermPtr condition = evaluate(s.condition[0]);
    if (const auto known = integer_of(condition)) return run(*known ? s.first : s.body);
    const State before = state_;
    run(s.first);
    State yes = std::move(state_);
    state_ = before;
    run(s.body);
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

  // `for (int i = low; i < high; ++i)`, and what is equal to it.
  struct Counted { std::string name; const Source *low, *high; bool inclusive; };
  static std::optional<Counted> counted(const Statement& s) {
    if (s.first.size() != 1 || s.first[0].declared.size() != 1 || s.condition.size() != 1 || s.step.size() != 1) return std::nullopt;
    const Declared& variable = s.first[0].declared[0];
    const Source &condition = s.condition[0], &step = s.step[0];
    const bool by_one = (step.kind == Source::Kind::postfix || step.kind == Source::Kind::unary) && step.text == "++" && step.parts[0].text == variable.name;
    if (variable.initial.size() != 1 || !by_one || condition.kind != Source::Kind::binary || condition.parts[0].text != variable.name) return std::nullopt;
    if (condition.text != "<" && condition.text != "<=" && condition.text != "!=") return std::nullopt;
    return Counted{variable.name, &variable.initial[0], &condition.parts[1], condition.text == "<="};
  }

  void loop(const Statement& s) {
    const auto found = counted(s);
    if (!found) return static_cast<void>(give_up("the reference holds a loop that does not count up by one"));
    const TermPtr low = evaluate(*found->low);
    TermPtr high = evaluate(*found->high);
    if (found->inclusive) high = binary_term("+", high, number_term(1));
    if (!ok()) return;
    const auto from = integer_of(low), to = integer_of(high);
    const auto shadowed = state_.locals.find(found->name);
    const bool shadows = shadowed != state_.locals.end();
    const TermPtr outer = shadows ? shadowed->second : nullptr;
    if (from && to && *to - *from <= kMaxUnrolled) unrolled(s, found->name, *from, *to);
    else if (from) symbolic(s, found->name, *from, high);
    else give_up("a loop does not start at a number");
    state_.locals.erase(found->name);
    if (shadows) state_.locals[found->name] = outer;
  }

  void unrolled(const Statement& s, const std::string& name, std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to && ok(); ++i) {
      state_.locals[name] = number_term(i);
      run(s.body);
    }
  }

  // One step with the index as a symbol. A first, dry one tells which values a step changes.
  void symbolic(const Statement& s, const std::string& counter, std::int64_t from, const TermPtr& high) {
    const State before = state_;
    const std::size_t done = done_.size();
    const std::string variable = counter + "." + std::to_string(++variables_);
    CarriedLoop carried{make_term(Kind::index, variable), from, high, {}, {}};
    state_.locals[counter] = carried.index;
    loops_.push_back({variable, high});
    run(s.body);
    if (!ok()) return;
    std::vector<std::string> changed_locals, changed_outputs;
    for (const auto& [name, value] : before.locals)
      if (name != counter && state_.locals[name] != value) changed_locals.push_back(name);
    for (const auto& [key, one] : before.written)
      if (state_.written[key].value != one.value) changed_outputs.push_back(key);

    state_ = before;
    done_.resize(done);
    state_.locals[counter] = carried.index;
    for (const std::string& name : changed_locals) state_.locals[name] = make_term(Kind::carried, name);
    for (const std::string& key : changed_outputs) state_.written[key].value = make_term(Kind::carried, key);
    run(s.body);
    if (!ok()) return;
    close_stores(variable);
    for (const std::string& name : changed_locals) {
      carried.starts[name] = before.locals.at(name);
      carried.steps[name] = state_.locals[name];
    }
    for (const std::string& key : changed_outputs) {
      carried.starts[key] = before.written.at(key).value;
      carried.steps[key] = state_.written[key].value;
    }
    for (const auto& [name, step] : carried.steps) {
      const TermPtr result = fold_carried(carried, name);
      if (!state_.written.contains(name)) state_.locals[name] = result;
      else if (result) state_.written[name].value = result;
      else give_up(kCarried);
    }
    for (std::size_t i = done; i < done_.size(); ++i) {
      done_[i].value = fold_stored(carried, done_[i].value);
      if (!done_[i].value) give_up(kCarried);
    }
    loops_.pop_back();
    if (from != 0 && done_.size() > done) give_up("a loop over outputs does not start at 0");
    // What was declared inside is gone.
    for (auto at = state_.locals.begin(); at != state_.locals.end();) at = before.locals.contains(at->first) ? std::next(at) : state_.locals.erase(at);
    state_.pointers = before.pointers;
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
      auto pointer = pointer_of(e.parts[0]);
      if (!pointer) return std::nullopt;
      pointer->offset = binary_term("+", pointer->offset, evaluate(e.parts[1]));
      return pointer;
    }
    return std::nullopt;
  }

  // The element that an lvalue names; nothing for a local.
  std::optional<std::pair<std::string, std::vector<TermPtr>>> element(const Source& e) {
    std::optional<Pointer> pointer;
    TermPtr flat;
    if (e.kind == Source::Kind::index) {
      pointer = pointer_of(e.parts[0]);
      flat = evaluate(e.parts[1]);
    } else if (e.kind == Source::Kind::unary && e.text == "*") {
      pointer = pointer_of(e.parts[0]);
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
    if (const TermPtr constant = constant_term(name)) return constant;
    const auto found = state_.locals.find(name);
    if (found == state_.locals.end() || !found->second) return give_up("the value of `" + name + "` is not understood");
    return found->second;
  }

  static bool is_integer(const TermPtr& t) {
    return (t->kind == Kind::number && parse_integer(t->text)) || t->kind == Kind::size || t->kind == Kind::index || t->kind == Kind::to_integer || t->kind == Kind::arg_reduce;
  }

  // The cast to that integer type changes nothing.
  static bool fits(const TermPtr& value, std::string_view type) {
    const auto known = integer_of(value);
    return is_integer(value) && (narrow_integer(type).empty() || (known && *known >= 0 && *known < 128));
  }

  TermPtr cast(const std::string& type, TermPtr value) {
    if (type.find("bool") != std::string::npos) return make_term(Kind::to_bool, "bool", {value});
    if (is_integer_type(type)) return fits(value, type) ? value : make_term(Kind::to_integer, type, {value});
    return value->kind == Kind::to_real ? value : make_term(Kind::to_real, "real", {value});
  }

  // A real value that an integer local takes loses its fraction. What is carried is of the local's own type.
  TermPtr kept_in(const std::string& type, const TermPtr& value) const {
    const bool carried = contains(value, [](const Term& t) { return t.kind == Kind::carried; });
    const bool cut = !type.empty() && is_integer_type(type) && !carried && number_of(value, task_) == Number::real;
    return cut ? make_term(Kind::to_integer, type, {value}) : value;
  }

  TermPtr assign(const Source& e) {
    TermPtr value = evaluate(e.parts[1]);
    const Source& target = e.parts[0];
    if (e.text != "=") value = binary_term(e.text.substr(0, e.text.size() - 1), evaluate(target), value);
    return store(target, value);
  }
  TermPtr store(const Source& target, TermPtr value) {
    if (!ok()) return value;
    if (target.kind == Source::Kind::name && state_.locals.contains(target.text)) return state_.locals[target.text] = kept_in(types_[target.text], value);
    if (auto at = element(target)) return write(at->first, std::move(at->second), std::move(value));
    return give_up("an assignment to something that is neither a local nor an output");
  }

  TermPtr call(const Source& e) {
    const std::string& callee = e.parts[0].text;
    if (e.parts[0].kind != Source::Kind::name) return give_up("a call that is not understood");
    if (e.parts.size() == 1 && callee.starts_with("numeric_limits::")) return local(callee);
    std::vector<TermPtr> args;
    for (std::size_t i = 1; i < e.parts.size(); ++i) args.push_back(evaluate(e.parts[i]));
    if (const auto found = lambdas_.find(callee); found != lambdas_.end()) return inlined(callee, *found->second, args);
    const std::string name = plain_function(callee);
    if (!is_term_function(name)) return give_up("a call of `" + callee + "`");
    return make_term(Kind::call, name, std::move(args));
  }
  TermPtr inlined(const std::string& name, const Source& lambda, const std::vector<TermPtr>& args) {
    if (args.size() != lambda.parameters.size() || ++depth_ > 8) return give_up("a call of `" + name + "`");
    const auto saved = state_.locals;
    const auto types = types_;
    for (std::size_t i = 0; i < args.size(); ++i) {
      state_.locals[lambda.parameters[i].name] = args[i];
      types_[lambda.parameters[i].name] = lambda.parameters[i].type;
    }
    TermPtr outer = std::move(returned_);
    returned_ = nullptr;
    run(*lambda.body);
    TermPtr value = std::move(returned_);
    returned_ = std::move(outer);
    state_.locals = saved;
    types_ = types;
    --depth_;
    return value ? value : give_up("`" + name + "` returns nothing");
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
        TermPtr left = evaluate(e.parts[0]);
        return binary_term(e.text, left, evaluate(e.parts[1]));
      }
      case Source::Kind::conditional: {
        TermPtr condition = evaluate(e.parts[0]);
        TermPtr yes = evaluate(e.parts[1]);
        return select_term(condition, yes, evaluate(e.parts[2]));
      }
      case Source::Kind::cast: return cast(e.text, evaluate(e.parts[0]));
      case Source::Kind::assign: return assign(e);
      case Source::Kind::postfix: {
        TermPtr old = evaluate(e.parts[0]);
        store(e.parts[0], binary_term(e.text.substr(1), old, number_term(1)));
        return old;
      }
      case Source::Kind::list:
        if (e.text != ",") return give_up("a list of values");
        evaluate(e.parts[0]);
        return evaluate(e.parts[1]);
      case Source::Kind::member:
      case Source::Kind::lambda:
      case Source::Kind::opaque: return give_up("the reference holds an expression that is not understood");
    }
    return number_term(0);
  }
  TermPtr unary(const Source& e) {
    if (e.text == "*") {
      const auto at = element(e);
      return at ? read(at->first, at->second) : give_up("an array that is no tensor");
    }
    TermPtr inner = evaluate(e.parts[0]);
    if (e.text == "++" || e.text == "--") return store(e.parts[0], binary_term(e.text.substr(1), inner, number_term(1)));
    if (e.text == "+") return inner;
    if (const auto value = integer_of(inner); value && e.text == "-") return number_term(-*value);
    return make_term(Kind::unary, e.text, {inner});
  }

  const task::Task& task_;
  const reference::Function& function_;
  State state_;
  std::map<std::string, const Source*> lambdas_;
  std::map<std::string, std::string> types_;     // of locals, as they were declared last
  std::map<std::string, TermPtr> atoms_;
  std::map<std::string, std::vector<Polynomial>> strides_;
  std::vector<LiftedLoop> loops_;
  std::vector<LiftedStore> done_;
  TermPtr returned_;
  std::string why_;
  int variables_ = 0, steps_ = 0, depth_ = 0;
  std::size_t order_ = 0;
};

}  // namespace

std::optional<Lifted> lift_reference(const task::Task& task, std::string_view reference_text, std::string& why) {
  const auto functions = reference::functions_of(reference_text, reference::Casts::keep);
  if (!functions) {
    why = functions.error().message;
    return std::nullopt;
  }
  const reference::Function* function = reference::find(*functions, task.function);
  if (!function || !function->parses) {
    why = function ? "the reference's `" + task.function + "` does not parse" : "the reference defines no function `" + task.function + "`";
    return std::nullopt;
  }
  return Lifter(task, *function).lift(why);
}

}  // namespace kforge::propose
