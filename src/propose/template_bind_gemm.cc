// Binder of matrix products: out[b.., i, j] = f(sum over l of left * right), either operand perhaps transposed, with any element-wise f.
// A reference that cannot be lifted leaves the shapes of a task that names the pattern: (m, k) times (k, n), and nothing more.
#include <algorithm>

#include <fmt/format.h>

#include "propose/template_binding.h"
#include "propose/template_emit.h"
#include "propose/template_rows.h"

namespace kforge::propose {
namespace {

using Kind = Term::Kind;

struct Product {
  std::string left, right, out;
  bool left_along = true;          // its rows run along the depth: left[i, l]
  bool right_along = false;        // right[j, l]
  std::vector<TermPtr> batches;
  TermPtr rows, columns, depth;
  TermPtr value;                   // over the product, which is `sum`, and loads at #..., "i", "j"
  TermPtr sum;
};

// How the operand reads: batch variables, then (across, along) or (along, across).
std::optional<bool> runs_along(const TermPtr& load, const std::vector<std::string>& batch, const std::string& across, const std::string& along) {
  if (load->kind != Kind::load) return std::nullopt;
  const auto names = plain_index(load->args);
  if (!names || names->size() != batch.size() + 2 || !std::equal(batch.begin(), batch.end(), names->begin())) return std::nullopt;
  const std::string& first = (*names)[batch.size()];
  const std::string& second = (*names)[batch.size() + 1];
  if (first == across && second == along) return true;
  if (first == along && second == across) return false;
  return std::nullopt;
}

// Sums over "l" all: an epilogue that uses the product several times, as GELU does, has one of them each time.
TermPtr with_one_variable(const TermPtr& value) {
  return rewrite(value, [](const TermPtr& t) -> TermPtr {
    if (t->kind != Kind::reduce || t->variable == "l") return nullptr;
    return make_term(Kind::reduce, t->text, {renamed(t->args[0], t->variable, "l"), t->args[1]}, "l");
  });
}

std::optional<Product> lifted_product(const Computation& computation) {
  const task::Task& task = computation.task;
  if (computation.lifted->stores.size() != 1) return std::nullopt;
  const LiftedStore& store = computation.lifted->stores[0];
  const auto names = plain_index(store.index);
  if (store.adds || !covers_tensor(store, task) || !names || names->size() < 2) return std::nullopt;
  Product out;
  out.out = store.tensor;
  const auto extents = extents_of(tensor_of(task, store.tensor));
  const std::size_t n = names->size();
  out.batches.assign(extents.begin(), extents.end() - 2);
  out.rows = extents[n - 2];
  out.columns = extents[n - 1];
  const std::vector<std::string> batch(names->begin(), names->end() - 2);
  const TermPtr value = with_one_variable(store.value);
  TermPtr sum;
  bool one = true;
  contains(value, [&](const Term& t) {
    if (t.kind == Kind::arg_reduce || t.kind == Kind::scan || (t.kind == Kind::reduce && t.text != "sum")) one = false;
    return false;
  });
  rewrite(value, [&](const TermPtr& t) -> TermPtr {
    if (t->kind != Kind::reduce) return nullptr;
    if (sum && !same(sum, t)) one = false;
    sum = t;
    return t;
  });
  if (!sum || !one) return std::nullopt;
  out.sum = sum;
  out.depth = sum->args[1];
  const TermPtr body = without_casts(sum->args[0]);
  if (body->kind != Kind::binary || body->text != "*") return std::nullopt;
  for (int swapped = 0; swapped < 2; ++swapped) {
    const TermPtr& left = body->args[static_cast<std::size_t>(swapped)];
    const TermPtr& right = body->args[static_cast<std::size_t>(1 - swapped)];
    const auto left_along = runs_along(left, batch, (*names)[n - 2], sum->variable), right_along = runs_along(right, batch, (*names)[n - 1], sum->variable);
    if (!left_along || !right_along) continue;
    out.left = left->text, out.right = right->text;
    out.left_along = *left_along, out.right_along = *right_along;
    out.value = renamed(renamed(value, (*names)[n - 2], "i"), (*names)[n - 1], "j");
    out.sum = renamed(renamed(sum, (*names)[n - 2], "i"), (*names)[n - 1], "j");
    for (std::size_t k = 0; k < batch.size(); ++k) {
      out.value = renamed(out.value, batch[k], fmt::format("#{}", k));
      out.sum = renamed(out.sum, batch[k], fmt::format("#{}", k));
    }
    return out;
  }
  return std::nullopt;
}

// From the shapes alone, for a task that says "gemm".
std::optional<Product> shaped_product(const Computation& computation) {
  const task::Task& task = computation.task;
  if (computation.pattern != "gemm" || task.tensors.size() != 3 || !task.scalars.empty()) return std::nullopt;
  std::vector<const task::Tensor*> inputs;
  const task::Tensor* output = nullptr;
  for (const auto& tensor : task.tensors) {
    if (tensor.role == task::Role::in) inputs.push_back(&tensor);
    else if (tensor.role == task::Role::out) output = &tensor;
  }
  if (inputs.size() != 2 || !output || output->shape.size() != 2 || inputs[0]->shape.size() != 2 || inputs[1]->shape.size() != 2) return std::nullopt;
  const auto a = extents_of(*inputs[0]), b = extents_of(*inputs[1]), c = extents_of(*output);
  if (!same_extent(a[0], c[0]) || !same_extent(a[1], b[0]) || !same_extent(b[1], c[1])) return std::nullopt;
  Product out;
  out.left = inputs[0]->name, out.right = inputs[1]->name, out.out = output->name;
  out.rows = c[0], out.columns = c[1], out.depth = a[1];
  out.sum = make_term(Kind::reduce, "sum", {make_term(Kind::load, out.left, {}), a[1]}, "l");
  out.value = out.sum;
  return out;
}

// How the epilogue reads a tensor: text of a pack's source, or of one element.
bool add_epilogue_load(const Product& product, const TermPtr& load, const task::Task& task, const FileNames& names, std::vector<std::string>& loads, std::vector<std::string>& inside) {
  const auto index = plain_index(load->args);
  if (!index || !is_row_major(tensor_of(task, load->text))) return false;
  const auto extents = extents_of(tensor_of(task, load->text));
  const std::string name = names(load->text), type(task::cuda_type(tensor_of(task, load->text).dtype));
  std::vector<std::string> whole;
  for (std::size_t k = 0; k < product.batches.size(); ++k) whole.push_back(fmt::format("#{}", k));
  whole.push_back("i");
  whole.push_back("j");
  std::string source;
  if (*index == whole && same_extent(extents[index->size() - 2], product.rows) && same_extent(extents.back(), product.columns)) source = "at";
  else if (*index == std::vector<std::string>{"j"} && same_extent(extents[0], product.columns)) source = "column";
  if (!source.empty()) {
    loads.push_back(fmt::format("const Pack<{0}, kWidth> {1}_pack = load<kWidth>({1} + {2});", type, name, source));
    inside.push_back(fmt::format("const Real {0}_at = Real({0}_pack.at[e]);", name));
    return true;
  }
  if (*index == std::vector<std::string>{"i"} && same_extent(extents[0], product.rows)) source = "row";
  else if (std::all_of(index->begin(), index->end(), [](const std::string& i) { return i.empty(); })) source = "0";
  if (source.empty()) return false;
  loads.push_back(fmt::format("const Real {0}_at = Real({0}[{1}]);", name, source));
  return true;
}

}  // namespace

std::optional<Binding> bind_gemm(const Computation& computation, const std::vector<std::string>& taken) {
  const task::Task& task = computation.task;
  auto product = computation.lifted ? lifted_product(computation) : shaped_product(computation);
  if (!product) return std::nullopt;
  for (const std::string& tensor : {product->left, product->right, product->out})
    if (!is_row_major(tensor_of(task, tensor))) return std::nullopt;
  const FileNames names(task, taken);
  Binding out = common_binding(task, names);

  std::vector<std::string> loads, inside;
  const std::string sum_key = key_of(product->sum);
  const TermPtr bare = rewrite(product->value, [&](const TermPtr& t) -> TermPtr { return key_of(t) == sum_key ? number_term(0) : nullptr; });
  std::vector<TermPtr> found;
  bool readable = true;
  rewrite(bare, [&](const TermPtr& t) -> TermPtr {
    if (t->kind == Kind::index) readable = false;
    if (t->kind != Kind::load) return nullptr;
    if (std::none_of(found.begin(), found.end(), [&](const TermPtr& f) { return same(f, t); })) found.push_back(t);
    return t;
  });
  for (const TermPtr& load : found) readable = readable && add_epilogue_load(*product, load, task, names, loads, inside);
  if (!readable || found.size() != loads_of(found).size()) return std::nullopt;
  const EmitNames emit_names{[&](const std::string& name) { return names(name); },
                             [&](const TermPtr& t) {
                               if (t->kind == Kind::load) return names(t->text) + "_at";
                               return key_of(t) == sum_key ? std::string("Real(sum[e])") : std::string();
                             }, "t"};
  const EmittedTerms emitted = emit({product->value}, task, emit_names);
  inside.insert(inside.end(), emitted.statements.begin(), emitted.statements.end());
  const std::string out_name = names(product->out), out_type(task::cuda_type(tensor_of(task, product->out).dtype));
  inside.push_back(fmt::format("{}_pack.at[e] = {};", out_name, stored(emitted.values[0], tensor_of(task, product->out).dtype)));
  out.texts["epilogue_loads"] = lines(loads, 2);
  out.texts["epilogue_reads"] = loads.empty() ? "false" : "true";
  out.texts["epilogue_reads_matrices"] = std::any_of(loads.begin(), loads.end(), [](const std::string& load) { return load.find(" + at)") != std::string::npos; }) ? "true" : "false";
  out.texts["out_type"] = out_type;
  out.texts["out_pack"] = fmt::format("Pack<{}, kWidth> {}_pack;", out_type, out_name);
  out.texts["epilogue"] = lines(inside, 4);
  out.texts["sum_type"] = "float";
  out.texts["operand_type"] = task::cuda_type(tensor_of(task, product->left).dtype);
  out.texts["left"] = names(product->left);
  out.texts["right"] = names(product->right);
  out.texts["out"] = out_name;
  out.texts["left_along"] = product->left_along ? "true" : "false";
  out.texts["right_along"] = product->right_along ? "true" : "false";
  out.texts["left_row"] = product->left_along ? "depth" : "row_count";
  out.texts["right_row"] = product->right_along ? "depth" : "column_count";
  out.texts["batches"] = extent_text(product_of(product->batches), task, names);
  out.texts["rows"] = extent_text(product->rows, task, names);
  out.texts["columns"] = extent_text(product->columns, task, names);
  out.texts["depth"] = extent_text(product->depth, task, names);
  for (const auto& tensor : task.tensors) {
    Binding row;
    row.texts["name"] = names(tensor.name);
    row.texts["type"] = task::cuda_type(tensor.dtype);
    out.lists["vector_pointers"].push_back(row);
  }
  out.numbers["rows"] = product->rows;
  out.numbers["columns"] = product->columns;
  out.numbers["depth"] = product->depth;
  out.numbers["batches"] = product_of(product->batches);
  return out;
}

namespace {

using task::Dtype;

struct OperandTypes {
  Dtype left = Dtype::f32, right = Dtype::f32, out = Dtype::f32;
  bool has_f64 = false;   // whose products are not f32's
};
OperandTypes operand_types(const Computation& computation, Binding& bound, const std::vector<std::string>& taken) {
  const FileNames names(computation.task, taken);
  OperandTypes types;
  for (const auto& tensor : computation.task.tensors) {
    if (names(tensor.name) == bound.texts["left"]) types.left = tensor.dtype;
    if (names(tensor.name) == bound.texts["right"]) types.right = tensor.dtype;
    if (names(tensor.name) == bound.texts["out"]) types.out = tensor.dtype;
    types.has_f64 = types.has_f64 || tensor.dtype == Dtype::f64;
  }
  return types;
}

std::string_view tensor_map_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16: return "CU_TENSOR_MAP_DATA_TYPE_FLOAT16";
    case Dtype::bf16: return "CU_TENSOR_MAP_DATA_TYPE_BFLOAT16";
    case Dtype::tf32: return "CU_TENSOR_MAP_DATA_TYPE_FLOAT32";
    default: return task::size_bytes(dtype) == 1 ? "CU_TENSOR_MAP_DATA_TYPE_UINT8" : "CU_TENSOR_MAP_DATA_TYPE_UINT16";
  }
}

// PTX's name of an operand's type.
std::string_view ptx_name(Dtype dtype) { return dtype == Dtype::i8 ? "s8" : task::name(dtype); }

}  // namespace

std::optional<Binding> bind_gemm_mma(const Computation& computation, const std::vector<std::string>& taken) {
  auto bound = bind_gemm(computation, taken);
  if (!bound) return std::nullopt;
  const OperandTypes types = operand_types(computation, *bound, taken);
  if (types.has_f64 || types.left != types.right || (types.left != Dtype::f16 && types.left != Dtype::bf16)) return std::nullopt;
  bound->texts["mma_type"] = task::name(types.left);
  return bound;
}

// wgmma's types (PTX manual, "wgmma.mma_async"): f16, bf16, tf32, 8-bit floats and integers.
std::optional<Binding> bind_gemm_wgmma(const Computation& computation, const std::vector<std::string>& taken) {
  auto bound = bind_gemm(computation, taken);
  if (!bound) return std::nullopt;
  const OperandTypes types = operand_types(computation, *bound, taken);
  const Dtype type = types.left;   // of both operands in the source
  const bool integers = type == Dtype::i8 || type == Dtype::u8, halves = type == Dtype::f16 || type == Dtype::bf16;
  const bool known = integers || halves || type == Dtype::tf32 || type == Dtype::e4m3 || type == Dtype::e5m2;
  if (types.has_f64 || types.right != type || !known) return std::nullopt;
  const std::int64_t depth = 32 / task::size_bytes(type);
  bound->texts["mma_shape"] = fmt::format("k{}.{}.{}.{}", depth, integers ? "s32" : "f32", ptx_name(type), ptx_name(type));
  bound->texts["sum_type"] = integers ? "int" : "float";
  bound->texts["sum_operand"] = integers ? "+r" : "+f";
  if (integers) bound->texts["real"] = "double";   // holds a sum of 32 bits
  bound->flags["mma_scales"] = !integers;
  bound->flags["mma_turns"] = halves;
  bound->texts["tensor_map_type"] = tensor_map_type(type);
  bound->texts["out_map_type"] = tensor_map_type(types.out);
  bound->numbers["tile_depth"] = number_term(4 * depth);
  return bound;
}

}  // namespace kforge::propose
