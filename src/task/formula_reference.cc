// A formula as a C++ reference. Reductions, scans and products are worked out one after the other into arrays of double; what lies
// between is computed where it is used. Loops follow the operand's memory, so that a reference of a large size is quick enough.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "task/formula_writer.h"

namespace kforge::task::formula {
namespace {

class ReferenceWriter {
 public:
  ReferenceWriter(const Formula& formula, const Task& task)
      : formula_(formula), task_(task), index_(fresh_stem(task, "i")), array_(fresh_stem(task, "t")), value_(fresh_stem(task, "v")), out_(1) {}

  std::string run() {
    const std::string prefix = "arg_";
    for (const std::string& size : task_.size_names()) {
      out_.line(fmt::format("const long long {} = {}{};", size, prefix, size));
      out_.line(fmt::format("(void){};", size));
    }
    for (std::size_t i = 0; i < formula_.nodes.size(); ++i)
      if (needed(static_cast<NodeId>(i))) gather(static_cast<NodeId>(i));
    outputs();
    const std::string body = out_.text();
    return fmt::format("// {}\n// Computed in double from the formula of the task '{}'.\n#include <algorithm>\n#include <cmath>\n#include <cstdint>\n#include <vector>\n\n{}"
                       "extern \"C\" void {}({}) {{\n{}}}\n",
                       replace_all(formula_.text, "\n", "\n// "), task_.name, size_functions(body, "static inline"), task_.function,
                       parameters(task_, Language::cpp, prefix, false), body);
  }

 private:
  bool needed(NodeId id) const {
    const Group kind = group(formula_[id].op);
    if (kind != Group::reduction && kind != Group::scan && kind != Group::matmul) return false;
    return std::any_of(formula_.outputs.begin(), formula_.outputs.end(), [&](const Assignment& output) {
      const auto nodes = reachable(formula_, output.value);
      return std::binary_search(nodes.begin(), nodes.end(), id);
    });
  }

  Number type(NodeId id) const { return number_of(formula_, task_, id, Language::cpp); }
  static std::string_view stored_type(Number number) { return number == Number::boolean ? "unsigned char" : type_name(number); }
  std::string array_name(NodeId id) const { return fmt::format("{}{}", array_, id); }
  std::string element(NodeId id, const std::vector<std::string>& index) const {
    return fmt::format("{}[{}]", array_name(id), offset_text(dense("", formula_[id].shape), index));
  }
  std::vector<std::string> indices(std::size_t rank) const {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < rank; ++i) out.push_back(fmt::format("{}{}", index_, i));
    return out;
  }

  // The value of a node at an index, its statements written before.
  std::string value_at(NodeId id, const std::vector<std::string>& index) {
    EmitOptions options;
    options.language = Language::cpp;
    options.index = index;
    options.prefix = value_;
    options.first = next_;
    options.value = [this](NodeId gathered, const std::vector<std::string>& at) {
      return type(gathered) == Number::boolean ? fmt::format("({} != 0)", element(gathered, at)) : element(gathered, at);
    };
    const Emitted emitted = emit_cuda(formula_, task_, id, options);
    next_ = emitted.next;
    for (const std::string& statement : emitted.statements) out_.line(statement);
    return emitted.value;
  }

  void loops(const Shape& shape, const std::vector<std::string>& index) {
    for (std::size_t i = 0; i < shape.size(); ++i) out_.loop(index[i], extent_text(shape[i]));
  }
  void close(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) out_.close();
  }
  void declare(NodeId id, const std::string& name, const std::string& start, Number number) {
    out_.line(fmt::format("std::vector<{}> {}({}, {});", stored_type(number), name, element_count(formula_[id].shape), start));
  }

  void gather(NodeId id) {
    const Node& node = formula_[id];
    if (node.op == Op::matmul) product(id);
    else if (group(node.op) == Group::scan) scan(id);
    else reduce(id);
  }

  void reduce(NodeId id) {
    const Node& node = formula_[id];
    const NodeId from = node.inputs[0];
    const bool wants_index = node.op == Op::argmin || node.op == Op::argmax;
    declare(id, array_name(id), wants_index ? "0" : neutral(node.op, type(id)), type(id));
    const std::string best = array_name(id) + "_best";
    // Whatever comes first is taken: a best of "nothing yet" would lose the first of several infinities.
    if (wants_index) declare(id, best, "0", type(from));
    const Shape& shape = formula_[from].shape;
    const auto index = indices(shape.size());
    loops(shape, index);
    std::vector<std::string> to;
    Tensor order = dense("", {});
    std::vector<std::string> order_index;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const bool gone = std::find(node.axes.begin(), node.axes.end(), static_cast<int>(d)) != node.axes.end();
      if (!gone) to.push_back(index[d]);
      if (!gone) continue;
      order.shape.push_back(shape[d]);
      order_index.push_back(index[d]);
    }
    const std::string value = cast_text(value_at(from, index), type(from), wants_index ? type(from) : type(id));
    const std::string target = element(id, to);
    if (wants_index) {
      const std::string best_at = fmt::format("{}[{}]", best, offset_text(dense("", node.shape), to));
      const std::string position = offset_text(order, order_index);
      out_.line(fmt::format("const {} {}_next = {};", type_name(type(from)), value_, value));
      out_.open(fmt::format("if ({} == 0 || {})", position, combined(node.op, type(from), Language::cpp, best_at, value_ + "_next")));
      out_.line(fmt::format("{} = {}_next;", best_at, value_));
      out_.line(fmt::format("{} = {};", target, position));
      out_.close();
    } else {
      out_.line(fmt::format("{} = {};", target, combined(node.op, type(id), Language::cpp, target, value)));
    }
    close(shape.size());
  }

  void scan(NodeId id) {
    const Node& node = formula_[id];
    declare(id, array_name(id), "0", type(id));
    const auto index = indices(node.shape.size());
    loops(node.shape, index);
    const std::string value = cast_text(value_at(node.inputs[0], index), type(node.inputs[0]), type(id));
    auto before = index;
    std::string& along = before[static_cast<std::size_t>(node.axes[0])];
    const std::string first = along + " == 0";
    along = "(" + along + " - 1)";
    out_.line(fmt::format("{} = {} + ({} ? 0 : {});", element(id, index), value, first, element(id, before)));
    close(node.shape.size());
  }

  // Row by row of the right operand: its elements lie side by side.
  void product(NodeId id) {
    const Node& node = formula_[id];
    const NodeId a = node.inputs[0], b = node.inputs[1];
    const Shape &left = formula_[a].shape, &right = formula_[b].shape;
    const bool row_vector = left.size() == 1, column_vector = right.size() == 1;
    declare(id, array_name(id), "0", type(id));
    const auto index = indices(node.shape.size());
    const std::size_t batch = node.shape.size() - (row_vector ? 0 : 1) - (column_vector ? 0 : 1);
    const std::size_t outer = node.shape.size() - (column_vector ? 0 : 1);
    for (std::size_t i = 0; i < outer; ++i) out_.loop(index[i], extent_text(node.shape[i]));
    const std::string k = index_ + "_k";
    out_.loop(k, extent_text(left.back()));
    const auto batched = [&](const Shape& shape) {   // leading axes of an operand, of those of the result
      std::vector<std::string> out;
      const std::size_t own = shape.size() > 2 ? shape.size() - 2 : 0;
      const auto axes = broadcast_axes(Shape(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(own)), Shape(node.shape.begin(), node.shape.begin() + static_cast<std::ptrdiff_t>(batch)));
      for (const int axis : axes) out.push_back(axis < 0 ? "0" : index[static_cast<std::size_t>(axis)]);
      return out;
    };
    auto left_index = batched(left), right_index = batched(right);
    if (!row_vector) left_index.push_back(index[batch]);
    left_index.push_back(k);
    right_index.push_back(k);
    if (!column_vector) right_index.push_back(index.back());
    const std::string factor = fmt::format("{}_left", value_);
    const std::string first = cast_text(value_at(a, left_index), type(a), type(id));
    out_.line(fmt::format("const {} {} = {};", type_name(type(id)), factor, first));
    if (!column_vector) out_.loop(index.back(), extent_text(node.shape.back()));
    const std::string second = cast_text(value_at(b, right_index), type(b), type(id));
    out_.line(fmt::format("{} += {} * {};", element(id, index), factor, second));
    close(node.shape.size() + 1);
  }

  // Where an inout tensor is read, every result is complete before the first is stored.
  void outputs() {
    const bool in_place = std::any_of(formula_.nodes.begin(), formula_.nodes.end(), [&](const Node& node) {
      return node.op == Op::tensor && tensor_of(task_, node.name).role == Role::inout;
    });
    std::vector<std::string> kept(formula_.outputs.size());
    for (int pass = in_place ? 0 : 1; pass < 2; ++pass) {
      for (std::size_t i = 0; i < formula_.outputs.size(); ++i) {
        const Assignment& output = formula_.outputs[i];
        const Tensor& tensor = tensor_of(task_, output.tensor);
        const auto index = indices(tensor.shape.size());
        const Number number = type(output.value);
        const std::string name = fmt::format("{}_result{}", array_, i);
        const std::string result = fmt::format("{}[{}]", name, offset_text(dense("", tensor.shape), index));
        if (pass == 0) out_.line(fmt::format("std::vector<{}> {}({});", stored_type(number), name, element_count(tensor.shape)));
        loops(tensor.shape, index);
        const auto own = formula_[output.value].shape.empty() ? std::vector<std::string>{} : index;
        if (pass == 0) out_.line(fmt::format("{} = {};", result, value_at(output.value, own)));
        else out_.line(stored(tensor, index, in_place ? result : value_at(output.value, own), number));
        close(tensor.shape.size());
      }
    }
  }

  std::string stored(const Tensor& tensor, const std::vector<std::string>& index, const std::string& value, Number) const {
    const std::string type = is_float(tensor.dtype) ? tensor.dtype == Dtype::f64 ? "double" : "float" : std::string(cuda_type(tensor.dtype));
    return fmt::format("{}[{}] = static_cast<{}>({});", tensor.name, offset_text(tensor, index), type, value);
  }

  const Formula& formula_;
  const Task& task_;
  const std::string index_, array_, value_;
  Writer out_;
  int next_ = 0;
};

}  // namespace

Expected<std::string> to_reference_source(const Task& task) {
  const auto parsed = of(task);
  if (!parsed) return Unexpected(parsed.error());
  return ReferenceWriter(*parsed, task).run();
}

}  // namespace kforge::task::formula
