// PTX text to tokens, on demand and without copies. A mnemonic with its words (`ld.global.nc.f32`), a special register
// (`%tid.x`) and a register's part (`%r1.b0`) are one token each.
#pragma once

#include <cstdint>
#include <string_view>

namespace kforge::ptx {

enum class TokenKind : std::uint8_t { end, word, directive, number, string, punctuation, bad };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;   // directive: with its dot; string: without the quotes; bad: what cannot be read
  std::uint32_t line = 1;  // from 1
  bool is(char c) const { return kind == TokenKind::punctuation && text[0] == c; }
  bool is(std::string_view word) const { return (kind == TokenKind::word || kind == TokenKind::directive) && text == word; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  Token next();
  bool at_label_colon() { skip_blank(); return at(position_) == ':'; }  // a ':' follows the last token
  // Column of a piece of the text, in bytes from 1.
  std::uint32_t column_of(std::string_view piece) const;

 private:
  void skip_blank();
  Token take(TokenKind kind, std::size_t end);
  std::size_t end_of_word(std::size_t i, bool dots) const;
  std::size_t end_of_number(std::size_t i) const;
  char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  std::string_view text_;
  std::size_t position_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace kforge::ptx
