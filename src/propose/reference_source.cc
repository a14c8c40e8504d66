#include "propose/reference_source.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "propose/reference_types.h"
#include "syntax/tree.h"

namespace kforge::propose::reference {
namespace {

using syntax::Node;

constexpr int kMaxDepth = 200;   // of nesting; what is deeper is opaque
constexpr std::size_t kMaxText = 4u << 20;

constexpr std::array<std::string_view, 5> kContainers{"vector", "array", "deque", "span", "valarray"};

template <class List>
bool has(const List& list, std::string_view word) { return std::find(list.begin(), list.end(), word) != list.end(); }

bool names(const Expression& e, const std::string& name) {
  return (e.kind == Expression::Kind::name && e.text == name) || std::any_of(e.parts.begin(), e.parts.end(), [&](const Expression& part) { return names(part, name); });
}

class Reader {
 public:
  explicit Reader(Casts casts) : casts_(casts) {}

  std::vector<Function> functions(const Node& root) {
    std::vector<Function> out;
    for (const Node& node : syntax::find_all(root, "struct_specifier")) structs_.add(node);
    structs_.keep_those_taken_apart(root);
    for (const Node& node : syntax::find_all(root, "function_definition")) {
      Node declarator = node.field("declarator");
      while (declarator && !declarator.is("function_declarator")) declarator = inner_of(declarator);
      if (!declarator) continue;
      Function function;
      structs_.in_sight.clear();
      function.name = std::string(last_name(declarator.field("declarator").text()));
      function.parameters = parameters(declarator.field("parameters"));
      function.body = block(node.field("body"));
      function.parses = !node.has_error();
      out.push_back(std::move(function));
    }
    return out;
  }

 private:
  // ---- Structs

  // The members' values in `node`: another variable's, or those of T{a, b} and {a, b}, what is left out being as declared. Nothing for anything else.
  std::optional<std::vector<Expression>> values_of(const Members& members, const Node& node) {
    std::vector<Expression> out;
    if (node.is("identifier") && structs_.of_variable(node.text()) == &members) {
      for (const Member& member : members) out.push_back(make(Expression::Kind::name, member_name(node.text(), member)));
      return out;
    }
    const bool is_typed = node.is("compound_literal_expression") && structs_.of_type(node.field("type").text()) == &members;
    if (!is_typed && !node.is("initializer_list")) return std::nullopt;
    out = expressions(is_typed ? node.field("value") : node);
    if (out.size() > members.size()) return std::nullopt;
    while (out.size() < members.size()) {
      const Node& initial = members[out.size()].initial;
      out.push_back(initial ? expression(initial) : make(Expression::Kind::number, "0"));
    }
    return out;
  }

  // `T name = value;` as its members; false: as any other declaration.
  bool declared_members(const Node& type, const Node& declarator, std::vector<Declared>& out) {
    const Node name = declarator.is("init_declarator") ? declarator.field("declarator") : declarator;
    const Members* members = name.is("identifier") ? structs_.of_type(type.text()) : nullptr;
    if (name.is("identifier")) structs_.in_sight.erase(std::string(name.text()));
    if (!members) return false;
    std::optional<std::vector<Expression>> values;
    if (declarator.is("init_declarator") && !(values = values_of(*members, declarator.field("value")))) return false;
    for (std::size_t k = 0; k < members->size(); ++k) {
      const Member& member = (*members)[k];
      Declared each;
      each.name = member_name(name.text(), member);
      each.type = member.type;
      if (values) each.initial.push_back((*values)[k]);
      else if (member.initial) each.initial.push_back(expression(member.initial));
      out.push_back(std::move(each));
    }
    structs_.in_sight[std::string(name.text())] = members;
    return true;
  }

  // `a = b` and `a = {x, y}` as assignments of the members, where none of the values is a member that was just set.
  std::optional<Expression> assigned_members(const Node& left, const Node& right) {
    const Members* members = left.is("identifier") ? structs_.of_variable(left.text()) : nullptr;
    const auto values = members ? values_of(*members, right) : std::nullopt;
    if (!values) return std::nullopt;
    std::set<std::string> set;
    Expression out;
    for (std::size_t k = 0; k < values->size(); ++k) {
      const std::string name = member_name(left.text(), (*members)[k]);
      if (std::any_of(set.begin(), set.end(), [&](const std::string& known) { return names((*values)[k], known); })) return std::nullopt;
      set.insert(name);
      Expression one = make(Expression::Kind::assign, "=", {make(Expression::Kind::name, name), (*values)[k]});
      out = k == 0 ? std::move(one) : make(Expression::Kind::list, ",", {std::move(out), std::move(one)});
    }
    return out;
  }

  // Arguments of a call: a variable of a struct is its members.
  std::vector<Expression> arguments(const Node& list) {
    std::vector<Expression> out;
    for (const Node& each : list.named_children()) {
      const Members* members = each.is("identifier") ? structs_.of_variable(each.text()) : each.is("compound_literal_expression") ? structs_.of_type(each.field("type").text()) : nullptr;
      auto values = members ? values_of(*members, each) : std::nullopt;
      if (!values) values = std::vector<Expression>{expression(each)};
      out.insert(out.end(), values->begin(), values->end());
    }
    return out;
  }

  // The declarator inside a pointer's, a reference's or an array's.
  static Node inner_of(const Node& declarator) {
    if (const Node inner = declarator.field("declarator")) return inner;
    const auto all = declarator.named_children();
    return all.empty() ? Node{} : all.back();
  }

  // A declarator under the type `type`.
  Declared declared(const Node& type, Node declarator) {
    Declared out;
    out.type = arithmetic_type(type.text());
    const auto words = words_of(type.text());
    out.container = std::any_of(words.begin(), words.end(), [](std::string_view word) { return has(kContainers, word); });
    for (; declarator && !declarator.is("identifier"); declarator = inner_of(declarator)) {
      if (declarator.kind().find("pointer_declarator") != std::string_view::npos) out.pointer = true;
      else if (declarator.kind().find("reference_declarator") != std::string_view::npos) out.reference = true;
      else if (declarator.kind().find("array_declarator") != std::string_view::npos) out.pointer = true;
      else if (declarator.is("structured_binding_declarator")) return out;
    }
    out.name = std::string(declarator.text());
    return out;
  }

  std::vector<Declared> parameters(const Node& list) {
    std::vector<Declared> out;
    for (const Node& each : list.named_children()) {
      if (!each.is("parameter_declaration") && !each.is("optional_parameter_declaration")) continue;
      if (each.text() == "void") continue;
      if (const Members* members = structs_.of_type(each.field("type").text())) {
        const Node declarator = each.field("declarator");
        const bool by_reference = declarator.is("reference_declarator");
        const Node name = by_reference ? inner_of(declarator) : declarator;
        if (name.is("identifier")) {
          for (const Member& member : *members) {
            Declared one;
            one.name = member_name(name.text(), member);
            one.type = member.type;
            one.reference = by_reference;
            out.push_back(std::move(one));
          }
          structs_.in_sight[std::string(name.text())] = members;
          continue;
        }
      }
      out.push_back(declared(each.field("type"), each.field("declarator")));
    }
    return out;
  }

  // ---- Statements

  std::vector<Statement> block(const Node& node) {
    std::vector<Statement> out;
    const auto outside = structs_.in_sight;
    for (const Node& child : node.is("compound_statement") ? node.named_children() : std::vector<Node>{node}) add(child, out);
    structs_.in_sight = outside;
    return out;
  }

  static Statement opaque() {
    Statement out;
    out.kind = Statement::Kind::opaque;
    return out;
  }

  void add(const Node& node, std::vector<Statement>& out) {
    if (!node || node.is("comment") || node.is("preproc_call") || node.is("static_assert_declaration") || node.is("using_declaration")) return;
    if (depth_ >= kMaxDepth || node.is("ERROR")) {
      out.push_back(opaque());
      return;
    }
    ++depth_;
    add_known(node, out);
    --depth_;
  }

  void add_known(const Node& node, std::vector<Statement>& out) {
    Statement s;
    if (node.is("compound_statement")) {
      s.first = block(node);
    } else if (node.is("for_statement")) {
      s = loop(node);
    } else if (node.is("for_range_loop")) {
      s.kind = Statement::Kind::range_loop;
      s.declared.push_back(declared(node.field("type"), node.field("declarator")));
      s.condition.push_back(expression(node.field("right")));
      s.body.push_back(one(node.field("body")));
    } else if (node.is("while_statement") || node.is("do_statement")) {
      s.kind = Statement::Kind::loop;
      s.condition.push_back(expression(node.field("condition")));
      s.body.push_back(one(node.field("body")));
    } else if (node.is("if_statement")) {
      s = branch(node);
    } else if (node.is("return_statement") || node.is("continue_statement") || node.is("break_statement")) {
      s.kind = node.is("return_statement") ? Statement::Kind::result : Statement::Kind::leave;
      for (const Node& value : node.named_children()) s.condition.push_back(expression(value));
    } else if (node.is("declaration")) {
      s = declaration(node);
    } else if (node.is("expression_statement")) {
      const auto inside = node.named_children();
      if (inside.empty()) return;
      s.kind = Statement::Kind::expression;
      s.condition.push_back(expression(inside.front()));
    } else {
      return add_rest(node, out);
    }
    out.push_back(std::move(s));
  }

  // What is not looked through as a whole, and the statements in it: both ways of an #if, the cases of a switch, the body of a try.
  void add_rest(const Node& node, std::vector<Statement>& out) {
    out.push_back(opaque());
    for (const Node& child : node.named_children()) {
      const std::string_view kind = child.kind();
      if (kind == "compound_statement") for (const Node& inner : child.named_children()) add(inner, out);
      else if (kind.ends_with("_statement") || kind == "declaration" || kind.starts_with("preproc_if") || kind.starts_with("preproc_el")) add(child, out);
    }
  }

  Statement one(const Node& node) {
    std::vector<Statement> all;
    add(node, all);
    if (all.size() == 1) return std::move(all.front());
    Statement out;
    out.first = std::move(all);
    return out;
  }

  Statement loop(const Node& node) {
    Statement out;
    out.kind = Statement::Kind::loop;
    if (const Node first = node.field("initializer")) {
      if (first.is("declaration")) {
        out.first.push_back(declaration(first));
      } else {
        Statement start;
        start.kind = Statement::Kind::expression;
        start.condition.push_back(expression(first));
        out.first.push_back(std::move(start));
      }
    }
    if (const Node condition = node.field("condition")) out.condition.push_back(expression(condition));
    if (const Node step = node.field("update")) out.step.push_back(expression(step));
    out.body.push_back(one(node.field("body")));
    return out;
  }

  Statement branch(const Node& node) {
    Statement out;
    out.kind = Statement::Kind::branch;
    const Node condition = node.field("condition");
    out.condition.push_back(expression(condition));
    out.first.push_back(one(node.field("consequence")));
    if (const Node alternative = node.field("alternative"))
      for (const Node& child : alternative.named_children()) out.body.push_back(one(child));
    const Node start = condition.field("initializer");
    if (!start) return out;
    Statement around;
    for (const Node& child : start.named_children()) add(child, around.first);
    around.first.push_back(std::move(out));
    return around;
  }

  Statement declaration(const Node& node) {
    Statement out;
    out.kind = Statement::Kind::declaration;
    const Node type = node.field("type");
    for (const Node& child : node.named_children()) {
      const std::string_view kind = child.kind();
      if (child == type || !(kind == "identifier" || kind.ends_with("_declarator"))) continue;
      if (declared_members(type, child, out.declared)) continue;
      Declared each;
      if (child.is("init_declarator")) {
        each = declared(type, child.field("declarator"));
        const Node value = child.field("value");
        if (value.is("argument_list") || value.is("initializer_list")) each.initial = expressions(value);
        else each.initial.push_back(expression(value));
      } else {
        each = declared(type, child);
        if (child.is("function_declarator")) each.initial = arguments_like(child.field("parameters"));
      }
      if (each.pointer && child.text().find('[') < child.text().find('=')) {   // a local array
        each.container = true;
        each.pointer = false;
      }
      if (each.container) each.pointer = false;
      out.declared.push_back(std::move(each));
    }
    return out;
  }

  // `std::vector<double> v(n)` reads like a function that takes an n.
  std::vector<Expression> arguments_like(const Node& parameters) {
    std::vector<Expression> out;
    for (const Node& each : parameters.named_children()) {
      const auto again = syntax::Tree::parse("auto again = " + std::string(each.text()) + ";");
      const auto found = again ? syntax::find_all(again->root(), "init_declarator") : std::vector<Node>{};
      out.push_back(found.empty() ? Expression{} : expression(found.front().field("value")));
    }
    return out;
  }

  // ---- Expressions

  static Expression make(Expression::Kind kind, std::string_view text, std::vector<Expression> parts = {}) {
    Expression out;
    out.kind = kind;
    out.text = std::string(text);
    out.parts = std::move(parts);
    return out;
  }

  std::vector<Expression> expressions(const Node& list) {
    std::vector<Expression> out;
    for (const Node& each : list.named_children()) out.push_back(expression(each));
    return out;
  }

  Expression expression(const Node& node) {
    if (!node || node.is("ERROR") || depth_ >= kMaxDepth) return {};
    ++depth_;
    Expression out = known_expression(node);
    --depth_;
    return out;
  }

  Expression known_expression(const Node& node) {
    using Kind = Expression::Kind;
    const std::string_view kind = node.kind();
    if (kind == "number_literal") return make(Kind::number, node.text());
    if (kind == "true" || kind == "false" || kind == "nullptr") return make(Kind::name, node.text());
    if (kind == "identifier" || kind == "qualified_identifier" || kind == "template_function" || kind == "primitive_type" || kind == "type_identifier") return make(Kind::name, name_of(node));
    if (kind == "parenthesized_expression") return expression(first_of(node));
    if (kind == "condition_clause") return expression(node.field("value"));
    if (kind == "unary_expression" || kind == "pointer_expression") return make(Kind::unary, node.field("operator").text(), {expression(node.field("argument"))});
    if (kind == "binary_expression") return make(Kind::binary, node.field("operator").text(), {expression(node.field("left")), expression(node.field("right"))});
    if (kind == "assignment_expression" && node.field("operator").text() == "=")
      if (auto members = assigned_members(node.field("left"), node.field("right"))) return std::move(*members);
    if (kind == "assignment_expression") return make(Kind::assign, node.field("operator").text(), {expression(node.field("left")), expression(node.field("right"))});
    if (kind == "comma_expression") return make(Kind::list, ",", {expression(node.field("left")), expression(node.field("right"))});
    if (kind == "initializer_list") return make(Kind::list, "{", expressions(node));
    if (kind == "conditional_expression")
      return make(Kind::conditional, "?", {expression(node.field("condition")), expression(node.field("consequence")), expression(node.field("alternative"))});
    if (kind == "update_expression") {
      const bool before = node.children().front().text() == node.field("operator").text();
      return make(before ? Kind::unary : Kind::postfix, node.field("operator").text(), {expression(node.field("argument"))});
    }
    if (kind == "subscript_expression") {
      const auto indices = node.field("indices").named_children();
      return make(Kind::index, "[]", {expression(node.field("argument")), indices.size() == 1 ? expression(indices.front()) : Expression{}});
    }
    if (kind == "field_expression" && node.field("argument").is("identifier"))
      if (const auto* members = structs_.of_variable(node.field("argument").text()))
        for (const Member& member : *members)
          if (member.name == node.field("field").text()) return make(Kind::name, member_name(node.field("argument").text(), member));
    if (kind == "field_expression") return make(Kind::member, node.field("field").text(), {expression(node.field("argument"))});
    if (kind == "cast_expression") return cast(cast_type(node.field("type")), expression(node.field("value")));
    if (kind == "call_expression") return call(node.field("function"), node.field("arguments"));
    if (kind == "compound_literal_expression") return call(node.field("type"), node.field("value"));
    if (kind == "lambda_expression") return lambda(node);
    return {};
  }

  static Node first_of(const Node& node) {
    const auto inside = node.named_children();
    return inside.empty() ? Node{} : inside.front();
  }

  // f(a, b), T(a), T{a}, static_cast<T>(a).
  Expression call(const Node& callee, const Node& list) {
    Expression out = make(Expression::Kind::call, "", {expression(callee)});
    if (callee.is("template_type") || callee.is("sized_type_specifier")) out.parts[0] = make(Expression::Kind::name, name_of(callee));
    for (Expression& each : arguments(list)) out.parts.push_back(std::move(each));
    if (out.parts.size() != 2 || out.parts[0].kind != Expression::Kind::name) return out;
    std::string type = arithmetic_type(callee.text());
    if (callee.is("template_function") && out.parts[0].text.ends_with("_cast")) type = cast_type(callee.field("arguments"));
    else if (type.empty()) return out;
    return cast(type, Expression(out.parts[1]));
  }
  Expression cast(const std::string& type, Expression value) const { return casts_ == Casts::drop ? value : make(Expression::Kind::cast, type, {std::move(value)}); }

  // "float", "float*"; the text itself when it is no arithmetic type.
  static std::string cast_type(const Node& type) {
    std::string_view text = type.text();
    if (text.starts_with('<')) text = text.substr(1, text.size() - 2);
    const std::string plain = arithmetic_type(text);
    if (plain.empty()) return std::string(text);
    return plain + std::string(static_cast<std::size_t>(std::count(text.begin(), text.end(), '*')), '*');
  }

  // "numeric_limits::max" of std::numeric_limits<float>::max.
  static std::string name_of(const Node& node) {
    std::string out;
    int angles = 0;
    for (const char c : node.text()) {
      if (c == '<') ++angles;
      else if (c == '>') --angles;
      else if (angles == 0 && (is_name_character(c) || c == ':')) out += c;
    }
    return out.starts_with("std::") ? out.substr(5) : out.starts_with("::") ? out.substr(2) : out;
  }

  Expression lambda(const Node& node) {
    Expression out;
    out.kind = Expression::Kind::lambda;
    if (const Node declarator = node.field("declarator")) out.parameters = parameters(declarator.field("parameters"));
    out.body = std::make_shared<std::vector<Statement>>(block(node.field("body")));
    return out;
  }

  const Casts casts_;
  Structs structs_;
  int depth_ = 0;
};

}  // namespace

Expected<std::vector<Function>> functions_of(std::string_view text, Casts casts) {
  const auto tree = syntax::Tree::parse(std::string(text.substr(0, kMaxText)));
  if (!tree) return Unexpected(tree.error());
  return Reader(casts).functions(tree->root());
}

const Function* find(const std::vector<Function>& functions, std::string_view name) {
  const auto found = std::find_if(functions.begin(), functions.end(), [&](const Function& each) { return each.name == name; });
  return found == functions.end() ? nullptr : &*found;
}

std::string_view last_name(std::string_view name) {
  const std::size_t colons = name.rfind("::");
  return colons == std::string_view::npos ? name : name.substr(colons + 2);
}

}  // namespace kforge::propose::reference
