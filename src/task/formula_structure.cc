// What kind of computation a formula is: element-wise, a row reduction, a matrix product, ...
#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>

#include "task/expression.h"
#include "task/formula.h"
#include "task/formula_builder.h"

namespace kforge::task::formula {
namespace {

bool crosses_elements(Op op) { return group(op) == Group::reduction || group(op) == Group::scan || group(op) == Group::matmul; }

std::vector<NodeId> nodes_of_outputs(const Formula& formula) {
  std::vector<bool> seen(formula.nodes.size(), false);
  for (const Assignment& output : formula.outputs)
    for (const NodeId id : reachable(formula, output.value)) seen[static_cast<std::size_t>(id)] = true;
  std::vector<NodeId> out;
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (seen[i]) out.push_back(static_cast<NodeId>(i));
  return out;
}

// Axes of `node`'s input, from its end: 1 is the last.
bool reduces_trailing(const Formula& formula, const Node& node) {
  const auto rank = static_cast<int>(formula[node.inputs[0]].shape.size());
  const auto count = static_cast<int>(node.axes.size());
  return count > 0 && node.axes.front() == rank - count;   // ascending and distinct: then they are the last ones
}

Shape reduced_extents(const Formula& formula, const Node& node) {
  Shape out;
  for (const int axis : node.axes) out.push_back(formula[node.inputs[0]].shape[static_cast<std::size_t>(axis)]);
  return out;
}

double elements(const Shape& shape, const Sizes& sizes) {
  double out = 1;
  for (const std::string& extent : shape) out *= static_cast<double>(task::evaluate(extent, sizes).value_or(0));
  return out;
}

std::string times(const std::string& a, const std::string& b) {
  const auto factor = [](const std::string& text) { return is_identifier(text) || text.find_first_not_of("0123456789") == std::string::npos ? text : "(" + text + ")"; };
  if (a.empty() || is_one(a)) return b;
  if (b.empty() || is_one(b)) return a;
  return factor(a) + " * " + factor(b);
}

// How many elements one result gathers; "" for operations that add no rounding.
std::string gathered(const Formula& formula, const Node& node) {
  if (node.op == Op::matmul) return formula[node.inputs[0]].shape.back();
  if (node.op != Op::sum && node.op != Op::product && node.op != Op::cumulative_sum) return {};
  std::string out;
  for (const std::string& extent : reduced_extents(formula, node)) out = times(out, extent);
  return out;
}

struct Census { int reductions = 0, scans = 0, products = 0, permutations = 0; bool trailing = true, same_axes = true; };

Census census(const Formula& formula, const std::vector<NodeId>& nodes) {
  Census c;
  const Node* first = nullptr;
  for (const NodeId id : nodes) {
    const Node& node = formula[id];
    c.scans += group(node.op) == Group::scan;
    c.products += group(node.op) == Group::matmul;
    c.permutations += node.op == Op::permute;
    if (group(node.op) != Group::reduction) continue;
    ++c.reductions;
    if (!reduces_trailing(formula, node)) c.trailing = false;
    if (!first) first = &node;
    c.same_axes = c.same_axes && same_shape(reduced_extents(formula, node), reduced_extents(formula, *first)) &&
                  same_shape(formula[node.inputs[0]].shape, formula[first->inputs[0]].shape);
  }
  return c;
}

}  // namespace

std::string_view name(Structure structure) {
  constexpr std::array<std::string_view, 7> kNames{"element-wise", "row reduction", "reduction", "scan", "matrix product", "permutation", "mixed"};
  return kNames[static_cast<std::size_t>(structure)];
}

std::vector<int> broadcast_axes(const Shape& operand, const Shape& space) {
  std::vector<int> out;
  const int shift = static_cast<int>(space.size()) - static_cast<int>(operand.size());
  for (std::size_t i = 0; i < operand.size(); ++i) out.push_back(is_one(operand[i]) ? -1 : static_cast<int>(i) + shift);
  return out;
}

std::vector<NodeId> reachable(const Formula& formula, NodeId root, bool through_reductions) {
  std::vector<bool> seen(formula.nodes.size(), false);
  std::vector<NodeId> open{root};
  seen[static_cast<std::size_t>(root)] = true;
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!through_reductions && crosses_elements(formula[id].op)) continue;
    for (const NodeId input : formula[id].inputs) {
      if (seen[static_cast<std::size_t>(input)]) continue;
      seen[static_cast<std::size_t>(input)] = true;
      open.push_back(input);
    }
  }
  std::vector<NodeId> out;   // children have smaller numbers
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (seen[i]) out.push_back(static_cast<NodeId>(i));
  return out;
}

Structure structure(const Formula& formula) {
  const auto nodes = nodes_of_outputs(formula);
  const Census c = census(formula, nodes);
  const int crossing = c.reductions + c.scans + c.products;
  const bool computes = std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) { return is_element_wise(formula[id].op) && group(formula[id].op) != Group::leaf; });
  if (c.permutations > 0) return crossing == 0 && !computes ? Structure::permutation : Structure::mixed;
  if (crossing == 0) return Structure::element_wise;
  if (c.scans == crossing) return c.scans == 1 ? Structure::scan : Structure::mixed;
  if (c.products == crossing) return c.products == 1 ? Structure::matmul : Structure::mixed;
  if (c.reductions != crossing) return Structure::mixed;
  return c.trailing && c.same_axes ? Structure::row_reduction : Structure::reduction;
}

RowReduction row_reduction(const Formula& formula) {
  RowReduction out;
  for (const NodeId id : nodes_of_outputs(formula))
    if (group(formula[id].op) == Group::reduction) out.reductions.push_back(id);
  const Node& first = formula[out.reductions.front()];
  const Shape& full = formula[first.inputs[0]].shape;
  const auto split = static_cast<std::ptrdiff_t>(full.size() - first.axes.size());
  out.outer = Shape(full.begin(), full.begin() + split);
  out.inner = Shape(full.begin() + split, full.end());
  for (const Assignment& output : formula.outputs)
    out.outputs_rows = out.outputs_rows || same_shape(formula[output.value].shape, full);
  return out;
}

double operations(const Formula& formula, const Sizes& sizes) {
  double out = 0;
  for (const NodeId id : nodes_of_outputs(formula)) {
    const Node& node = formula[id];
    const double cost = row(node.op).cost;
    if (cost == 0) continue;
    if (node.op == Op::matmul) out += cost * elements(node.shape, sizes) * static_cast<double>(task::evaluate(formula[node.inputs[0]].shape.back(), sizes).value_or(0));
    else out += cost * elements(group(node.op) == Group::reduction ? formula[node.inputs[0]].shape : node.shape, sizes);
  }
  return out;
}

std::string reduction_length(const Formula& formula) {
  std::string out;
  for (const NodeId id : nodes_of_outputs(formula)) {
    const std::string length = gathered(formula, formula[id]);
    if (length.empty() || (!out.empty() && same_extent(out, length))) continue;
    out = out.empty() ? length : fmt::format("max({}, {})", out, length);
  }
  return out;
}

}  // namespace kforge::task::formula
