#include "propose/pattern.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "propose/pattern_walk.h"
#include "task/formula.h"
#include "task/formula_builder.h"

namespace kforge::propose {
namespace {

using pattern::Access;
using pattern::Accumulation;
using pattern::Facts;
using pattern::Gather;
using syntax::Polynomial;

constexpr std::array<std::string_view, 16> kPatterns{"elementwise", "reduction", "arg_reduction", "softmax", "layer_norm", "rms_norm", "transpose", "scan",
                                                     "stencil", "histogram", "gemm", "convolution", "attention", "sort", "gather", "scatter"};

bool contains(const std::vector<std::string>& list, const std::string& word) { return std::find(list.begin(), list.end(), word) != list.end(); }

std::set<std::string> counters_of(const Facts& facts, const Polynomial& index) {
  std::set<std::string> out;
  for (const std::string& name : index.names())
    if (facts.loops.contains(name)) out.insert(name);
  return out;
}

// The loop that runs along memory: its coefficient is one.
std::optional<std::string> along_memory(const Facts& facts, const Polynomial& index) {
  for (const std::string& counter : counters_of(facts, index))
    if (index.coefficient(counter) == Polynomial::constant(1)) return counter;
  return std::nullopt;
}

bool is_output(const Facts& facts, const std::string& array) { return contains(facts.outputs, array); }
bool is_input(const Facts& facts, const std::string& array) { return contains(facts.inputs, array); }

// Two factors from different loads, multiplied and added up.
struct Product { const Accumulation* sum; const Access *a, *b; std::set<std::string> shared, left, right; };

std::vector<Product> products(const Facts& facts) {
  std::vector<Product> out;
  for (const Accumulation& sum : facts.gathered) {
    if (sum.kind != Gather::sum || sum.factors.size() < 2) continue;
    Product p{&sum, &facts.loads[static_cast<std::size_t>(sum.factors[0])], &facts.loads[static_cast<std::size_t>(sum.factors[1])], {}, {}, {}};
    if (p.a->array == p.b->array && p.a->index == p.b->index) continue;   // a square
    const auto a = counters_of(facts, p.a->index), b = counters_of(facts, p.b->index);
    for (const std::string& name : a) (b.contains(name) ? p.shared : p.left).insert(name);
    for (const std::string& name : b)
      if (!a.contains(name)) p.right.insert(name);
    out.push_back(std::move(p));
  }
  return out;
}

// `part` counts in quotients or remainders ("t / 3", "t % 3") of what the other counts in.
bool moves_in_part(const Polynomial& part, const Polynomial& other) {
  for (const auto& [names, factor] : part.terms()) {
    if (std::find(names.begin(), names.end(), Polynomial::kUnknown) == names.end()) continue;
    std::vector<std::string> rest;
    for (const std::string& name : names)
      if (name != Polynomial::kUnknown) rest.push_back(name);
    if (other.terms().contains(rest)) return true;
  }
  return false;
}

// A loop of few turns moves the index as another loop does: a window over neighbours.
bool slides(const Facts& facts, const Polynomial& index) {
  const auto counters = counters_of(facts, index);
  for (const std::string& a : counters)
    for (const std::string& b : counters) {
      const auto step_a = index.coefficient(a), step_b = index.coefficient(b);
      if (a == b || !step_a || !step_b) continue;
      if (*step_a == *step_b || moves_in_part(*step_a, *step_b)) return true;
    }
  return false;
}

// Loads of one array that differ by an offset without loop counters.
int neighbours(const Facts& facts) {
  int most = 0;
  for (const Access& first : facts.loads) {
    if (first.array.starts_with("@") || first.by_data) continue;
    const auto counters = counters_of(facts, first.index);
    if (counters.empty()) continue;
    std::vector<Polynomial> offsets;
    for (const Access& other : facts.loads) {
      if (other.array != first.array || other.loops != first.loops) continue;
      const Polynomial distance = other.index - first.index;
      if (!counters_of(facts, distance).empty() || !distance.is_known()) continue;
      if (std::find(offsets.begin(), offsets.end(), distance) == offsets.end()) offsets.push_back(distance);
    }
    most = std::max(most, static_cast<int>(offsets.size()));
  }
  return most;
}

std::string names(const std::set<std::string>& counters) { return fmt::format("`{}`", fmt::join(counters, "`, `")); }

PatternGuess guess(std::string_view word, double confidence, std::string why) { return {std::string(word), confidence, std::move(why)}; }

// ---- Rules, in the order in which they are asked: what is more particular comes first.

std::optional<PatternGuess> sorting(const Facts& facts) {
  for (const std::string_view name : {"sort", "stable_sort", "partial_sort", "nth_element", "qsort"})
    if (facts.calls.contains(std::string(name))) return guess("sort", 0.95, fmt::format("it calls {}", name));
  if (facts.exchanges) return guess("sort", 0.85, "elements of one array change places where a comparison says so");
  return std::nullopt;
}

std::optional<PatternGuess> by_data(const Facts& facts) {
  for (const Access& store : facts.stores) {
    if (!store.by_data || !is_output(facts, store.array)) continue;
    if (store.counts) return guess("histogram", 0.95, fmt::format("`{}` is counted up at an index that comes from data", store.array));
    return guess("scatter", 0.9, fmt::format("`{}` is written at an index that comes from data", store.array));
  }
  return std::nullopt;
}

std::optional<PatternGuess> attending(const Facts& facts) {
  const auto found = products(facts);
  const bool weights = std::any_of(found.begin(), found.end(), [](const Product& p) { return p.sum->origin.exponential; });
  if (weights && found.size() >= 2) return guess("attention", 0.95, fmt::format("{} sums of products with exponentials between them", found.size()));
  return std::nullopt;
}

std::optional<PatternGuess> multiplying(const Facts& facts) {
  std::optional<PatternGuess> out;
  for (const Product& p : products(facts)) {
    if (slides(facts, p.a->index) || slides(facts, p.b->index)) {
      const std::string& window = slides(facts, p.a->index) ? p.a->array : p.b->array;
      const std::string& weights = slides(facts, p.a->index) ? p.b->array : p.a->array;
      if (!is_input(facts, weights) && !is_output(facts, weights)) continue;   // weights of the file: a stencil
      return guess("convolution", 0.9, fmt::format("a window of `{}` is multiplied with `{}` and added up", window, weights));
    }
    std::set<std::string> summed;
    for (const std::string& counter : p.shared)
      if (p.sum->along.contains(counter)) summed.insert(counter);
    if (summed.empty()) continue;
    const bool rows = !p.left.empty(), columns = !p.right.empty();
    if (rows && columns)
      return guess("gemm", 0.95, fmt::format("products of `{}` and `{}` are added up over {}, for every {} and {}", p.a->array, p.b->array, names(summed), names(p.left), names(p.right)));
    if (rows != columns && p.a->array != p.b->array) out = guess("gemm", 0.6, fmt::format("a matrix times a vector: products of `{}` and `{}` over {}", p.a->array, p.b->array, names(summed)));
  }
  return out;
}

std::optional<PatternGuess> scanning(const Facts& facts) {
  if (facts.carries) return guess("scan", 0.9, "each result takes up the one before it: a running value is stored at every step");
  for (const Access& store : facts.stores) {   // y[i] = y[i - 1] + x[i]
    if (!is_output(facts, store.array) || store.by_data) continue;
    for (const Access& load : facts.loads) {
      if (load.array != store.array || load.loops != store.loops || load.by_data) continue;
      const Polynomial distance = store.index - load.index;
      if (distance.is_zero() || !counters_of(facts, distance).empty() || !distance.is_known()) continue;
      if (store.origin.arrays.contains(store.array)) return guess("scan", 0.85, fmt::format("`{}` is computed from its own earlier elements", store.array));
    }
  }
  return std::nullopt;
}

std::optional<PatternGuess> choosing(const Facts& facts) {
  if (facts.chooses_index || facts.calls.contains("max_element") || facts.calls.contains("min_element")) {
    const bool found = facts.chooses_index || facts.calls.contains("distance");
    if (found) return guess("arg_reduction", 0.9, "the place of the best element is kept");
  }
  return std::nullopt;
}

// Whether some output element is computed over the loops again that a reduction ran over.
bool rows_come_out(const Facts& facts) {
  for (const Access& store : facts.stores)
    if (is_output(facts, store.array) && !store.updates && !store.origin.gathered.empty() && !store.index.is_zero()) {
      const auto counters = counters_of(facts, store.index);
      for (const std::string& name : store.origin.gathered)
        for (const Accumulation& sum : facts.gathered)
          if (sum.accumulator == name && counters.size() > sum.loops.size() - std::min(sum.loops.size(), sum.along.size())) return true;
    }
  return false;
}

std::optional<PatternGuess> normalising(const Facts& facts) {
  const bool rows = rows_come_out(facts);
  bool of_exponentials = false, of_squares = false, plain = false, of_differences = false;
  for (const Accumulation& sum : facts.gathered) {
    if (sum.kind != Gather::sum) continue;
    of_exponentials |= sum.origin.exponential;
    of_squares |= sum.origin.square;
    of_differences |= sum.origin.square && sum.origin.difference;
    plain |= !sum.origin.square && !sum.origin.exponential;
  }
  bool root = false, difference = false;
  for (const Access& store : facts.stores) {
    if (!is_output(facts, store.array)) continue;
    root |= store.origin.root;
    difference |= store.origin.difference;
  }
  if (rows && of_exponentials) return guess("softmax", 0.95, "a sum of exponentials, by which every element of the row is divided");
  if (rows && root && of_squares && (of_differences || (plain && difference)))
    return guess("layer_norm", 0.9, "a mean, a sum of squared distances from it, a root, and every element scaled by them");
  if (rows && root && of_squares) return guess("rms_norm", 0.9, "a sum of squares, its root, and every element scaled by it");
  return std::nullopt;
}

std::optional<PatternGuess> gathering(const Facts& facts) {
  for (const Access& load : facts.loads)
    if (load.by_data && is_input(facts, load.array)) return guess("gather", 0.9, fmt::format("`{}` is read at an index that comes from data", load.array));
  for (const Access& load : facts.loads)
    if (load.index.names().contains("$data") && is_input(facts, load.array)) return guess("gather", 0.9, fmt::format("`{}` is read from a place that data names", load.array));
  return std::nullopt;
}

std::optional<PatternGuess> sliding(const Facts& facts) {
  for (const Access& load : facts.loads)
    if (!load.array.starts_with("@") && slides(facts, load.index))
      for (const std::string& counter : counters_of(facts, load.index))
        if (facts.loops.at(counter).constant) return guess("stencil", 0.9, fmt::format("a window of fixed size moves over `{}`", load.array));
  if (const int count = neighbours(facts); count >= 3) return guess("stencil", 0.85, fmt::format("{} neighbours of each element are read at fixed distances", count));
  return std::nullopt;
}

// A loop of fixed length gathers data only where it moves through an array; else it is part of an element's own arithmetic.
bool reads_along(const Facts& facts, const std::string& counter) {
  return std::any_of(facts.loads.begin(), facts.loads.end(), [&](const Access& load) { return is_input(facts, load.array) && load.index.names().contains(counter); });
}

std::optional<PatternGuess> reducing(const Facts& facts) {
  for (const Accumulation& sum : facts.gathered) {
    std::set<std::string> along;
    bool fixed = true;
    for (const std::string& counter : sum.along) {
      const bool constant = facts.loops.contains(counter) && facts.loops.at(counter).constant;
      if (constant && !reads_along(facts, counter)) continue;
      along.insert(counter);
      fixed = fixed && constant;
    }
    if (along.empty()) continue;
    return guess("reduction", rows_come_out(facts) || fixed ? 0.6 : 0.85,
                 fmt::format("a {} is gathered over {}", sum.kind == Gather::extreme ? "largest or smallest value" : sum.kind == Gather::product ? "product" : "sum", names(along)));
  }
  return std::nullopt;
}

std::optional<PatternGuess> copying(const Facts& facts) {
  for (const Access& store : facts.stores) {
    if (!is_output(facts, store.array) || store.copied < 0) continue;
    const Access& load = facts.loads[static_cast<std::size_t>(store.copied)];
    const auto to = along_memory(facts, store.index), from = along_memory(facts, load.index);
    if (to && from && *to != *from) return guess("transpose", 0.95, fmt::format("elements are copied; `{}` runs along `{}`, `{}` along `{}`", *from, load.array, *to, store.array));
    if (to && !from && counters_of(facts, load.index).contains(*to)) return guess("transpose", 0.7, fmt::format("elements of `{}` are copied to other places", load.array));
  }
  return std::nullopt;
}

std::optional<PatternGuess> neighbour_pair(const Facts& facts) {
  if (neighbours(facts) == 2) return guess("stencil", 0.6, "two neighbours of each element are read");
  return std::nullopt;
}

std::optional<PatternGuess> mapping(const Facts& facts) {
  for (const Access& store : facts.stores)
    if (is_output(facts, store.array) && !counters_of(facts, store.index).empty())
      return guess("elementwise", 0.85, fmt::format("each element of `{}` is computed from elements at its own place", store.array));
  return std::nullopt;
}

constexpr std::array kRules{sorting, by_data, attending, multiplying, scanning, choosing, normalising, gathering, sliding, reducing, copying, neighbour_pair, mapping};

// ---- Formulas and shapes

PatternGuess by_formula(const task::formula::Formula& f) {
  using namespace task::formula;
  bool exponential_sum = false, root = false, square = false, arg = false;
  int sums = 0;
  for (const Node& node : f.nodes) {
    if (node.op == Op::sum) {
      ++sums;
      const Node& what = f[node.inputs[0]];
      exponential_sum |= what.op == Op::exp;
      square |= what.op == Op::multiply && what.inputs[0] == what.inputs[1];
    }
    root |= node.op == Op::sqrt || node.op == Op::rsqrt;
    arg |= node.op == Op::argmax || node.op == Op::argmin;
  }
  switch (structure(f)) {
    case Structure::element_wise: return guess("elementwise", 0.99, "the formula has no operation across elements");
    case Structure::scan: return guess("scan", 0.99, "the formula is a cumulative sum");
    case Structure::matmul: return guess("gemm", 0.99, "the formula is a matrix product");
    case Structure::permutation: return guess("transpose", 0.99, "the formula exchanges axes and computes nothing");
    case Structure::row_reduction:
    case Structure::reduction:
      if (arg) return guess("arg_reduction", 0.95, "the formula asks for the place of an extreme");
      for (const Assignment& output : f.outputs) {
        if (f[output.value].shape.empty()) continue;
        const bool rows = std::any_of(f.nodes.begin(), f.nodes.end(), [&](const Node& node) { return group(node.op) == Group::reduction && same_shape(f[node.inputs[0]].shape, f[output.value].shape); });
        if (rows && exponential_sum) return guess("softmax", 0.95, "the formula divides exponentials by their sum");
        if (rows && root && square) return guess(sums >= 2 ? "layer_norm" : "rms_norm", 0.9, "the formula scales rows by a root of a sum of squares");
      }
      return guess("reduction", 0.95, "the formula reduces axes");
    case Structure::mixed: break;
  }
  return guess("unknown", 0, "the formula mixes several kinds of operations");
}

bool reversed(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::string> turned(b.rbegin(), b.rend());
  return a.size() >= 2 && a != b && a == turned;
}

// Weak evidence: shapes alone.
PatternGuess by_shapes(const task::Task& task) {
  std::vector<const task::Tensor*> in, out;
  for (const task::Tensor& tensor : task.tensors) {
    if (tensor.role != task::Role::out) in.push_back(&tensor);
    if (tensor.role != task::Role::in) out.push_back(&tensor);
  }
  if (out.empty() || in.empty()) return guess("unknown", 0, "no inputs or no outputs");
  const auto& y = out[0]->shape;
  if (in.size() >= 2 && in[0]->shape.size() >= 2 && in[1]->shape.size() >= 2 && y.size() >= 2) {
    const auto &a = in[0]->shape, &b = in[1]->shape;
    const auto last = [](const std::vector<std::string>& s, std::size_t i) { return s[s.size() - i]; };
    const bool inner = last(a, 1) == last(b, 2) && last(a, 2) == last(y, 2) && last(b, 1) == last(y, 1);
    if (inner && last(a, 1) != last(y, 1)) return guess("gemm", 0.7, "the shapes are those of a matrix product");
  }
  if (in.size() == 1 && reversed(in[0]->shape, y)) return guess("transpose", 0.6, "the output has the input's axes in reverse order");
  if (in[0]->shape.size() > y.size()) return guess("reduction", 0.4, "the output has fewer axes than the input");
  const bool same = std::all_of(in.begin(), in.end(), [&](const task::Tensor* t) { return t->shape == y; });
  if (same && in.size() > 1) return guess("elementwise", 0.4, "inputs and output have one shape");
  return guess("unknown", 0, "neither the reference nor the shapes say what it is");
}

}  // namespace

bool is_pattern(std::string_view word) { return std::find(kPatterns.begin(), kPatterns.end(), word) != kPatterns.end(); }

std::string nearest_pattern(std::string_view word) { return nearest(word, std::span<const std::string_view>(kPatterns)).value_or(""); }

PatternGuess guess_by_reference(std::string_view reference, std::string_view function) {
  const Facts facts = pattern::follow(reference, function);
  if (facts.found)
    for (const auto rule : kRules)
      if (auto answer = rule(facts)) return *answer;
  return guess("unknown", 0, "the reference could not be followed");
}

PatternGuess guess_pattern(const task::Task& task, std::string_view reference) {
  if (!task.pattern.empty() && is_pattern(task.pattern)) return guess(task.pattern, 1, "the task says so");
  std::string remark;
  if (!task.pattern.empty()) remark = fmt::format("; the task's word `{}` is no pattern that is known", task.pattern);
  PatternGuess out = guess("unknown", 0, "");
  if (!task.formula.empty()) {
    if (const auto formula = task::formula::of(task)) out = by_formula(*formula);
  } else if (!reference.empty()) {
    out = guess_by_reference(reference, task.function);
  }
  const PatternGuess shapes = by_shapes(task);
  const bool sums_only = out.pattern == "reduction" && shapes.pattern == "gemm";   // products that were not seen as such
  if (out.confidence < shapes.confidence || sums_only) out = shapes;
  else if (out.pattern == shapes.pattern) out.confidence = std::min(0.99, out.confidence + 0.03);
  out.why += remark;
  return out;
}

}  // namespace kforge::propose
