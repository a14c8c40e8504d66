// Binders of row-wise computations: `rows` (any reductions along the row, then anything element-wise), `columns` (rows lie across memory, and
// each gives one value), and `all` (one row is the whole tensor). Reductions of one level share a pass over the row.
#include <algorithm>

#include <fmt/format.h>

#include "propose/template_binding.h"
#include "propose/template_emit.h"
#include "propose/template_rows.h"

namespace kforge::propose {
namespace {

using Kind = Term::Kind;

// Texts of one row form: what stands for each load and reduction.
class RowTexts {
 public:
  RowTexts(const task::Task& task, const RowForm& form, const FileNames& names) : task_(task), form_(form), names_(names) {
    for (std::size_t r = 0; r < form.reductions.size(); ++r) reduction_names_[key_of(form.reductions[r].term)] = fmt::format("r{}", r);
    // The maximum beside its position is one reduction.
    for (std::size_t r = 0; r < form.reductions.size(); ++r) {
      const Reduction& own = form.reductions[r];
      if (own.kind != Kind::arg_reduce) continue;
      const TermPtr value = make_term(Kind::reduce, own.op, own.term->args, own.term->variable);
      beside_[key_of(value)] = fmt::format("r{}.value", r);
    }
  }

  bool is_beside(const Reduction& reduction) const { return reduction.kind == Kind::reduce && beside_.contains(key_of(reduction.term)); }

  std::string place(const TermPtr& t) const {
    if (t->kind == Kind::arg_reduce) return reduction_names_.at(key_of(t)) + ".index";
    if (t->kind == Kind::reduce) {
      if (const auto found = beside_.find(key_of(t)); found != beside_.end()) return found->second;
      return reduction_names_.at(key_of(t));
    }
    if (t->kind == Kind::index) return t->text.starts_with("#") ? "row" : "(column + e)";
    if (t->kind == Kind::load) return names_(t->text) + "_at";
    return {};
  }
  EmitNames emit_names(const std::string& prefix) const {
    return {[this](const std::string& name) { return names_(name); }, [this](const TermPtr& t) { return place(t); }, prefix};
  }

  // "const Real x_at = Real(in.x.at[e]);" for the loads of a kind in these terms; reductions are looked through when they are the root.
  std::vector<std::string> locals(const std::vector<TermPtr>& terms, Reading reading) const {
    std::vector<std::string> out;
    for (const std::string& name : direct_loads(terms)) {
      if (form_.readings.at(name) != reading) continue;
      const auto& tensor = tensor_of(task_, name);
      const std::string own = names_(name);
      std::string element = fmt::format("{}_pack.at[e]", own);
      if (reading == Reading::element) element = fmt::format("in.{}.at[e]", own);
      if (reading == Reading::row) element = fmt::format("{}[row]", own);
      if (reading == Reading::single) element = fmt::format("{}[0]", own);
      out.push_back(fmt::format("const {} {}_at = {};", cuda_name(number_of(tensor.dtype)), own, loaded(element, tensor.dtype)));
    }
    return out;
  }
  std::vector<std::string> column_packs(const std::vector<TermPtr>& terms) const {
    std::vector<std::string> out;
    for (const std::string& name : direct_loads(terms))
      if (form_.readings.at(name) == Reading::column)
        out.push_back(fmt::format("const Pack<{}, kWidth> {}_pack = load<kWidth>({} + column);", task::cuda_type(tensor_of(task_, name).dtype), names_(name), names_(name)));
    return out;
  }

 private:
  // Not of what reductions read.
  std::vector<std::string> direct_loads(const std::vector<TermPtr>& terms) const {
    std::vector<TermPtr> bare;
    for (const TermPtr& term : terms)
      bare.push_back(rewrite(term, [](const TermPtr& t) -> TermPtr { return t->kind == Kind::reduce || t->kind == Kind::arg_reduce ? number_term(0) : nullptr; }));
    return loads_of(bare);
  }

  const task::Task& task_;
  const RowForm& form_;
  const FileNames& names_;
  std::map<std::string, std::string> reduction_names_, beside_;
};

bool is_uniform(const TermPtr& term) {
  const std::function<bool(const TermPtr&)> varies = [&](const TermPtr& t) {
    if (t->kind == Kind::reduce || t->kind == Kind::arg_reduce) return false;
    if (t->kind == Kind::index) return t->text.starts_with("@");
    return std::any_of(t->args.begin(), t->args.end(), varies);
  };
  return !varies(term);
}

// Largest subterms of the elements' values that are the same along the row and hold a reduction: computed once a row.
void hoist(const TermPtr& term, std::vector<TermPtr>& out) {
  if (term->kind == Kind::reduce || term->kind == Kind::arg_reduce || term->args.empty()) return;
  if (term->kind != Kind::load && is_uniform(term)) {
    const bool reduces = contains(term, [](const Term& t) { return t.kind == Kind::reduce || t.kind == Kind::arg_reduce; });
    const bool known = std::any_of(out.begin(), out.end(), [&](const TermPtr& t) { return same(t, term); });
    if (reduces && !known) out.push_back(term);
    return;
  }
  for (const TermPtr& arg : term->args) hoist(arg, out);
}

struct Hoisted {
  std::map<std::string, std::string> names;   // key -> local
  std::vector<std::string> statements;
};

Hoisted hoisted(const std::vector<TermPtr>& values, const RowTexts& texts, const task::Task& task, int first) {
  std::vector<TermPtr> terms;
  for (const TermPtr& value : values) hoist(value, terms);
  Hoisted out;
  const EmittedTerms emitted = emit(terms, task, texts.emit_names("t"));
  out.statements = emitted.statements;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const std::string name = fmt::format("e{}", first + static_cast<int>(i));
    out.statements.push_back(fmt::format("const {} {} = {};", cuda_name(number_of(terms[i], task)), name, emitted.values[i]));
    out.names[key_of(terms[i])] = name;
  }
  return out;
}

EmitNames with_hoisted(const RowTexts& texts, const Hoisted& uniform, const std::string& prefix) {
  EmitNames names = texts.emit_names(prefix);
  names.place = [&texts, &uniform](const TermPtr& t) {
    if (const auto found = uniform.names.find(key_of(t)); found != uniform.names.end()) return found->second;
    return texts.place(t);
  };
  return names;
}

// Tensors that vector loads must be aligned for.
std::vector<Binding> pointer_rows(const task::Task& task, const FileNames& names, const std::vector<std::string>& tensors) {
  std::vector<Binding> rows;
  for (const std::string& name : tensors) {
    Binding row;
    row.texts["name"] = names(name);
    row.texts["type"] = task::cuda_type(tensor_of(task, name).dtype);
    rows.push_back(row);
  }
  return rows;
}

Binding pass_binding(const std::vector<const Reduction*>& reductions, const std::vector<TermPtr>& bodies, const Hoisted& uniform, const RowTexts& texts, const task::Task& task,
                     const std::vector<std::string>& reduction_names) {
  Binding pass;
  pass.texts["uniform"] = lines(uniform.statements, 4);
  pass.texts["column_packs"] = lines(texts.column_packs(bodies), 6);
  std::vector<std::string> inside = texts.locals(bodies, Reading::element);
  for (const std::string& line : texts.locals(bodies, Reading::column)) inside.push_back(line);
  const EmittedTerms emitted = emit(bodies, task, with_hoisted(texts, uniform, "t"));
  inside.insert(inside.end(), emitted.statements.begin(), emitted.statements.end());
  for (std::size_t i = 0; i < reductions.size(); ++i) {
    const std::string& name = reduction_names[i];
    std::string value = emitted.values[i];
    if (reductions[i]->kind == Kind::arg_reduce) value = fmt::format("{}{{{}, static_cast<int>(column + e)}}", reduction_type(*reductions[i], task), value);
    inside.push_back(fmt::format("{} = {};", name, combine_text(*reductions[i], task, name, value)));
    Binding row;
    row.texts["name"] = name;
    row.texts["type"] = reduction_type(*reductions[i], task);
    row.texts["identity"] = identity_text(*reductions[i], task);
    row.texts["combined"] = combine_text(*reductions[i], task, "a", "b");
    pass.lists["reductions"].push_back(row);
  }
  pass.texts["inside"] = lines(inside, 8);
  return pass;
}

bool has_arg(const RowForm& form) {
  return std::any_of(form.reductions.begin(), form.reductions.end(), [](const Reduction& r) { return r.kind == Kind::arg_reduce; });
}

std::vector<Binding> passes(const RowForm& form, const RowTexts& texts, const task::Task& task, int& uniforms) {
  std::vector<Binding> out;
  const int last = form.reductions.empty() ? -1 : form.reductions.back().level;
  for (int level = 0; level <= last; ++level) {
    std::vector<const Reduction*> own;
    std::vector<TermPtr> bodies;
    std::vector<std::string> reduction_names;
    for (std::size_t r = 0; r < form.reductions.size(); ++r) {
      if (form.reductions[r].level != level || texts.is_beside(form.reductions[r])) continue;
      own.push_back(&form.reductions[r]);
      bodies.push_back(with_reciprocals(form.reductions[r].body, task, is_uniform));
      reduction_names.push_back(fmt::format("r{}", r));
    }
    if (own.empty()) continue;
    const Hoisted uniform = hoisted(bodies, texts, task, uniforms);
    uniforms += static_cast<int>(uniform.names.size());
    out.push_back(pass_binding(own, bodies, uniform, texts, task, reduction_names));
  }
  return out;
}

void add_outputs(Binding& out, const RowForm& form, const RowTexts& texts, const task::Task& task, const FileNames& names, int uniforms) {
  std::vector<TermPtr> elements, rows;
  std::vector<std::string> stores, packs, writes, row_lines;
  for (const RowOutput& output : form.outputs) {
    (output.is_element ? elements : rows).push_back(output.is_element ? with_reciprocals(output.value, task, is_uniform) : output.value);
    if (!output.is_element) continue;
    const auto& tensor = tensor_of(task, output.tensor);
    packs.push_back(fmt::format("Pack<{}, kWidth> {}_pack;", task::cuda_type(tensor.dtype), names(output.tensor)));
    writes.push_back(fmt::format("store<kWidth>({0} + base + column, {0}_pack);", names(output.tensor)));
  }
  const Hoisted uniform = hoisted(elements, texts, task, uniforms);
  std::vector<std::string> inside = texts.locals(elements, Reading::element);
  for (const std::string& line : texts.locals(elements, Reading::column)) inside.push_back(line);
  const EmittedTerms emitted = emit(elements, task, with_hoisted(texts, uniform, "t"));
  inside.insert(inside.end(), emitted.statements.begin(), emitted.statements.end());
  std::size_t at = 0;
  for (const RowOutput& output : form.outputs)
    if (output.is_element) inside.push_back(fmt::format("{}_pack.at[e] = {};", names(output.tensor), stored(emitted.values[at++], tensor_of(task, output.tensor).dtype)));
  const EmittedTerms row_emitted = emit(rows, task, texts.emit_names("t"));
  row_lines = row_emitted.statements;
  at = 0;
  for (const RowOutput& output : form.outputs)
    if (!output.is_element) row_lines.push_back(fmt::format("{}[row] = {};", names(output.tensor), stored(row_emitted.values[at++], tensor_of(task, output.tensor).dtype)));
  out.flags["has_elements"] = !elements.empty();
  out.flags["has_rows"] = !rows.empty();
  out.texts["output_uniform"] = lines(uniform.statements, 2);
  out.texts["output_column_packs"] = lines(texts.column_packs(elements), 6);
  out.texts["output_packs"] = lines(packs, 6);
  out.texts["output_inside"] = lines(inside, 8);
  out.texts["output_writes"] = lines(writes, 6);
  out.texts["row_lines"] = lines(row_lines, 4);
}

Binding form_binding(const Computation& computation, const RowForm& form, const FileNames& names) {
  const task::Task& task = computation.task;
  Binding out = common_binding(task, names);
  const RowTexts texts(task, form, names);
  std::vector<std::string> elements, vectors;
  for (const auto& [tensor, reading] : form.readings) {
    if (reading == Reading::element) elements.push_back(tensor);
    if (reading == Reading::element || reading == Reading::column) vectors.push_back(tensor);
  }
  for (const RowOutput& output : form.outputs)
    if (output.is_element && !form.readings.contains(output.tensor)) vectors.push_back(output.tensor);
  out.lists["element_inputs"] = pointer_rows(task, names, elements);
  out.lists["vector_pointers"] = pointer_rows(task, names, vectors);
  int uniforms = 0;
  out.lists["passes"] = passes(form, texts, task, uniforms);
  add_outputs(out, form, texts, task, names, uniforms);
  std::vector<TermPtr> all;
  for (const RowOutput& output : form.outputs) all.push_back(output.value);
  std::vector<std::string> uniform_lines;
  for (const Reading reading : {Reading::row, Reading::single}) {
    std::vector<TermPtr> terms;
    for (const RowOutput& output : form.outputs) terms.push_back(output.value);
    for (const Reduction& reduction : form.reductions) terms.push_back(reduction.body);
    for (const std::string& line : texts.locals(terms, reading)) uniform_lines.push_back(line);
  }
  out.texts["uniform_loads"] = lines(uniform_lines, 2);
  out.flags["has_arg"] = has_arg(form);
  out.flags["one_pass"] = out.lists["passes"].size() == 1;
  out.texts["rows"] = extent_text(product_of(form.outer), task, names);
  out.texts["columns"] = extent_text(product_of(form.inner), task, names);
  out.numbers["rows"] = product_of(form.outer);
  out.numbers["columns"] = product_of(form.inner);
  out.numbers["passes"] = number_term(static_cast<std::int64_t>(out.lists["passes"].size()));
  out.numbers["inputs"] = number_term(static_cast<std::int64_t>(elements.size()));
  return out;
}

}  // namespace

std::optional<Binding> bind_rows(const Computation& computation, const std::vector<std::string>& taken) {
  const auto form = row_form(computation);
  if (!form || form->outer.empty()) return std::nullopt;
  const bool reads_elements = std::any_of(form->readings.begin(), form->readings.end(), [](const auto& r) { return r.second == Reading::element; });
  if (!reads_elements) return std::nullopt;
  return form_binding(computation, *form, FileNames(computation.task, taken));
}

std::optional<Binding> bind_columns(const Computation& computation, const std::vector<std::string>& taken) {
  const auto form = row_form(computation, Order::across);
  if (!form || form->outer.empty()) return std::nullopt;
  const bool reads_elements = std::any_of(form->readings.begin(), form->readings.end(), [](const auto& r) { return r.second == Reading::element; });
  if (!reads_elements) return std::nullopt;
  return form_binding(computation, *form, FileNames(computation.task, taken));
}

std::optional<Binding> bind_all(const Computation& computation, const std::vector<std::string>& taken) {
  const auto form = row_form(computation);
  if (!form || !form->outer.empty() || form->reductions.back().level > 0) return std::nullopt;
  for (const RowOutput& output : form->outputs)
    if (output.is_element) return std::nullopt;
  Binding out = form_binding(computation, *form, FileNames(computation.task, taken));
  if (out.lists["element_inputs"].empty()) return std::nullopt;
  return out;
}

}  // namespace kforge::propose
