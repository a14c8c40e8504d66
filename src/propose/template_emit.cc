#include "propose/template_emit.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"

namespace kforge::propose {

using Kind = Term::Kind;

std::string_view cuda_name(Number number) {
  constexpr std::array<std::string_view, 5> names{"bool", "int", "unsigned", "long long", "Real"};
  return names[static_cast<std::size_t>(number)];
}

Number number_of(task::Dtype dtype) {
  switch (dtype) {
    case task::Dtype::i8: case task::Dtype::u8: case task::Dtype::i32: return Number::i32;
    case task::Dtype::u32: return Number::u32;
    case task::Dtype::i64: return Number::i64;
    case task::Dtype::boolean: return Number::boolean;
    default: return Number::real;
  }
}

namespace {

bool is_comparison(const std::string& op) {
  constexpr std::array<std::string_view, 8> ops{"<", "<=", ">", ">=", "==", "!=", "&&", "||"};
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

bool is_integer_literal(const std::string& text) { return parse_integer(text).has_value() || parse_unsigned(text).has_value(); }

Number widest(const std::vector<TermPtr>& terms, const task::Task& task) {
  Number out = Number::i32;
  for (const TermPtr& term : terms) out = std::max(out, number_of(term, task));
  return out;
}

}  // namespace

Number number_of(const TermPtr& term, const task::Task& task) {
  const auto tensor = [&] { return std::find_if(task.tensors.begin(), task.tensors.end(), [&](const auto& t) { return t.name == term->text; }); };
  const auto scalar = [&] { return std::find_if(task.scalars.begin(), task.scalars.end(), [&](const auto& s) { return s.name == term->text; }); };
  switch (term->kind) {
    case Kind::number: return !is_integer_literal(term->text) ? Number::real : parse_integer(term->text).value_or(1ll << 40) > 2147483647 ? Number::i64 : Number::i32;
    case Kind::size: return task.sizes_are_64_bit ? Number::i64 : Number::i32;
    case Kind::index: return Number::i64;
    case Kind::scalar: return number_of(scalar()->dtype);
    case Kind::load: return number_of(tensor()->dtype);
    case Kind::unary: return term->text == "!" ? Number::boolean : std::max(Number::i32, number_of(term->args[0], task));
    case Kind::binary: return is_comparison(term->text) ? Number::boolean : widest(term->args, task);
    case Kind::select: return widest({term->args[1], term->args[2]}, task);
    case Kind::call:
      return term->text == "max" || term->text == "min" || term->text == "clamp" || term->text == "abs" || term->text == "ceil_div" ? widest(term->args, task) : Number::real;
    case Kind::to_real: return Number::real;
    case Kind::to_integer:
      return term->text.find("64") != std::string::npos || term->text.find("long") != std::string::npos || term->text.find("size_t") != std::string::npos ? Number::i64
             : term->text.find("unsigned") != std::string::npos || term->text.find("uint32") != std::string::npos ? Number::u32 : Number::i32;
    case Kind::to_bool: return Number::boolean;
    case Kind::reduce: return term->text == "or" || term->text == "and" ? widest({term->args[0]}, task) : widest({term->args[0]}, task);
    case Kind::arg_reduce: return Number::i32;
    case Kind::scan: return widest({term->args[0]}, task);
    case Kind::carried: return Number::real;
  }
  return Number::real;
}

namespace {

class Emitter {
 public:
  Emitter(const task::Task& task, const EmitNames& names) : task_(task), names_(names) {}

  EmittedTerms all(const std::vector<TermPtr>& roots) {
    for (const TermPtr& root : roots) count(root);
    EmittedTerms out;
    for (const TermPtr& root : roots) out.values.push_back(text(root));
    out.statements = std::move(statements_);
    return out;
  }

 private:
  static bool is_leaf(const TermPtr& t) { return t->args.empty() || t->kind == Kind::load || t->kind == Kind::reduce || t->kind == Kind::arg_reduce || t->kind == Kind::scan; }
  void count(const TermPtr& t) {
    if (!names_.place(t).empty() || is_leaf(t)) return;
    if (++uses_[key_of(t)] > 1) return;
    for (const TermPtr& arg : t->args) count(arg);
  }

  std::string text(const TermPtr& t) {
    if (std::string place = names_.place(t); !place.empty()) return place;
    if (is_leaf(t)) return leaf(t);
    const std::string key = key_of(t);
    if (const auto known = locals_.find(key); known != locals_.end()) return known->second;
    const std::string own = operation(t);
    if (uses_[key] < 2) return own;
    const std::string name = fmt::format("{}{}", names_.prefix, locals_.size());
    statements_.push_back(fmt::format("const {} {} = {};", cuda_name(number_of(t, task_)), name, bare(own)));
    return locals_[key] = name;
  }
  // Without the parentheses around the whole.
  static std::string bare(const std::string& text) {
    if (text.size() < 2 || text.front() != '(' || text.back() != ')') return text;
    int depth = 0;
    for (std::size_t i = 0; i + 1 < text.size(); ++i) {
      depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
      if (depth == 0) return text;
    }
    return text.substr(1, text.size() - 2);
  }

  std::string leaf(const TermPtr& t) {
    if (t->kind == Kind::size || t->kind == Kind::scalar) return names_.name(t->text);
    if (t->text == "INFINITY") return "Real(INFINITY)";
    if (is_integer_literal(t->text)) return number_of(t, task_) == Number::i64 ? t->text + "ll" : t->text;
    return fmt::format("Real({})", t->text);
  }

  std::string real(const TermPtr& t) {
    const std::string value = text(t);
    return number_of(t, task_) == Number::real ? value : fmt::format("Real({})", bare(value));
  }

  std::string operation(const TermPtr& t) {
    switch (t->kind) {
      case Kind::unary: return fmt::format("({}{})", t->text, text(t->args[0]));
      case Kind::binary: return fmt::format("({} {} {})", text(t->args[0]), t->text, text(t->args[1]));
      case Kind::select: return select(t);
      case Kind::to_real: return real(t->args[0]);
      case Kind::to_bool: return fmt::format("static_cast<bool>({})", bare(text(t->args[0])));
      case Kind::to_integer: {
        const std::string_view narrow = narrow_integer(t->text);
        if (!narrow.empty()) return fmt::format("static_cast<int>(static_cast<{}>({}))", narrow, bare(text(t->args[0])));
        return fmt::format("static_cast<{}>({})", cuda_name(number_of(t, task_)), bare(text(t->args[0])));
      }
      case Kind::call: return call(t);
      default: return "0";
    }
  }
  std::string select(const TermPtr& t) {
    const bool is_real = number_of(t, task_) == Number::real;
    return fmt::format("({} ? {} : {})", text(t->args[0]), is_real ? real(t->args[1]) : text(t->args[1]), is_real ? real(t->args[2]) : text(t->args[2]));
  }
  std::string call(const TermPtr& t) {
    const bool is_real = number_of(t, task_) == Number::real;
    if (t->text == "clamp") {
      const auto of = [&](const char* function, TermPtr a, TermPtr b) { return make_term(Kind::call, function, {std::move(a), std::move(b)}); };
      return call(of("min", of("max", t->args[0], t->args[1]), t->args[2]));
    }
    if (t->text == "ceil_div") return fmt::format("(({0} + {1} - 1) / {1})", text(t->args[0]), text(t->args[1]));
    std::string args;
    const std::string_view cast = cuda_name(number_of(t, task_));
    for (const TermPtr& arg : t->args) {
      if (!args.empty()) args += ", ";
      args += is_real ? bare(real(arg)) : number_of(arg, task_) == number_of(t, task_) ? bare(text(arg)) : fmt::format("static_cast<{}>({})", cast, bare(text(arg)));
    }
    // The real ones have overloads for float and double; `max` and `min` of reals follow fmax, which ignores NaN.
    const std::string function = is_real && (t->text == "max" || t->text == "min" || t->text == "abs") ? "f" + t->text : t->text;
    return fmt::format("{}({})", function, args);
  }

  const task::Task& task_;
  const EmitNames& names_;
  std::map<std::string, int> uses_;
  std::map<std::string, std::string> locals_;
  std::vector<std::string> statements_;
};

}  // namespace

EmittedTerms emit(const std::vector<TermPtr>& roots, const task::Task& task, const EmitNames& names) { return Emitter(task, names).all(roots); }

std::string stored(const std::string& value, task::Dtype dtype) {
  if (dtype == task::Dtype::f32 || dtype == task::Dtype::f64) return value;
  return fmt::format("static_cast<{}>({})", task::cuda_type(dtype), value);
}

std::string loaded(const std::string& element, task::Dtype dtype) {
  const Number number = number_of(dtype);
  return number == Number::real ? fmt::format("Real({})", element) : fmt::format("static_cast<{}>({})", cuda_name(number), element);
}

TermPtr with_reciprocals(const TermPtr& term, const task::Task& task, const std::function<bool(const TermPtr&)>& is_uniform) {
  return rewrite(term, [&](const TermPtr& t) -> TermPtr {
    if (t->kind == Kind::reduce || t->kind == Kind::arg_reduce || t->kind == Kind::load) return t;
    if (t->kind != Kind::binary || t->text != "/" || number_of(t, task) != Number::real) return nullptr;
    if (is_uniform(t->args[0]) || !is_uniform(t->args[1])) return nullptr;
    const TermPtr inverse = make_term(Kind::binary, "/", {number_term(1), make_term(Kind::to_real, "real", {t->args[1]})});
    return binary_term("*", with_reciprocals(t->args[0], task, is_uniform), inverse);
  });
}

}  // namespace kforge::propose
