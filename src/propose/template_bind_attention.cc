// Binder of attention: out[b.., i, e] = sum over keys j of softmax_j(scale * sum over l of query[b.., i, l] * key[b.., j, l]) * value[b.., j, e], where
// query i sees all keys or those from 0 to i.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "propose/template_binding.h"
#include "propose/template_emit.h"
#include "propose/template_rows.h"

namespace kforge::propose {
namespace {

using Kind = Term::Kind;

struct Attention {
  std::string query, key, value, out;
  std::vector<TermPtr> batches;
  TermPtr queries, keys, width;
  TermPtr scale;
  bool causal = false;
};

bool is_binary(const TermPtr& t, std::string_view op) { return t->kind == Kind::binary && t->text == op; }
bool is_reduce(const TermPtr& t, std::string_view op) { return t->kind == Kind::reduce && t->text == op; }
bool is_index(const TermPtr& t, const std::string& name) { return t->kind == Kind::index && t->text == name; }

// Variables of reductions are named by how deep they lie, so that equal computations have equal text.
TermPtr with_numbered_variables(const TermPtr& term, int depth = 0) {
  return rewrite(term, [&](const TermPtr& t) -> TermPtr {
    if (t->kind != Kind::reduce) return nullptr;
    const std::string name = fmt::format("${}", depth);
    return make_term(t->kind, t->text, {with_numbered_variables(renamed(t->args[0], t->variable, name), depth + 1), t->args[1]}, name);
  });
}
bool compute_the_same(const TermPtr& a, const TermPtr& b) { return same(with_numbered_variables(a), with_numbered_variables(b)); }

bool reads(const TermPtr& load, std::vector<std::string> batch, const std::string& row, const std::string& column) {
  if (load->kind != Kind::load) return false;
  batch.push_back(row);
  batch.push_back(column);
  return plain_index(load->args) == batch;
}

// A score below all that products of halves reach: its weight is 0. "-INFINITY", "-1e30".
bool has_no_weight(const TermPtr& score) {
  if (score->kind != Kind::unary || score->text != "-" || score->args[0]->kind != Kind::number) return false;
  const std::string& text = score->args[0]->text;
  return text == "INFINITY" || parse_double(text).value_or(0) >= 1e30;
}

class Matcher {
 public:
  explicit Matcher(const Computation& computation) : task_(computation.task), store_(computation.lifted->stores[0]) {}

  std::optional<Attention> match() {
    const auto names = plain_index(store_.index);
    if (store_.adds || !covers_tensor(store_, task_) || !names || names->size() < 2) return std::nullopt;
    batch_.assign(names->begin(), names->end() - 2);
    row_ = (*names)[names->size() - 2];
    out_.out = store_.tensor;
    const auto extents = extents_of(tensor_of(task_, out_.out));
    out_.batches.assign(extents.begin(), extents.end() - 2);
    out_.queries = extents[extents.size() - 2];
    out_.width = extents.back();
    if (!weighted_sum(without_casts(store_.value), names->back())) return std::nullopt;
    return out_;
  }

 private:
  // The weights' sum divides each weight, or their whole sum of products.
  bool weighted_sum(TermPtr value, const std::string& column) {
    TermPtr total;
    if (is_binary(value, "/")) total = value->args[1], value = value->args[0];
    if (!is_reduce(value, "sum") || !is_binary(value->args[0], "*") || !sees(value->args[1])) return false;
    key_ = value->variable;
    for (std::size_t k = 0; k < 2; ++k) {
      TermPtr weight = value->args[0]->args[k];
      const TermPtr& load = value->args[0]->args[1 - k];
      if (!reads(load, batch_, key_, column)) continue;
      out_.value = load->text;
      if (!total && is_binary(weight, "/")) total = weight->args[1], weight = weight->args[0];
      return total && is_weight(weight, total);
    }
    return false;
  }

  // How far a reduction over the keys runs: to their end, or as far as the query's own place.
  bool sees(const TermPtr& extent) {
    const TermPtr own = binary_term("+", make_term(Kind::index, row_), number_term(1));
    if (!seen_) {
      seen_ = extent;
      if (same(extent, own)) out_.causal = true;
      else out_.keys = extent;
    }
    return same(extent, seen_);
  }

  // exp(score - the row's largest score), and the sum of it.
  bool is_weight(const TermPtr& weight, const TermPtr& total) {
    if (weight->kind != Kind::call || weight->text != "exp" || !is_binary(weight->args[0], "-")) return false;
    const TermPtr& score = weight->args[0]->args[0];
    const TermPtr& peak = weight->args[0]->args[1];
    if (!is_reduce(peak, "max") || !sees(peak->args[1]) || !compute_the_same(renamed(peak->args[0], peak->variable, key_), score)) return false;
    if (!is_reduce(total, "sum") || !sees(total->args[1]) || !compute_the_same(renamed(total->args[0], total->variable, key_), weight)) return false;
    return is_score(score);
  }

  bool is_score(TermPtr score) {
    if (score->kind == Kind::select) {
      const TermPtr &condition = score->args[0], &hidden = score->args[2];
      const bool before = is_binary(condition, "<=") && is_index(condition->args[0], key_) && is_index(condition->args[1], row_);
      const bool after = is_binary(condition, ">=") && is_index(condition->args[0], row_) && is_index(condition->args[1], key_);
      if (out_.causal || !(before || after) || !has_no_weight(hidden)) return false;
      out_.causal = true;
      score = score->args[1];
    }
    out_.scale = number_term(1);
    while (score->kind == Kind::binary && !is_reduce(score, "sum")) {
      const bool right = contains(score->args[1], [](const Term& t) { return t.kind == Kind::reduce; });
      if (score->text != "*" && (score->text != "/" || right)) return false;
      const TermPtr& factor = score->args[right ? 0 : 1];
      if (contains(factor, [](const Term& t) { return t.kind != Kind::number && t.kind != Kind::size && t.kind != Kind::scalar && t.args.empty(); })) return false;
      if (contains(factor, [](const Term& t) { return t.kind == Kind::load || t.kind == Kind::reduce; })) return false;
      out_.scale = score->text == "*" ? binary_term("*", out_.scale, factor) : make_term(Kind::binary, "/", {make_term(Kind::to_real, "real", {out_.scale}), factor});
      score = score->args[right ? 1 : 0];
    }
    if (!is_reduce(score, "sum") || !is_binary(score->args[0], "*") || !same_extent(score->args[1], out_.width)) return false;
    for (std::size_t k = 0; k < 2; ++k) {
      const TermPtr &query = score->args[0]->args[k], &key = score->args[0]->args[1 - k];
      if (!reads(query, batch_, row_, score->variable) || !reads(key, batch_, key_, score->variable)) continue;
      out_.query = query->text;
      out_.key = key->text;
      // A sum that ends at the query's own place says nothing of how many keys there are.
      const TermPtr keys = extents_of(tensor_of(task_, out_.key))[batch_.size()];
      if (!out_.keys && !same_extent(keys, out_.queries)) return false;
      out_.keys = keys;
      return true;
    }
    return false;
  }

  const task::Task& task_;
  const LiftedStore& store_;
  std::vector<std::string> batch_;
  std::string row_, key_;
  TermPtr seen_;
  Attention out_;
};

constexpr std::int64_t kHeads[] = {32, 64, 128};   // that the kernel is made for

// The widest head at any measured size; nothing where it is more than the kernel is made for.
std::optional<std::int64_t> widest_head(const TermPtr& width, const task::Task& task) {
  std::int64_t widest = integer_of(width).value_or(0);
  for (const task::Sizes& sizes : task.measure) widest = std::max(widest, value_of(width, sizes).value_or(1 << 20));
  const auto found = std::find_if(std::begin(kHeads), std::end(kHeads), [&](std::int64_t head) { return widest <= head; });
  return found == std::end(kHeads) ? std::nullopt : std::optional(*found);
}

// Operands of a weight's type that it needs: one where the task states that sums may be as narrow, else as many as keep what f32 holds.
int parts_of_weights(const task::Task& task, task::Dtype operand) {
  using task::Dtype;
  const task::Numerics& numerics = task.numerics;
  const bool narrow = numerics.accumulate == Dtype::f16 || numerics.accumulate == Dtype::bf16;
  if (narrow || numerics.abs || numerics.rel) return 1;
  return operand == Dtype::f16 ? 2 : 3;
}

}  // namespace

std::optional<Binding> bind_attention(const Computation& computation, const std::vector<std::string>& taken) {
  using task::Dtype;
  const task::Task& task = computation.task;
  if (!computation.lifted || computation.lifted->stores.size() != 1 || task.tensors.size() != 4) return std::nullopt;
  const Dtype operand = task.tensors[0].dtype;
  if (operand != Dtype::f16 && operand != Dtype::bf16) return std::nullopt;
  for (const auto& tensor : task.tensors)
    if (tensor.dtype != operand || !is_row_major(tensor)) return std::nullopt;
  const auto found = Matcher(computation).match();
  if (!found) return std::nullopt;
  const auto head = widest_head(found->width, task);
  if (!head) return std::nullopt;

  const FileNames names(task, taken);
  Binding out = common_binding(task, names);
  const EmitNames emit_names{[&](const std::string& name) { return names(name); }, [](const TermPtr&) { return std::string(); }, "t"};
  const EmittedTerms scale = emit({make_term(Kind::to_real, "real", {found->scale})}, task, emit_names);
  out.texts["scale_statements"] = lines(scale.statements, 2);
  out.texts["scale"] = scale.values[0];
  out.texts["operand_type"] = task::cuda_type(operand);
  out.texts["mma_type"] = task::name(operand);
  out.texts["tensor_map_type"] = operand == Dtype::f16 ? "CU_TENSOR_MAP_DATA_TYPE_FLOAT16" : "CU_TENSOR_MAP_DATA_TYPE_BFLOAT16";
  out.texts["query"] = names(found->query);
  out.texts["key"] = names(found->key);
  out.texts["value"] = names(found->value);
  out.texts["out"] = names(found->out);
  out.texts["batches"] = extent_text(product_of(found->batches), task, names);
  out.texts["query_count"] = extent_text(found->queries, task, names);
  out.texts["key_count"] = extent_text(found->keys, task, names);
  out.texts["width"] = extent_text(found->width, task, names);
  out.texts["causal"] = found->causal ? "true" : "false";
  const int parts = parts_of_weights(task, operand);
  out.texts["parts"] = std::to_string(parts);
  for (const std::int64_t one : kHeads) {
    if (one > *head || (one < *head && integer_of(found->width))) continue;
    Binding row;
    row.texts["head"] = std::to_string(one);
    out.lists["heads"].push_back(row);
  }
  out.flags["is_wide"] = *head > 64;
  for (const auto& tensor : task.tensors) {
    Binding row;
    row.texts["name"] = names(tensor.name);
    out.lists["vector_pointers"].push_back(row);
  }
  out.numbers["batches"] = product_of(found->batches);
  out.numbers["queries"] = found->queries;
  out.numbers["keys"] = found->keys;
  out.numbers["head"] = number_term(*head);
  out.numbers["causal"] = number_term(found->causal ? 1 : 0);
  out.numbers["parts"] = number_term(parts);
  return out;
}

}  // namespace kforge::propose
