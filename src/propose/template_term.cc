#include "propose/template_term.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace kforge::propose {

using syntax::Polynomial;
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

bool is_integer_valued(const TermPtr& term) {
  const auto all = [&] { return std::all_of(term->args.begin(), term->args.end(), is_integer_valued); };
  switch (term->kind) {
    case Kind::number: return parse_integer(term->text).has_value();
    case Kind::size: case Kind::index: case Kind::to_integer: case Kind::arg_reduce: return true;
    case Kind::unary: case Kind::binary: return all();
    case Kind::select: return is_integer_valued(term->args[1]) && is_integer_valued(term->args[2]);
    case Kind::call: return (term->text == "max" || term->text == "min" || term->text == "clamp" || term->text == "abs") && all();
    default: return false;
  }
}

namespace {

// A cast that keeps the value of every index: of an integer, to a type that is as wide as an index.
bool keeps_value(const Term& cast) { return narrow_integer(cast.text).empty() && is_integer_valued(cast.args[0]); }

}  // namespace

std::string_view narrow_integer(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kTypes{{{"char", "signed char"}, {"signed char", "signed char"}, {"int8_t", "signed char"},
      {"unsigned char", "unsigned char"}, {"uint8_t", "unsigned char"}, {"short", "short"}, {"short int", "short"}, {"int16_t", "short"},
      {"unsigned short", "unsigned short"}, {"unsigned short int", "unsigned short"}, {"uint16_t", "unsigned short"}, {"signed short", "short"}}};
  const auto found = std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& row) { return row.first == type; });
  return found == kTypes.end() ? std::string_view() : found->second;
}

Polynomial polynomial_of(const TermPtr& term, std::map<std::string, TermPtr>& atoms) {
  if (const auto value = integer_of(term)) return Polynomial::constant(*value);
  if (term->kind == Kind::to_integer && keeps_value(*term)) return polynomial_of(term->args[0], atoms);
  if (term->kind == Kind::binary && (term->text == "+" || term->text == "-" || term->text == "*")) {
    const Polynomial left = polynomial_of(term->args[0], atoms), right = polynomial_of(term->args[1], atoms);
    return term->text == "+" ? left + right : term->text == "-" ? left - right : left * right;
  }
  const std::string key = key_of(term);
  atoms.emplace(key, term);
  return Polynomial::atom(key);
}

TermPtr term_of(const Polynomial& polynomial, const std::map<std::string, TermPtr>& atoms) {
  TermPtr sum = number_term(0);
  for (auto at = polynomial.terms().rbegin(); at != polynomial.terms().rend(); ++at) {  // constants last
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
  const Polynomial whole = polynomial_of(flat, atoms);
  for (const Polynomial& stride : strides)
    if (stride.terms().size() != 1 || !stride.is_known()) return std::nullopt;
  if (!whole.is_known()) return std::nullopt;
  for (auto [factors, coefficient] : whole.terms()) {
    bool placed = false;
    for (std::size_t k = 0; factors.empty() && k < strides.size(); ++k) {   // a constant is spread over constant strides
      const auto& [stride_factors, stride] = *strides[k].terms().begin();
      if (!stride_factors.empty()) continue;
      parts[k].add({}, coefficient / stride);
      coefficient %= stride;
    }
    if (coefficient == 0) continue;
    for (std::size_t k = 0; k < strides.size() && !placed; ++k) {
      const auto& [stride_factors, stride_coefficient] = *strides[k].terms().begin();
      if (coefficient % stride_coefficient != 0 || !std::includes(factors.begin(), factors.end(), stride_factors.begin(), stride_factors.end())) continue;
      std::vector<std::string> rest;
      std::set_difference(factors.begin(), factors.end(), stride_factors.begin(), stride_factors.end(), std::back_inserter(rest));
      parts[k].add(rest, coefficient / stride_coefficient);
      placed = true;
    }
    if (!placed) return std::nullopt;
  }
  std::vector<TermPtr> indices;
  for (const Polynomial& part : parts) indices.push_back(term_of(part, atoms));
  return indices;
}

}  // namespace kforge::propose
