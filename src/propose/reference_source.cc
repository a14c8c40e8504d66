#include "propose/reference_source.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "syntax/tree.h"

namespace kforge::propose::reference {
namespace {

using syntax::Node;

constexpr int kMaxDepth = 200;   // of nesting; what is deeper is opaque
constexpr std::size_t kMaxText = 4u << 20;

constexpr std::array<std::string_view, 22> kArithmetic{"int", "long", "float", "double", "unsigned", "signed", "bool", "char", "short", "size_t", "ptrdiff_t",
    "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "__half", "__nv_bfloat16", "auto"};
constexpr std::array<std::string_view, 5> kContainers{"vector", "array", "deque", "span", "valarray"};

template <class List>
bool has(const List& list, std::string_view word) { return std::find(list.begin(), list.end(), word) != list.end(); }

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The words of a type, without qualifiers and std::.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_name_character(text[end])) ++end;
    if (end == at) {
      ++at;
      continue;
    }
    const std::string_view word = text.substr(at, end - at);
    if (word != "const" && word != "constexpr" && word != "static" && word != "volatile" && word != "std") out.push_back(word);
    at = end;
  }
  return out;
}

std::string arithmetic_type(std::string_view text) {
  std::string out;
  if (text.find('<') != std::string_view::npos) return out;
  for (const std::string_view word : words_of(text)) {
    if (!has(kArithmetic, word)) return {};
    out += (out.empty() ? "" : " ") + std::string(word);
  }
  return out;
}

class Reader {
 public:
  explicit Reader(Casts casts) : casts_(casts) {}

  std::vector<Function> functions(const Node& root) {
    std::vector<Function> out;
    for (const Node& node : syntax::find_all(root, "function_definition")) {
      Node declarator = node.field("declarator");
      while (declarator && !declarator.is("function_declarator")) declarator = inner_of(declarator);
      if (!declarator) continue;
      Function function;
      function.name = std::string(last_name(declarator.field("declarator").text()));
      function.parameters = parameters(declarator.field("parameters"));
      function.body = block(node.field("body"));
      function.parses = !node.has_error();
      out.push_back(std::move(function));
    }
    return out;
  }

 private:
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
      out.push_back(declared(each.field("type"), each.field("declarator")));
    }
    return out;
  }

  // ---- Statements

  std::vector<Statement> block(const Node& node) {
    std::vector<Statement> out;
    for (const Node& child : node.is("compound_statement") ? node.named_children() : std::vector<Node>{node}) add(child, out);
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
  Expression call(const Node& callee, const Node& arguments) {
    Expression out = make(Expression::Kind::call, "", {expression(callee)});
    if (callee.is("template_type") || callee.is("sized_type_specifier")) out.parts[0] = make(Expression::Kind::name, name_of(callee));
    for (Expression& each : expressions(arguments)) out.parts.push_back(std::move(each));
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
