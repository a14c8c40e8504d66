// The words of C++ that stand for parts of a term: mathematical functions, constants, numbers, integer types.
#pragma once

#include <string>
#include <string_view>

#include "propose/template_term.h"

namespace kforge::propose {

// "expf" as "exp", "fmaxf" as "max"; other names as they are.
std::string plain_function(std::string name);
bool is_term_function(std::string_view plain);     // that a term may call
TermPtr constant_term(std::string_view name);      // INFINITY, M_PI, true, numeric_limits::max; nullptr for others
std::string plain_number(std::string text);        // without suffix and digit separators
bool is_integer_type(std::string_view type);       // of a declaration or cast

}  // namespace kforge::propose
