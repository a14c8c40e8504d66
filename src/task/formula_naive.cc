// A formula as a plain CUDA kernel: right at every size and slow, the baseline that better kernels are measured against. One thread
// computes an element of the output; where elements share a reduction, one thread computes all that share it (a row of a softmax), since a
// launcher may allocate nothing to keep results in. Sums of floats are gathered in pieces, so that long ones stay accurate.
#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "task/formula_builder.h"
#include "task/formula_writer.h"

namespace kforge::task::formula {
namespace {

using Index = std::vector<std::string>;
constexpr int kPiece = 256;   // floats added up before they are added to the rest

// One kernel: the outputs of one shape.
class KernelWriter {
 public:
  KernelWriter(const Formula& formula, const Task& task, std::vector<Assignment> outputs, std::string name)
      : formula_(formula), task_(task), outputs_(std::move(outputs)), name_(std::move(name)), space_(tensor_of(task, outputs_[0].tensor).shape),
        index_(fresh_stem(task, "i")), value_(fresh_stem(task, "v")), gathered_(fresh_stem(task, "r")), inner_(fresh_stem(task, "j")), out_(1) {
    for (std::size_t d = 0; d < space_.size(); ++d) space_index_.push_back(fmt::format("{}{}", index_, d));
  }

  // Errors: unsupported, for work in place that threads would disturb in each other.
  Expected<std::string> run() {
    choose_dimensions();
    const std::string id = fresh(task_, "id");
    out_.line(fmt::format("long long {} = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;", id));
    out_.line(fmt::format("if ({} >= {}) return;", id, total()));
    for (std::size_t i = parallel_.size(); i-- > 0;) {
      const std::string extent = extent_text(space_[parallel_[i]]);
      out_.line(fmt::format("const long long {} = {}{};", space_index_[parallel_[i]], id, i > 0 ? " % " + extent : ""));
      if (i > 0) out_.line(fmt::format("{} /= {};", id, extent));
    }
    scopes_.emplace_back();
    for (const Assignment& output : outputs_) hoist(output.value, own_index(output));
    running_sums();
    in_epilogue_ = true;
    for (const std::size_t d : serial_) out_.loop(space_index_[d], extent_text(space_[d]));
    scopes_.emplace_back();
    store();
    for (std::size_t i = 0; i < serial_.size(); ++i) out_.close();
    if (disturbed_)
      return fail(ErrorCode::unsupported, fmt::format("'{}' is changed in place while other elements still need it: no plain kernel can do that without a workspace", *disturbed_),
                  {task_.path}, "give the task a naive.cu, or an output of its own");
    return fmt::format("__global__ void {}({}) {{\n{}}}\n", name_, parameters(task_, Language::cuda, "", true), out_.text());
  }

  std::string total() const {
    Shape shape;
    for (const std::size_t d : parallel_) shape.push_back(space_[d]);
    return element_count(shape);
  }

 private:
  Index own_index(const Assignment& output) const { return formula_[output.value].shape.empty() ? Index{} : space_index_; }
  Number type(NodeId id) const { return number_of(formula_, task_, id); }
  bool is_scan(NodeId id) const { return group(formula_[id].op) == Group::scan; }

  // What crosses elements in the value of `id` at `index`, without entering it.
  std::vector<std::pair<NodeId, Index>> crossings(NodeId id, const Index& index) const {
    std::vector<std::pair<NodeId, Index>> out;
    EmitOptions options;
    options.index = index;
    options.value = [&](NodeId at, const Index& where) {
      out.emplace_back(at, where);
      return std::string("0");
    };
    (void)emit_cuda(formula_, task_, id, options);
    return out;
  }

  // Dimensions that reductions need are the threads'; the others are loops inside. Those along which a scan runs are the innermost loop.
  void choose_dimensions() {
    std::set<std::size_t> used, along;
    bool any = false;
    for (const Assignment& output : outputs_) {
      for (const auto& [id, where] : crossings(output.value, own_index(output))) {
        any = true;
        for (std::size_t axis = 0; axis < where.size(); ++axis) {
          const auto d = std::find(space_index_.begin(), space_index_.end(), where[axis]) - space_index_.begin();
          if (static_cast<std::size_t>(d) == space_.size()) continue;
          const bool scanned = is_scan(id) && formula_[id].axes[0] == static_cast<int>(axis);
          (scanned ? along : used).insert(static_cast<std::size_t>(d));
        }
      }
    }
    if (along.size() > 1) used.insert(along.begin(), along.end());
    for (std::size_t d = 0; d < space_.size(); ++d) {
      if (!any || used.contains(d)) parallel_.push_back(d);
      else serial_.push_back(d);
    }
    const auto scan = along.size() == 1 ? std::find(serial_.begin(), serial_.end(), *along.begin()) : serial_.end();
    if (scan == serial_.end()) return;
    // Every other dimension gets threads of its own: the running sum starts anew for each.
    scan_dimension_ = *scan;
    serial_ = {*scan_dimension_};
    parallel_.clear();
    for (std::size_t d = 0; d < space_.size(); ++d)
      if (d != *scan_dimension_) parallel_.push_back(d);
  }

  // ---- Values

  std::string value_at(NodeId id, const Index& index) {
    EmitOptions options;
    options.index = index;
    options.prefix = value_;
    options.first = next_;
    options.value = [this](NodeId at, const Index& where) { return gather(at, where); };
    options.load = [this](const Tensor& tensor, const Index& where) {
      watch(tensor, where);
      return load_text(tensor.dtype, fmt::format("{}[{}]", tensor.name, offset_text(tensor, where)));
    };
    const Emitted emitted = emit_cuda(formula_, task_, id, options);
    next_ = emitted.next;
    for (const std::string& statement : emitted.statements) out_.line(statement);
    return emitted.value;
  }

  // An inout tensor may be read where this thread alone writes, and only before it does.
  void watch(const Tensor& tensor, const Index& where) {
    if (tensor.role == Role::in) return;
    const bool same_shape_as_space = same_shape(tensor.shape, space_);
    const auto& must = in_epilogue_ ? all_dimensions() : parallel_;
    const bool own = same_shape_as_space && std::all_of(must.begin(), must.end(), [&](std::size_t d) { return where[d] == space_index_[d]; });
    if (!own && !disturbed_) disturbed_ = tensor.name;
  }
  std::vector<std::size_t> all_dimensions() const {
    std::vector<std::size_t> out(space_.size());
    for (std::size_t d = 0; d < out.size(); ++d) out[d] = d;
    return out;
  }

  const std::string* known(NodeId id, const Index& index) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto found = scope->find({id, index}); found != scope->end()) return &found->second;
    return nullptr;
  }

  // Computes now whatever `id` needs that does not depend on a loop that is still to be opened.
  void hoist(NodeId id, const Index& index, const std::vector<std::string>& loops) {
    for (const auto& [at, where] : crossings(id, index)) {
      const bool depends = std::any_of(where.begin(), where.end(), [&](const std::string& text) { return std::find(loops.begin(), loops.end(), text) != loops.end(); });
      if (!depends) (void)gather(at, where);
    }
  }
  void hoist(NodeId id, const Index& index) {
    std::vector<std::string> loops;
    for (const std::size_t d : serial_) loops.push_back(space_index_[d]);
    hoist(id, index, loops);
  }

  // A variable that holds the reduction, scan or product `id` at `index`.
  std::string gather(NodeId id, const Index& index) {
    if (const std::string* there = known(id, index)) return *there;
    const std::string name = fmt::format("{}{}", gathered_, gathered_count_++);
    const Node& node = formula_[id];
    if (node.op == Op::matmul) product(id, index, name);
    else if (node.op == Op::argmin || node.op == Op::argmax) best(id, index, name);
    else if (is_scan(id)) sum_up_to(id, index, name);
    else reduce(id, index, name);
    scopes_.back().emplace(std::pair{id, index}, name);
    return name;
  }

  // The index of a reduction's operand: loop variables along the reduced axes.
  Index operand_index(const Node& node, const Index& index, std::vector<std::string>& loops, Shape& extents) {
    Index out;
    std::size_t next = 0;
    const Shape& shape = formula_[node.inputs[0]].shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const bool gone = std::find(node.axes.begin(), node.axes.end(), static_cast<int>(d)) != node.axes.end();
      if (gone) {
        loops.push_back(fmt::format("{}{}", inner_, loop_count_++));
        extents.push_back(shape[d]);
        out.push_back(loops.back());
      } else {
        out.push_back(index[next++]);
      }
    }
    return out;
  }

  void reduce(NodeId id, const Index& index, const std::string& name) {
    const Node& node = formula_[id];
    std::vector<std::string> loops;
    Shape extents;
    const Index from = operand_index(node, index, loops, extents);
    hoist(node.inputs[0], from, loops);
    const Number number = type(id);
    out_.line(fmt::format("{} {} = {};", type_name(number), name, neutral(node.op, number)));
    gather_loops(loops, extents, node.op == Op::sum && number == Number::f32, name, [&](const std::string& target) {
      const std::string next = cast_text(value_at(node.inputs[0], from), type(node.inputs[0]), number);
      if (node.op == Op::sum) out_.line(fmt::format("{} += {};", target, next));
      else out_.line(fmt::format("{} = {};", target, without_outer(combined(node.op, number, Language::cuda, target, next))));
    });
  }

  static std::string without_outer(const std::string& text) {
    return text.size() > 2 && text.front() == '(' && text.back() == ')' ? text.substr(1, text.size() - 2) : text;
  }

  // Opens the loops and calls `body` with the variable that it adds to; in pieces, that is a partial sum.
  template <class Body>
  void gather_loops(const std::vector<std::string>& loops, const Shape& extents, bool pieces, const std::string& name, Body&& body) {
    scopes_.emplace_back();
    if (loops.empty()) {
      body(name);
      scopes_.pop_back();
      return;
    }
    for (std::size_t i = 0; i + 1 < loops.size(); ++i) out_.loop(loops[i], extent_text(extents[i]));
    const std::string& last = loops.back();
    const std::string extent = extent_text(extents.back());
    const std::string part = name + "_part", start = last + "_start";
    if (pieces) {
      out_.open(fmt::format("for (long long {0} = 0; {0} < {1}; {0} += {2})", start, extent, kPiece));
      out_.line(fmt::format("float {} = 0.0f;", part));
      out_.open(fmt::format("for (long long {0} = {1}; {0} < {1} + {2} && {0} < {3}; ++{0})", last, start, kPiece, extent));
    } else {
      out_.loop(last, extent);
    }
    body(pieces ? part : name);
    out_.close();
    if (pieces) {
      out_.line(fmt::format("{} += {};", name, part));
      out_.close();
    }
    for (std::size_t i = 0; i + 1 < loops.size(); ++i) out_.close();
    scopes_.pop_back();
  }

  void best(NodeId id, const Index& index, const std::string& name) {
    const Node& node = formula_[id];
    std::vector<std::string> loops;
    Shape extents;
    const NodeId operand = node.inputs[0];
    const Index from = operand_index(node, index, loops, extents);
    hoist(operand, from, loops);
    const std::string value = name + "_best", next = name + "_next";
    out_.line(fmt::format("long long {} = 0;", name));
    out_.line(fmt::format("{} {} = {};", type_name(type(operand)), value, neutral(node.op, type(operand))));
    gather_loops(loops, extents, false, name, [&](const std::string&) {
      out_.line(fmt::format("const {} {} = {};", type_name(type(operand)), next, value_at(operand, from)));
      const std::string position = offset_text(dense("", extents), loops);
      out_.open(fmt::format("if ({} == 0 || {})", position, combined(node.op, type(operand), Language::cuda, value, next)));
      out_.line(fmt::format("{} = {};", value, next));
      out_.line(fmt::format("{} = {};", name, position));
      out_.close();
    });
  }

  void product(NodeId id, const Index& index, const std::string& name) {
    const Node& node = formula_[id];
    const NodeId a = node.inputs[0], b = node.inputs[1];
    const Shape &left = formula_[a].shape, &right = formula_[b].shape;
    const bool row_vector = left.size() == 1, column_vector = right.size() == 1;
    const std::size_t batch = index.size() - (row_vector ? 0 : 1) - (column_vector ? 0 : 1);
    const std::string k = fmt::format("{}{}", inner_, loop_count_++);
    const auto batched = [&](const Shape& shape) {
      Index out;
      const std::size_t own = shape.size() > 2 ? shape.size() - 2 : 0;
      const auto axes = broadcast_axes(Shape(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(own)),
                                       Shape(node.shape.begin(), node.shape.begin() + static_cast<std::ptrdiff_t>(batch)));
      for (const int axis : axes) out.push_back(axis < 0 ? "0" : index[static_cast<std::size_t>(axis)]);
      return out;
    };
    Index left_index = batched(left), right_index = batched(right);
    if (!row_vector) left_index.push_back(index[batch]);
    left_index.push_back(k);
    right_index.push_back(k);
    if (!column_vector) right_index.push_back(index.back());
    hoist(a, left_index, {k});
    hoist(b, right_index, {k});
    const Number number = type(id);
    out_.line(fmt::format("{} {} = {};", type_name(number), name, neutral(Op::sum, number)));
    gather_loops({k}, {left.back()}, number == Number::f32, name, [&](const std::string& target) {
      const std::string x = cast_text(value_at(a, left_index), type(a), number), y = cast_text(value_at(b, right_index), type(b), number);
      out_.line(fmt::format("{} += {} * {};", target, x, y));
    });
  }

  // The running sums of the loop that is about to be opened.
  void running_sums() {
    if (!scan_dimension_) return;
    for (const Assignment& output : outputs_)
      for (const auto& [id, where] : crossings(output.value, own_index(output))) {
        if (!is_scan(id) || where[static_cast<std::size_t>(formula_[id].axes[0])] != space_index_[*scan_dimension_] || known(id, where)) continue;
        const std::string name = fmt::format("{}{}", gathered_, gathered_count_++);
        out_.line(fmt::format("{} {} = {};", type_name(type(id)), name, neutral(Op::sum, type(id))));
        scopes_.back().emplace(std::pair{id, where}, name);
        running_.emplace_back(id, where);
        hoist(formula_[id].inputs[0], where, {space_index_[*scan_dimension_]});
      }
  }

  // A scan that no loop of this kernel runs along: summed from the start each time.
  void sum_up_to(NodeId id, const Index& index, const std::string& name) {
    const Node& node = formula_[id];
    const auto axis = static_cast<std::size_t>(node.axes[0]);
    Index from = index;
    from[axis] = fmt::format("{}{}", inner_, loop_count_++);
    const Number number = type(id);
    hoist(node.inputs[0], from, {from[axis]});
    out_.line(fmt::format("{} {} = {};", type_name(number), name, neutral(Op::sum, number)));
    gather_loops({from[axis]}, {fmt::format("{} + 1", index[axis])}, number == Number::f32, name, [&](const std::string& target) {
      out_.line(fmt::format("{} += {};", target, cast_text(value_at(node.inputs[0], from), type(node.inputs[0]), number)));
    });
  }

  // All values of an index are read before any is stored.
  void store() {
    for (const auto& [id, where] : running_)
      out_.line(fmt::format("{} += {};", *known(id, where), cast_text(value_at(formula_[id].inputs[0], where), type(formula_[id].inputs[0]), type(id))));
    const bool together = outputs_.size() > 1;
    std::vector<std::string> values;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      values.push_back(value_at(outputs_[i].value, own_index(outputs_[i])));
      if (!together) break;
      const std::string name = fmt::format("{}_out{}", value_, i);
      out_.line(fmt::format("const {} {} = {};", type_name(type(outputs_[i].value)), name, values.back()));
      values.back() = name;
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const Tensor& tensor = tensor_of(task_, outputs_[i].tensor);
      out_.line(fmt::format("{}[{}] = {};", tensor.name, offset_text(tensor, space_index_), store_text(tensor.dtype, values[i], type(outputs_[i].value))));
    }
  }

  const Formula& formula_;
  const Task& task_;
  const std::vector<Assignment> outputs_;
  const std::string name_;
  const Shape space_;
  const std::string index_, value_, gathered_, inner_;
  Writer out_;
  Index space_index_;
  std::vector<std::size_t> parallel_, serial_;
  std::optional<std::size_t> scan_dimension_;
  std::vector<std::map<std::pair<NodeId, Index>, std::string>> scopes_;
  std::vector<std::pair<NodeId, Index>> running_;
  std::optional<std::string> disturbed_;
  bool in_epilogue_ = false;
  int next_ = 0, gathered_count_ = 0, loop_count_ = 0;
};

// Outputs of one shape are one kernel's work.
std::vector<std::vector<Assignment>> kernels_of(const Formula& formula, const Task& task) {
  std::vector<std::vector<Assignment>> out;
  for (const Assignment& output : formula.outputs) {
    const Shape& shape = tensor_of(task, output.tensor).shape;
    const auto same = std::find_if(out.begin(), out.end(), [&](const auto& group) { return same_shape(tensor_of(task, group[0].tensor).shape, shape); });
    if (same == out.end()) out.push_back({output});
    else same->push_back(output);
  }
  return out;
}

bool reads_in_place(const Formula& formula, const Task& task) {
  return std::any_of(formula.nodes.begin(), formula.nodes.end(), [&](const Node& node) { return node.op == Op::tensor && tensor_of(task, node.name).role == Role::inout; });
}

std::string arguments(const Task& task) {
  std::vector<std::string> out;
  for (const Tensor& tensor : task.tensors) out.push_back(tensor.name);
  for (const std::string& size : task.size_names()) out.push_back(size);
  for (const Scalar& scalar : task.scalars) out.push_back(scalar.name);
  return join(out, ", ");
}

}  // namespace

Expected<std::string> to_naive_source(const Task& task) {
  const auto parsed = of(task);
  if (!parsed) return Unexpected(parsed.error());
  const auto kernels = kernels_of(*parsed, task);
  if (kernels.size() > 1 && reads_in_place(*parsed, task))
    return fail(ErrorCode::unsupported, "outputs of several shapes, one of them in place: no plain kernel can do that without a workspace", {task.path},
                "give the task a naive.cu, or an output of its own");
  std::string source, launches;
  const std::string blocks = fresh(task, "blocks");
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const std::string name = fresh(task, fmt::format("naive_{}", kernels[i][0].tensor), {task.function});
    KernelWriter writer(*parsed, task, kernels[i], name);
    auto text = writer.run();
    if (!text) return text;
    source += *text + "\n";
    launches += fmt::format("  {}{} = ({} + 255) / 256;\n  if ({} > 0) {}<<<static_cast<unsigned>({}), 256, 0, stream>>>({});\n", i == 0 ? "long long " : "", blocks,
                            writer.total(), blocks, name, blocks, arguments(task));
  }
  // Products of sizes need 64 bits; a launcher's sizes may have 32.
  const std::string prefix = task.sizes_are_64_bit ? "" : "arg_";
  std::string widened;
  for (const std::string& size : task.size_names())
    if (!prefix.empty()) widened += fmt::format("  const long long {} = {}{};\n", size, prefix, size);
  const std::string functions = size_functions(source + launches, "__host__ __device__ static inline");
  return fmt::format("// {}\n// Made from the formula of the task '{}': right, and slow.\n#include <cuda_runtime.h>\n{}#include <cmath>\n\n{}{}extern \"C\" cudaError_t {}({}{}cudaStream_t stream) {{\n{}{}  return cudaGetLastError();\n}}\n",
                     replace_all(parsed->text, "\n", "\n// "), task.name, headers(task), functions, source, task.function,
                     parameters(task, Language::cuda, prefix, false), task.tensors.empty() ? "" : ", ", widened, launches);
}

Expected<std::string> write_naive(const Task& task) { return write_source(to_naive_source(task), task, ".cu"); }

}  // namespace kforge::task::formula
