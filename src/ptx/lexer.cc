#include "ptx/lexer.h"

#include <algorithm>
#include <array>

namespace kforge::ptx {
namespace {

// Character classes, because <cctype> asks the locale.
constexpr std::array<std::uint8_t, 256> kClasses = [] {
  std::array<std::uint8_t, 256> table{};
  for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = 1 | 4;
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = 1 | 2;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = 1 | 2;
  for (char c : {'_', '$', '%'}) table[static_cast<std::size_t>(c)] = 1 | 2;
  return table;
}();
bool in_word(char c) { return kClasses[static_cast<unsigned char>(c)] & 1; }
bool starts_word(char c) { return kClasses[static_cast<unsigned char>(c)] & 2; }
bool is_digit(char c) { return kClasses[static_cast<unsigned char>(c)] & 4; }

}  // namespace

void Lexer::skip_blank() {
  for (;;) {
    const char c = at(position_);
    if (c == '\n') { ++line_; ++position_; }
    else if (c == ' ' || c == '\t' || c == '\r') ++position_;
    else if ((c == '/' && at(position_ + 1) == '/') || c == '#') position_ = std::min(text_.find('\n', position_), text_.size());
    else if (c == '/' && at(position_ + 1) == '*') {
      const std::size_t close = text_.find("*/", position_ + 2);
      const std::size_t end = close == std::string_view::npos ? text_.size() : close + 2;
      line_ += static_cast<std::uint32_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(position_),
                                                     text_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
      position_ = end;
    } else return;
  }
}

Token Lexer::take(TokenKind kind, std::size_t end) {
  Token token{kind, text_.substr(position_, end - position_), line_};
  position_ = end;
  return token;
}

std::size_t Lexer::end_of_word(std::size_t i, bool dots) const {
  for (;;) {
    while (in_word(at(i))) ++i;
    if (dots && at(i) == '.' && in_word(at(i + 1))) i += 1;
    else if (at(i) == ':' && at(i + 1) == ':' && in_word(at(i + 2))) i += 2;
    else return i;
  }
}

std::size_t Lexer::end_of_number(std::size_t i) const {
  const char second = at(i + 1);
  const bool prefixed = at(i) == '0' && second != '\0' && std::string_view("xXbBfFdD").find(second) != std::string_view::npos;
  while (in_word(at(i))) {
    const bool exponent = !prefixed && (at(i) == 'e' || at(i) == 'E');
    ++i;
    if (exponent && (at(i) == '+' || at(i) == '-') && is_digit(at(i + 1))) ++i;
    if (!prefixed && at(i) == '.' && !starts_word(at(i + 1))) ++i;
  }
  return i;
}

Token Lexer::next() {
  skip_blank();
  const char c = at(position_);
  if (position_ >= text_.size()) return take(TokenKind::end, position_);
  if (starts_word(c)) return take(TokenKind::word, end_of_word(position_, true));
  if (is_digit(c)) return take(TokenKind::number, end_of_number(position_));
  if (c == '.' && in_word(at(position_ + 1))) return take(TokenKind::directive, end_of_word(position_ + 1, false));
  if (c == '"') {
    const std::size_t end = text_.find_first_of("\"\n", position_ + 1);
    if (end == std::string_view::npos || text_[end] == '\n') return take(TokenKind::bad, std::min(end, text_.size()));
    Token token = take(TokenKind::string, end + 1);
    token.text = token.text.substr(1, token.text.size() - 2);
    return token;
  }
  if (std::string_view("{}()[]<>,;:=+-*/%&|^~!@?_").find(c) != std::string_view::npos && c != '\0')
    return take(TokenKind::punctuation, position_ + 1);
  return take(TokenKind::bad, position_ + 1);
}

std::uint32_t Lexer::column_of(std::string_view piece) const {
  const std::size_t offset = static_cast<std::size_t>(piece.data() - text_.data());
  if (offset == 0) return 1;
  const std::size_t line_start = text_.rfind('\n', offset - 1);
  return static_cast<std::uint32_t>(line_start == std::string_view::npos ? offset + 1 : offset - line_start);
}

}  // namespace kforge::ptx
