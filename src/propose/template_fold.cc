#include "propose/template_fold.h"

#include <algorithm>

#include "base/text.h"

namespace kforge::propose {
namespace {

using Kind = Term::Kind;

bool is_carried(const Term& term) { return term.kind == Kind::carried; }
bool holds_carried(const TermPtr& term) { return contains(term, is_carried); }
bool is_own(const TermPtr& term, const std::string& name) { return term->kind == Kind::carried && term->text == name; }

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

bool same_value(const TermPtr& a, const TermPtr& b) {
  const auto bare = [](const TermPtr& t) {
    return rewrite(t, [](const TermPtr& inner) { return inner->kind == Kind::to_real ? inner->args[0] : nullptr; });
  };
  return same(bare(a), bare(b));
}

TermPtr reduced(const CarriedLoop& loop, const std::string& op, const TermPtr& start, const TermPtr& body) {
  const TermPtr reduction = make_term(Kind::reduce, op, {body, loop.high}, loop.index->text);
  const auto first = [&] { return rewrite(body, [&](const TermPtr& t) { return same(t, loop.index) ? number_term(0) : nullptr; }); };
  if (op == "max" || op == "min") {
    if ((loop.from == 0 && is_extreme(start, op == "max")) || (loop.from <= 1 && same_value(start, first()))) return reduction;
    return loop.from == 0 ? make_term(Kind::call, op, {start, reduction}) : nullptr;
  }
  if (op == "sum" && loop.from == 1 && same_value(start, first())) return reduction;
  if (loop.from != 0) return nullptr;
  const auto value = integer_of(start);
  const auto real = start->kind == Kind::number ? parse_double(start->text) : std::nullopt;
  const double neutral = op == "product" || op == "and" ? 1 : 0;
  if ((value && static_cast<double>(*value) == neutral) || (real && *real == neutral)) return reduction;
  const std::string combine = op == "sum" ? "+" : op == "product" ? "*" : op == "or" ? "|" : "&";
  return make_term(Kind::binary, combine, {start, reduction});
}

struct Folding { std::string op; TermPtr body; };   // op "": none

// carried + a + b, in any association.
Folding flattened_sum(const TermPtr& step, const std::string& name) {
  std::vector<TermPtr> parts;
  int owns = 0;
  const std::function<void(const TermPtr&)> collect = [&](const TermPtr& t) {
    if (t->kind == Kind::binary && t->text == "+") {
      collect(t->args[0]);
      collect(t->args[1]);
    } else if (t->kind == Kind::binary && t->text == "-") {
      collect(t->args[0]);
      parts.push_back(make_term(Kind::unary, "-", {t->args[1]}));
    } else if (is_own(t, name)) {
      ++owns;
    } else {
      parts.push_back(t);
    }
  };
  collect(step);
  if (owns != 1 || parts.empty()) return {};
  TermPtr body = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) body = binary_term("+", body, parts[i]);
  return {"sum", body};
}

Folding folding_of(const TermPtr& step, const std::string& name) {
  if (step->kind == Kind::binary && step->args.size() == 2) {
    static const std::map<std::string, std::string> kOps{{"+", "sum"}, {"*", "product"}, {"|", "or"}, {"||", "or"}, {"&", "and"}, {"&&", "and"}};
    const auto found = kOps.find(step->text);
    if (found != kOps.end() && is_own(step->args[0], name)) return {found->second, step->args[1]};
    if (found != kOps.end() && is_own(step->args[1], name)) return {found->second, step->args[0]};
    if (step->text == "-" && is_own(step->args[0], name)) return {"sum", make_term(Kind::unary, "-", {step->args[1]})};
    return flattened_sum(step, name);
  }
  if (step->kind == Kind::call && (step->text == "max" || step->text == "min") && step->args.size() == 2) {
    if (is_own(step->args[0], name)) return {step->text, step->args[1]};
    if (is_own(step->args[1], name)) return {step->text, step->args[0]};
  }
  if (step->kind == Kind::call && step->text == "fma" && is_own(step->args[2], name)) return {"sum", binary_term("*", step->args[0], step->args[1])};
  return {};
}

// "if (v > best) best = v" and the index of the best.
TermPtr fold_select(const CarriedLoop& loop, const std::string& name, const TermPtr& start, const TermPtr& step) {
  const TermPtr condition = step->args[0];
  if (!is_own(step->args[2], name) || condition->kind != Kind::binary) return nullptr;
  TermPtr left = condition->args[0], right = condition->args[1];
  std::string op = condition->text;
  if (holds_carried(left) && !holds_carried(right)) {
    std::swap(left, right);
    op = op == "<" ? ">" : op == ">" ? "<" : op == "<=" ? ">=" : op == ">=" ? "<=" : op;
  }
  if (holds_carried(left) || (op != ">" && op != "<" && op != ">=" && op != "<=")) return nullptr;
  const std::string best = op[0] == '>' ? "max" : "min";
  if (is_own(right, name) && same(left, step->args[1])) return reduced(loop, best, start, left);
  if (!same(step->args[1], loop.index) || op.size() == 2) return nullptr;   // only the first index of equals
  // best = x[c] > x[best] ? c : best, or best value and index side by side.
  const TermPtr at_own = rewrite(left, [&](const TermPtr& t) { return same(t, loop.index) ? make_term(Kind::carried, name) : nullptr; });
  const bool beside = right->kind == Kind::carried && loop.starts.contains(right->text);
  if (!same(at_own, right) && !beside) return nullptr;
  if (integer_of(start) != std::optional<std::int64_t>(0) || loop.from > 1) return nullptr;
  return make_term(Kind::arg_reduce, best, {left, loop.high}, loop.index->text);
}

}  // namespace

TermPtr fold_carried(const CarriedLoop& loop, const std::string& name) {
  const TermPtr start = loop.starts.at(name), step = loop.steps.at(name);
  if (!start || !step) return nullptr;
  if (step->kind == Kind::select) return fold_select(loop, name, start, step);
  const Folding found = folding_of(step, name);
  return found.op.empty() || holds_carried(found.body) ? nullptr : reduced(loop, found.op, start, found.body);
}

TermPtr fold_stored(const CarriedLoop& loop, TermPtr value) {
  if (!holds_carried(value)) return value;
  for (const auto& [name, step] : loop.steps) {
    if (!step || step->kind != Kind::binary || step->text != "+" || loop.from != 0) continue;
    const int own = is_own(step->args[0], name) ? 0 : is_own(step->args[1], name) ? 1 : -1;
    if (own < 0 || holds_carried(step->args[1 - own])) continue;
    const TermPtr& start = loop.starts.at(name);
    const auto first = start && start->kind == Kind::number ? parse_double(start->text) : std::nullopt;
    if (!first || *first != 0) continue;
    const TermPtr body = step->args[1 - own];
    value = rewrite(value, [&, &name = name, &step = step](const TermPtr& t) -> TermPtr {
      if (same(t, step)) return make_term(Kind::scan, "inclusive", {body}, loop.index->text);
      if (is_own(t, name)) return make_term(Kind::scan, "exclusive", {body}, loop.index->text);
      return nullptr;
    });
  }
  // What an outer loop carries is resolved there.
  const bool left = contains(value, [&](const Term& t) { return is_carried(t) && loop.steps.contains(t.text); });
  return left ? nullptr : value;
}

}  // namespace kforge::propose
