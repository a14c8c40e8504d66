// Words of a formula.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "task/formula_builder.h"

namespace kforge::task::formula {

enum class Token : std::uint8_t { end, line_end, name, integer, real, symbol };

struct Word {
  Token token = Token::end;
  std::string_view text;       // into the formula
  double number = 0;           // integer, real
  Place place;
};

// The words of `text`, the last of which is `end`. Line ends inside parentheses and brackets are blanks. Errors: bad_input.
Expected<std::vector<Word>> split_formula(std::string_view text);

}  // namespace kforge::task::formula
