// Cheaper arithmetic of the same meaning: float literals in float code, one division in place of many, products in place of powers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "propose/transform_kernel.h"

namespace kforge::propose {
namespace {

using syntax::Node;

bool is_double_literal(const Node& node) {
  if (!node.is("number_literal")) return false;
  const std::string_view text = node.text();
  if (text.starts_with("0x") || text.starts_with("0X")) return false;
  const bool floating = text.find_first_of(".eE") != std::string_view::npos;
  return floating && text.find_first_of("fFlL") == std::string_view::npos;
}

// A kernel or device function that says double nowhere means float when it writes 2.0.
bool is_float_code(const syntax::Function& function) {
  const std::string_view text = function.definition.text();
  return (function.global || function.device) && function.body && !function.definition.has_error() && text.find("double") == std::string_view::npos && text.find("float") != std::string_view::npos;
}

}  // namespace

std::vector<Rewrite> make_literals_float(const syntax::Program& program, const Known&) {
  syntax::Edits edits;
  int count = 0;
  // Double math functions of float arguments are double only by a literal, so that the literals are all there is to change.
  constexpr std::array<std::string_view, 14> doubles = {"exp", "log", "sqrt", "pow", "fabs", "fmax", "fmin", "sin", "cos", "tanh", "exp2", "log2", "erf", "rsqrt"};
  for (const syntax::Function& function : program.functions()) {
    if (!is_float_code(function)) continue;
    for (const Node& node : syntax::descendants(function.body)) {
      if (is_double_literal(node)) {
        std::string text = text_of(node);
        if (text.back() == '.') text += '0';
        edits.replace(node, text + "f");
        ++count;
      } else if (node.is("call_expression") && std::find(doubles.begin(), doubles.end(), node.field("function").text()) != doubles.end()) {
        // Only where some double literal made it double.
        const auto inner = syntax::descendants(node.field("arguments"));
        if (std::any_of(inner.begin(), inner.end(), is_double_literal)) { edits.insert(node.field("function").end(), "f"); ++count; }
      }
    }
  }
  return finished(program, edits, fmt::format("{} literal{} of float code {} float", count, count == 1 ? "" : "s", count == 1 ? "is" : "are"), 1.4);
}

namespace {

bool is_float_value(const KernelView& view, const Node& node, int depth = 0) {
  if (depth > 8) return false;
  if (node.is("parenthesized_expression")) return is_float_value(view, node.named_children().front(), depth);
  if (node.is("number_literal")) return node.text().find_first_of("fF") != std::string_view::npos && !node.text().starts_with("0x");
  if (node.is("identifier")) {
    const Node declarator = syntax::declarator_of(node);
    return declarator && syntax::declared_type(declarator) == "float" && !declarator.field("declarator").is("pointer_declarator") && declarator.field("declarator").kind() != "array_declarator";
  }
  if (node.is("cast_expression")) return node.field("type").text() == "float";
  if (node.is("subscript_expression")) {
    for (const auto& access : view.accesses) {
      if (!(access.node == node)) continue;
      const syntax::Parameter* parameter = view.kernel->find(access.base);
      return parameter && parameter->element == "float";
    }
    return false;
  }
  if (node.is("binary_expression")) return is_float_value(view, node.field("left"), depth + 1) || is_float_value(view, node.field("right"), depth + 1);
  if (node.is("call_expression")) {
    const std::string_view name = node.field("function").text();
    return name.ends_with("f") && is_mathematical(name);
  }
  return false;
}

bool written_in(const Node& scope, const Node& expression) {
  for (const Node& name : syntax::find_all(expression, "identifier")) {
    if (syntax::may_be_written(scope, name.text())) return true;
    if (const Node declarator = syntax::declarator_of(name); declarator && declarator.inside(scope)) return true;
  }
  return false;
}

}  // namespace

namespace {

// A division by a name: x / s, or y /= s; its operator and divisor.
struct Division { Node whole, sign, dividend, divisor; };

std::vector<Division> divisions(const Node& body) {
  std::vector<Division> out;
  for (const Node& node : syntax::descendants(body)) {
    const bool compound = node.is("assignment_expression");
    if (!compound && !node.is("binary_expression")) continue;
    if (node.field("operator").text() != (compound ? "/=" : "/") || !node.field("right").is("identifier")) continue;
    out.push_back({node, node.field("operator"), node.field("left"), node.field("right")});
  }
  return out;
}

}  // namespace

// for (...) y[i] = x[i] / sum;  ->  const float inverse_sum = 1.0f / sum; for (...) y[i] = x[i] * inverse_sum;
std::vector<Rewrite> hoist_divisions(const syntax::Program& program, const Known& known) {
  std::vector<Rewrite> out;
  for (const KernelView& view : kernel_views(program, known)) {
    syntax::Edits edits;
    std::set<std::string> made;
    for (const Node& loop : syntax::find_all(view.kernel->body, "for_statement")) {
      if (!loop.parent().is("compound_statement")) continue;
      std::string last;
      for (const Division& each : divisions(loop.field("body"))) {
        if (!(each.whole.enclosing("for_statement") == loop) || written_in(loop, each.divisor)) continue;
        if (!is_float_value(view, each.divisor) || !is_float_value(view, each.dividend)) continue;
        const std::string name = program.fresh_name("inverse_" + text_of(each.divisor));
        if (last != name) {
          if (!made.insert(name).second) continue;   // the name is taken by another loop's
          insert_before_loop(loop, fmt::format("const float {} = 1.0f / {};", name, each.divisor.text()), edits);
          last = name;
        }
        edits.replace(each.sign, each.sign.text() == "/" ? "*" : "*=");
        edits.replace(each.divisor, name);
      }
    }
    for (Rewrite& each : finished(program, edits, fmt::format("one division before the loop of `{}`, products in it", view.kernel->name), 1.2)) out.push_back(std::move(each));
  }
  return out;
}

// powf(x, 2.0f) -> x * x, for plain names and elements; x % 8 and x / 8 of unsigned values are the compiler's own business.
std::vector<Rewrite> multiply_out_powers(const syntax::Program& program, const Known&) {
  syntax::Edits edits;
  int count = 0;
  for (const syntax::Function& function : program.functions()) {
    if (!(function.global || function.device) || !function.body || function.definition.has_error()) continue;
    for (const Node& call : syntax::find_all(function.body, "call_expression")) {
      const std::string_view name = call.field("function").text();
      const auto arguments = call.field("arguments").named_children();
      if ((name != "powf" && name != "pow" && name != "__powf") || arguments.size() != 2 || program.find(name)) continue;
      const bool plain = arguments[0].is("identifier") || arguments[0].is("subscript_expression");
      const std::string_view exponent = arguments[1].text();
      const int power = exponent == "2.0f" || exponent == "2.f" || exponent == "2" || exponent == "2.0" ? 2 : exponent == "3.0f" || exponent == "3.f" || exponent == "3" || exponent == "3.0" ? 3 : 0;
      if (!plain || power == 0 || !is_pure(program, arguments[0])) continue;
      const std::string base = text_of(arguments[0]);
      edits.replace(call, power == 2 ? fmt::format("({0} * {0})", base) : fmt::format("({0} * {0} * {0})", base));
      ++count;
    }
  }
  return finished(program, edits, fmt::format("{} power{} multiplied out", count, count == 1 ? "" : "s"), 1.3);
}

}  // namespace kforge::propose
