#include "propose/template_rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "propose/template_emit.h"

namespace kforge::propose {

using Kind = Term::Kind;

TermPtr renamed(const TermPtr& term, const std::string& from, const std::string& to) {
  return rewrite(term, [&](const TermPtr& t) -> TermPtr { return t->kind == Kind::index && t->text == from ? make_term(Kind::index, to) : nullptr; });
}

std::optional<std::vector<std::string>> plain_index(const std::vector<TermPtr>& index) {
  std::vector<std::string> names;
  for (const TermPtr& i : index) {
    if (i->kind == Kind::index) names.push_back(i->text);
    else if (integer_of(i) == std::optional<std::int64_t>(0)) names.emplace_back();
    else return std::nullopt;
  }
  return names;
}

bool covers_tensor(const LiftedStore& store, const task::Task& task) {
  const auto names = plain_index(store.index);
  const auto extents = extents_of(tensor_of(task, store.tensor));
  if (!names || names->size() != extents.size()) return false;
  std::size_t used = 0;
  for (std::size_t k = 0; k < names->size(); ++k) {
    if ((*names)[k].empty()) {
      if (integer_of(extents[k]) != std::optional<std::int64_t>(1)) return false;
      continue;
    }
    const auto loop = std::find_if(store.loops.begin(), store.loops.end(), [&](const LiftedLoop& l) { return l.variable == (*names)[k]; });
    if (loop == store.loops.end() || !same_extent(loop->extent, extents[k])) return false;
    if (std::count(names->begin(), names->end(), (*names)[k]) != 1) return false;
    ++used;
  }
  return used > 0 || names->size() <= 1;
}

Reduction flattened(const TermPtr& term) {
  Reduction out{term->kind, term->text, {term->variable}, {term->args[1]}, term->args[0], term, 0};
  while (out.kind == Kind::reduce && out.body->kind == Kind::reduce && out.body->text == out.op) {
    out.variables.push_back(out.body->variable);
    out.extents.push_back(out.body->args[1]);
    out.body = TermPtr(out.body->args[0]);
  }
  return out;
}

namespace {

// Renames the variables of every reduction to @k, inside out.
TermPtr canonical(const TermPtr& term) {
  return rewrite(term, [](const TermPtr& t) -> TermPtr {
    if (t->kind != Kind::reduce && t->kind != Kind::arg_reduce) return nullptr;
    Reduction flat = flattened(t);
    TermPtr body = canonical(flat.body);
    for (std::size_t k = 0; k < flat.variables.size(); ++k) body = renamed(body, flat.variables[k], fmt::format("@{}", k));
    for (std::size_t k = flat.variables.size(); k-- > 0;) body = make_term(t->kind, t->text, {body, flat.extents[k]}, fmt::format("@{}", k));
    return body;
  });
}

void collect(const TermPtr& term, std::vector<Reduction>& out) {
  if (term->kind == Kind::reduce || term->kind == Kind::arg_reduce) {
    Reduction flat = flattened(term);
    collect(flat.body, out);
    const bool known = std::any_of(out.begin(), out.end(), [&](const Reduction& r) { return same(r.term, term); });
    if (known) return;
    std::vector<Reduction> inside;
    collect(flat.body, inside);
    for (const Reduction& r : out)
      if (std::any_of(inside.begin(), inside.end(), [&](const Reduction& i) { return same(i.term, r.term); })) flat.level = std::max(flat.level, r.level + 1);
    out.push_back(std::move(flat));
    return;
  }
  for (const TermPtr& arg : term->args) collect(arg, out);
}

// x[row, argmax over c of x[row, c]] is the maximum itself.
TermPtr without_loads_at_arg(const TermPtr& term) {
  return rewrite(term, [](const TermPtr& t) -> TermPtr {
    if (t->kind != Kind::load || t->args.empty() || t->args.back()->kind != Kind::arg_reduce) return nullptr;
    const TermPtr& arg = t->args.back();
    std::vector<TermPtr> index = t->args;
    index.back() = make_term(Kind::index, arg->variable);
    const TermPtr element = make_term(Kind::load, t->text, index);
    return same(element, arg->args[0]) ? make_term(Kind::reduce, arg->text, arg->args, arg->variable) : nullptr;
  });
}

class Form {
 public:
  Form(const Computation& computation, Order order) : task_(computation.task), lifted_(*computation.lifted), across_(order == Order::across) {}

  std::optional<RowForm> make() {
    for (const LiftedStore& store : lifted_.stores)
      if (store.adds || !covers_tensor(store, task_) || !is_row_major(tensor_of(task_, store.tensor))) return std::nullopt;
    std::vector<TermPtr> values;
    for (const LiftedStore& store : lifted_.stores) {
      values.push_back(canonical(without_loads_at_arg(store.value)));
      collect(values.back(), form_.reductions);
    }
    if (form_.reductions.empty() || !same_extents()) return std::nullopt;
    std::stable_sort(form_.reductions.begin(), form_.reductions.end(), [](const Reduction& a, const Reduction& b) { return a.level < b.level; });
    for (std::size_t s = 0; s < lifted_.stores.size(); ++s)
      if (!add_output(lifted_.stores[s], values[s])) return std::nullopt;
    form_.reductions.clear();
    for (const RowOutput& output : form_.outputs) collect(output.value, form_.reductions);
    std::stable_sort(form_.reductions.begin(), form_.reductions.end(), [](const Reduction& a, const Reduction& b) { return a.level < b.level; });
    for (const RowOutput& output : form_.outputs)
      if (!readings(output.value)) return std::nullopt;
    return form_;
  }

 private:
  bool same_extents() {
    form_.inner = form_.reductions[0].extents;
    return std::all_of(form_.reductions.begin(), form_.reductions.end(), [&](const Reduction& r) {
      return std::equal(r.extents.begin(), r.extents.end(), form_.inner.begin(), form_.inner.end(), same_extent);
    });
  }

  bool add_output(const LiftedStore& store, TermPtr value) {
    std::vector<std::string> names;
    std::vector<TermPtr> extents;
    for (std::size_t k = 0; k < store.index.size(); ++k) {
      if (store.index[k]->kind != Kind::index) continue;
      names.push_back(store.index[k]->text);
      extents.push_back(extents_of(tensor_of(task_, store.tensor))[k]);
    }
    const std::size_t m = form_.inner.size();
    const bool has_inner = !across_ && names.size() >= m && std::equal(form_.inner.begin(), form_.inner.end(), extents.end() - static_cast<std::ptrdiff_t>(m), same_extent);
    // Where the last extents are the inner ones by chance (a square), the readings decide: an element output reads at its own variables.
    const bool is_element = has_inner && (names.size() == m || form_.outputs.empty() || names.size() - m == form_.outer.size()) && contains(value, [&](const Term& t) {
      return t.kind == Kind::load && !t.args.empty() && t.args.back()->kind == Kind::index && t.args.back()->text == names.back();
    });
    const std::size_t outer = is_element ? names.size() - m : names.size();
    if (form_.outputs.empty()) form_.outer.assign(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(outer));
    if (outer != form_.outer.size() || !std::equal(form_.outer.begin(), form_.outer.end(), extents.begin(), same_extent)) return false;
    for (std::size_t k = 0; k < names.size(); ++k) value = renamed(value, names[k], k < outer ? fmt::format("#{}", k) : fmt::format("@{}", k - outer));
    form_.outputs.push_back({store.tensor, is_element, value});
    return true;
  }

  bool readings(const TermPtr& term) {
    if (term->kind == Kind::scan || term->kind == Kind::carried) return false;
    if (term->kind == Kind::load) return reading(term);
    if (term->kind == Kind::index && term->text.starts_with("#") && form_.outer.size() != 1) return false;
    if (term->kind == Kind::index && term->text.starts_with("@") && form_.inner.size() != 1) return false;
    return std::all_of(term->args.begin(), term->args.end(), [&](const TermPtr& arg) { return readings(arg); });
  }
  bool reading(const TermPtr& load) {
    const auto& tensor = tensor_of(task_, load->text);
    const auto names = plain_index(load->args);
    if (!names || !is_row_major(tensor)) return false;
    const auto extents = extents_of(tensor);
    std::vector<std::string> used;
    std::vector<TermPtr> used_extents;
    for (std::size_t k = 0; k < names->size(); ++k) {
      if ((*names)[k].empty()) {
        if (integer_of(extents[k]) != std::optional<std::int64_t>(1)) return false;
        continue;
      }
      used.push_back((*names)[k]);
      used_extents.push_back(extents[k]);
    }
    std::vector<std::string> rows, columns;
    for (std::size_t k = 0; k < form_.outer.size(); ++k) rows.push_back(fmt::format("#{}", k));
    for (std::size_t k = 0; k < form_.inner.size(); ++k) columns.push_back(fmt::format("@{}", k));
    std::vector<std::string> whole = across_ ? columns : rows;
    std::vector<TermPtr> all = across_ ? form_.inner : form_.outer;
    whole.insert(whole.end(), across_ ? rows.begin() : columns.begin(), across_ ? rows.end() : columns.end());
    all.insert(all.end(), across_ ? form_.outer.begin() : form_.inner.begin(), across_ ? form_.outer.end() : form_.inner.end());
    const auto fits = [&](const std::vector<std::string>& wanted, const std::vector<TermPtr>& wanted_extents) {
      return used == wanted && std::equal(used_extents.begin(), used_extents.end(), wanted_extents.begin(), wanted_extents.end(), same_extent);
    };
    Reading found;
    if (used.empty()) found = Reading::single;
    else if (fits(whole, all)) found = Reading::element;
    else if (fits(columns, form_.inner)) found = Reading::column;
    else if (fits(rows, form_.outer)) found = Reading::row;
    else return false;
    const auto [at, fresh] = form_.readings.emplace(load->text, found);
    return fresh || at->second == found;
  }

  const task::Task& task_;
  const Lifted& lifted_;
  const bool across_;
  RowForm form_;
};

}  // namespace

std::optional<RowForm> row_form(const Computation& computation, Order order) {
  if (!computation.lifted) return std::nullopt;
  return Form(computation, order).make();
}

std::string reduction_type(const Reduction& reduction, const task::Task& task) {
  const Number number = std::max(Number::i32, number_of(reduction.body, task));
  if (reduction.kind == Kind::arg_reduce) return fmt::format("Best<{}>", cuda_name(number));
  return std::string(cuda_name(number));
}

namespace {

std::string extreme_text(Number number, bool largest) {
  switch (number) {
    case Number::real: return largest ? "Real(INFINITY)" : "Real(-INFINITY)";
    case Number::i64: return largest ? "9223372036854775807ll" : "(-9223372036854775807ll - 1)";
    case Number::u32: return largest ? "4294967295u" : "0u";
    default: return largest ? "2147483647" : "(-2147483647 - 1)";
  }
}

// A whole number of `number`'s type, as an expression.
std::string constant_text(Number number, int value) {
  return number == Number::i64 ? fmt::format("{}ll", value) : fmt::format("{}({})", cuda_name(number), value);
}

}  // namespace

std::string identity_text(const Reduction& reduction, const task::Task& task) {
  const Number number = std::max(Number::i32, number_of(reduction.body, task));
  const std::string type(cuda_name(number));
  if (reduction.kind == Kind::arg_reduce) return fmt::format("Best<{}>{{{}, 0}}", type, extreme_text(number, reduction.op == "min"));
  if (reduction.op == "max") return extreme_text(number, false);
  if (reduction.op == "min") return extreme_text(number, true);
  if (reduction.op == "product") return constant_text(number, 1);
  if (reduction.op == "and") return number_of(reduction.body, task) == Number::boolean ? "1" : "-1";
  return constant_text(number, 0);
}

std::string combine_text(const Reduction& reduction, const task::Task& task, const std::string& a, const std::string& b) {
  if (reduction.kind == Kind::arg_reduce) return fmt::format("better_{}({}, {})", reduction.op, a, b);
  const bool real = number_of(reduction.body, task) == Number::real;
  if (reduction.op == "max" || reduction.op == "min") return fmt::format("{}{}({}, {})", real ? "f" : "", reduction.op, a, b);
  const std::string op = reduction.op == "sum" ? "+" : reduction.op == "product" ? "*" : reduction.op == "or" ? "|" : "&";
  return fmt::format("{} {} {}", a, op, b);
}

}  // namespace kforge::propose
