#include "task/formula_functions.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "task/wording.h"

namespace kforge::task::formula {
namespace {

// Steps of a composed function: each makes a node or passes the first error on.
class Steps {
 public:
  Steps(Builder& builder, const Call& call) : builder_(builder), call_(call) {}

  NodeId keep(Expected<NodeId> node) {
    if (node) return *node;
    if (!error_) error_ = node.error();
    return 0;
  }
  NodeId real(double value) { return keep(builder_.constant(value, Kind::real, call_.place)); }
  NodeId op(Op op, std::vector<NodeId> inputs) { return error_ ? 0 : keep(builder_.apply(op, std::move(inputs), call_.place)); }
  // With keepdims, so that the result meets its operand again.
  NodeId reduce(Op op, NodeId input) { return error_ ? 0 : keep(builder_.reduce(op, input, call_.axes, true, call_.place)); }
  NodeId reduce_as_called(Op op, NodeId input) { return error_ ? 0 : keep(builder_.reduce(op, input, call_.axes, call_.keepdims, call_.place)); }
  NodeId count(NodeId input) { return error_ ? 0 : keep(builder_.count(input, call_.axes, call_.place)); }
  NodeId operand() const { return call_.operands[0]; }
  Expected<NodeId> result(NodeId node) const {
    if (error_) return Unexpected(*error_);
    return node;
  }

 private:
  Builder& builder_;
  const Call& call_;
  std::optional<Error> error_;
};

template <Op op>
Expected<NodeId> element_wise(Builder& builder, const Call& call) {
  return builder.apply(op, call.operands, call.place);
}

template <Op op>
Expected<NodeId> reduction(Builder& builder, const Call& call) {
  return builder.reduce(op, call.operands[0], call.axes, call.keepdims, call.place);
}

// max(a, b, ...) compares elements, max(x, axis=1) and max(x) reduce.
template <Op binary, Op reduced>
Expected<NodeId> extreme(Builder& builder, const Call& call) {
  if (call.operands.size() == 1) return reduction<reduced>(builder, call);
  if (!call.axes.empty() || call.keepdims)
    return wrong_formula(call.place, fmt::format("{} of {} operands takes no axis", call.name, call.operands.size()), fmt::format("{0}({0}(x, y), axis=1)", call.name));
  Expected<NodeId> out = call.operands[0];
  for (std::size_t i = 1; out && i < call.operands.size(); ++i) out = builder.apply(binary, {*out, call.operands[i]}, call.place);
  return out;
}

Expected<NodeId> mean(Builder& builder, const Call& call) {
  Steps s(builder, call);
  const NodeId sum = s.reduce_as_called(Op::sum, s.operand());
  return s.result(s.op(Op::divide, {sum, s.count(s.operand())}));
}

NodeId variance(Steps& s) {
  const NodeId x = s.operand();
  const NodeId mean = s.op(Op::divide, {s.reduce(Op::sum, x), s.count(x)});
  const NodeId distance = s.op(Op::subtract, {x, mean});
  const NodeId sum = s.reduce_as_called(Op::sum, s.op(Op::multiply, {distance, distance}));
  return s.op(Op::divide, {sum, s.count(x)});
}

Expected<NodeId> var(Builder& builder, const Call& call) {
  Steps s(builder, call);
  return s.result(variance(s));
}

Expected<NodeId> standard_deviation(Builder& builder, const Call& call) {
  Steps s(builder, call);
  return s.result(s.op(Op::sqrt, {variance(s)}));
}

// exp(x - max) and its sum.
std::pair<NodeId, NodeId> shifted_exp(Steps& s) {
  const NodeId shifted = s.op(Op::subtract, {s.operand(), s.reduce(Op::reduce_maximum, s.operand())});
  return {shifted, s.op(Op::exp, {shifted})};
}

Expected<NodeId> softmax(Builder& builder, const Call& call) {
  Steps s(builder, call);
  const NodeId e = shifted_exp(s).second;
  return s.result(s.op(Op::divide, {e, s.reduce(Op::sum, e)}));
}

Expected<NodeId> log_softmax(Builder& builder, const Call& call) {
  Steps s(builder, call);
  const auto [shifted, e] = shifted_exp(s);
  return s.result(s.op(Op::subtract, {shifted, s.op(Op::log, {s.reduce(Op::sum, e)})}));
}

Expected<NodeId> relu(Builder& builder, const Call& call) {
  Steps s(builder, call);
  return s.result(s.op(Op::maximum, {s.operand(), s.keep(builder.constant(0, Kind::integer, call.place))}));
}

// x Phi(x), the exact form: Hendrycks and Gimpel, arXiv:1606.08415.
Expected<NodeId> gelu(Builder& builder, const Call& call) {
  Steps s(builder, call);
  const NodeId x = s.operand();
  const NodeId inner = s.op(Op::erf, {s.op(Op::multiply, {x, s.real(0.70710678118654752440)})});
  return s.result(s.op(Op::multiply, {s.op(Op::multiply, {s.real(0.5), x}), s.op(Op::add, {s.real(1), inner})}));
}

// The approximation of the same paper: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
Expected<NodeId> gelu_tanh(Builder& builder, const Call& call) {
  Steps s(builder, call);
  const NodeId x = s.operand();
  const NodeId cube = s.op(Op::multiply, {s.op(Op::multiply, {x, x}), x});
  const NodeId inner = s.op(Op::add, {x, s.op(Op::multiply, {s.real(0.044715), cube})});
  const NodeId bent = s.op(Op::tanh, {s.op(Op::multiply, {s.real(0.79788456080286535588), inner})});
  return s.result(s.op(Op::multiply, {s.op(Op::multiply, {s.real(0.5), x}), s.op(Op::add, {s.real(1), bent})}));
}

Expected<NodeId> silu(Builder& builder, const Call& call) {
  Steps s(builder, call);
  return s.result(s.op(Op::multiply, {s.operand(), s.op(Op::sigmoid, {s.operand()})}));
}

// log(1 + exp(x)) without overflow.
Expected<NodeId> softplus(Builder& builder, const Call& call) {
  Steps s(builder, call);
  const NodeId positive = s.op(Op::maximum, {s.operand(), s.real(0)});
  const NodeId tail = s.op(Op::log1p, {s.op(Op::exp, {s.op(Op::negate, {s.op(Op::abs, {s.operand()})})})});
  return s.result(s.op(Op::add, {positive, tail}));
}

Expected<NodeId> square(Builder& builder, const Call& call) { return builder.apply(Op::multiply, {call.operands[0], call.operands[0]}, call.place); }

Expected<NodeId> clamp(Builder& builder, const Call& call) {
  Steps s(builder, call);
  return s.result(s.op(Op::minimum, {s.op(Op::maximum, {s.operand(), call.operands[1]}), call.operands[2]}));
}

Expected<NodeId> one_axis(const Call& call) {
  if (call.axes.size() == 1) return 0;
  return wrong_formula(call.place, fmt::format("{} takes one axis", call.name), fmt::format("{}(x, axis=0)", call.name));
}

Expected<NodeId> cumsum(Builder& builder, const Call& call) {
  if (auto one = one_axis(call); !one) return one;
  return builder.scan(call.operands[0], call.axes[0], call.place);
}

Expected<NodeId> expand(Builder& builder, const Call& call) {
  if (auto one = one_axis(call); !one) return one;
  return builder.expand(call.operands[0], call.axes[0], call.place);
}

Expected<NodeId> permute(Builder& builder, const Call& call) {
  if (call.axes.empty()) return wrong_formula(call.place, "permute takes the order of the axes", "permute(x, [1, 0])");
  return builder.permute(call.operands[0], call.axes, call.place);
}

Expected<NodeId> transpose(Builder& builder, const Call& call) {
  if (!call.axes.empty()) return permute(builder, call);
  const auto rank = static_cast<std::int64_t>(builder[call.operands[0]].shape.size());
  if (rank < 2) return wrong_formula(call.place, "transpose takes a value of two axes or more");
  std::vector<std::int64_t> axes;
  for (std::int64_t i = 0; i < rank; ++i) axes.push_back(i);
  std::swap(axes[static_cast<std::size_t>(rank - 2)], axes[static_cast<std::size_t>(rank - 1)]);
  return builder.permute(call.operands[0], axes, call.place);
}

// Integers 0, 1, ... , n - 1; n is a size.
Expected<NodeId> arange(Builder& builder, const Call& call) {
  const Node& extent = builder[call.operands[0]];
  if (extent.op == Op::size) return builder.arange(extent.name, call.place);
  if (extent.op == Op::constant && extent.kind == Kind::integer && extent.number >= 1) return builder.arange(fmt::format("{}", extent.number), call.place);
  return wrong_formula(call.place, "arange takes a size or an integer above 0", "arange(cols)");
}

Expected<NodeId> matmul(Builder& builder, const Call& call) { return builder.matmul(call.operands[0], call.operands[1], call.place); }

constexpr auto kRows = std::to_array<FunctionRow>({
    {"abs", 1, 1, false, false, element_wise<Op::abs>},
    {"exp", 1, 1, false, false, element_wise<Op::exp>},
    {"exp2", 1, 1, false, false, element_wise<Op::exp2>},
    {"expm1", 1, 1, false, false, element_wise<Op::expm1>},
    {"log", 1, 1, false, false, element_wise<Op::log>},
    {"log2", 1, 1, false, false, element_wise<Op::log2>},
    {"log10", 1, 1, false, false, element_wise<Op::log10>},
    {"log1p", 1, 1, false, false, element_wise<Op::log1p>},
    {"sqrt", 1, 1, false, false, element_wise<Op::sqrt>},
    {"rsqrt", 1, 1, false, false, element_wise<Op::rsqrt>},
    {"reciprocal", 1, 1, false, false, element_wise<Op::reciprocal>},
    {"tanh", 1, 1, false, false, element_wise<Op::tanh>},
    {"sinh", 1, 1, false, false, element_wise<Op::sinh>},
    {"cosh", 1, 1, false, false, element_wise<Op::cosh>},
    {"sigmoid", 1, 1, false, false, element_wise<Op::sigmoid>},
    {"erf", 1, 1, false, false, element_wise<Op::erf>},
    {"erfc", 1, 1, false, false, element_wise<Op::erfc>},
    {"sin", 1, 1, false, false, element_wise<Op::sin>},
    {"cos", 1, 1, false, false, element_wise<Op::cos>},
    {"tan", 1, 1, false, false, element_wise<Op::tan>},
    {"asin", 1, 1, false, false, element_wise<Op::asin>},
    {"acos", 1, 1, false, false, element_wise<Op::acos>},
    {"atan", 1, 1, false, false, element_wise<Op::atan>},
    {"floor", 1, 1, false, false, element_wise<Op::floor>},
    {"ceil", 1, 1, false, false, element_wise<Op::ceil>},
    {"round", 1, 1, false, false, element_wise<Op::round>},
    {"trunc", 1, 1, false, false, element_wise<Op::trunc>},
    {"sign", 1, 1, false, false, element_wise<Op::sign>},
    {"int", 1, 1, false, false, element_wise<Op::to_integer>},
    {"float", 1, 1, false, false, element_wise<Op::to_real>},
    {"isnan", 1, 1, false, false, element_wise<Op::is_nan>},
    {"pow", 2, 2, false, false, element_wise<Op::power>},
    {"atan2", 2, 2, false, false, element_wise<Op::atan2>},
    {"hypot", 2, 2, false, false, element_wise<Op::hypot>},
    {"fmod", 2, 2, false, false, element_wise<Op::fmod>},
    {"where", 3, 3, false, false, element_wise<Op::where>},
    {"min", 1, 16, true, true, extreme<Op::minimum, Op::reduce_minimum>},
    {"max", 1, 16, true, true, extreme<Op::maximum, Op::reduce_maximum>},
    {"minimum", 2, 2, false, false, element_wise<Op::minimum>},
    {"maximum", 2, 2, false, false, element_wise<Op::maximum>},
    {"sum", 1, 1, true, true, reduction<Op::sum>},
    {"prod", 1, 1, true, true, reduction<Op::product>},
    {"any", 1, 1, true, true, reduction<Op::any>},
    {"all", 1, 1, true, true, reduction<Op::all>},
    {"argmin", 1, 1, true, true, reduction<Op::argmin>},
    {"argmax", 1, 1, true, true, reduction<Op::argmax>},
    {"mean", 1, 1, true, true, mean},
    {"var", 1, 1, true, true, var},
    {"std", 1, 1, true, true, standard_deviation},
    {"softmax", 1, 1, true, false, softmax},
    {"log_softmax", 1, 1, true, false, log_softmax},
    {"cumsum", 1, 1, true, false, cumsum},
    {"relu", 1, 1, false, false, relu},
    {"gelu", 1, 1, false, false, gelu},
    {"gelu_tanh", 1, 1, false, false, gelu_tanh},
    {"silu", 1, 1, false, false, silu},
    {"softplus", 1, 1, false, false, softplus},
    {"square", 1, 1, false, false, square},
    {"clamp", 3, 3, false, false, clamp},
    {"clip", 3, 3, false, false, clamp},
    {"matmul", 2, 2, false, false, matmul},
    {"transpose", 1, 1, true, false, transpose},
    {"permute", 1, 1, true, false, permute},
    {"expand", 1, 1, true, false, expand},
    {"arange", 1, 1, false, false, arange},
});

}  // namespace

std::span<const FunctionRow> function_table() { return kRows; }

Expected<const FunctionRow*> find_function(std::string_view name, Place place) {
  const auto found = std::find_if(kRows.begin(), kRows.end(), [&](const FunctionRow& row) { return row.name == name; });
  if (found != kRows.end()) return &*found;
  std::vector<std::string_view> known;
  for (const FunctionRow& row : kRows) known.push_back(row.name);
  return wrong_formula(place, fmt::format("no function '{}'", printable(name)), suggestion(name, known));
}

}  // namespace kforge::task::formula
