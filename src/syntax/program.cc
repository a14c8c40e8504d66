#include "syntax/program.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace kforge::syntax {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The identifier at the heart of a declarator, and the number of stars around it.
struct Heart { Node identifier; int stars = 0; bool reference = false, restricted = false; };

Heart heart_of(Node declarator) {
  Heart out;
  while (declarator) {
    if (declarator.is("identifier")) { out.identifier = declarator; break; }
    if (declarator.is("pointer_declarator")) {
      ++out.stars;
      for (const Node& child : declarator.named_children()) out.restricted |= child.is("type_qualifier") && child.text().find("restrict") != std::string_view::npos;
    }
    Node inner = declarator.field("declarator");
    if (declarator.is("reference_declarator")) {
      out.reference = true;
      const std::vector<Node> children = declarator.named_children();
      inner = children.empty() ? Node{} : children.back();
    }
    declarator = inner;
  }
  return out;
}

Parameter read_parameter(const Node& node) {
  Parameter out;
  out.node = node;
  const Heart heart = heart_of(node.field("declarator"));
  out.identifier = heart.identifier;
  out.name = heart.identifier.text();
  out.element = node.field("type").text();
  out.pointer = heart.stars == 1;
  out.reference = heart.reference;
  out.restricted = heart.restricted;
  for (const Node& child : node.named_children()) out.is_const |= child.is("type_qualifier") && child.text() == "const";
  return out;
}

Node function_declarator(const Node& definition) {
  Node declarator = definition.field("declarator");
  while (declarator && !declarator.is("function_declarator")) {
    const Node inner = declarator.field("declarator");
    declarator = inner ? inner : Node{};
  }
  return declarator;
}

Function read_function(const Node& definition, bool is_template) {
  Function out;
  out.definition = definition;
  out.declarator = function_declarator(definition);
  out.identifier = out.declarator.field("declarator");
  out.name = out.identifier.text();
  out.parameter_list = out.declarator.field("parameters");
  out.body = definition.field("body");
  out.is_template = is_template;
  for (const Node& child : definition.children()) {
    out.global |= child.text() == "__global__";
    out.device |= child.text() == "__device__";
  }
  for (const Node& child : out.parameter_list.named_children()) {
    if (child.is("parameter_declaration") || child.is("optional_parameter_declaration")) out.parameters.push_back(read_parameter(child));
  }
  return out;
}

Launch read_launch(const Node& syntax) {
  Launch out;
  out.call = syntax.parent();
  Node name = out.call.field("function");
  if (name.is("template_function")) name = name.field("name");
  if (name.is("qualified_identifier")) name = name.field("name");
  if (name.is("template_function")) name = name.field("name");
  out.kernel = name.text();
  const std::array<Node*, 4> places{&out.grid, &out.block, &out.shared, &out.stream};
  std::size_t at = 0;
  for (const Node& child : syntax.named_children()) {
    if (at < places.size()) *places[at++] = child;
  }
  out.arguments = out.call.field("arguments").named_children();
  out.host_body = out.call.enclosing("function_definition").field("body");
  return out;
}

std::optional<std::int64_t> integer(std::string_view text) {
  std::string digits;
  for (const char c : text) if (c != '\'') digits += c;
  while (!digits.empty() && is_one_of(std::string_view(digits).substr(digits.size() - 1), {"u", "U", "l", "L"})) digits.pop_back();
  const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
  std::int64_t out = 0;
  const char* first = digits.data() + (hex ? 2 : 0);
  const auto [end, error] = std::from_chars(first, digits.data() + digits.size(), out, hex ? 16 : 10);
  if (error != std::errc{} || end != digits.data() + digits.size() || first == end) return std::nullopt;
  return out;
}

std::optional<std::int64_t> combine(std::string_view op, std::int64_t a, std::int64_t b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "/" && b != 0) return a / b;
  if (op == "%" && b != 0) return a % b;
  if (op == "<<" && b >= 0 && b < 32) return a << b;
  return std::nullopt;
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

// The declarators of a declaration that declare `name`.
Node declared_in(const Node& declaration, std::string_view name) {
  for (const Node& child : declaration.named_children()) {
    if (!is_one_of(child.kind(), {"init_declarator", "array_declarator", "pointer_declarator", "identifier", "reference_declarator"})) continue;
    if (heart_of(child).identifier.text() == name) return child;
  }
  return {};
}

}  // namespace

const Parameter* Function::find(std::string_view parameter) const {
  for (const Parameter& each : parameters) if (each.name == parameter) return &each;
  return nullptr;
}

void Program::collect(const Node& node, bool is_template) {
  if (node.is("function_definition")) {
    functions_.push_back(read_function(node, is_template));
    return;
  }
  if (node.is("preproc_def")) macros_[std::string(node.field("name").text())] = trimmed(node.field("value").text());
  if (node.is("preproc_function_def")) macros_[std::string(node.field("name").text())] = "";
  if (node.is("declaration") && (node.text().find("const") != std::string_view::npos)) {
    for (const Node& child : node.named_children()) {
      if (child.is("init_declarator")) constants_[declared_name(child)] = initial_value(child);
    }
  }
  const bool inner = is_template || node.is("template_declaration");
  if (is_one_of(node.kind(), {"translation_unit", "template_declaration", "namespace_definition", "declaration_list", "linkage_specification",
                              "preproc_ifdef", "preproc_if", "preproc_else", "preproc_elif"})) {
    for (const Node& child : node.named_children()) collect(child, inner);
  }
}

Expected<Program> Program::parse(std::string source) {
  auto tree = Tree::parse(std::move(source));
  if (!tree) return Unexpected(tree.error());
  Program out;
  out.tree_ = *tree;
  out.collect(out.tree_.root(), false);
  for (const Node& node : find_all(out.tree_.root(), "kernel_call_syntax")) out.launches_.push_back(read_launch(node));
  return out;
}

std::vector<const Function*> Program::kernels() const {
  std::vector<const Function*> out;
  for (const Function& function : functions_) {
    if (function.global && !function.definition.has_error() && function.body) out.push_back(&function);
  }
  return out;
}

const Function* Program::find(std::string_view name) const {
  const Function* out = nullptr;
  for (const Function& function : functions_) {
    if (function.name != name) continue;
    if (out) return nullptr;
    out = &function;
  }
  return out;
}

std::vector<const Launch*> Program::launches_of(std::string_view kernel) const {
  std::vector<const Launch*> out;
  for (const Launch& launch : launches_) if (launch.kernel == kernel) out.push_back(&launch);
  return out;
}

std::optional<std::int64_t> Program::constant(const Node& expression) const {
  if (!expression) return std::nullopt;
  if (expression.is("number_literal")) return integer(expression.text());
  if (expression.is("parenthesized_expression")) {
    const std::vector<Node> inner = expression.named_children();
    return inner.size() == 1 ? constant(inner.front()) : std::nullopt;
  }
  if (expression.is("binary_expression")) {
    const auto left = constant(expression.field("left")), right = constant(expression.field("right"));
    return left && right ? combine(expression.field("operator").text(), *left, *right) : std::nullopt;
  }
  if (!expression.is("identifier")) return std::nullopt;
  if (const Node declarator = declarator_of(expression)) {
    const Node declaration = declarator.parent();
    const bool fixed = declaration.text().substr(0, declarator.begin() - declaration.begin()).find("const") != std::string_view::npos;
    return fixed ? constant(initial_value(declarator)) : std::nullopt;
  }
  if (const auto found = constants_.find(std::string(expression.text())); found != constants_.end()) return constant(found->second);
  if (const auto found = macros_.find(std::string(expression.text())); found != macros_.end()) return integer(found->second);
  return std::nullopt;
}

bool Program::has_word(std::string_view word) const {
  const auto part_of_name = [](char c) { return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const std::string& text = source();
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const bool before = at > 0 && part_of_name(text[at - 1]);
    const bool after = at + word.size() < text.size() && part_of_name(text[at + word.size()]);
    if (!before && !after) return true;
  }
  return false;
}

std::string Program::fresh_name(std::string_view wanted) const {
  std::string name(wanted);
  for (int number = 2; has_word(name); ++number) name = std::string(wanted) + "_" + std::to_string(number);
  return name;
}

Node declarator_of(const Node& identifier) {
  const std::string_view name = identifier.text();
  for (Node inner = identifier, outer = identifier.parent(); outer; inner = outer, outer = outer.parent()) {
    if (outer.is("for_statement")) {
      if (const Node found = declared_in(outer.field("initializer"), name); found && identifier.begin() >= found.begin()) return found;
    }
    if (outer.is("declaration") && outer.parent().is("compound_statement")) {
      if (const Node found = declared_in(outer, name); found && identifier.begin() >= found.begin() ) return found;
    }
    if (outer.is("function_definition")) {
      const Function function = read_function(outer, false);
      const Parameter* parameter = function.find(name);
      return parameter ? parameter->node : Node{};
    }
    if (outer.is("lambda_expression")) return {};
    if (!is_one_of(outer.kind(), {"compound_statement", "preproc_ifdef", "preproc_if", "case_statement"})) continue;
    const std::vector<Node> siblings = outer.named_children();   // at once: each step to a previous sibling would search from the root
    for (auto sibling = std::find(siblings.rbegin(), siblings.rend(), inner); sibling != siblings.rend(); ++sibling) {
      if (*sibling == inner || !sibling->is("declaration")) continue;
      if (const Node found = declared_in(*sibling, name)) return found;
    }
  }
  return {};
}

std::string declared_name(const Node& declarator) {
  return std::string((declarator.is("parameter_declaration") ? heart_of(declarator.field("declarator")) : heart_of(declarator)).identifier.text());
}

std::string declared_type(const Node& declarator) {
  const Node declaration = declarator.is("parameter_declaration") ? declarator : declarator.parent();
  return std::string(declaration.field("type").text());
}

Node initial_value(const Node& declarator) { return declarator.is("init_declarator") ? declarator.field("value") : Node{}; }

std::vector<Node> uses(const Node& scope, std::string_view name) {
  std::vector<Node> out = find_all(scope, "identifier");
  std::erase_if(out, [&](const Node& node) { return node.text() != name; });
  return out;
}

bool is_write(const Node& identifier) {
  Node inner = identifier;
  Node outer = identifier.parent();
  while (outer.is("parenthesized_expression")) { inner = outer; outer = outer.parent(); }
  if (outer.is("assignment_expression")) return outer.field("left") == inner;
  if (outer.is("update_expression")) return true;
  return outer.is("pointer_expression") && outer.field("operator").text() == "&";
}

bool may_be_written(const Node& scope, std::string_view name) {
  const std::vector<Node> all = uses(scope, name);
  return std::any_of(all.begin(), all.end(), [](const Node& use) { return is_write(use); });
}

}  // namespace kforge::syntax
