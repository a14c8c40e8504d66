#include "propose/template_source.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace kforge::propose {
namespace {

using Expr = SourceExpr;
using Statement = SourceStatement;

struct Token {
  enum class Kind { end, number, name, punctuation };
  Kind kind = Kind::end;
  std::string text;
};

// Longest first.
constexpr std::array<std::string_view, 22> kLongPunctuation{"<<=", ">>=", "...", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
                                                           "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "->"};

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> all() {
    std::vector<Token> tokens;
    for (skip_blank(); at_ < text_.size(); skip_blank()) tokens.push_back(next());
    tokens.push_back({});
    return tokens;
  }

 private:
  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }
  void skip_blank() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
      else if (text_.substr(at_, 2) == "//" || text_[at_] == '#') skip_line();
      else if (text_.substr(at_, 2) == "/*") at_ = std::min(text_.size(), text_.find("*/", at_ + 2) == std::string_view::npos ? text_.size() : text_.find("*/", at_ + 2) + 2);
      else return;
    }
  }
  Token number() {
    const std::size_t start = at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool sign = (c == '+' || c == '-') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E') && text_.substr(start, 2) != "0x";
      if (!is_name_char(c) && c != '.' && c != '\'' && !sign) break;
      ++at_;
    }
    return {Token::Kind::number, std::string(text_.substr(start, at_ - start))};
  }
  Token word() {
    std::string name;
    for (;;) {
      while (at_ < text_.size() && is_name_char(text_[at_])) name += text_[at_++];
      if (text_.substr(at_, 2) != "::" || at_ + 2 >= text_.size() || !starts_name(text_[at_ + 2])) break;
      at_ += 2;
      name = name == "std" ? "" : name + "::";
    }
    return {Token::Kind::name, name};
  }
  Token next() {
    const char c = text_[at_];
    if (starts_name(c)) return word();
    if (std::isdigit(static_cast<unsigned char>(c)) || (c == '.' && at_ + 1 < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_ + 1]))))
      return number();
    for (const auto& punctuation : kLongPunctuation)
      if (text_.substr(at_, punctuation.size()) == punctuation) {
        at_ += punctuation.size();
        return {Token::Kind::punctuation, std::string(punctuation)};
      }
    ++at_;
    return {Token::Kind::punctuation, std::string(1, c)};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

constexpr std::array<std::string_view, 27> kTypeWords{
    "const", "constexpr", "auto", "int", "long", "float", "double", "unsigned", "signed", "bool", "char", "short", "void", "static",
    "size_t", "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "ptrdiff_t", "__half", "__nv_bfloat16", "volatile"};
bool is_type_word(std::string_view word) { return std::find(kTypeWords.begin(), kTypeWords.end(), word) != kTypeWords.end(); }

struct BinaryLevel {
  std::string_view op;
  int level;
};
constexpr std::array<BinaryLevel, 18> kBinary{{{"||", 1}, {"&&", 2}, {"|", 3}, {"^", 4}, {"&", 5}, {"==", 6}, {"!=", 6}, {"<", 7}, {">", 7}, {"<=", 7},
                                               {">=", 7}, {"<<", 8}, {">>", 8}, {"+", 9}, {"-", 9}, {"*", 10}, {"/", 10}, {"%", 10}}};
int binary_level(std::string_view op) {
  const auto found = std::find_if(kBinary.begin(), kBinary.end(), [&](const BinaryLevel& b) { return b.op == op; });
  return found == kBinary.end() ? 0 : found->level;
}
constexpr std::array<std::string_view, 9> kAssignments{"=", "+=", "-=", "*=", "/=", "|=", "&=", "%=", "^="};
bool is_assignment(std::string_view op) { return std::find(kAssignments.begin(), kAssignments.end(), op) != kAssignments.end(); }

// Recursive descent. `failed_` is set once and for all; the caller of a statement turns it into an opaque one.
class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  std::optional<SourceFunction> function(std::string_view wanted) {
    for (at_ = 0; at_ < tokens_.size(); ++at_) {
      if (peek().text != wanted || peek().kind != Token::Kind::name || peek(1).text != "(") continue;
      SourceFunction out{std::string(wanted), {}, {}};
      at_ += 2;
      if (!parameters(out.parameters) || !accept("{")) continue;
      out.body = block();
      return out;
    }
    return std::nullopt;
  }

 private:
  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  bool at_end() const { return peek().kind == Token::Kind::end; }
  bool accept(std::string_view text) {
    if (peek().text != text || at_end()) return false;
    ++at_;
    return true;
  }
  bool expect(std::string_view text) {
    if (accept(text)) return true;
    failed_ = true;
    return false;
  }

  bool parameters(std::vector<SourceParameter>& out) {
    while (!accept(")")) {
      SourceParameter parameter;
      while (!at_end() && peek().text != "," && peek().text != ")") {
        if (peek(1).text == "," || peek(1).text == ")") parameter.name = peek().text;
        else parameter.type += (parameter.type.empty() || peek().text == "*" ? "" : " ") + peek().text;
        ++at_;
      }
      if (at_end()) return false;
      accept(",");
      if (!parameter.name.empty()) out.push_back(parameter);
    }
    return true;
  }

  std::vector<Statement> block() {  // after "{"
    std::vector<Statement> body;
    while (!at_end() && !accept("}")) statement(body);
    return body;
  }
  std::vector<Statement> block_or_one() {
    if (accept("{")) return block();
    std::vector<Statement> body;
    statement(body);
    return body;
  }

  void statement(std::vector<Statement>& out) {
    if (accept(";")) return;
    if (accept("{")) {
      for (Statement& inner : block()) out.push_back(std::move(inner));
      return;
    }
    const std::size_t start = at_, before = out.size();
    failed_ = false;
    if (accept("for")) loop(out);
    else if (accept("if")) branch(out);
    else if (accept("return")) give_back(out);
    else if (is_type_word(peek().text)) declaration(out);
    else expression_statement(out);
    if (failed_) {
      out.resize(before);
      at_ = start;
      skip_statement();
      out.push_back({});
    }
  }
  // To the ";" or the closing brace of the statement.
  void skip_statement() {
    int depth = 0;
    while (!at_end()) {
      const std::string& text = peek().text;
      if (text == "}" && depth == 0) return;
      ++at_;
      if (text == "(" || text == "{" || text == "[") ++depth;
      if (text == ")" || text == "]") --depth;
      if (text == "}" && --depth == 0 && peek().text != ")" && peek().text != ";" && peek().text != ",") return;
      if (text == ";" && depth == 0) return;
    }
  }

  void loop(std::vector<Statement>& out) {
    Statement s;
    s.kind = Statement::Kind::loop;
    expect("(");
    while (is_type_word(peek().text)) ++at_;
    s.name = peek().text;
    ++at_;
    expect("=");
    s.value = expression();
    expect(";");
    Expr condition = expression();
    expect(";");
    const Expr step = expression();
    expect(")");
    const bool by_one = (step.kind == Expr::Kind::post || step.kind == Expr::Kind::unary) && step.text == "++" && step.args[0].text == s.name;
    if (condition.kind != Expr::Kind::binary || condition.args[0].text != s.name || !by_one) failed_ = true;
    if (failed_) return;
    if (condition.text == "<=") s.end = Expr{Expr::Kind::binary, "+", {condition.args[1], Expr{Expr::Kind::number, "1", {}}}};
    else if (condition.text == "<" || condition.text == "!=") s.end = condition.args[1];
    else failed_ = true;
    if (failed_) return;
    s.body = block_or_one();
    failed_ = false;
    out.push_back(std::move(s));
  }
  void branch(std::vector<Statement>& out) {
    Statement s;
    s.kind = Statement::Kind::branch;
    expect("(");
    s.value = expression();
    expect(")");
    if (failed_) return;
    s.body = block_or_one();
    if (accept("else")) s.otherwise = block_or_one();
    failed_ = false;
    out.push_back(std::move(s));
  }
  void give_back(std::vector<Statement>& out) {
    Statement s;
    s.kind = Statement::Kind::give_back;
    if (peek().text != ";") s.value = expression();
    expect(";");
    out.push_back(std::move(s));
  }
  void expression_statement(std::vector<Statement>& out) {
    do {
      Statement s;
      s.kind = Statement::Kind::expression;
      s.value = expression();
      out.push_back(std::move(s));
    } while (accept(","));
    expect(";");
  }
  std::string type() {
    std::string text;
    while (is_type_word(peek().text)) {
      if (peek().text != "const" && peek().text != "constexpr" && peek().text != "static") text += (text.empty() ? "" : " ") + peek().text;
      ++at_;
    }
    while (peek().text == "*" || peek().text == "&" || peek().text == "const") {
      if (peek().text == "*") text += "*";
      ++at_;
    }
    return text;
  }
  void declaration(std::vector<Statement>& out) {
    const std::string declared = type();
    do {
      Statement s;
      s.kind = Statement::Kind::declare;
      s.type = declared;
      s.name = peek().text;
      if (peek().kind != Token::Kind::name) failed_ = true;
      ++at_;
      if (accept("=")) {
        if (peek().text == "[" && !failed_) lambda(s);
        else s.value = expression();
      } else if (peek().text != "," && peek().text != ";") {
        failed_ = true;
      }
      if (failed_) return;
      out.push_back(std::move(s));
    } while (accept(","));
    expect(";");
  }
  void lambda(Statement& s) {
    while (!at_end() && !accept("]")) ++at_;
    std::vector<SourceParameter> given;
    if (!expect("(") || !parameters(given)) return;
    while (!at_end() && peek().text != "{") ++at_;
    if (!expect("{")) return;
    s.kind = Statement::Kind::lambda;
    s.body = block();
    failed_ = false;
    for (const SourceParameter& parameter : given) s.parameters.push_back(parameter.name);
  }

  Expr expression() {
    Expr left = ternary();
    if (!is_assignment(peek().text)) return left;
    const std::string op = peek().text;
    ++at_;
    Expr right = expression();
    return {Expr::Kind::assign, op, {std::move(left), std::move(right)}};
  }
  Expr ternary() {
    Expr condition = binary(1);
    if (!accept("?")) return condition;
    Expr yes = expression();
    expect(":");
    Expr no = expression();
    return {Expr::Kind::ternary, "?", {std::move(condition), std::move(yes), std::move(no)}};
  }
  Expr binary(int level) {
    if (++depth_ > 200) failed_ = true;
    Expr left = unary();
    while (!failed_) {
      const std::string op = peek().text;
      const int own = peek().kind == Token::Kind::punctuation ? binary_level(op) : 0;
      if (own < level || own == 0) break;
      ++at_;
      Expr right = binary(own + 1);
      left = {Expr::Kind::binary, op, {std::move(left), std::move(right)}};
    }
    --depth_;
    return left;
  }
  Expr unary() {
    for (const std::string_view op : {"-", "!", "+", "*", "~", "++", "--"})
      if (accept(op)) return {Expr::Kind::unary, std::string(op), {unary()}};
    if (peek().text == "(" && is_type_word(peek(1).text)) {
      ++at_;
      const std::string target = type();
      expect(")");
      return {Expr::Kind::cast, target, {unary()}};
    }
    return postfix();
  }
  Expr postfix() {
    Expr e = primary();
    while (!failed_) {
      if (accept("[")) {
        Expr index = expression();
        expect("]");
        e = {Expr::Kind::index, "[]", {std::move(e), std::move(index)}};
      } else if (peek().text == "++" || peek().text == "--") {
        e = {Expr::Kind::post, peek().text, {std::move(e)}};
        ++at_;
      } else {
        break;
      }
    }
    return e;
  }
  Expr call(Expr::Kind kind, std::string name) {  // after "("
    Expr e{kind, std::move(name), {}};
    while (!failed_ && !accept(")")) {
      e.args.push_back(expression());
      if (peek().text != ")") expect(",");
    }
    if (kind == Expr::Kind::cast && e.args.size() != 1) failed_ = true;
    return e;
  }
  Expr primary() {
    const Token token = peek();
    if (accept("(")) {
      Expr e = expression();
      expect(")");
      return e;
    }
    ++at_;
    if (token.kind == Token::Kind::number) return {Expr::Kind::number, token.text, {}};
    if (token.kind != Token::Kind::name || at_end()) {
      failed_ = true;
      return {};
    }
    if (token.text == "numeric_limits") return limits();
    if (token.text == "static_cast") return static_cast_();
    if (is_type_word(token.text)) {
      --at_;
      const std::string target = type();
      if (!expect("(")) return {};
      return call(Expr::Kind::cast, target);
    }
    if ((token.text == "max" || token.text == "min" || token.text == "clamp" || token.text == "pow") && accept("<")) {
      type();
      expect(">");
    }
    if (accept("(")) return call(Expr::Kind::call, token.text);
    return {Expr::Kind::name, token.text, {}};
  }
  Expr static_cast_() {
    expect("<");
    const std::string target = type();
    expect(">");
    if (!expect("(")) return {};
    return call(Expr::Kind::cast, target);
  }
  // numeric_limits<T>::infinity() and its like.
  Expr limits() {
    expect("<");
    type();
    expect(">");
    expect(":");
    expect(":");
    const std::string what = peek().text;
    ++at_;
    expect("(");
    expect(")");
    return {Expr::Kind::name, "numeric_limits::" + what, {}};
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool failed_ = false;
};

}  // namespace

std::optional<SourceFunction> parse_reference(std::string_view text, std::string_view function) {
  return Parser(Lexer(text).all()).function(function);
}

}  // namespace kforge::propose
