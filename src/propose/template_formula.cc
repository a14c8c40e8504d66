#include "propose/template_formula.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace kforge::propose {
namespace {

using namespace task::formula;
using TermKind = Term::Kind;
using Index = std::vector<TermPtr>;

struct OpTerm {
  Op op;
  TermKind kind;
  std::string_view text;
};
constexpr std::array<OpTerm, 54> kOps{{
    {Op::negate, TermKind::unary, "-"}, {Op::logical_not, TermKind::unary, "!"}, {Op::abs, TermKind::call, "abs"}, {Op::exp, TermKind::call, "exp"}, {Op::exp2, TermKind::call, "exp2"},
    {Op::expm1, TermKind::call, "expm1"}, {Op::log, TermKind::call, "log"}, {Op::log2, TermKind::call, "log2"}, {Op::log10, TermKind::call, "log10"}, {Op::log1p, TermKind::call, "log1p"},
    {Op::sqrt, TermKind::call, "sqrt"}, {Op::rsqrt, TermKind::call, "rsqrt"}, {Op::tanh, TermKind::call, "tanh"}, {Op::sinh, TermKind::call, "sinh"}, {Op::cosh, TermKind::call, "cosh"},
    {Op::erf, TermKind::call, "erf"}, {Op::erfc, TermKind::call, "erfc"}, {Op::sin, TermKind::call, "sin"}, {Op::cos, TermKind::call, "cos"}, {Op::tan, TermKind::call, "tan"},
    {Op::asin, TermKind::call, "asin"}, {Op::acos, TermKind::call, "acos"}, {Op::atan, TermKind::call, "atan"}, {Op::floor, TermKind::call, "floor"}, {Op::ceil, TermKind::call, "ceil"},
    {Op::trunc, TermKind::call, "trunc"}, {Op::add, TermKind::binary, "+"}, {Op::subtract, TermKind::binary, "-"}, {Op::multiply, TermKind::binary, "*"}, {Op::divide, TermKind::binary, "/"},
    {Op::power, TermKind::call, "pow"}, {Op::minimum, TermKind::call, "min"}, {Op::maximum, TermKind::call, "max"}, {Op::atan2, TermKind::call, "atan2"}, {Op::hypot, TermKind::call, "hypot"},
    {Op::fmod, TermKind::call, "fmod"}, {Op::less, TermKind::binary, "<"}, {Op::less_equal, TermKind::binary, "<="}, {Op::greater, TermKind::binary, ">"},
    {Op::greater_equal, TermKind::binary, ">="}, {Op::equal, TermKind::binary, "=="}, {Op::not_equal, TermKind::binary, "!="}, {Op::logical_and, TermKind::binary, "&&"},
    {Op::logical_or, TermKind::binary, "||"}, {Op::where, TermKind::select, "?"}, {Op::to_real, TermKind::to_real, "real"}, {Op::to_integer, TermKind::to_integer, "int64_t"},
    {Op::sum, TermKind::reduce, "sum"}, {Op::product, TermKind::reduce, "product"}, {Op::reduce_minimum, TermKind::reduce, "min"}, {Op::reduce_maximum, TermKind::reduce, "max"},
    {Op::any, TermKind::reduce, "or"}, {Op::all, TermKind::reduce, "and"}, {Op::argmax, TermKind::arg_reduce, "max"},
}};

class Converter {
 public:
  Converter(const Formula& formula, const task::Task& task) : formula_(formula), task_(task) {}

  std::optional<Lifted> all(std::string& why) {
    Lifted out;
    for (const Assignment& output : formula_.outputs) {
      const auto tensor = std::find_if(task_.tensors.begin(), task_.tensors.end(), [&](const auto& t) { return t.name == output.tensor; });
      LiftedStore store;
      store.tensor = output.tensor;
      for (std::size_t d = 0; d < tensor->shape.size(); ++d) {
        const std::string variable = fmt::format("o{}", d);
        const TermPtr extent = extent_term(tensor->shape[d]);
        const bool one = integer_of(extent) == std::optional<std::int64_t>(1);
        store.index.push_back(one ? number_term(0) : make_term(TermKind::index, variable));
        if (!one) store.loops.push_back({variable, extent});
      }
      store.value = value_in(output.value, tensor->shape, store.index);
      out.stores.push_back(std::move(store));
    }
    why = why_;
    return why_.empty() ? std::optional(std::move(out)) : std::nullopt;
  }

 private:
  TermPtr give_up(std::string why) {
    if (why_.empty()) why_ = std::move(why);
    return number_term(0);
  }

  // The operand's value where the space that it is broadcast to has this index.
  TermPtr value_in(NodeId operand, const Shape& space, const Index& index) {
    Index own;
    for (const int d : broadcast_axes(formula_[operand].shape, space)) own.push_back(d < 0 ? number_term(0) : index[static_cast<std::size_t>(d)]);
    return value(operand, own);
  }

  TermPtr value(NodeId id, const Index& index) {
    const Node& node = formula_[id];
    switch (node.op) {
      case Op::constant: return constant(node);
      case Op::tensor: return make_term(TermKind::load, node.name, index);
      case Op::scalar: return make_term(TermKind::scalar, node.name);
      case Op::size: return make_term(TermKind::size, node.name);
      case Op::arange: return index.empty() ? give_up("arange of one number") : index[0];
      case Op::permute: {
        Index own(index.size());
        for (std::size_t i = 0; i < index.size(); ++i) own[static_cast<std::size_t>(node.axes[i])] = index[i];
        return value(node.inputs[0], own);
      }
      case Op::align: {
        Index own(formula_[node.inputs[0]].shape.size(), number_term(0));
        for (std::size_t i = 0; i < index.size(); ++i)
          if (node.axes[i] >= 0) own[static_cast<std::size_t>(node.axes[i])] = index[i];
        return value(node.inputs[0], own);
      }
      case Op::matmul: return product(node, index);
      case Op::cumulative_sum: return scan(node, index);
      case Op::sigmoid: {
        const TermPtr x = make_term(TermKind::to_real, "real", {value_in(node.inputs[0], node.shape, index)});
        return binary_term("/", number_term(1), binary_term("+", number_term(1), make_term(TermKind::call, "exp", {make_term(TermKind::unary, "-", {x})})));
      }
      case Op::reciprocal: return binary_term("/", number_term(1), make_term(TermKind::to_real, "real", {value_in(node.inputs[0], node.shape, index)}));
      case Op::argmin: return reduced(node, index, TermKind::arg_reduce, "min");
      default: break;
    }
    const auto found = std::find_if(kOps.begin(), kOps.end(), [&](const OpTerm& o) { return o.op == node.op; });
    if (found == kOps.end()) return give_up("templates know no `" + std::string(row(node.op).name) + "`");
    if (group(node.op) == Group::reduction) return reduced(node, index, found->kind, found->text);
    std::vector<TermPtr> args;
    for (const NodeId input : node.inputs) args.push_back(value_in(input, node.shape, index));
    if (node.op == Op::divide) args[0] = make_term(TermKind::to_real, "real", {args[0]});
    if (found->kind == TermKind::binary) return binary_term(std::string(found->text), args[0], args[1]);
    return make_term(found->kind, std::string(found->text), std::move(args));
  }

  TermPtr constant(const Node& node) {
    if (node.kind != Kind::real) return number_term(static_cast<std::int64_t>(node.number));
    if (std::isinf(node.number)) return node.number > 0 ? make_term(TermKind::number, "INFINITY") : make_term(TermKind::unary, "-", {make_term(TermKind::number, "INFINITY")});
    if (std::isnan(node.number)) return give_up("a constant that is no number");
    std::string text = fmt::format("{}", std::abs(node.number));
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    const TermPtr magnitude = make_term(TermKind::number, text);
    return node.number < 0 ? make_term(TermKind::unary, "-", {magnitude}) : magnitude;
  }

  TermPtr reduced(const Node& node, const Index& index, TermKind kind, std::string_view op) {
    const Shape& shape = formula_[node.inputs[0]].shape;
    Index own;
    std::vector<std::pair<std::string, TermPtr>> variables;
    std::size_t kept = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const bool gone = std::find(node.axes.begin(), node.axes.end(), static_cast<int>(d)) != node.axes.end();
      if (!gone) {
        own.push_back(index[kept++]);
        continue;
      }
      const TermPtr extent = extent_term(shape[d]);
      variables.emplace_back(fmt::format("c{}", ++fresh_), extent);
      own.push_back(make_term(TermKind::index, variables.back().first));
    }
    if (kind == TermKind::arg_reduce && variables.size() != 1) return give_up("a position over several axes");
    TermPtr out = value(node.inputs[0], own);
    for (std::size_t k = variables.size(); k-- > 0;) out = make_term(kind, std::string(op), {out, variables[k].second}, variables[k].first);
    return out;
  }

  TermPtr scan(const Node& node, const Index& index) {
    const TermPtr& along = index[static_cast<std::size_t>(node.axes[0])];
    if (along->kind != TermKind::index) return give_up("a scan inside of another operation");
    return make_term(TermKind::scan, "inclusive", {value(node.inputs[0], index)}, along->text);
  }

  TermPtr product(const Node& node, const Index& index) {
    const Shape& left = formula_[node.inputs[0]].shape;
    const Shape& right = formula_[node.inputs[1]].shape;
    const std::size_t n = index.size();
    if (left.size() != n || right.size() != n || n < 2) return give_up("a product of operands of different ranks");
    const std::string variable = fmt::format("c{}", ++fresh_);
    Index a = index, b = index;
    a[n - 1] = b[n - 2] = make_term(TermKind::index, variable);
    const TermPtr body = binary_term("*", value(node.inputs[0], a), value(node.inputs[1], b));
    return make_term(TermKind::reduce, "sum", {body, extent_term(left[n - 1])}, variable);
  }

  const Formula& formula_;
  const task::Task& task_;
  std::string why_;
  int fresh_ = 0;
};

}  // namespace

std::optional<Lifted> lift_formula(const Formula& formula, const task::Task& task, std::string& why) { return Converter(formula, task).all(why); }

}  // namespace kforge::propose
