// Binders of computations without reductions: `elementwise` (operands broadcast along leading or trailing dimensions) and `transpose` (the
// last two dimensions change places, with any function of the element).
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
    else return false;
    const auto [at, fresh] = offsets_.emplace(term->text, offset);
    return fresh || at->second == offset;
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
  std::vector<std::string> wanted = out_index->variables;
  std::vector<TermPtr> wanted_extents = out_index->extents;
  std::swap(wanted[wanted.size() - 1], wanted[wanted.size() - 2]);
  std::swap(wanted_extents[wanted.size() - 1], wanted_extents[wanted.size() - 2]);
  contains(store.value, [&](const Term& t) {
    if (t.kind == Kind::load) {
      const auto index = indexed(task, t.text, t.args);
      if (index && index->variables.empty()) singles.push_back(t.text);
      else if (index && index->variables == wanted && std::equal(wanted_extents.begin(), wanted_extents.end(), index->extents.begin(), same_extent) && (moved.empty() || moved == t.text)) moved = t.text;
      else fits = false;
    }
    return false;
  });
  const bool index_used = contains(rewrite(store.value, [](const TermPtr& t) -> TermPtr { return t->kind == Kind::load ? number_term(0) : nullptr; }),
                                   [](const Term& t) { return t.kind == Kind::index; });
  if (!fits || moved.empty() || index_used) return std::nullopt;

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
  const std::size_t n = wanted.size();
  out.texts["batches"] = extent_text(product_of({wanted_extents.begin(), wanted_extents.end() - 2}), task, names);
  out.texts["rows"] = extent_text(wanted_extents[n - 2], task, names);
  out.texts["columns"] = extent_text(wanted_extents[n - 1], task, names);
  out.numbers["batches"] = product_of({wanted_extents.begin(), wanted_extents.end() - 2});
  out.numbers["rows"] = wanted_extents[n - 2];
  out.numbers["columns"] = wanted_extents[n - 1];
  return out;
}

}  // namespace kforge::propose
