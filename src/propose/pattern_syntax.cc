#include "propose/pattern_syntax.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace kforge::propose::pattern {
namespace {

constexpr int kMaxDepth = 200;
constexpr std::size_t kMaxTokens = 200000;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::vector<std::string_view> tokens_of(std::string_view text) {
  constexpr std::array<std::string_view, 25> kLong{"<<=", ">>=", "...", "->*", "::", "->", "++", "--", "<<", ">>", "<=", ">=", "==",
                                                   "!=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##"};
  std::vector<std::string_view> out;
  bool line_start = true;
  for (std::size_t i = 0; i < text.size() && out.size() < kMaxTokens;) {
    const char c = text[i];
    std::size_t end = i + 1;
    if (c == '\n') line_start = true;
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++i;
      continue;
    }
    if (c == '#' && line_start) {   // a directive, with its continued lines
      while (i < text.size() && text[i] != '\n') i += text[i] == '\\' && i + 1 < text.size() ? 2 : 1;
      continue;
    }
    line_start = false;
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (text.substr(i, 2) == "/*") {
      const std::size_t close = text.find("*/", i + 2);
      i = close == std::string_view::npos ? text.size() : close + 2;
      continue;
    }
    if (c == '"' || c == '\'') {
      while (end < text.size() && text[end] != c) end += text[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, text.size());
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0 || (c == '.' && i + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0)) {
      while (end < text.size() && (is_word(text[end]) || text[end] == '.' || text[end] == '\'' || ((text[end] == '+' || text[end] == '-') && (text[end - 1] == 'e' || text[end - 1] == 'E')))) ++end;
    } else if (is_word(c)) {
      while (end < text.size() && is_word(text[end])) ++end;
    } else {
      for (const std::string_view symbol : kLong)
        if (text.substr(i, symbol.size()) == symbol) {
          end = i + symbol.size();
          break;
        }
    }
    out.push_back(text.substr(i, end - i));
    i = end;
  }
  return out;
}

constexpr std::array<std::string_view, 30> kTypeWords{
    "const", "constexpr", "static", "inline", "volatile", "unsigned", "signed", "long", "short", "auto", "int", "float", "double", "char", "bool",
    "void", "size_t", "ptrdiff_t", "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "struct", "typename", "register", "thread_local"};
constexpr std::array<std::string_view, 14> kTemplates{"vector", "array", "numeric_limits", "static_cast", "reinterpret_cast", "const_cast", "max", "min", "pair", "function", "greater", "less", "deque", "span"};
constexpr std::array<std::string_view, 5> kContainers{"vector", "array", "deque", "span", "valarray"};

template <class List>
bool has(const List& list, std::string_view word) { return std::find(list.begin(), list.end(), word) != list.end(); }

class Parser {
 public:
  explicit Parser(std::vector<std::string_view> tokens) : tokens_(std::move(tokens)) {}

  std::vector<Function> functions() {
    std::vector<Function> out;
    while (at_ < tokens_.size()) {
      if (peek() == "template" && peek(1) == "<") {
        ++at_;
        skip_angles();
      } else if (is_name(peek()) && peek(1) == "(" && is_definition()) {
        out.push_back(function());
      } else {
        ++at_;   // namespaces and classes are entered, anything else is passed over
      }
    }
    return out;
  }

 private:
  std::string_view peek(std::size_t ahead = 0) const { return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead] : std::string_view(); }
  bool take(std::string_view token) {
    if (peek() != token) return false;
    ++at_;
    return true;
  }
  static bool is_name(std::string_view token) { return !token.empty() && is_word(token[0]) && std::isdigit(static_cast<unsigned char>(token[0])) == 0; }

  // Past a balanced group whose opening token is here.
  void skip_group() {
    int depth = 0;
    for (; at_ < tokens_.size(); ++at_) {
      const std::string_view t = tokens_[at_];
      if (t == "(" || t == "[" || t == "{") ++depth;
      if (t == ")" || t == "]" || t == "}") --depth;
      if (depth == 0) {
        ++at_;
        return;
      }
    }
  }
  void skip_angles() {
    int depth = 0;
    for (; at_ < tokens_.size(); ++at_) {
      const std::string_view t = tokens_[at_];
      if (t == "<") ++depth;
      if (t == ">") --depth;
      if (t == ">>") depth -= 2;
      if (t == ";" || t == "{") return;
      if (depth <= 0) {
        ++at_;
        return;
      }
    }
  }

  bool is_definition() {
    const std::size_t start = at_;
    ++at_;
    skip_group();
    while (peek() == "const" || peek() == "noexcept" || peek() == "override") ++at_;
    if (peek() == "->")
      while (at_ < tokens_.size() && peek() != "{" && peek() != ";") ++at_;
    const bool found = peek() == "{";
    const std::string_view word = tokens_[start];
    at_ = start;
    return found && word != "if" && word != "for" && word != "while" && word != "switch" && word != "return";
  }

  Function function() {
    Function out;
    out.name = std::string(peek());
    ++at_;
    out.parameters = parameters();
    while (at_ < tokens_.size() && peek() != "{") ++at_;
    out.body = block();
    return out;
  }

  // "( T a, const T* b )"
  std::vector<Declared> parameters() {
    std::vector<Declared> out;
    take("(");
    while (at_ < tokens_.size() && peek() != ")") {
      Declared one;
      int angles = 0;
      for (; at_ < tokens_.size(); ++at_) {
        const std::string_view t = peek();
        if (t == "<") ++angles;
        if (t == ">") --angles;
        if (angles == 0 && (t == "," || t == ")")) break;
        if (t == "(") {
          skip_group();
          --at_;
          continue;
        }
        if (t == "*" || t == "[") one.pointer = true;
        if (t == "&") one.reference = true;
        if (has(kContainers, t)) one.container = true;
        if (t == "=") {   // a default value
          while (at_ < tokens_.size() && peek() != "," && peek() != ")") ++at_;
          break;
        }
        if (is_name(t)) one.name = std::string(t);
      }
      out.push_back(std::move(one));
      if (!take(",")) break;
    }
    take(")");
    return out;
  }

  // ---- Statements

  std::vector<Statement> block() {
    std::vector<Statement> out;
    if (!take("{")) return out;
    while (at_ < tokens_.size() && peek() != "}") out.push_back(statement());
    take("}");
    return out;
  }

  Statement statement() {
    Statement out;
    if (++depth_ > kMaxDepth) {
      --depth_;
      ++at_;
      return out;
    }
    const std::string_view word = peek();
    if (word == "{") {
      out.first = block();
    } else if (word == "for") {
      out = for_loop();
    } else if (word == "while") {
      ++at_;
      out.kind = Statement::Kind::loop;
      out.condition = in_parentheses();
      out.body.push_back(statement());
    } else if (word == "do") {
      ++at_;
      out.kind = Statement::Kind::loop;
      out.body.push_back(statement());
      take("while");
      out.condition = in_parentheses();
      take(";");
    } else if (word == "if") {
      ++at_;
      take("constexpr");
      out.kind = Statement::Kind::branch;
      out.condition = in_parentheses();
      out.first.push_back(statement());
      if (take("else")) out.body.push_back(statement());
    } else if (word == "return" || word == "continue" || word == "break") {
      ++at_;
      out.kind = word == "return" ? Statement::Kind::result : Statement::Kind::leave;
      if (peek() != ";") out.condition.push_back(expression());
      take(";");
    } else if (starts_declaration()) {
      out = declaration();
      take(";");
    } else if (take(";")) {
      // nothing
    } else {
      const std::size_t before = at_;
      out.kind = Statement::Kind::expression;
      out.condition.push_back(expression());
      if (!take(";") && at_ == before) ++at_;   // what is not understood is passed over
    }
    --depth_;
    return out;
  }

  std::vector<Expression> in_parentheses() {
    std::vector<Expression> out;
    if (!take("(")) return out;
    if (peek() != ")") out.push_back(expression());
    close(")");
    return out;
  }

  // To the closing token, past anything that was not understood.
  void close(std::string_view token) {
    int depth = 0;
    for (; at_ < tokens_.size(); ++at_) {
      const std::string_view t = peek();
      if (depth == 0 && t == token) break;
      if (t == "(" || t == "[" || t == "{") ++depth;
      if (t == ")" || t == "]" || t == "}") --depth;
      if (depth < 0) return;
    }
    take(token);
  }

  Statement for_loop() {
    Statement out;
    ++at_;
    out.kind = Statement::Kind::loop;
    if (!take("(")) return out;
    if (starts_declaration()) {
      Statement first = declaration();
      if (take(":")) {
        out.kind = Statement::Kind::range_loop;
        out.declared = std::move(first.declared);
        out.condition.push_back(expression());
        close(")");
        out.body.push_back(statement());
        return out;
      }
      out.first.push_back(std::move(first));
    } else if (peek() != ";") {
      Statement first;
      first.kind = Statement::Kind::expression;
      first.condition.push_back(expression());
      out.first.push_back(std::move(first));
    }
    take(";");
    if (peek() != ";") out.condition.push_back(expression());
    take(";");
    if (peek() != ")") out.step.push_back(expression());
    close(")");
    out.body.push_back(statement());
    return out;
  }

  // A type, then a name, then what may follow one.
  bool starts_declaration() {
    const std::size_t start = at_;
    const bool yes = skip_type() && is_name(peek()) && (peek(1) == "=" || peek(1) == ";" || peek(1) == "," || peek(1) == "[" || peek(1) == "{" || peek(1) == ":" || peek(1) == "(");
    const bool structured = !yes && peek() == "[" && at_ > start;   // auto [a, b] = ...
    at_ = start;
    return yes || (structured && peek() == "auto");
  }

  // Whether a type stands here; goes past it. A lone name is a type only if another name follows.
  bool skip_type() {
    bool any = false, keyword = false;
    while (true) {
      const std::string_view t = peek();
      if (has(kTypeWords, t)) {
        any = keyword = true;
        ++at_;
      } else if (t == "std" && peek(1) == "::") {
        at_ += 2;
      } else if (is_name(t) && !keyword && !any) {
        const bool next_is_type_like = peek(1) == "<" || peek(1) == "::" || is_name(peek(1)) || ((peek(1) == "*" || peek(1) == "&") && is_name(peek(2)) && (peek(3) == "=" || peek(3) == ";"));
        if (!next_is_type_like) return any;
        ++at_;
        any = true;
      } else if (t == "::" && any) {
        ++at_;
        if (is_name(peek())) ++at_;
      } else if (t == "<" && any) {
        const std::size_t start = at_;
        skip_angles();
        if (at_ == start) return false;
      } else {
        break;
      }
    }
    if (!any) return false;
    while (peek() == "*" || peek() == "&" || peek() == "const" || peek() == "&&" || peek() == "__restrict__" || peek() == "__restrict") ++at_;
    return true;
  }

  Statement declaration() {
    Statement out;
    out.kind = Statement::Kind::declaration;
    const std::size_t start = at_;
    skip_type();
    bool container = false, pointer = false, reference = false;
    for (std::size_t i = start; i < at_; ++i) {
      container = container || has(kContainers, tokens_[i]);
      pointer = pointer || tokens_[i] == "*";
      reference = reference || tokens_[i] == "&";
    }
    if (container) pointer = false;   // vector<float*>: rare, and no address itself
    while (at_ < tokens_.size()) {
      Declared one;
      while (take("*")) pointer = true;
      one.pointer = pointer;
      one.container = container;
      one.reference = reference;
      if (peek() == "[") {
        skip_group();
      } else {
        one.name = std::string(peek());
        ++at_;
      }
      while (peek() == "[") {   // a local array
        one.container = true;
        skip_group();
      }
      if (take("=")) {
        one.initial.push_back(assignment());
      } else if (peek() == "(" || peek() == "{") {
        const std::string_view end = peek() == "(" ? ")" : "}";
        ++at_;
        while (at_ < tokens_.size() && peek() != end) {
          one.initial.push_back(assignment());
          if (!take(",")) break;
        }
        close(end);
      }
      out.declared.push_back(std::move(one));
      if (!take(",")) break;
      pointer = false;
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

  Expression expression() {
    Expression out = assignment();
    while (take(",")) out = make(Expression::Kind::list, ",", {std::move(out), assignment()});
    return out;
  }

  Expression assignment() {
    if (++depth_ > kMaxDepth) {
      --depth_;
      if (at_ < tokens_.size()) ++at_;
      return {};
    }
    Expression left = conditional();
    constexpr std::array<std::string_view, 9> kAssign{"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="};
    if (has(kAssign, peek())) {
      const std::string_view op = peek();
      ++at_;
      left = make(Expression::Kind::assign, op, {std::move(left), assignment()});
    }
    --depth_;
    return left;
  }

  Expression conditional() {
    Expression condition = binary(0);
    if (!take("?")) return condition;
    Expression yes = assignment();
    take(":");
    Expression no = assignment();
    return make(Expression::Kind::conditional, "?", {std::move(condition), std::move(yes), std::move(no)});
  }

  Expression binary(int level) {
    static const std::vector<std::vector<std::string_view>> kLevels{{"||"}, {"&&"}, {"|"}, {"^"}, {"&"}, {"==", "!="}, {"<", ">", "<=", ">="}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}};
    if (level == static_cast<int>(kLevels.size())) return unary();
    Expression left = binary(level + 1);
    while (has(kLevels[static_cast<std::size_t>(level)], peek())) {
      const std::string_view op = peek();
      ++at_;
      left = make(Expression::Kind::binary, op, {std::move(left), binary(level + 1)});
    }
    return left;
  }

  bool is_cast() {
    const std::size_t start = at_;
    ++at_;
    const bool keyword = has(kTypeWords, peek()) || (peek() == "std" && peek(1) == "::" && has(kTypeWords, peek(2)));
    const bool yes = keyword && skip_type() && peek() == ")";
    at_ = start;
    return yes;
  }

  Expression unary() {
    const std::string_view t = peek();
    if (t == "-" || t == "+" || t == "!" || t == "~" || t == "*" || t == "&" || t == "++" || t == "--") {
      ++at_;
      if (++depth_ > kMaxDepth) {
        --depth_;
        return {};
      }
      Expression inner = unary();
      --depth_;
      return make(Expression::Kind::unary, t, {std::move(inner)});
    }
    if (t == "sizeof") {
      ++at_;
      if (peek() == "(") skip_group();
      return {};
    }
    if (t == "(" && is_cast()) {
      skip_group();
      return unary();
    }
    return postfix(primary());
  }

  Expression primary() {
    const std::string_view t = peek();
    if (t == "(") {
      ++at_;
      Expression inside = expression();
      close(")");
      return inside;
    }
    if (t == "[") return lambda();
    if (t == "{") {
      ++at_;
      Expression out = make(Expression::Kind::list, "{");
      while (at_ < tokens_.size() && peek() != "}") {
        out.parts.push_back(assignment());
        if (!take(",")) break;
      }
      close("}");
      return out;
    }
    if (t.empty() || t == ")" || t == "]" || t == "}" || t == ";" || t == ",") return {};
    ++at_;
    if (std::isdigit(static_cast<unsigned char>(t[0])) != 0 || t[0] == '.') return make(Expression::Kind::number, t);
    if (!is_name(t)) return {};
    std::string_view name = t;
    while (true) {
      if (peek() == "::") {
        ++at_;
        name = peek();
        ++at_;
      } else if (peek() == "<" && has(kTemplates, name)) {
        skip_angles();
      } else {
        break;
      }
    }
    return make(Expression::Kind::name, name);
  }

  Expression postfix(Expression out) {
    while (true) {
      if (peek() == "(" || (peek() == "{" && out.kind == Expression::Kind::name)) {
        const std::string_view end = peek() == "(" ? ")" : "}";
        ++at_;
        out = make(Expression::Kind::call, "", {std::move(out)});
        while (at_ < tokens_.size() && peek() != end) {
          out.parts.push_back(assignment());
          if (!take(",")) break;
        }
        close(end);
        const Expression& callee = out.parts[0];
        const bool cast = callee.kind == Expression::Kind::name && (has(kTypeWords, callee.text) || callee.text.ends_with("_cast"));
        if (cast && out.parts.size() == 2) out = Expression(out.parts[1]);
      } else if (take("[")) {
        Expression subscript = expression();
        close("]");
        out = make(Expression::Kind::index, "[]", {std::move(out), std::move(subscript)});
      } else if (peek() == "." || peek() == "->") {
        ++at_;
        const std::string_view member = peek();
        if (at_ < tokens_.size()) ++at_;
        out = make(Expression::Kind::member, member, {std::move(out)});
      } else if (peek() == "++" || peek() == "--") {
        const std::string_view op = peek();
        ++at_;
        out = make(Expression::Kind::postfix, op, {std::move(out)});
      } else {
        return out;
      }
    }
  }

  Expression lambda() {
    Expression out;
    skip_group();   // the captures
    out.kind = Expression::Kind::lambda;
    if (peek() == "(")
      for (const Declared& parameter : parameters()) out.parameters.push_back(parameter.name);
    while (at_ < tokens_.size() && peek() != "{" && peek() != ";" && peek() != ")") ++at_;
    out.body = std::make_shared<std::vector<Statement>>(block());
    return out;
  }

  std::vector<std::string_view> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::vector<Function> parse_functions(std::string_view text) { return Parser(tokens_of(text)).functions(); }

}  // namespace kforge::propose::pattern
