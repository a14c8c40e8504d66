// The oracle: a formula's values by interpretation, one node after the other, every one whole in memory. It shares the table of
// operations with the code that makes sources and nothing else.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <fmt/format.h>

#include "task/formula.h"

namespace kforge::task::formula {
namespace {

constexpr double kMostElements = 268435456;   // 2^28

struct Array {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};

using Index = std::vector<std::int64_t>;

std::int64_t count(const std::vector<std::int64_t>& shape) {
  std::int64_t out = 1;
  for (const std::int64_t extent : shape) out *= extent;
  return out;
}

// Calls `visit` with every index of a shape, in row-major order.
void for_each(const std::vector<std::int64_t>& shape, const std::function<void(const Index&)>& visit) {
  Index index(shape.size(), 0);
  for (std::int64_t left = count(shape); left > 0; --left) {
    visit(index);
    for (std::size_t d = index.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

// Numpy's broadcasting: missing leading axes and extents of 1 stand still.
double at(const Array& array, const Index& index) {
  std::int64_t offset = 0;
  const std::size_t skip = index.size() - array.shape.size();
  for (std::size_t d = 0; d < array.shape.size(); ++d) offset = offset * array.shape[d] + (array.shape[d] == 1 ? 0 : index[skip + d]);
  return array.values[static_cast<std::size_t>(offset)];
}

class Interpreter {
 public:
  Interpreter(const Formula& formula, const Task& task, const Sizes& sizes, const std::map<std::string, std::vector<double>>& inputs)
      : formula_(formula), task_(task), sizes_(sizes), inputs_(inputs), arrays_(formula.nodes.size()) {}

  Expected<std::map<std::string, std::vector<double>>> run() {
    for (std::size_t i = 0; i < formula_.nodes.size(); ++i)
      if (auto done = node(i); !done) return Unexpected(done.error());
    std::map<std::string, std::vector<double>> out;
    for (const Assignment& output : formula_.outputs) {
      const auto tensor = std::find_if(task_.tensors.begin(), task_.tensors.end(), [&](const Tensor& t) { return t.name == output.tensor; });
      auto shape = extents(tensor->shape);
      if (!shape) return Unexpected(shape.error());
      std::vector<double> values;
      for_each(*shape, [&](const Index& index) { values.push_back(at(arrays_[static_cast<std::size_t>(output.value)], index)); });
      out.emplace(output.tensor, std::move(values));
    }
    return out;
  }

 private:
  Expected<std::vector<std::int64_t>> extents(const Shape& shape) const {
    std::vector<std::int64_t> out;
    for (const std::string& extent : shape) {
      auto value = task::evaluate(extent, sizes_);
      if (!value) return Unexpected(value.error());
      out.push_back(*value);
    }
    return out;
  }

  const Array& input(const Node& node, std::size_t i) const { return arrays_[static_cast<std::size_t>(node.inputs[i])]; }

  Expected<void> node(std::size_t id) {
    const Node& node = formula_.nodes[id];
    Array& out = arrays_[id];
    auto shape = extents(node.shape);
    if (!shape) return Unexpected(shape.error());
    out.shape = *shape;
    double elements = 1;
    for (const std::int64_t extent : out.shape) elements *= static_cast<double>(extent);
    if (elements > kMostElements) return fail(ErrorCode::bad_input, fmt::format("{} elements are too many to interpret", elements));
    if (node.op == Op::tensor) return tensor(node, out);
    if (is_element_wise(node.op)) element_wise(node, out);
    else if (group(node.op) == Group::layout) layout(node, out);
    else if (node.op == Op::matmul) matmul(node, out);
    else if (group(node.op) == Group::scan) scan(node, out);
    else reduce(node, out);
    return {};
  }

  Expected<void> tensor(const Node& node, Array& out) const {
    const auto given = inputs_.find(node.name);
    if (given == inputs_.end() || static_cast<std::int64_t>(given->second.size()) != count(out.shape))
      return fail(ErrorCode::bad_input, fmt::format("input '{}': {} values are expected", node.name, count(out.shape)));
    out.values = given->second;
    return {};
  }

  double leaf(const Node& node, const Index& index) const {
    if (node.op == Op::constant) return node.number;
    if (node.op == Op::size) return static_cast<double>(task::evaluate(node.name, sizes_).value_or(0));
    if (node.op == Op::arange) return static_cast<double>(index[0]);
    return std::find_if(task_.scalars.begin(), task_.scalars.end(), [&](const Scalar& s) { return s.name == node.name; })->value;
  }

  void element_wise(const Node& node, Array& out) const {
    for_each(out.shape, [&](const Index& index) {
      if (group(node.op) == Group::leaf) return out.values.push_back(leaf(node, index));
      double operands[3] = {0, 0, 0};
      for (std::size_t i = 0; i < node.inputs.size(); ++i) operands[i] = at(input(node, i), index);
      out.values.push_back(row(node.op).evaluate(operands[0], operands[1], operands[2]));
    });
  }

  void layout(const Node& node, Array& out) const {
    Index from(input(node, 0).shape.size(), 0);
    for_each(out.shape, [&](const Index& index) {
      for (std::size_t i = 0; i < node.axes.size(); ++i)
        if (node.axes[i] >= 0) from[static_cast<std::size_t>(node.axes[i])] = index[i];
      out.values.push_back(at(input(node, 0), from));
    });
  }

  void matmul(const Node& node, Array& out) const {
    const Array &a = input(node, 0), &b = input(node, 1);
    const bool row_vector = a.shape.size() == 1, column_vector = b.shape.size() == 1;
    for_each(out.shape, [&](const Index& index) {
      const std::size_t batch = index.size() - (row_vector ? 0 : 1) - (column_vector ? 0 : 1);
      Index left(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(batch)), right = left;
      if (row_vector) left.clear();
      else left.push_back(index[batch]);
      if (column_vector) right.clear();
      left.push_back(0);
      right.push_back(0);
      if (!column_vector) right.push_back(index.back());
      double sum = 0;
      for (std::int64_t k = 0; k < a.shape.back(); ++k) {
        left.back() = k;
        right[column_vector ? 0 : right.size() - 2] = k;
        sum += clipped(a, left) * clipped(b, right);
      }
      out.values.push_back(sum);
    });
  }

  // Leading axes that an operand lacks are left out of the index.
  static double clipped(const Array& array, const Index& index) {
    return at(array, Index(index.end() - static_cast<std::ptrdiff_t>(std::min(index.size(), array.shape.size())), index.end()));
  }

  void scan(const Node& node, Array& out) const {
    out.values.resize(static_cast<std::size_t>(count(out.shape)));
    const auto axis = static_cast<std::size_t>(node.axes[0]);
    std::int64_t stride = 1;
    for (std::size_t d = axis + 1; d < out.shape.size(); ++d) stride *= out.shape[d];
    for (std::size_t i = 0; i < out.values.size(); ++i) {
      const bool first = static_cast<std::int64_t>(i) / stride % out.shape[axis] == 0;
      out.values[i] = input(node, 0).values[i] + (first ? 0 : out.values[i - static_cast<std::size_t>(stride)]);
    }
  }

  void reduce(const Node& node, Array& out) const {
    const Array& from = input(node, 0);
    std::vector<double> best(static_cast<std::size_t>(count(out.shape)));
    std::vector<std::int64_t> seen(best.size(), 0);
    out.values.assign(best.size(), 0);
    for_each(from.shape, [&](const Index& index) {
      std::int64_t to = 0, order = 0;
      for (std::size_t d = 0; d < index.size(); ++d) {
        const bool gone = std::find(node.axes.begin(), node.axes.end(), static_cast<int>(d)) != node.axes.end();
        if (gone) order = order * from.shape[d] + index[d];
        else to = to * from.shape[d] + index[d];
      }
      const auto t = static_cast<std::size_t>(to);
      const double value = at(from, index);
      const bool index_wanted = node.op == Op::argmin || node.op == Op::argmax;
      const bool first = seen[t]++ == 0;
      if (index_wanted) {
        if (!first && !(node.op == Op::argmin ? value < best[t] : value > best[t])) return;
        best[t] = value;
        out.values[t] = static_cast<double>(order);
      } else {
        const bool truth = node.op == Op::any || node.op == Op::all;
        out.values[t] = first ? (truth ? static_cast<double>(value != 0) : value) : row(node.op).evaluate(out.values[t], value, 0);
      }
    });
    // Of nothing: the neutral element, as the generated sources have it.
    for (std::size_t t = 0; t < seen.size(); ++t)
      if (seen[t] == 0) out.values[t] = node.op == Op::product || node.op == Op::all ? 1 : 0;
  }

  const Formula& formula_;
  const Task& task_;
  const Sizes& sizes_;
  const std::map<std::string, std::vector<double>>& inputs_;
  std::vector<Array> arrays_;
};

}  // namespace

Expected<std::map<std::string, std::vector<double>>> evaluate(const Formula& formula, const Task& task, const Sizes& sizes,
                                                              const std::map<std::string, std::vector<double>>& inputs) {
  return Interpreter(formula, task, sizes, inputs).run();
}

}  // namespace kforge::task::formula
