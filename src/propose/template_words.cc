#include "propose/template_words.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace kforge::propose {
namespace {

using Kind = Term::Kind;

constexpr std::array<std::string_view, 36> kFunctions{
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "rsqrt", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh",
    "cosh", "tanh", "erf", "erfc", "pow", "fabs", "abs", "floor", "ceil", "round", "trunc", "fmod", "hypot", "fma", "max", "min", "clamp", "copysign"};

}  // namespace

bool is_term_function(std::string_view plain) { return std::find(kFunctions.begin(), kFunctions.end(), plain) != kFunctions.end(); }

std::string plain_function(std::string name) {
  if (name == "fmax" || name == "fmaxf") return "max";
  if (name == "fmin" || name == "fminf") return "min";
  if (name.size() > 1 && name.back() == 'f' && name != "erf") {
    const std::string shorter = name.substr(0, name.size() - 1);
    if (std::find(kFunctions.begin(), kFunctions.end(), shorter) != kFunctions.end()) return shorter;
  }
  return name;
}

bool is_integer_type(std::string_view type) {
  return type.find("float") == type.npos && type.find("double") == type.npos && type.find("half") == type.npos && type.find("bool") == type.npos &&
         type.find("bfloat") == type.npos && type.find("auto") == type.npos;
}

std::string plain_number(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '\''), text.end());
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  while (!text.empty()) {
    const char c = static_cast<char>(std::tolower(static_cast<unsigned char>(text.back())));
    if (c == 'l' || c == 'u' || (c == 'f' && !hexadecimal)) text.pop_back();
    else break;
  }
  return text;
}

namespace {

TermPtr infinity(bool negative) {
  TermPtr term = make_term(Kind::number, "INFINITY");
  return negative ? make_term(Kind::unary, "-", {term}) : term;
}

}  // namespace

TermPtr constant_term(std::string_view name) {
  if (name == "INFINITY" || name == "HUGE_VAL" || name == "numeric_limits::infinity" || name == "FLT_MAX" || name == "DBL_MAX" || name == "numeric_limits::max")
    return infinity(false);
  if (name == "numeric_limits::lowest") return infinity(true);
  if (name == "M_PI") return make_term(Kind::number, "3.14159265358979323846");
  if (name == "M_SQRT1_2") return make_term(Kind::number, "0.70710678118654752440");
  if (name == "M_SQRT2") return make_term(Kind::number, "1.41421356237309504880");
  if (name == "true" || name == "false") return number_term(name == "true");
  return nullptr;
}

}  // namespace kforge::propose
