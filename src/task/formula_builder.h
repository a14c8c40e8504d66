// Makes the nodes of a formula: kinds, shapes, broadcasting, one node for equal operations. The parser says what is meant and where
// it stands; here it is checked and built.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "task/formula.h"

namespace kforge::task::formula {

struct Place { int line = 1, column = 1; };

Unexpected wrong_formula(Place place, std::string message, std::string hint = {});

// Equal for all sizes (tried at a dozen of them), spelling apart.
bool same_extent(const std::string& a, const std::string& b);
bool is_one(const std::string& extent);
bool same_shape(const Shape& a, const Shape& b);

class Builder {
 public:
  explicit Builder(const Task& task) : task_(task), sizes_(task.size_names()) {}

  // Leaves.
  Expected<NodeId> constant(double value, Kind kind, Place place);
  std::optional<NodeId> named(std::string_view name, Place place);   // tensor, scalar or size
  Expected<NodeId> arange(std::string_view extent, Place place);     // integers 0, 1, ... along one axis: a size expression

  // Element-wise operations, operands broadcast.
  Expected<NodeId> apply(Op op, std::vector<NodeId> inputs, Place place);
  // Reductions and scans. No axes: all of them. Negative axes count from the end.
  Expected<NodeId> reduce(Op op, NodeId input, std::vector<std::int64_t> axes, bool keepdims, Place place);
  Expected<NodeId> scan(NodeId input, std::int64_t axis, Place place);
  Expected<NodeId> matmul(NodeId a, NodeId b, Place place);
  Expected<NodeId> permute(NodeId input, const std::vector<std::int64_t>& axes, Place place);
  Expected<NodeId> expand(NodeId input, std::int64_t axis, Place place);
  // The number of elements along axes, as an integer. No axes: all.
  Expected<NodeId> count(NodeId input, std::vector<std::int64_t> axes, Place place);

  const Node& operator[](NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  const std::vector<std::string>& sizes() const { return sizes_; }
  std::vector<Node> take() { return std::move(nodes_); }

 private:
  // What a reduction without keepdims took away: it may come back (formula.h, "Shapes").
  struct Lost {
    std::size_t rank = 0;
    std::vector<int> axes;
    bool operator==(const Lost&) const = default;
  };

  Expected<NodeId> add(Node node, Place place);
  Expected<std::vector<int>> normalised(const std::vector<std::int64_t>& axes, std::size_t rank, Place place) const;
  Expected<void> check_kinds(Op op, const std::vector<NodeId>& inputs, Place place) const;
  Kind kind_of(Op op, const std::vector<NodeId>& inputs) const;
  // Both operands made to fit: `a` and `b` may be replaced by aligned ones.
  Expected<Shape> fit(NodeId& a, NodeId& b, Place place);
  Expected<NodeId> restored(NodeId id, Place place);
  std::optional<Lost> lost_by(const std::vector<NodeId>& inputs) const;

  const Task& task_;
  std::vector<std::string> sizes_;
  std::vector<Node> nodes_;
  std::map<std::string, NodeId> known_;
  std::map<NodeId, Lost> lost_;
};

}  // namespace kforge::task::formula
