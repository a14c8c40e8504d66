// Binders of computations whose elements meet in order or in bins: `scan` (prefix sums along the last dimension) and `histogram` (a
// one-dimensional output that elements of inputs add to at computed places).
#include <algorithm>

#include <fmt/format.h>

#include "propose/template_binding.h"
#include "propose/template_emit.h"
#include "propose/template_rows.h"

namespace kforge::propose {
namespace {

using Kind = Term::Kind;

// The loads of a term whose index is exactly these variables over the whole of a row-major tensor, or a single element.
struct Loads {
  std::vector<std::string> elements, singles;
};
std::optional<Loads> loads_at(const TermPtr& term, const task::Task& task, const std::vector<std::string>& variables, const std::vector<TermPtr>& extents) {
  Loads out;
  bool fits = true;
  contains(term, [&](const Term& t) {
    if (t.kind != Kind::load) return false;
    const auto& tensor = tensor_of(task, t.text);
    const auto index = plain_index(t.args);
    const auto own = extents_of(tensor);
    auto& list = index && *index == variables ? out.elements : out.singles;
    const bool whole = index && *index == variables && std::equal(own.begin(), own.end(), extents.begin(), extents.end(), same_extent);
    const bool single = index && std::all_of(index->begin(), index->end(), [](const std::string& i) { return i.empty(); }) && value_of(product_of(own), {}) == std::optional<std::int64_t>(1);
    if (!is_row_major(tensor) || !(whole || single)) fits = false;
    else if (std::find(list.begin(), list.end(), t.text) == list.end()) list.push_back(t.text);
    return false;
  });
  return fits ? std::optional(out) : std::nullopt;
}

std::string local_line(const task::Task& task, const FileNames& names, const std::string& tensor, const std::string& element) {
  const auto dtype = tensor_of(task, tensor).dtype;
  return fmt::format("const {} {}_at = {};", cuda_name(number_of(dtype)), names(tensor), loaded(element, dtype));
}

void add_inputs(Binding& out, const Loads& loads, const task::Task& task, const FileNames& names, const std::string& pack, std::vector<std::string>& inside) {
  std::vector<std::string> uniform;
  out.lists["inputs"] = {};
  for (const std::string& tensor : loads.elements) {
    Binding row;
    row.texts["name"] = names(tensor);
    row.texts["type"] = task::cuda_type(tensor_of(task, tensor).dtype);
    out.lists["inputs"].push_back(row);
    inside.push_back(local_line(task, names, tensor, fmt::format(fmt::runtime(pack), names(tensor))));
  }
  for (const std::string& tensor : loads.singles) uniform.push_back(local_line(task, names, tensor, names(tensor) + "[0]"));
  out.texts["uniform_loads"] = lines(uniform, 2);
}

bool uses_index(const TermPtr& term) {
  const TermPtr bare = rewrite(term, [](const TermPtr& t) -> TermPtr { return t->kind == Kind::load || t->kind == Kind::scan ? number_term(0) : nullptr; });
  return contains(bare, [](const Term& t) { return t.kind == Kind::index; });
}

}  // namespace

std::optional<Binding> bind_scan(const Computation& computation, const std::vector<std::string>& taken) {
  const task::Task& task = computation.task;
  if (!computation.lifted || computation.lifted->stores.size() != 1) return std::nullopt;
  const LiftedStore& store = computation.lifted->stores[0];
  const auto index = plain_index(store.index);
  if (store.adds || !covers_tensor(store, task) || !index || index->empty() || !is_row_major(tensor_of(task, store.tensor))) return std::nullopt;
  TermPtr scan;
  bool one = true;
  rewrite(store.value, [&](const TermPtr& t) -> TermPtr {
    if (t->kind == Kind::reduce || t->kind == Kind::arg_reduce) one = false;
    if (t->kind != Kind::scan) return nullptr;
    if (scan && !same(scan->args[0], t->args[0])) one = false;
    scan = t;
    return t;
  });
  if (!scan || !one || scan->variable != index->back() || uses_index(store.value) || uses_index(scan->args[0])) return std::nullopt;
  const auto extents = extents_of(tensor_of(task, store.tensor));
  const TermPtr body = scan->args[0];
  const auto loads = loads_at(body, task, *index, extents);
  const TermPtr outside = rewrite(store.value, [](const TermPtr& t) -> TermPtr { return t->kind == Kind::scan ? number_term(0) : nullptr; });
  if (!loads || loads->elements.empty() || !loads_of({outside}).empty()) return std::nullopt;

  const FileNames names(task, taken);
  Binding out = common_binding(task, names);
  std::vector<std::string> inside;
  add_inputs(out, *loads, task, names, "{}_pack.at[e]", inside);
  const EmitNames emit_names{[&](const std::string& name) { return names(name); },
                             [&](const TermPtr& t) { return t->kind == Kind::load ? names(t->text) + "_at" : t->kind == Kind::scan ? t->text : std::string(); }, "t"};
  const EmittedTerms sum = emit({body}, task, emit_names), value = emit({store.value}, task, emit_names);
  inside.insert(inside.end(), sum.statements.begin(), sum.statements.end());
  const Number number = std::max(Number::i32, number_of(body, task));
  const auto& target = tensor_of(task, store.tensor);
  out.texts["sum_type"] = cuda_name(number);
  out.texts["inside"] = lines(inside, 8);
  out.texts["body"] = sum.values[0];
  out.texts["output_statements"] = lines(value.statements, 6);
  out.texts["value"] = stored(value.values[0], target.dtype);
  out.texts["out"] = names(target.name);
  out.texts["out_type"] = task::cuda_type(target.dtype);
  out.texts["rows"] = extent_text(product_of({extents.begin(), extents.end() - 1}), task, names);
  out.texts["columns"] = extent_text(extents.back(), task, names);
  out.lists["pointers"] = out.lists["inputs"];
  Binding row;
  row.texts["name"] = names(target.name);
  row.texts["type"] = task::cuda_type(target.dtype);
  out.lists["pointers"].push_back(row);
  out.numbers["rows"] = product_of({extents.begin(), extents.end() - 1});
  out.numbers["columns"] = extents.back();
  return out;
}

std::optional<Binding> bind_histogram(const Computation& computation, const std::vector<std::string>& taken) {
  const task::Task& task = computation.task;
  if (!computation.lifted) return std::nullopt;
  const auto& stores = computation.lifted->stores;
  if (stores.empty() || stores.size() > 2 || !stores.back().adds) return std::nullopt;
  const LiftedStore& counting = stores.back();
  const auto& target = tensor_of(task, counting.tensor);
  const bool clears = stores.size() == 2;
  if (clears && (stores[0].adds || stores[0].tensor != counting.tensor || integer_of(stores[0].value) != std::optional<std::int64_t>(0) || !covers_tensor(stores[0], task))) return std::nullopt;
  if (!clears && target.role != task::Role::inout) return std::nullopt;
  if (counting.index.size() != 1 || counting.loops.empty() || !is_row_major(target)) return std::nullopt;
  using task::Dtype;
  const bool countable = target.dtype == Dtype::u32 || target.dtype == Dtype::i32 || target.dtype == Dtype::f32;
  std::vector<std::string> variables;
  std::vector<TermPtr> extents;
  for (const LiftedLoop& loop : counting.loops) {
    variables.push_back(loop.variable);
    extents.push_back(loop.extent);
  }
  const TermPtr both = make_term(Kind::call, "max", {counting.index[0], counting.value});
  const auto loads = loads_at(both, task, variables, extents);
  if (!countable || !loads || loads->elements.empty() || uses_index(both)) return std::nullopt;

  const FileNames names(task, taken);
  Binding out = common_binding(task, names);
  std::vector<std::string> inside;
  add_inputs(out, *loads, task, names, "in.{}_at(e)", inside);
  const EmitNames emit_names{[&](const std::string& name) { return names(name); }, [&](const TermPtr& t) { return t->kind == Kind::load ? names(t->text) + "_at" : std::string(); }, "t"};
  const EmittedTerms emitted = emit({counting.index[0], counting.value}, task, emit_names);
  inside.insert(inside.end(), emitted.statements.begin(), emitted.statements.end());
  std::uint32_t widest = 1;
  for (const std::string& tensor : loads->elements) widest = std::max(widest, task::size_bytes(tensor_of(task, tensor).dtype));
  out.texts["inside"] = lines(inside, 6);
  out.texts["bin"] = emitted.values[0];
  out.texts["weight"] = emitted.values[1];
  out.texts["count_type"] = target.dtype == Dtype::u32 ? "unsigned" : target.dtype == Dtype::i32 ? "int" : "float";
  out.texts["out"] = names(target.name);
  out.texts["count"] = extent_text(product_of(extents), task, names);
  out.texts["bins"] = extent_text(extents_of(target)[0], task, names);
  out.flags["clears"] = clears;
  out.flags["is_count"] = integer_of(counting.value) == std::optional<std::int64_t>(1);
  out.numbers["count"] = product_of(extents);
  out.numbers["bins"] = extents_of(target)[0];
  out.numbers["input_bytes"] = number_term(widest);
  return out;
}

}  // namespace kforge::propose
