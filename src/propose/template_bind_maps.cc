// Binders of computations without reductions: `elementwise` (operands broadcast along some dimensions, or with all but the last one in another order)
// and `transpose` (dimensions change places, the last one among them, with any function of the element).
#include <algorithm>

#include <fmt/format.h>

#include "propose/template_binding.h"
#include "propose/template_emit.h"
#include "propose/template_rows.h"

namespace kforge::propose {
namespace {

using Kind = Term::Kind;

bool is_map(const TermPtr& term) {
  return !contains(term, [](const Term& t) { return t.kind == Kind::reduce || t.kind == Kind::arg_reduce || t.kind == Kind::scan || t.kind == Kind::carried; });
}

Binding pointer_row(const task::Task& task, const FileNames& names, const std::string& tensor) {
  Binding row;
  row.texts["name"] = names(tensor);
  row.texts["type"] = task::cuda_type(tensor_of(task, tensor).dtype);
  return row;
}

std::string local_line(const task::Task& task, const FileNames& names, const std::string& tensor, const std::string& element) {
  const auto dtype = tensor_of(task, tensor).dtype;
  return fmt::format("const {} {}_at = {};", cuda_name(number_of(dtype)), names(tensor), loaded(element, dtype));
}

// The variables of an index without those of extent 1, and their extents.
struct Indexed {
  std::vector<std::string> variables;
  std::vector<TermPtr> extents;
};
std::optional<Indexed> indexed(const task::Task& task, const std::string& tensor, const std::vector<TermPtr>& index) {
  const auto names = plain_index(index);
  if (!names || !is_row_major(tensor_of(task, tensor))) return std::nullopt;
  const auto extents = extents_of(tensor_of(task, tensor));
  Indexed out;
  for (std::size_t k = 0; k < names->size(); ++k) {
    if ((*names)[k].empty()) {
      if (integer_of(extents[k]) != std::optional<std::int64_t>(1)) return std::nullopt;
      continue;
    }
    out.variables.push_back((*names)[k]);
    out.extents.push_back(extents[k]);
  }
  return out;
}

class ElementWise {
 public:
  ElementWise(const Computation& computation, const std::vector<std::string>& taken) : task_(computation.task), stores_(computation.lifted->stores), names_(task_, taken) {}

  std::optional<Binding> make() {
    for (const LiftedStore& store : stores_)
      if (!add_output(store)) return std::nullopt;
    for (const TermPtr& value : values_)
      if (!readable(value)) return std::nullopt;
    return binding();
  }

 private:
  bool add_output(const LiftedStore& store) {
    if (store.adds || !covers_tensor(store, task_) || !is_map(store.value)) return false;
    const auto index = indexed(task_, store.tensor, store.index);
    if (!index) return false;
    if (values_.empty()) space_ = *index;
    if (index->variables.size() != space_.variables.size() || !std::equal(index->extents.begin(), index->extents.end(), space_.extents.begin(), same_extent)) return false;
    TermPtr value = store.value;
    for (std::size_t k = 0; k < space_.variables.size(); ++k) value = renamed(value, index->variables[k], fmt::format("#{}", k));
    values_.push_back(value);
    return true;
  }

  bool readable(const TermPtr& term) {
    if (term->kind == Kind::index) return space_.variables.size() == 1;
    if (term->kind != Kind::load) return std::all_of(term->args.begin(), term->args.end(), [&](const TermPtr& arg) { return readable(arg); });
    const auto index = indexed(task_, term->text, term->args);
    if (!index) return false;
    const std::size_t n = space_.variables.size(), m = index->variables.size();
    if (m > n) return false;
    const auto starts_at = [&](std::size_t first) {
      for (std::size_t k = 0; k < m; ++k)
        if (index->variables[k] != fmt::format("#{}", first + k) || !same_extent(index->extents[k], space_.extents[first + k])) return false;
      return true;
    };
    std::string offset;
    if (m == 0) offset = "0";
    else if (starts_at(n - m)) offset = m == n ? "first" : "first % " + add_period(n - m, "column");
    else if (starts_at(0)) offset = "first / " + add_period(m, "row");
    else if (!(offset = reordered(*index)).empty()) add_period(n - 1, "column");
    else return false;
    const auto [at, fresh] = offsets_.emplace(term->text, offset);
    return fresh || at->second == offset;
  }
  // Where an operand lies that has some dimensions of the output, the last one last: each coordinate is taken out of the flat index. "": it has others.
  std::string reordered(const Indexed& index) const {
    const std::size_t n = space_.variables.size(), m = index.variables.size();
    if (index.variables[m - 1] != fmt::format("#{}", n - 1)) return "";
    std::vector<std::string> places;
    for (std::size_t k = 0; k < m; ++k) {
      std::size_t own = 0;
      while (own < n && index.variables[k] != fmt::format("#{}", own)) ++own;
      if (own == n || !same_extent(index.extents[k], space_.extents[own])) return "";
      const auto size_of = [&](const std::vector<TermPtr>& extents, std::size_t first) {
        return "(" + extent_text(product_of({extents.begin() + static_cast<std::ptrdiff_t>(first), extents.end()}), task_, names_) + ")";
      };
      std::string place = own + 1 == n ? "first" : "first / " + size_of(space_.extents, own + 1);
      if (own > 0) place += " % " + size_of({space_.extents[own]}, 0);
      places.push_back(k + 1 == m ? place : fmt::format("{} * {}", place, size_of(index.extents, k + 1)));
    }
    return fmt::format("({})", fmt::join(places, " + "));
  }
  // The number of elements of the dimensions from `first` on, as text.
  std::string add_period(std::size_t first, std::string_view kind) {
    const TermPtr extent = product_of({space_.extents.begin() + static_cast<std::ptrdiff_t>(first), space_.extents.end()});
    periods_.push_back(extent);
    (void)kind;
    return "(" + extent_text(extent, task_, names_) + ")";
  }

  Binding binding() {
    Binding out = common_binding(task_, names_);
    std::vector<std::string> inside, uniform, packs, writes;
    for (const auto& [tensor, offset] : offsets_) {
      if (offset == "0" || offset.starts_with("first /")) {
        // One element serves a whole vector: rows are multiples of it.
        (offset == "0" ? uniform : inside).push_back(local_line(task_, names_, tensor, offset == "0" ? names_(tensor) + "[0]" : names_(tensor) + "[" + offset + "]"));
        continue;
      }
      Binding row = pointer_row(task_, names_, tensor);
      row.texts["offset"] = offset;
      row.texts["load"] = offset == "first" ? "load_once" : "load";   // a broadcast operand is read again
      out.lists["inputs"].push_back(row);
      out.lists["pointers"].push_back(row);
      inside.push_back(local_line(task_, names_, tensor, fmt::format("in.{}.at[e]", names_(tensor))));
    }
    if (!out.lists.contains("inputs")) out.lists["inputs"] = {};
    const EmitNames emit_names{[&](const std::string& name) { return names_(name); },
                               [&](const TermPtr& t) { return t->kind == Kind::load ? names_(t->text) + "_at" : t->kind == Kind::index ? std::string("(first + e)") : std::string(); }, "t"};
    const EmittedTerms emitted = emit(values_, task_, emit_names);
    inside.insert(inside.end(), emitted.statements.begin(), emitted.statements.end());
    for (std::size_t s = 0; s < stores_.size(); ++s) {
      const auto& tensor = tensor_of(task_, stores_[s].tensor);
      const std::string name = names_(tensor.name);
      packs.push_back(fmt::format("Pack<{}, kElements> {}_pack;", task::cuda_type(tensor.dtype), name));
      inside.push_back(fmt::format("{}_pack.at[e] = {};", name, stored(emitted.values[s], tensor.dtype)));
      writes.push_back(fmt::format("store<kElements>({0} + first, {0}_pack);", name));
      if (!offsets_.contains(tensor.name)) out.lists["pointers"].push_back(pointer_row(task_, names_, tensor.name));
    }
    out.texts["inside"] = lines(inside, 6);
    out.texts["packs"] = lines(packs, 4);
    out.texts["writes"] = lines(writes, 4);
    out.texts["uniform_loads"] = lines(uniform, 2);
    const TermPtr count = product_of(space_.extents);
    out.texts["count"] = extent_text(count, task_, names_);
    // Whole vectors must lie in one row of each broadcast operand. Without one, any count will do: 0 is a multiple of everything.
    TermPtr period = number_term(0);
    std::string period_text = "0";
    for (const TermPtr& p : periods_) {
      period = period->text == "0" ? p : binary_term("min", period, p);
      period_text = period_text == "0" ? extent_text(p, task_, names_) : fmt::format("({} % kVector == 0 ? {} : 1)", extent_text(p, task_, names_), period_text);
    }
    if (periods_.size() > 1) period = periods_.back();
    out.texts["period"] = period_text;
    out.numbers["period"] = period;
    out.numbers["count"] = count;
    out.numbers["inputs"] = number_term(static_cast<std::int64_t>(std::max<std::size_t>(1, out.lists["inputs"].size())));
    return out;
  }

  const task::Task& task_;
  const std::vector<LiftedStore>& stores_;
  FileNames names_;
  Indexed space_;
  std::vector<TermPtr> values_, periods_;
  std::map<std::string, std::string> offsets_;
};

// A dimension, or neighbours that stay neighbours, of an array whose dimensions change places; strides in elements.
struct Moved {
  TermPtr extent, in_stride, out_stride;
};
// `column` is the last one of the input, `row` of the output; the others in the output's order.
struct Permutation {
  Moved row, column;
  std::vector<Moved> batches;
};

// Nothing where other dimensions are read than written, or the last one stays where it is.
std::optional<Permutation> permutation(const Indexed& in, const Indexed& out) {
  const std::size_t n = out.variables.size();
  if (in.variables.size() != n || n < 2 || in.variables.back() == out.variables.back()) return std::nullopt;
  std::vector<std::size_t> place;   // in the input, of each of the output's
  for (std::size_t k = 0; k < n; ++k) {
    const auto found = std::find(in.variables.begin(), in.variables.end(), out.variables[k]);
    const auto at = static_cast<std::size_t>(found - in.variables.begin());
    if (found == in.variables.end() || !same_extent(in.extents[at], out.extents[k])) return std::nullopt;
    place.push_back(at);
  }
  const auto after = [](const std::vector<TermPtr>& extents, std::size_t k) { return product_of({extents.begin() + static_cast<std::ptrdiff_t>(k) + 1, extents.end()}); };
  Permutation result;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t last = k;
    while (last + 1 < n && place[last + 1] == place[last] + 1) ++last;
    const Moved own{product_of({out.extents.begin() + static_cast<std::ptrdiff_t>(k), out.extents.begin() + static_cast<std::ptrdiff_t>(last) + 1}), after(in.extents, place[last]), after(out.extents, last)};
    if (last + 1 == n) result.row = own;
    else if (place[last] + 1 == n) result.column = own;
    else result.batches.push_back(own);
    k = last;
  }
  return result;
}

}  // namespace

std::optional<Binding> bind_elementwise(const Computation& computation, const std::vector<std::string>& taken) {
  if (!computation.lifted) return std::nullopt;
  return ElementWise(computation, taken).make();
}

std::optional<Binding> bind_transpose(const Computation& computation, const std::vector<std::string>& taken) {
  if (!computation.lifted || computation.lifted->stores.size() != 1) return std::nullopt;
  const task::Task& task = computation.task;
  const LiftedStore& store = computation.lifted->stores[0];
  if (store.adds || !covers_tensor(store, task) || !is_map(store.value)) return std::nullopt;
  const auto out_index = indexed(task, store.tensor, store.index);
  const auto inputs = loads_of({store.value});
  if (!out_index || inputs.empty() || out_index->variables.size() < 2 || tensor_of(task, store.tensor).role != task::Role::out) return std::nullopt;
  std::string moved;
  std::vector<std::string> singles;
  bool fits = true;
  Indexed in;
  contains(store.value, [&](const Term& t) {
    if (t.kind == Kind::load) {
      const auto index = indexed(task, t.text, t.args);
      if (index && index->variables.empty()) singles.push_back(t.text);
      else if (index && (moved.empty() || (moved == t.text && index->variables == in.variables))) moved = t.text, in = *index;
      else fits = false;
    }
    return false;
  });
  const bool index_used = contains(rewrite(store.value, [](const TermPtr& t) -> TermPtr { return t->kind == Kind::load ? number_term(0) : nullptr; }),
                                   [](const Term& t) { return t.kind == Kind::index; });
  if (!fits || moved.empty() || index_used) return std::nullopt;
  const auto order = permutation(in, *out_index);
  if (!order) return std::nullopt;

  const FileNames names(task, taken);
  Binding out = common_binding(task, names);
  const EmitNames emit_names{[&](const std::string& name) { return names(name); }, [&](const TermPtr& t) { return t->kind == Kind::load ? names(t->text) + "_at" : std::string(); }, "t"};
  const EmittedTerms emitted = emit({store.value}, task, emit_names);
  const bool copies = store.value->kind == Kind::load && tensor_of(task, moved).dtype == tensor_of(task, store.tensor).dtype;
  std::vector<std::string> inside, uniform;
  if (!copies) inside.push_back(local_line(task, names, moved, "element"));
  inside.insert(inside.end(), emitted.statements.begin(), emitted.statements.end());
  for (const std::string& name : singles) uniform.push_back(local_line(task, names, name, names(name) + "[0]"));
  out.texts["inside"] = lines(inside, 6);
  out.texts["uniform_loads"] = lines(uniform, 2);
  out.texts["value"] = copies ? "element" : stored(emitted.values[0], tensor_of(task, store.tensor).dtype);
  out.texts["in"] = names(moved);
  out.texts["out"] = names(store.tensor);
  out.texts["in_type"] = task::cuda_type(tensor_of(task, moved).dtype);
  out.texts["out_type"] = task::cuda_type(tensor_of(task, store.tensor).dtype);
  const auto text_of = [&](const TermPtr& extent) { return "(" + extent_text(extent, task, names) + ")"; };
  std::vector<TermPtr> batches;
  for (const Moved& dimension : order->batches) batches.push_back(dimension.extent);
  // Of each of the other dimensions: its coordinate, times its stride on that side.
  const auto base = [&](TermPtr Moved::*stride) {
    std::vector<std::string> parts;
    for (std::size_t k = 0; k < batches.size(); ++k) {
      std::string coordinate = k + 1 == batches.size() ? "batch" : "batch / " + text_of(product_of({batches.begin() + static_cast<std::ptrdiff_t>(k) + 1, batches.end()}));
      if (k > 0) coordinate += " % " + text_of(batches[k]);
      parts.push_back(fmt::format("{} * {}", coordinate, text_of(order->batches[k].*stride)));
    }
    return parts.empty() ? std::string("0") : fmt::format("{}", fmt::join(parts, " + "));
  };
  out.texts["in_base"] = base(&Moved::in_stride);
  out.texts["out_base"] = base(&Moved::out_stride);
  out.texts["in_pitch"] = text_of(order->row.in_stride);
  out.texts["out_pitch"] = text_of(order->column.out_stride);
  out.texts["batches"] = extent_text(product_of(batches), task, names);
  out.texts["rows"] = extent_text(order->row.extent, task, names);
  out.texts["columns"] = extent_text(order->column.extent, task, names);
  out.numbers["batches"] = product_of(batches);
  out.numbers["rows"] = order->row.extent;
  out.numbers["columns"] = order->column.extent;
  return out;
}

}  // namespace kforge::propose
