#include "propose/template_term.h"

#include <algorithm>

#include "base/text.h"

namespace kforge::propose {

using Kind = Term::Kind;

TermPtr make_term(Kind kind, std::string text, std::vector<TermPtr> args, std::string variable) {
  return std::make_shared<const Term>(Term{kind, std::move(text), std::move(args), std::move(variable)});
}

TermPtr number_term(std::int64_t value) { return make_term(Kind::number, std::to_string(value)); }

std::optional<std::int64_t> integer_of(const TermPtr& term) {
  if (!term) return std::nullopt;
  if (term->kind == Kind::number) return parse_integer(term->text);
  if (term->kind == Kind::to_integer) return integer_of(term->args[0]);
  if (term->kind == Kind::unary && term->text == "-") {
    const auto inner = integer_of(term->args[0]);
    if (inner) return -*inner;
  }
  return std::nullopt;
}

namespace {

std::optional<std::int64_t> fold(const std::string& op, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (op == "+" && !__builtin_add_overflow(a, b, &out)) return out;
  if (op == "-" && !__builtin_sub_overflow(a, b, &out)) return out;
  if (op == "*" && !__builtin_mul_overflow(a, b, &out)) return out;
  return std::nullopt;
}

bool is_number(const TermPtr& term, std::string_view text) { return term->kind == Kind::number && term->text == text; }

}  // namespace

TermPtr binary_term(std::string op, TermPtr left, TermPtr right) {
  const auto a = integer_of(left), b = integer_of(right);
  if (a && b)
    if (const auto value = fold(op, *a, *b)) return number_term(*value);
  if ((op == "+" || op == "-") && is_number(right, "0")) return left;
  if (op == "+" && is_number(left, "0")) return right;
  if (op == "*" && is_number(right, "1")) return left;
  if (op == "*" && is_number(left, "1")) return right;
  return make_term(Kind::binary, std::move(op), {std::move(left), std::move(right)});
}

TermPtr select_term(TermPtr condition, TermPtr yes, TermPtr no) {
  if (same(yes, no)) return yes;
  if (yes->kind == Kind::binary && yes->text == "+" && same(yes->args[0], no))
    return binary_term("+", no, make_term(Kind::select, "?", {std::move(condition), yes->args[1], number_term(0)}));
  return make_term(Kind::select, "?", {std::move(condition), std::move(yes), std::move(no)});
}

std::string key_of(const TermPtr& term) {
  if (!term) return "?";
  std::string key = std::to_string(static_cast<int>(term->kind)) + ":" + term->text;
  if (!term->variable.empty()) key += "@" + term->variable;
  if (term->args.empty()) return key;
  key += "(";
  for (const TermPtr& arg : term->args) key += key_of(arg) + ",";
  return key + ")";
}

std::string readable(const TermPtr& term) {
  std::string inside;
  for (const TermPtr& arg : term->args) inside += (inside.empty() ? "" : ", ") + readable(arg);
  switch (term->kind) {
    case Kind::load: return term->text + "[" + inside + "]";
    case Kind::binary: return "(" + readable(term->args[0]) + " " + term->text + " " + readable(term->args[1]) + ")";
    case Kind::reduce: return term->text + "_" + term->variable + "{" + inside + "}";
    case Kind::arg_reduce: return "arg_" + term->text + "_" + term->variable + "{" + inside + "}";
    case Kind::scan: return term->text + "_" + term->variable + "{" + inside + "}";
    case Kind::number: case Kind::size: case Kind::scalar: case Kind::index: return term->text;
    case Kind::to_real: return "real(" + inside + ")";
    case Kind::to_integer: return "integer(" + inside + ")";
    case Kind::to_bool: return "bool(" + inside + ")";
    case Kind::carried: return "carried(" + term->text + ")";
    default: return term->text + "(" + inside + ")";
  }
}

bool same(const TermPtr& a, const TermPtr& b) { return a == b || (a && b && a->kind == b->kind && a->text == b->text && key_of(a) == key_of(b)); }

bool contains(const TermPtr& term, const std::function<bool(const Term&)>& test) {
  if (!term) return false;
  if (test(*term)) return true;
  return std::any_of(term->args.begin(), term->args.end(), [&](const TermPtr& arg) { return contains(arg, test); });
}

TermPtr rewrite(const TermPtr& term, const std::function<TermPtr(const TermPtr&)>& change) {
  if (TermPtr changed = change(term)) return changed;
  std::vector<TermPtr> args;
  bool differs = false;
  for (const TermPtr& arg : term->args) {
    args.push_back(rewrite(arg, change));
    differs = differs || args.back() != arg;
  }
  return differs ? make_term(term->kind, term->text, std::move(args), term->variable) : term;
}

namespace {

void add(Polynomial& out, const std::vector<std::string>& factors, std::int64_t coefficient) {
  const auto [at, fresh] = out.terms.try_emplace(factors, 0);
  (void)fresh;
  at->second += coefficient;
  if (at->second == 0) out.terms.erase(at);
}

}  // namespace

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  Polynomial out;
  for (const auto& [left, x] : a.terms)
    for (const auto& [right, y] : b.terms) {
      std::vector<std::string> factors = left;
      factors.insert(factors.end(), right.begin(), right.end());
      std::sort(factors.begin(), factors.end());
      add(out, factors, x * y);
    }
  return out;
}

Polynomial polynomial_of(const TermPtr& term, std::map<std::string, TermPtr>& atoms) {
  if (const auto value = integer_of(term)) {
    Polynomial out;
    if (*value != 0) out.terms[{}] = *value;
    return out;
  }
  if (term->kind == Kind::to_integer) return polynomial_of(term->args[0], atoms);
  if (term->kind == Kind::binary && (term->text == "+" || term->text == "-")) {
    Polynomial out = polynomial_of(term->args[0], atoms);
    for (const auto& [factors, coefficient] : polynomial_of(term->args[1], atoms).terms) add(out, factors, term->text == "+" ? coefficient : -coefficient);
    return out;
  }
  if (term->kind == Kind::binary && term->text == "*") return polynomial_of(term->args[0], atoms) * polynomial_of(term->args[1], atoms);
  const std::string key = key_of(term);
  atoms.emplace(key, term);
  Polynomial out;
  out.terms[{key}] = 1;
  return out;
}

TermPtr term_of(const Polynomial& polynomial, const std::map<std::string, TermPtr>& atoms) {
  TermPtr sum = number_term(0);
  for (auto at = polynomial.terms.rbegin(); at != polynomial.terms.rend(); ++at) {  // constants last
    const auto& [factors, coefficient] = *at;
    TermPtr product = number_term(coefficient < 0 ? -coefficient : coefficient);
    for (const std::string& factor : factors) product = binary_term("*", product, atoms.at(factor));
    if (coefficient < 0 && sum->kind == Kind::number && sum->text == "0") sum = make_term(Kind::unary, "-", {product});
    else sum = binary_term(coefficient < 0 ? "-" : "+", sum, product);
  }
  return sum;
}

std::optional<std::vector<TermPtr>> split_index(const TermPtr& flat, const std::vector<Polynomial>& strides, std::map<std::string, TermPtr> atoms) {
  std::vector<Polynomial> parts(strides.size());
  for (const Polynomial& stride : strides)
    if (stride.terms.size() != 1) return std::nullopt;
  for (auto [factors, coefficient] : polynomial_of(flat, atoms).terms) {
    bool placed = false;
    for (std::size_t k = 0; factors.empty() && k < strides.size(); ++k) {   // a constant is spread over constant strides
      const auto& [stride_factors, stride] = *strides[k].terms.begin();
      if (!stride_factors.empty()) continue;
      if (coefficient / stride != 0) add(parts[k], {}, coefficient / stride);
      coefficient %= stride;
    }
    if (coefficient == 0) continue;
    for (std::size_t k = 0; k < strides.size() && !placed; ++k) {
      const auto& [stride_factors, stride_coefficient] = *strides[k].terms.begin();
      if (coefficient % stride_coefficient != 0 || !std::includes(factors.begin(), factors.end(), stride_factors.begin(), stride_factors.end())) continue;
      std::vector<std::string> rest;
      std::set_difference(factors.begin(), factors.end(), stride_factors.begin(), stride_factors.end(), std::back_inserter(rest));
      add(parts[k], rest, coefficient / stride_coefficient);
      placed = true;
    }
    if (!placed) return std::nullopt;
  }
  std::vector<TermPtr> indices;
  for (const Polynomial& part : parts) indices.push_back(term_of(part, atoms));
  return indices;
}

}  // namespace kforge::propose
