#include "task/formula_lexer.h"

#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "task/expression.h"
#include "task/wording.h"

namespace kforge::task::formula {
namespace {

constexpr std::size_t kMaxText = 8192;
constexpr double kLargestInteger = 9007199254740992.0;   // 2^53: exact in double

// Longer spellings before their prefixes.
constexpr std::array<std::string_view, 23> kSymbols{"**", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "@",
                                                    "<",  ">",  "(",  ")",  "[",  "]",  ",", "=", ";", "!", "^"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Expected<std::vector<Word>> run() {
    if (text_.size() > kMaxText) return wrong_formula({}, fmt::format("the formula has more than {} characters", kMaxText), "give a reference in C++ instead");
    while (true) {
      skip();
      if (at_ == text_.size()) break;
      auto word = next();
      if (!word) return Unexpected(word.error());
      if (word->token == Token::symbol) depth_ += word->text == "(" || word->text == "[" ? 1 : word->text == ")" || word->text == "]" ? -1 : 0;
      out_.push_back(*word);
    }
    out_.push_back({Token::end, "", 0, place()});
    return std::move(out_);
  }

 private:
  Place place() const { return {line_, static_cast<int>(at_ - line_start_) + 1}; }

  void skip() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') at_ = std::min(text_.find('\n', at_), text_.size());
      else if (c == '\n' && depth_ > 0) new_line();
      else if (c == ' ' || c == '\t' || c == '\r') ++at_;
      else return;
    }
  }

  void new_line() {
    ++at_;
    ++line_;
    line_start_ = at_;
  }

  Expected<Word> next() {
    const char c = text_[at_];
    Word word{Token::symbol, text_.substr(at_, 1), 0, place()};
    if (c == '\n') {
      word.token = Token::line_end;
      new_line();
      return word;
    }
    if (is_letter(c)) return name(word);
    if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) return number(word);
    for (const std::string_view symbol : kSymbols) {
      if (text_.substr(at_, symbol.size()) != symbol) continue;
      if (symbol == "^") return wrong_formula(word.place, "'^' is no operation of formulas", "a power is x ** 2");
      word.text = text_.substr(at_, symbol.size());
      at_ += symbol.size();
      return word;
    }
    std::size_t bytes = 1;   // of a character in UTF-8
    while (bytes < 4 && at_ + bytes < text_.size() && (static_cast<unsigned char>(text_[at_ + bytes]) & 0xc0) == 0x80) ++bytes;
    return wrong_formula(word.place, fmt::format("unexpected '{}'", printable(text_.substr(at_, bytes))), "see docs/task-file.md, Formulas");
  }

  Expected<Word> name(Word word) {
    std::size_t end = at_;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
    word.token = Token::name;
    word.text = text_.substr(at_, end - at_);
    if (!is_identifier(word.text)) return wrong_formula(word.place, "a name has more than 64 characters", "shorten it");
    at_ = end;
    return word;
  }

  Expected<Word> number(Word word) {
    const char* begin = text_.data() + at_;
    const auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), word.number);
    if (code != std::errc{} || !std::isfinite(word.number)) return wrong_formula(word.place, "the number does not fit a double");
    word.text = {begin, static_cast<std::size_t>(end - begin)};
    at_ += word.text.size();
    if (at_ < text_.size() && (is_letter(text_[at_]) || text_[at_] == '.'))
      return wrong_formula(place(), fmt::format("unexpected '{}' after a number", text_[at_]), "a product is 2 * x");
    word.token = word.text.find_first_of(".eE") == std::string_view::npos ? Token::integer : Token::real;
    if (word.token == Token::integer && word.number > kLargestInteger) return wrong_formula(word.place, "integers of formulas go up to 2^53");
    return word;
  }

  std::string_view text_;
  std::size_t at_ = 0, line_start_ = 0;
  int line_ = 1, depth_ = 0;
  std::vector<Word> out_;
};

}  // namespace

Expected<std::vector<Word>> split_formula(std::string_view text) { return Lexer(text).run(); }

}  // namespace kforge::task::formula
