#include "task/formula_cuda.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "task/dtype_convert.h"
#include "task/expression.h"
#include "task/formula_builder.h"

namespace kforge::task::formula {
namespace {

bool is_real(Number number) { return number >= Number::f32; }
bool is_integer(Number number) { return number == Number::i32 || number == Number::i64; }

Number joined(Number a, Number b) {
  if (is_real(a) && is_real(b)) return std::max(a, b);
  if (is_real(a) || is_real(b)) return is_real(a) ? a : b;
  return std::max(a, b);
}

Number in_language(Number number, Language language) {
  if (language == Language::cuda) return number;
  return is_real(number) ? Number::f64 : is_integer(number) ? Number::i64 : number;
}

// Conversions of the small floats, in CUDA.
struct SmallFloat { Dtype dtype; std::string_view load, store, header; };
constexpr std::array<SmallFloat, 4> kSmallFloats{{
    {Dtype::f16, "__half2float({})", "__float2half({})", "cuda_fp16.h"},
    {Dtype::bf16, "__bfloat162float({})", "__float2bfloat16({})", "cuda_bf16.h"},
    {Dtype::e4m3, "static_cast<float>({})", "__nv_fp8_e4m3({})", "cuda_fp8.h"},
    {Dtype::e5m2, "static_cast<float>({})", "__nv_fp8_e5m2({})", "cuda_fp8.h"},
}};

const SmallFloat* small_float(Dtype dtype) {
  const auto found = std::find_if(kSmallFloats.begin(), kSmallFloats.end(), [&](const SmallFloat& row) { return row.dtype == dtype; });
  return found == kSmallFloats.end() ? nullptr : &*found;
}

const Tensor& tensor_named(const Task& task, const std::string& name) {
  return *std::find_if(task.tensors.begin(), task.tensors.end(), [&](const Tensor& t) { return t.name == name; });
}

std::string constant_text(double value, Number type) {
  if (type == Number::boolean) return value != 0 ? "true" : "false";
  if (is_integer(type)) return fmt::format("{:.0f}{}", value, type == Number::i64 && std::fabs(value) >= 2147483648.0 ? "LL" : "");
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return type == Number::f32 ? text + "f" : text;
}

std::string_view operation_text(const OpRow& row, Number working, Language language) {
  if (is_integer(working) && !row.integer.empty()) return row.integer;
  if (language == Language::cpp || !is_real(working)) return row.cpp;
  return working == Number::f64 ? row.cuda_double : row.cuda_float;
}

int uses_of(std::string_view text, int operand) {
  const std::string mark = fmt::format("{{{}}}", operand);
  int count = 0;
  for (std::size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + 1)) ++count;
  return count;
}

std::string filled(std::string_view text, const std::vector<std::string>& operands) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' && i + 2 < text.size() && text[i + 2] == '}') {
      out += operands[static_cast<std::size_t>(text[i + 1] - '0')];
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// An expression in parentheses that do nothing more than enclose it.
std::string without_parentheses(const std::string& text) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return text;
  int depth = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return text;
  }
  return text.substr(1, text.size() - 2);
}

class Emitter {
 public:
  using Index = std::vector<std::string>;
  Emitter(const Formula& formula, const Task& task, const EmitOptions& options) : formula_(formula), task_(task), options_(options), next_(options.first) {}

  Emitted run(NodeId root) {
    count(root, options_.index, 1);
    Emitted out;
    out.value = text(root, options_.index);
    out.type = type(root);
    out.statements = std::move(statements_);
    out.next = next_;
    return out;
  }

 private:
  using Key = std::pair<NodeId, Index>;

  Number type(NodeId id) { return number_of(formula_, task_, id, options_.language); }

  // The type in which the operands are taken.
  Number working(const Node& node, NodeId id) {
    if (row(node.op).kinds != KindRule::compare) return type(id);
    Number out = Number::boolean;
    for (const NodeId input : node.inputs) out = joined(out, type(input));
    if (node.op == Op::is_nan && !is_real(out)) out = options_.language == Language::cpp ? Number::f64 : Number::f32;
    return out;
  }

  Index operand_index(const Node& node, NodeId input, const Index& index) const {
    const Shape& shape = formula_[input].shape;
    Index out(shape.size(), "0");
    if (node.op == Op::permute || node.op == Op::align) {
      for (std::size_t i = 0; i < node.axes.size(); ++i)
        if (node.axes[i] >= 0) out[static_cast<std::size_t>(node.axes[i])] = is_one(shape[static_cast<std::size_t>(node.axes[i])]) ? "0" : index[i];
      return out;
    }
    const auto axes = broadcast_axes(shape, node.shape);
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (axes[i] >= 0) out[i] = index[static_cast<std::size_t>(axes[i])];
    return out;
  }

  bool stops(const Node& node) const { return !is_element_wise(node.op) && group(node.op) != Group::layout; }

  void count(NodeId id, const Index& index, int times) {
    int& uses = uses_[{id, index}];
    const bool seen = uses > 0;
    uses += times;
    const Node& node = formula_[id];
    if (seen || stops(node) || group(node.op) == Group::leaf) return;
    const bool layout = group(node.op) == Group::layout || node.op == Op::to_integer || node.op == Op::to_real;
    const std::string_view form = layout ? "{0}" : operation_text(row(node.op), working(node, id), options_.language);
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      count(node.inputs[i], operand_index(node, node.inputs[i], index), std::max(1, uses_of(form, static_cast<int>(i))));
  }

  std::string text(NodeId id, const Index& index) {
    const Key key{id, index};
    if (const auto bound = bound_.find(key); bound != bound_.end()) return bound->second;
    const Node& node = formula_[id];
    std::string out = group(node.op) == Group::leaf ? leaf(node, id, index) : stops(node) ? options_.value(id, index) : operation(node, id, index);
    const bool plain = node.op == Op::constant || node.op == Op::scalar || (node.op == Op::size && is_identifier(node.name)) || group(node.op) == Group::layout || stops(node);
    if (uses_[key] > 1 && !plain) {
      const std::string variable = fmt::format("{}{}", options_.prefix, next_++);
      statements_.push_back(fmt::format("const {} {} = {};", type_name(type(id)), variable, without_parentheses(out)));
      out = variable;
    }
    bound_.emplace(key, out);
    return out;
  }

  std::string leaf(const Node& node, NodeId id, const Index& index) {
    const Number to = type(id);
    if (node.op == Op::constant) return constant_text(node.number, to);
    if (node.op == Op::size) return is_identifier(node.name) ? node.name : "(" + size_text(node.name) + ")";
    if (node.op == Op::arange) return index[0];
    if (node.op == Op::scalar) {
      const auto scalar = std::find_if(task_.scalars.begin(), task_.scalars.end(), [&](const Scalar& s) { return s.name == node.name; });
      if (options_.language == Language::cuda) return cast_text(load_text(scalar->dtype, node.name), number_of(scalar->dtype), to);
      return fmt::format("static_cast<{}>({})", type_name(to), node.name);
    }
    const Tensor& tensor = tensor_named(task_, node.name);
    if (options_.load) return options_.load(tensor, index);
    const std::string element = fmt::format("{}[{}]", tensor.name, offset_text(tensor, index));
    if (options_.language == Language::cpp) return fmt::format("static_cast<{}>({})", type_name(to), element);
    return load_text(tensor.dtype, element);
  }

  std::string operation(const Node& node, NodeId id, const Index& index) {
    const NodeId first = node.inputs[0];
    if (group(node.op) == Group::layout) return text(first, operand_index(node, first, index));
    if (node.op == Op::to_integer || node.op == Op::to_real) return cast_text(text(first, operand_index(node, first, index)), type(first), type(id));
    const Number take = working(node, id);
    std::vector<std::string> operands;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const NodeId input = node.inputs[i];
      const bool truth = row(node.op).kinds == KindRule::logic || (row(node.op).kinds == KindRule::select && i == 0);
      const Node& operand = formula_[input];
      if (operand.op == Op::constant && !truth) operands.push_back(signed_constant(operand.number, take));
      else operands.push_back(cast_text(text(input, operand_index(node, input, index)), type(input), truth ? Number::boolean : take));
    }
    return filled(operation_text(row(node.op), take, options_.language), operands);
  }

  static std::string signed_constant(double value, Number type) {
    const std::string text = constant_text(value, type);
    return text.front() == '-' ? "(" + text + ")" : text;
  }

  const Formula& formula_;
  const Task& task_;
  const EmitOptions& options_;
  std::map<Key, int> uses_;
  std::map<Key, std::string> bound_;
  std::vector<std::string> statements_;
  int next_;
};

}  // namespace

std::string_view type_name(Number number) {
  constexpr std::array<std::string_view, 5> kNames{"bool", "int", "long long", "float", "double"};
  return kNames[static_cast<std::size_t>(number)];
}

Number number_of(Dtype dtype) {
  if (is_float(dtype)) return dtype == Dtype::f64 ? Number::f64 : Number::f32;
  if (dtype == Dtype::boolean) return Number::boolean;
  return dtype == Dtype::u32 || dtype == Dtype::i64 ? Number::i64 : Number::i32;
}

Number number_of(const Formula& formula, const Task& task, NodeId id, Language language) {
  const auto in_cuda = [&](const auto& self, NodeId at, std::map<NodeId, Number>& known) -> Number {
    if (const auto found = known.find(at); found != known.end()) return found->second;
    const Node& node = formula[at];
    Number out = Number::boolean;
    if (node.op == Op::tensor) out = number_of(tensor_named(task, node.name).dtype);
    else if (node.op == Op::scalar) out = number_of(std::find_if(task.scalars.begin(), task.scalars.end(), [&](const Scalar& s) { return s.name == node.name; })->dtype);
    else if (node.op == Op::size || node.op == Op::arange) out = Number::i64;
    else if (node.op == Op::constant) out = node.kind == Kind::boolean ? Number::boolean : node.kind == Kind::real ? Number::f32 : std::fabs(node.number) < 2147483648.0 ? Number::i32 : Number::i64;
    else {
      for (std::size_t i = node.op == Op::where ? 1 : 0; i < node.inputs.size(); ++i) out = joined(out, self(self, node.inputs[i], known));
      if (node.kind == Kind::real && !is_real(out)) out = Number::f32;
      if (node.kind == Kind::integer) {
        const bool gathers = node.op == Op::sum || node.op == Op::product || node.op == Op::cumulative_sum || node.op == Op::matmul;
        const bool wide = gathers || node.op == Op::argmin || node.op == Op::argmax || node.op == Op::to_integer;
        out = wide || out == Number::i64 ? Number::i64 : Number::i32;
      }
      if (node.kind == Kind::boolean) out = Number::boolean;
    }
    known.emplace(at, out);
    return out;
  };
  std::map<NodeId, Number> known;
  return in_language(in_cuda(in_cuda, id, known), language);
}

std::string cast_text(const std::string& value, Number from, Number to) {
  if (from == to) return value;
  return fmt::format("static_cast<{}>({})", type_name(to), without_parentheses(value));
}

std::string load_text(Dtype dtype, const std::string& element) {
  if (const SmallFloat* small = small_float(dtype)) return fmt::format(fmt::runtime(small->load), element);
  return dtype == Dtype::u32 ? fmt::format("static_cast<long long>({})", element) : element;
}

std::string store_text(Dtype dtype, const std::string& value, Number from) {
  if (const SmallFloat* small = small_float(dtype)) return fmt::format(fmt::runtime(small->store), without_parentheses(cast_text(value, from, Number::f32)));
  if (from == number_of(dtype) && size_bytes(dtype) >= 4 && dtype != Dtype::u32) return value;
  return fmt::format("static_cast<{}>({})", cuda_type(dtype), without_parentheses(value));
}

std::string headers(const Task& task) {
  std::string out;
  const auto add = [&](Dtype dtype) {
    const SmallFloat* small = small_float(dtype);
    if (small && out.find(small->header) == std::string::npos) out += fmt::format("#include <{}>\n", small->header);
    if (!is_float(dtype) && dtype != Dtype::boolean && out.find("cstdint") == std::string::npos) out += "#include <cstdint>\n";
  };
  for (const Tensor& tensor : task.tensors) add(tensor.dtype);
  for (const Scalar& scalar : task.scalars) add(scalar.dtype);
  return out;
}

std::string size_text(const std::string& expression) {
  std::string out;
  for (std::size_t i = 0; i < expression.size();) {
    std::size_t end = i;
    while (end < expression.size() && (std::isalnum(static_cast<unsigned char>(expression[end])) || expression[end] == '_')) ++end;
    if (end == i) {
      out += expression[i++];
      continue;
    }
    const std::size_t next = expression.find_first_not_of(" \t", end);
    if (next != std::string::npos && expression[next] == '(' && std::isalpha(static_cast<unsigned char>(expression[i]))) out += "size_";
    out += expression.substr(i, end - i);
    i = end;
  }
  return out;
}

std::string size_functions(std::string_view source, std::string_view qualifiers) {
  struct Row { std::string_view name, value; };
  constexpr std::array<Row, 3> kRows{{{"size_min", "a < b ? a : b"}, {"size_max", "a > b ? a : b"}, {"size_ceil_div", "a / b + (a % b != 0 && (a > 0) == (b > 0))"}}};
  std::string out;
  for (const Row& row : kRows)
    if (source.find(std::string(row.name) + "(") != std::string_view::npos)
      out += fmt::format("{} long long {}(long long a, long long b) {{ return {}; }}\n", qualifiers, row.name, row.value);
  return out;
}

std::string offset_text(const Tensor& tensor, const std::vector<std::string>& index) {
  const auto factor = [](const std::string& text) {
    const bool atom = text.find_first_of(" +-*/%") == std::string::npos;
    return atom ? text : "(" + text + ")";
  };
  std::string out;
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (!tensor.strides.empty()) {
      if (index[i] == "0") continue;
      const std::string stride = size_text(tensor.strides[i]);
      const std::string term = stride == "1" ? index[i] : fmt::format("{} * {}", index[i], factor(stride));
      out = out.empty() ? term : out + " + " + term;
    } else if (out.empty()) {
      out = index[i] == "0" ? "" : index[i];
    } else {
      out = fmt::format("{} * {}", factor(out), factor(size_text(tensor.shape[i])));
      if (index[i] != "0") out += " + " + index[i];
    }
  }
  return out.empty() ? "0" : out;
}

Emitted emit_cuda(const Formula& formula, const Task& task, NodeId root, const EmitOptions& options) { return Emitter(formula, task, options).run(root); }

}  // namespace kforge::task::formula
