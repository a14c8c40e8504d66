#include "syntax/index.h"

#include <algorithm>

namespace kforge::syntax {
namespace {

constexpr int kDepth = 24;  // of names within names; deeper ones are opaque

std::string without_blanks(std::string_view text) {
  std::string out;
  for (const char c : text) if (c != ' ' && c != '\n' && c != '\t' && c != '\r') out += c;
  return out;
}

// The operand of a cast, or null: (T)x, static_cast<T>(x), T(x) of a primitive type.
Node cast_operand(const Node& node) {
  if (node.is("cast_expression")) return node.field("value");
  if (!node.is("call_expression")) return {};
  const Node callee = node.field("function");
  const bool cast = (callee.is("template_function") && callee.field("name").text() == "static_cast") || callee.is("primitive_type");
  const std::vector<Node> arguments = node.field("arguments").named_children();
  return cast && arguments.size() == 1 ? arguments.front() : Node{};
}

// What decides whether a statement runs, inside the function.
std::vector<Node> conditions_above(const Node& node) {
  std::vector<Node> out;
  for (Node at = node.parent(); at && !at.is("function_definition"); at = at.parent()) {
    if (const Node condition = at.field("condition")) out.push_back(condition);
  }
  return out;
}

bool is_loop_variable(const Node& declarator) { return declarator.parent().parent().is("for_statement"); }

bool counts_up_evenly(const Node& update, std::string_view name) {
  if (update.is("update_expression")) return update.field("argument").text() == name;
  if (!update.is("assignment_expression") || update.field("left").text() != name) return false;
  return update.field("operator").text() == "+=" || update.field("operator").text() == "-=";
}

}  // namespace

bool is_shared_array(const Node& declarator) {
  const Node declaration = declarator.parent();
  return declaration.is("declaration") && declaration.text().substr(0, declarator.begin() - declaration.begin()).find("__shared__") != std::string_view::npos;
}

bool differs_between_threads(const Polynomial& value) {
  for (const std::string& atom : value.dependencies()) {
    if (atom.starts_with("threadIdx.") || atom == "?") return true;
  }
  return false;
}

const std::vector<Node>& Indices::writes_of(std::string_view name) const {
  static const std::vector<Node> none;
  if (writes_.empty()) {
    writes_.try_emplace("");  // so that a body without writes is not searched again
    for (const Node& node : find_all(function_.body, "identifier")) {
      if (is_write(node)) writes_[std::string(node.text())].push_back(node);
    }
  }
  const auto found = writes_.find(name);
  return found == writes_.end() ? none : found->second;
}

Polynomial Indices::made_of(const std::string& text, const std::vector<Node>& parts, int depth) const {
  std::set<std::string> out;
  for (const Node& part : parts) {
    for (const Node& node : descendants(part)) {
      if (!node.is("identifier") && !node.is("field_expression")) continue;
      if (node.is("identifier") && node.parent().is("call_expression") && node.parent().field("function") == node) {
        // What an unknown function reads is unknown; the built-in ones of a thread's identity are the only ones that matter.
        if (node.text().find("lane") != std::string_view::npos || node.text().find("thread") != std::string_view::npos) out.insert("?");
        continue;
      }
      const std::set<std::string> deeper = value(node, depth + 1).dependencies();
      out.insert(deeper.begin(), deeper.end());
    }
  }
  return Polynomial::opaque(text, std::move(out));
}

Polynomial Indices::value_of_loop(const Node& loop, const Node& declarator, int depth) const {
  const std::string name = declared_name(declarator);
  const Node start = initial_value(declarator), update = loop.field("update");
  if (!counts_up_evenly(update, name) || may_be_written(loop.field("body"), name)) return made_of(name, {start, update, loop.field("condition")}, depth);
  const Polynomial first = value(start, depth + 1);
  const Node step = update.field("right");
  if (step && differs_between_threads(value(step, depth + 1))) return made_of(name, {start, step}, depth);
  const Polynomial own = Polynomial::atom(name);
  return differs_between_threads(first) ? first + own : own;
}

Polynomial Indices::value_of_name(const Node& identifier, int depth) const {
  const std::string name(identifier.text());
  if (name == "warpSize") return Polynomial::constant(32);
  const Node declarator = declarator_of(identifier);
  if (!declarator) return program_.is_macro(name) ? Polynomial::opaque(name, {}) : Polynomial::atom(name);
  if (const auto found = known_.find(declarator.begin()); found != known_.end()) return found->second;
  if (!open_.insert(declarator.begin()).second) return Polynomial::atom(name);
  Polynomial out = value_of_declared(name, declarator, depth);
  open_.erase(declarator.begin());
  if (open_.empty()) known_.emplace(declarator.begin(), out);  // inside another name's value, that name stood for itself
  return out;
}

Polynomial Indices::value_of_declared(const std::string& name, const Node& declarator, int depth) const {
  if (!declarator.is("parameter_declaration") && is_loop_variable(declarator)) return value_of_loop(declarator.parent().parent(), declarator, depth);
  const std::vector<Node> writes = writes_of(name);
  if (writes.empty()) {
    if (declarator.is("parameter_declaration")) return Polynomial::atom(name);
    const Node start = initial_value(declarator);
    return start ? value(start, depth + 1) : Polynomial::opaque(name, {"?"});
  }
  std::vector<Node> parts{initial_value(declarator)};
  for (const Node& write : writes) {
    const std::vector<Node> conditions = conditions_above(write);
    parts.insert(parts.end(), conditions.begin(), conditions.end());
    if (write.parent().is("assignment_expression")) parts.push_back(write.parent().field("right"));
    if (write.parent().is("pointer_expression")) return Polynomial::opaque(name, {"?"});
  }
  std::erase_if(parts, [&](const Node& part) { return !part; });
  return made_of(name, parts, depth);
}

Polynomial Indices::value(const Node& node, int depth) const {
  if (!node) return Polynomial::opaque("", {"?"});
  if (depth > kDepth) return Polynomial::opaque(without_blanks(node.text()), {"?"});
  if (const auto known = program_.constant(node)) return Polynomial::constant(*known);
  if (node.is("parenthesized_expression")) return value(node.named_children().front(), depth);
  if (const Node inner = cast_operand(node)) return value(inner, depth);
  if (node.is("field_expression") && !declarator_of(node.field("argument"))) return Polynomial::atom(without_blanks(node.text()));
  if (node.is("identifier")) return value_of_name(node, depth);
  if (node.is("unary_expression") && node.field("operator").text() == "-") return Polynomial() - value(node.field("argument"), depth);
  if (node.is("binary_expression")) {
    const std::string_view op = node.field("operator").text();
    const Node left = node.field("left"), right = node.field("right");
    if (op == "+") return value(left, depth) + value(right, depth);
    if (op == "-") return value(left, depth) - value(right, depth);
    if (op == "*") return value(left, depth) * value(right, depth);
    if (op == "<<") {
      if (const auto shift = program_.constant(right); shift && *shift >= 0 && *shift < 31) return value(left, depth) * Polynomial::constant(std::int64_t{1} << *shift);
    }
  }
  return made_of(without_blanks(node.text()), node.named_children(), depth);
}

bool Indices::uniform(const Node& expression) const { return !differs_between_threads(value(expression)); }

Indices::Place Indices::place(const Node& pointer, int depth) const {
  if (!pointer || depth > kDepth) return {Space::unknown, "", {}};
  if (pointer.is("parenthesized_expression")) return place(pointer.named_children().front(), depth);
  if (pointer.is("binary_expression")) {
    const Polynomial by = value(pointer.field("right"), depth);
    Place base = place(pointer.field("left"), depth + 1);
    base.offset = pointer.field("operator").text() == "-" ? base.offset - by : base.offset + by;
    return base;
  }
  if (pointer.is("pointer_expression") && pointer.field("operator").text() == "&") {
    const Access inner = access(pointer.field("argument"));
    return {inner.space, inner.base, inner.index};
  }
  if (!pointer.is("identifier")) return {Space::unknown, "", {}};
  const std::string name(pointer.text());
  const Node declarator = declarator_of(pointer);
  if (!declarator) return {Space::unknown, name, {}};
  std::vector<Node> moves = writes_of(name);
  if (declarator.is("parameter_declaration")) {
    const Parameter* parameter = function_.find(name);
    if (!parameter || !parameter->pointer) return {Space::unknown, name, {}};
    for (Node& move : moves) move = move.parent().is("assignment_expression") ? move.parent().field("right") : move.parent();
    return {Space::global, name, moves.empty() ? Polynomial() : made_of("moved " + name, moves, depth)};
  }
  if (is_shared_array(declarator)) return {Space::shared, name, {}};
  if (declarator.is("array_declarator")) return {Space::local, name, {}};
  const Node start = initial_value(declarator);
  if (!start || !moves.empty() || !declarator.field("declarator").is("pointer_declarator")) return {Space::unknown, name, {}};
  return place(start, depth + 1);
}

Access Indices::access(const Node& node) const {
  Access out;
  out.node = node;
  Node array = node.field("argument");
  if (node.is("pointer_expression")) {
    const Place at = place(array, 0);
    return {node, at.space, at.base, at.offset, {}, false, false, false};
  }
  const std::vector<Node> indices = node.field("indices").named_children();
  const Polynomial last = indices.size() == 1 ? value(indices.front()) : Polynomial::opaque("", {"?"});
  while (array.is("subscript_expression")) {
    const std::vector<Node> outer = array.field("indices").named_children();
    out.outer.insert(out.outer.begin(), outer.size() == 1 ? value(outer.front()) : Polynomial::opaque("", {"?"}));
    array = array.field("argument");
  }
  const Place at = place(array, 0);
  out.space = at.space;
  out.base = at.base;
  out.index = at.offset + last;
  return out;
}

std::vector<Access> Indices::accesses(const Node& scope) const {
  std::vector<Access> out;
  for (const Node& node : descendants(scope)) {
    const bool dereference = node.is("pointer_expression") && node.field("operator").text() == "*";
    if (!dereference && !node.is("subscript_expression")) continue;
    Node outer = node.parent();
    if (outer.is("subscript_expression") && outer.field("argument") == node) continue;  // an inner part of s[a][b]
    if (node.enclosing("array_declarator").inside(scope)) continue;
    Access access = this->access(node);
    while (outer.is("parenthesized_expression") || outer.is("field_expression")) outer = outer.parent();
    access.read = true;
    if (outer.is("assignment_expression") && node.inside(outer.field("left"))) {
      access.write = true;
      access.read = outer.field("operator").text() != "=";
    } else if (outer.is("update_expression")) {
      access.write = true;
    } else if (outer.is("pointer_expression") && outer.field("operator").text() == "&") {
      const Node call = outer.parent().parent();
      access.atomic = call.is("call_expression") && call.field("function").text().starts_with("atomic");
      access.write = true;
    }
    out.push_back(std::move(access));
  }
  // atomicAdd(total, v): the pointer itself is the place.
  for (const Node& call : find_all(scope, "call_expression")) {
    if (!call.field("function").text().starts_with("atomic")) continue;
    const std::vector<Node> arguments = call.field("arguments").named_children();
    if (arguments.empty() || arguments.front().is("pointer_expression")) continue;
    const Place at = place(arguments.front(), 0);
    out.push_back({arguments.front(), at.space, at.base, at.offset, {}, true, true, true});
  }
  return out;
}

}  // namespace kforge::syntax
