#include "task/formula_builder.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/hash.h"
#include "task/expression.h"
#include "task/wording.h"

namespace kforge::task::formula {
namespace {

constexpr std::size_t kMaxNodes = 1024, kMaxRank = 8;

// Numpy's rule: aligned at the last axis, the literal 1 stretches.
std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t from_end = out.size() - 1 - i;
    const std::string* left = from_end < a.size() ? &a[a.size() - 1 - from_end] : nullptr;
    const std::string* right = from_end < b.size() ? &b[b.size() - 1 - from_end] : nullptr;
    if (!left || !right) out[i] = left ? *left : *right;
    else if (same_extent(*left, *right) || is_one(*right)) out[i] = *left;
    else if (is_one(*left)) out[i] = *right;
    else return std::nullopt;
  }
  return out;
}

}  // namespace

Unexpected wrong_formula(Place place, std::string message, std::string hint) {
  return fail(ErrorCode::bad_input, std::move(message), {"", place.line, place.column}, std::move(hint));
}

bool is_one(const std::string& extent) {
  const auto parsed = Expression::parse(extent);
  if (!parsed || !parsed->names().empty()) return false;
  const auto value = parsed->value({});
  return value && *value == 1;
}

bool same_extent(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto left = Expression::parse(a), right = Expression::parse(b);
  if (!left || !right) return false;
  for (std::size_t probe = 0; probe < 12; ++probe) {
    Sizes sizes;
    std::size_t salt = probe;
    for (const auto* names : {&left->names(), &right->names()})
      for (const std::string& name : *names) {
        std::size_t hash = 1469598103934665603ull + probe * 7919;
        for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
        sizes[name] = static_cast<std::int64_t>(2 + ((hash >> 17) + salt) % 211);
      }
    const auto x = left->value(sizes), y = right->value(sizes);
    if (!x || !y || *x != *y) return false;
  }
  return true;
}

bool same_shape(const Shape& a, const Shape& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), same_extent);
}

Expected<NodeId> Builder::add(Node node, Place place) {
  std::string key = fmt::format("{}|{}|{}|{}|", static_cast<int>(node.op), static_cast<int>(node.kind), node.number, node.name);
  for (const NodeId input : node.inputs) key += fmt::format("{},", input);
  key += '|';
  for (const int axis : node.axes) key += fmt::format("{},", axis);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  if (nodes_.size() == kMaxNodes) return wrong_formula(place, fmt::format("more than {} operations", kMaxNodes), "give a reference in C++ instead");
  if (node.shape.size() > kMaxRank) return wrong_formula(place, fmt::format("more than {} axes", kMaxRank));
  node.line = place.line;
  node.column = place.column;
  nodes_.push_back(std::move(node));
  const auto id = static_cast<NodeId>(nodes_.size() - 1);
  known_.emplace(std::move(key), id);
  return id;
}

Expected<NodeId> Builder::constant(double value, Kind kind, Place place) {
  Node node;
  node.kind = kind;
  node.number = value;
  return add(std::move(node), place);
}

std::optional<NodeId> Builder::named(std::string_view name, Place place) {
  Node node;
  node.name = std::string(name);
  const auto kind_of_dtype = [](Dtype dtype) { return dtype == Dtype::boolean ? Kind::boolean : is_float(dtype) ? Kind::real : Kind::integer; };
  const auto tensor = std::find_if(task_.tensors.begin(), task_.tensors.end(), [&](const Tensor& t) { return t.name == name; });
  const auto scalar = std::find_if(task_.scalars.begin(), task_.scalars.end(), [&](const Scalar& s) { return s.name == name; });
  if (tensor != task_.tensors.end()) {
    node.op = Op::tensor;
    node.kind = kind_of_dtype(tensor->dtype);
    node.shape = tensor->shape;
  } else if (scalar != task_.scalars.end()) {
    node.op = Op::scalar;
    node.kind = kind_of_dtype(scalar->dtype);
  } else if (std::find(sizes_.begin(), sizes_.end(), name) != sizes_.end()) {
    node.op = Op::size;
    node.kind = Kind::integer;
  } else {
    return std::nullopt;
  }
  auto id = add(std::move(node), place);
  return id ? std::optional(*id) : std::nullopt;
}

Expected<NodeId> Builder::arange(std::string_view extent, Place place) {
  Node node;
  node.op = Op::arange;
  node.kind = Kind::integer;
  node.name = std::string(extent);
  node.shape = {node.name};
  return add(std::move(node), place);
}

Expected<void> Builder::check_kinds(Op op, const std::vector<NodeId>& inputs, Place place) const {
  const KindRule rule = row(op).kinds;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Kind kind = (*this)[inputs[i]].kind;
    const bool truth_wanted = rule == KindRule::logic || (rule == KindRule::select && i == 0);
    if (truth_wanted && kind != Kind::boolean)
      return wrong_formula(place, fmt::format("'{}' takes a truth value, this is {}", row(op).name, name(kind)), "compare it with something: x != 0");
    // Truth values count as 0 and 1 in sums and products of numbers; a function of analysis of one is a mistake.
    if (rule == KindRule::real && kind == Kind::boolean && group(op) == Group::unary)
      return wrong_formula(place, fmt::format("'{}' takes a number, this is a truth value", row(op).name), "where(condition, 1, 0) makes a number of it");
  }
  return {};
}

Kind Builder::kind_of(Op op, const std::vector<NodeId>& inputs) const {
  const auto joined = [&](std::size_t from) {
    Kind kind = Kind::boolean;
    for (std::size_t i = from; i < inputs.size(); ++i) kind = std::max(kind, (*this)[inputs[i]].kind);
    return kind;
  };
  switch (row(op).kinds) {
    case KindRule::arithmetic: return std::max(joined(0), Kind::integer);
    case KindRule::same: return std::max(joined(0), Kind::integer);
    case KindRule::select: return joined(1);
    case KindRule::compare:
    case KindRule::logic: return Kind::boolean;
    case KindRule::index: return Kind::integer;
    case KindRule::own: return op == Op::to_integer ? Kind::integer : Kind::real;
    case KindRule::real: break;
  }
  return Kind::real;
}

std::optional<Builder::Lost> Builder::lost_by(const std::vector<NodeId>& inputs) const {
  std::optional<Lost> out;
  for (const NodeId input : inputs) {
    if ((*this)[input].shape.empty()) continue;
    const auto found = lost_.find(input);
    if (found == lost_.end() || (out && *out != found->second)) return std::nullopt;
    out = found->second;
  }
  return out;
}

Expected<NodeId> Builder::restored(NodeId id, Place place) {
  const Lost lost = lost_.at(id);
  Node node;
  node.op = Op::align;
  node.kind = (*this)[id].kind;
  node.inputs = {id};
  int next = 0;
  for (std::size_t axis = 0; axis < lost.rank; ++axis) {
    const bool gone = std::find(lost.axes.begin(), lost.axes.end(), static_cast<int>(axis)) != lost.axes.end();
    node.axes.push_back(gone ? -1 : next);
    node.shape.push_back(gone ? "1" : (*this)[id].shape[static_cast<std::size_t>(next)]);
    if (!gone) ++next;
  }
  return add(std::move(node), place);
}

Expected<Shape> Builder::fit(NodeId& a, NodeId& b, Place place) {
  const auto plain = broadcast((*this)[a].shape, (*this)[b].shape);
  for (NodeId* reduced : {&a, &b}) {
    const NodeId other = reduced == &a ? b : a;
    const auto lost = lost_.find(*reduced);
    if (lost == lost_.end() || (*this)[*reduced].shape.empty() || (*this)[other].shape.size() != lost->second.rank) continue;
    const bool leading = lost->second.axes.back() + 1 == static_cast<int>(lost->second.axes.size());
    if (leading) continue;   // numpy's alignment says the same
    const Shape own = (*this)[*reduced].shape, theirs = (*this)[other].shape;
    auto back = restored(*reduced, place);
    if (!back) return Unexpected(back.error());
    const auto shape = broadcast((*this)[*back].shape, theirs);
    if (!shape) continue;
    if (plain)
      return wrong_formula(place, fmt::format("{} beside {} can be read two ways: along the last axis, or along the axis that the reduction left",
                                              to_string(own), to_string(theirs)),
                           "say keepdims=true in the reduction, or expand(..., axis=...)");
    *reduced = *back;
    return *shape;
  }
  if (plain) return *plain;
  return wrong_formula(place, fmt::format("shapes {} and {} do not fit", to_string((*this)[a].shape), to_string((*this)[b].shape)),
                       "extents are compared from the last axis; 1 stretches; keepdims=true and expand(x, axis=...) add axes of extent 1");
}

Expected<NodeId> Builder::apply(Op op, std::vector<NodeId> inputs, Place place) {
  if (auto kinds = check_kinds(op, inputs, place); !kinds) return Unexpected(kinds.error());
  Node node;
  node.op = op;
  node.kind = kind_of(op, inputs);
  node.shape = (*this)[inputs[0]].shape;
  const auto lost = lost_by(inputs);
  if (inputs.size() == 2) {
    auto shape = fit(inputs[0], inputs[1], place);
    if (!shape) return Unexpected(shape.error());
    node.shape = *shape;
  } else if (inputs.size() == 3) {
    // Pairwise, twice round: an axis that came back in a later pair must be there for the first.
    for (const auto& [i, j] : {std::pair{0, 1}, {1, 2}, {0, 2}, {0, 1}, {1, 2}}) {
      auto shape = fit(inputs[static_cast<std::size_t>(i)], inputs[static_cast<std::size_t>(j)], place);
      if (!shape) return Unexpected(shape.error());
    }
    const auto pair = broadcast((*this)[inputs[0]].shape, (*this)[inputs[1]].shape);
    const auto all = broadcast(*pair, (*this)[inputs[2]].shape);
    if (!all) return wrong_formula(place, "the three operands do not fit together");
    node.shape = *all;
  }
  node.inputs = std::move(inputs);
  auto id = add(std::move(node), place);
  if (id && lost) lost_.emplace(*id, *lost);
  return id;
}

Expected<std::vector<int>> Builder::normalised(const std::vector<std::int64_t>& axes, std::size_t rank, Place place) const {
  std::vector<int> out;
  const auto signed_rank = static_cast<std::int64_t>(rank);
  for (const std::int64_t axis : axes) {
    if (axis < -signed_rank || axis >= signed_rank)
      return wrong_formula(place, fmt::format("axis {} of a value with {} {}", axis, rank, rank == 1 ? "axis" : "axes"),
                           rank == 0 ? "a single number has no axes" : fmt::format("axes are 0 to {}, or -1 for the last", rank - 1));
    out.push_back(static_cast<int>(axis < 0 ? axis + signed_rank : axis));
  }
  if (out.empty()) {
    out.resize(rank);
    std::iota(out.begin(), out.end(), 0);
  }
  std::sort(out.begin(), out.end());
  if (std::adjacent_find(out.begin(), out.end()) != out.end()) return wrong_formula(place, "an axis is given twice");
  return out;
}

Expected<NodeId> Builder::reduce(Op op, NodeId input, std::vector<std::int64_t> axes, bool keepdims, Place place) {
  if (auto kinds = check_kinds(op, {input}, place); !kinds) return Unexpected(kinds.error());
  const Shape full = (*this)[input].shape;
  auto which = normalised(axes, full.size(), place);
  if (!which) return Unexpected(which.error());
  Node node;
  node.op = op;
  node.kind = kind_of(op, {input});
  node.inputs = {input};
  node.axes = *which;
  Node kept;   // with keepdims: the axes come back with extent 1, and equal reductions are one node whatever their spelling
  kept.op = Op::align;
  kept.kind = node.kind;
  int next = 0;
  for (std::size_t axis = 0; axis < full.size(); ++axis) {
    const bool gone = std::find(which->begin(), which->end(), static_cast<int>(axis)) != which->end();
    if (!gone) node.shape.push_back(full[axis]);
    kept.shape.push_back(gone ? "1" : full[axis]);
    kept.axes.push_back(gone ? -1 : next++);
  }
  auto id = add(std::move(node), place);
  if (id && keepdims && !full.empty()) {
    kept.inputs = {*id};
    return add(std::move(kept), place);
  }
  if (id && which->size() < full.size()) lost_.emplace(*id, Lost{full.size(), *which});
  return id;
}

Expected<NodeId> Builder::scan(NodeId input, std::int64_t axis, Place place) {
  auto which = normalised({axis}, (*this)[input].shape.size(), place);
  if (!which) return Unexpected(which.error());
  Node node;
  node.op = Op::cumulative_sum;
  node.kind = kind_of(Op::cumulative_sum, {input});
  node.inputs = {input};
  node.axes = *which;
  node.shape = (*this)[input].shape;
  return add(std::move(node), place);
}

// numpy.matmul: vectors are rows on the left and columns on the right; leading axes broadcast.
Expected<NodeId> Builder::matmul(NodeId a, NodeId b, Place place) {
  const Shape left = (*this)[a].shape, right = (*this)[b].shape;
  const auto refuse = [&](std::string_view why) {
    return wrong_formula(place, fmt::format("{} @ {}: {}", to_string(left), to_string(right), why), "the last axis of the left side meets the last but one of the right");
  };
  if (left.empty() || right.empty()) return refuse("a single number has no axes: use *");
  const bool row_vector = left.size() == 1, column_vector = right.size() == 1;
  const std::string& inner_left = left.back();
  const std::string& inner_right = column_vector ? right[0] : right[right.size() - 2];
  if (!same_extent(inner_left, inner_right)) return refuse(fmt::format("'{}' is not '{}'", inner_left, inner_right));
  const Shape batch_left = row_vector ? Shape{} : Shape(left.begin(), left.end() - 2);
  const Shape batch_right = column_vector ? Shape{} : Shape(right.begin(), right.end() - 2);
  const auto batch = broadcast(batch_left, batch_right);
  if (!batch) return refuse("the leading axes do not fit");
  Node node;
  node.op = Op::matmul;
  node.kind = kind_of(Op::matmul, {a, b});
  node.inputs = {a, b};
  node.shape = *batch;
  if (!row_vector) node.shape.push_back(left[left.size() - 2]);
  if (!column_vector) node.shape.push_back(right.back());
  return add(std::move(node), place);
}

Expected<NodeId> Builder::permute(NodeId input, const std::vector<std::int64_t>& axes, Place place) {
  const Shape full = (*this)[input].shape;
  Node node;
  node.op = Op::permute;
  node.kind = (*this)[input].kind;
  node.inputs = {input};
  for (const std::int64_t axis : axes) {
    auto one = normalised({axis}, full.size(), place);
    if (!one) return Unexpected(one.error());
    node.axes.push_back(one->front());
    node.shape.push_back(full[static_cast<std::size_t>(one->front())]);
  }
  std::vector<int> sorted = node.axes;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.size() != full.size() || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return wrong_formula(place, fmt::format("{} axes are put in order, the value has {}", axes.size(), full.size()), "name each axis once: permute(x, [1, 0])");
  return add(std::move(node), place);
}

Expected<NodeId> Builder::expand(NodeId input, std::int64_t axis, Place place) {
  const Shape full = (*this)[input].shape;
  auto where = normalised({axis}, full.size() + 1, place);
  if (!where) return Unexpected(where.error());
  Node node;
  node.op = Op::align;
  node.kind = (*this)[input].kind;
  node.inputs = {input};
  int next = 0;
  for (int i = 0; i <= static_cast<int>(full.size()); ++i) {
    const bool fresh = i == where->front();
    node.axes.push_back(fresh ? -1 : next);
    node.shape.push_back(fresh ? "1" : full[static_cast<std::size_t>(next++)]);
  }
  return add(std::move(node), place);
}

Expected<NodeId> Builder::count(NodeId input, std::vector<std::int64_t> axes, Place place) {
  const Shape full = (*this)[input].shape;
  auto which = normalised(axes, full.size(), place);
  if (!which) return Unexpected(which.error());
  Node node;
  node.op = Op::size;
  node.kind = Kind::integer;
  for (const int axis : *which) {
    const std::string& extent = full[static_cast<std::size_t>(axis)];
    if (is_one(extent)) continue;
    const std::string factor = is_identifier(extent) ? extent : "(" + extent + ")";
    node.name += node.name.empty() ? factor : " * " + factor;
  }
  if (node.name.empty()) return constant(1, Kind::integer, place);
  return add(std::move(node), place);
}

}  // namespace kforge::task::formula
