// A formula as a C++ reference. Reductions, scans and products are worked out one after the other into arrays of double; what lies
// between is computed where it is used. Loops follow the operand's memory and outer ones whose turns do not depend on each other go to
// all cores; products are in blocks that stay in the caches: a reference of a large size is quick enough. Results depend on no number of cores.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "task/formula_writer.h"

namespace kforge::task::formula {
namespace {

// {0} is the namespace.
constexpr std::string_view kLoops = R"cpp(
namespace {0} {
template <class Body>
struct Work { const Body* body; long long count, step, next; };
template <class Body>
void* take(void* of) {
  auto* const work = static_cast<Work<Body>*>(of);
  for (long long first; (first = __atomic_fetch_add(&work->next, work->step, __ATOMIC_RELAXED)) < work->count;)
    for (long long i = first, last = std::min(first + work->step, work->count); i < last; ++i) (*work->body)(i);
  return nullptr;
}
// body(0) to body(count - 1), on all cores where there are `operations` enough.
template <class Body>
void over(long long count, double operations, const Body& body) {
  constexpr int kMost = 63;
  cpu_set_t cores;
  const int wanted = operations < 200000 || sched_getaffinity(0, sizeof cores, &cores) != 0 ? 1 : CPU_COUNT(&cores);
  Work<Body> work = {&body, count, std::max(1LL, count / (8 * wanted)), 0};
  pthread_t threads[kMost];
  int started = 0;
  while (started + 1 < wanted && started < kMost && pthread_create(&threads[started], nullptr, &take<Body>, &work) == 0) ++started;
  take<Body>(&work);
  for (int i = 0; i < started; ++i) pthread_join(threads[i], nullptr);
}
}  // namespace {0}
)cpp";

constexpr std::string_view kProduct = R"cpp(
namespace {0} {
typedef double Four __attribute__((vector_size(32), aligned(8)));
// Four rows by a panel of eight columns, `depth` terms added to their sums.
__attribute__((target_clones("avx2", "default"))) static void add_terms(const double* const* rows, const double* panel, long long depth, double* const* sums) {
  Four sum[4][2];
  for (int r = 0; r < 4; ++r)
    for (int half = 0; half < 2; ++half) sum[r][half] = *reinterpret_cast<const Four*>(sums[r] + 4 * half);
  for (long long k = 0; k < depth; ++k) {
    const Four low = *reinterpret_cast<const Four*>(panel + 8 * k), high = *reinterpret_cast<const Four*>(panel + 8 * k + 4);
    for (int r = 0; r < 4; ++r) {
      sum[r][0] += rows[r][k] * low;
      sum[r][1] += rows[r][k] * high;
    }
  }
  for (int r = 0; r < 4; ++r)
    for (int half = 0; half < 2; ++half) *reinterpret_cast<Four*>(sums[r] + 4 * half) = sum[r][half];
}
// c = a b: rows of a; b in panels of eight columns, with zeros beyond the last one; each sum in the order of its terms.
static void multiply(const double* a, const double* b, double* c, long long rows, long long columns, long long depth) {
  constexpr long long kRows = 256, kPanels = 8, kDepth = 256;
  const long long down = (rows + kRows - 1) / kRows, panels = (columns + 7) / 8, across = (panels + kPanels - 1) / kPanels;
  over(down * across, double(rows) * double(columns) * double(depth), [&](long long block) {
    const long long first = block % down * kRows, last = std::min(first + kRows, rows);
    const long long first_panel = block / down * kPanels, last_panel = std::min(first_panel + kPanels, panels);
    for (long long k = 0; k < depth; k += kDepth)
      for (long long row = first; row < last; row += 4)
        for (long long panel = first_panel; panel < last_panel; ++panel) {
          const double* from[4];
          double spare[4][8] = {}, *to[4];
          const bool whole = row + 4 <= last && 8 * panel + 8 <= columns;
          for (int r = 0; r < 4; ++r) {
            const long long at = std::min(row + r, last - 1);
            from[r] = a + at * depth + k;
            to[r] = whole ? c + at * columns + 8 * panel : spare[r];
          }
          const long long some = std::min(8LL, columns - 8 * panel), some_rows = std::min(4LL, last - row);
          for (long long r = 0; !whole && r < some_rows; ++r) std::copy_n(c + (row + r) * columns + 8 * panel, some, spare[r]);
          add_terms(from, b + (panel * depth + k) * 8, std::min(kDepth, depth - k), to);
          for (long long r = 0; !whole && r < some_rows; ++r) std::copy_n(spare[r], some, c + (row + r) * columns + 8 * panel);
        }
  });
}
}  // namespace {0}
)cpp";

class ReferenceWriter {
 public:
  ReferenceWriter(const Formula& formula, const Task& task)
      : formula_(formula), task_(task), index_(fresh_stem(task, "i")), array_(fresh_stem(task, "t")), value_(fresh_stem(task, "v")), tools_(fresh(task, "reference_tools")), out_(1) {}

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
    std::string tools = has_loops_ ? std::string(kLoops) : "";   // a product has loops of its own
    if (has_product_) tools += kProduct;
    return fmt::format("// {}\n// Computed in double from the formula of the task '{}'.\n#include <algorithm>\n#include <cmath>\n#include <cstdint>\n#include <vector>\n{}\n{}{}"
                       "extern \"C\" void {}({}) {{\n{}}}\n",
                       replace_all(formula_.text, "\n", "\n// "), task_.name, tools.empty() ? "" : "\n#include <pthread.h>\n#include <sched.h>\n", replace_all(tools, "{0}", tools_),
                       size_functions(body, "static inline"), task_.function, parameters(task_, Language::cpp, prefix, false), body);
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
  // `is_independent`: turns of the outermost loop write different elements, and read none that another writes.
  void open_loops(const Shape& shape, const std::vector<std::string>& index, bool is_independent) {
    if (!is_independent) return loops(shape, index);
    if (shape.empty()) return;
    has_loops_ = true;
    out_.open(fmt::format("{}::over({}, double({}), [&](const long long {})", tools_, extent_text(shape[0]), element_count(shape), index[0]));
    for (std::size_t i = 1; i < shape.size(); ++i) out_.loop(index[i], extent_text(shape[i]));
  }
  void close_loops(std::size_t count, bool is_independent) {
    if (!is_independent) return close(count);
    if (count == 0) return;
    close(count - 1);
    out_.close("});");
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
    const bool is_independent = !shape.empty() && std::find(node.axes.begin(), node.axes.end(), 0) == node.axes.end();
    open_loops(shape, index, is_independent);
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
    close_loops(shape.size(), is_independent);
  }

  void scan(NodeId id) {
    const Node& node = formula_[id];
    declare(id, array_name(id), "0", type(id));
    const auto index = indices(node.shape.size());
    const bool is_independent = node.axes[0] != 0;
    open_loops(node.shape, index, is_independent);
    const std::string value = cast_text(value_at(node.inputs[0], index), type(node.inputs[0]), type(id));
    auto before = index;
    std::string& along = before[static_cast<std::size_t>(node.axes[0])];
    const std::string first = along + " == 0";
    along = "(" + along + " - 1)";
    out_.line(fmt::format("{} = {} + ({} ? 0 : {});", element(id, index), value, first, element(id, before)));
    close_loops(node.shape.size(), is_independent);
  }

  // Leading axes of an operand of a product, of those of the result.
  static std::vector<std::string> batched(const Shape& operand, const Shape& result, std::size_t batch, const std::vector<std::string>& index) {
    std::vector<std::string> out;
    const std::size_t own = operand.size() > 2 ? operand.size() - 2 : 0;
    const auto axes = broadcast_axes(Shape(operand.begin(), operand.begin() + static_cast<std::ptrdiff_t>(own)), Shape(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(batch)));
    for (const int axis : axes) out.push_back(axis < 0 ? "0" : index[static_cast<std::size_t>(axis)]);
    return out;
  }

  void product(NodeId id) {
    const Node& node = formula_[id];
    const bool has_matrices = formula_[node.inputs[0]].shape.size() > 1 && formula_[node.inputs[1]].shape.size() > 1;
    declare(id, array_name(id), "0", type(id));
    has_matrices && type(id) == Number::f64 ? matrix_product(id) : plain_product(id);
  }

  // Operands as matrices of double, the right one in panels, for each of a batch.
  void matrix_product(NodeId id) {
    has_product_ = true;
    const Node& node = formula_[id];
    const NodeId a = node.inputs[0], b = node.inputs[1];
    const auto index = indices(node.shape.size());
    const std::size_t batch = node.shape.size() - 2;
    const std::string rows = extent_text(node.shape[batch]), columns = extent_text(node.shape[batch + 1]), depth = extent_text(formula_[a].shape.back());
    const std::string left = array_name(id) + "_left", right = array_name(id) + "_right", k = index_ + "_k";
    out_.line(fmt::format("std::vector<double> {}({} * {}), {}(({} + 7) / 8 * 8 * {});", left, rows, depth, right, columns, depth));
    for (std::size_t i = 0; i < batch; ++i) out_.loop(index[i], extent_text(node.shape[i]));
    auto left_index = batched(formula_[a].shape, node.shape, batch, index), right_index = batched(formula_[b].shape, node.shape, batch, index);
    left_index.insert(left_index.end(), {index[batch], k});
    right_index.insert(right_index.end(), {k, index[batch + 1]});
    open_loops({node.shape[batch], formula_[a].shape.back()}, {index[batch], k}, true);
    const std::string first = cast_text(value_at(a, left_index), type(a), type(id));
    out_.line(fmt::format("{}[{} * {} + {}] = {};", left, index[batch], depth, k, first));
    close_loops(2, true);
    open_loops({formula_[a].shape.back(), node.shape[batch + 1]}, {k, index[batch + 1]}, true);
    const std::string second = cast_text(value_at(b, right_index), type(b), type(id));
    out_.line(fmt::format("{}[({} / 8 * {} + {}) * 8 + {} % 8] = {};", right, index[batch + 1], depth, k, index[batch + 1], second));
    close_loops(2, true);
    std::vector<std::string> corner(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(batch));
    corner.insert(corner.end(), {"0", "0"});
    out_.line(fmt::format("{}::multiply({}.data(), {}.data(), &{}, {}, {}, {});", tools_, left, right, element(id, corner), rows, columns, depth));
    close(batch);
  }

  // Row by row of the right operand: its elements lie side by side.
  void plain_product(NodeId id) {
    const Node& node = formula_[id];
    const NodeId a = node.inputs[0], b = node.inputs[1];
    const Shape &left = formula_[a].shape, &right = formula_[b].shape;
    const bool row_vector = left.size() == 1, column_vector = right.size() == 1;
    const auto index = indices(node.shape.size());
    const std::size_t batch = node.shape.size() - (row_vector ? 0 : 1) - (column_vector ? 0 : 1);
    const std::size_t outer = node.shape.size() - (column_vector ? 0 : 1);
    for (std::size_t i = 0; i < outer; ++i) out_.loop(index[i], extent_text(node.shape[i]));
    const std::string k = index_ + "_k";
    out_.loop(k, extent_text(left.back()));
    auto left_index = batched(left, node.shape, batch, index), right_index = batched(right, node.shape, batch, index);
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
        open_loops(tensor.shape, index, true);
        const auto own = formula_[output.value].shape.empty() ? std::vector<std::string>{} : index;
        if (pass == 0) out_.line(fmt::format("{} = {};", result, value_at(output.value, own)));
        else out_.line(stored(tensor, index, in_place ? result : value_at(output.value, own), number));
        close_loops(tensor.shape.size(), true);
      }
    }
  }

  std::string stored(const Tensor& tensor, const std::vector<std::string>& index, const std::string& value, Number) const {
    const std::string type = is_float(tensor.dtype) ? tensor.dtype == Dtype::f64 ? "double" : "float" : std::string(cuda_type(tensor.dtype));
    return fmt::format("{}[{}] = static_cast<{}>({});", tensor.name, offset_text(tensor, index), type, value);
  }

  const Formula& formula_;
  const Task& task_;
  const std::string index_, array_, value_, tools_;
  bool has_loops_ = false, has_product_ = false;
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
