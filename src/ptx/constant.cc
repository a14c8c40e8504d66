// Constants: number literals, constant expressions (manual 4.5), and their bits in an instruction's type.
#include <bit>
#include <charconv>
#include <cmath>

#include "ptx/reader.h"

namespace kforge::ptx {
namespace {

std::uint64_t half_bits(double value) {  // IEEE binary16, to nearest even
  const std::uint64_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | 0x7FFF;
  const double magnitude = std::fabs(value);
  if (magnitude >= 65520.0) return sign | 0x7C00;
  const int exponent = magnitude < 0x1p-14 ? -14 : std::ilogb(magnitude);
  const auto units = static_cast<std::uint64_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  if (magnitude < 0x1p-14) return sign | units;
  return sign | ((static_cast<std::uint64_t>(exponent + 15) << 10) + units - 1024);
}

double as_double(Constant constant) {
  if (constant.kind == Constant::Kind::f32_bits) return std::bit_cast<float>(static_cast<std::uint32_t>(constant.bits));
  return std::bit_cast<double>(constant.bits);
}

// To nearest in f32 even when the double came from a NaN of f32.
std::uint64_t single_bits(Constant constant) {
  if (constant.kind == Constant::Kind::f32_bits) return constant.bits;
  return std::bit_cast<std::uint32_t>(static_cast<float>(as_double(constant)));
}

struct BinaryOperator {
  std::string_view text;
  int precedence;
};
constexpr BinaryOperator kBinary[] = {{"||", 1}, {"&&", 2}, {"|", 3}, {"^", 4}, {"&", 5}, {"==", 6}, {"!=", 6}, {"<=", 7}, {">=", 7},
                                      {"<<", 8}, {">>", 8}, {"<", 7}, {">", 7}, {"+", 9}, {"-", 9}, {"*", 10}, {"/", 10}, {"%", 10}};

std::optional<std::uint64_t> apply(std::string_view op, std::uint64_t a, std::uint64_t b) {
  const auto sa = static_cast<std::int64_t>(a), sb = static_cast<std::int64_t>(b);
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "&") return a & b;
  if (op == "|") return a | b;
  if (op == "^") return a ^ b;
  if (op == "<<") return b < 64 ? a << b : 0;
  if (op == ">>") return static_cast<std::uint64_t>(sa >> (b < 64 ? b : 63));
  if (op == "&&") return a && b;
  if (op == "||") return a || b;
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "<") return sa < sb;
  if (op == ">") return sa > sb;
  if (op == "<=") return sa <= sb;
  if (op == ">=") return sa >= sb;
  if (b == 0) return std::nullopt;
  if (sb == -1) return op == "/" ? 0 - a : 0;
  return static_cast<std::uint64_t>(op == "/" ? sa / sb : sa % sb);
}

}  // namespace

Operand immediate_operand(Constant constant) {
  Operand out;
  out.kind = Operand::Kind::immediate;
  out.bits = constant.bits;
  out.offset = static_cast<std::int64_t>(constant.kind);
  out.is_float_immediate = constant.kind != Constant::Kind::integer;
  return out;
}

std::optional<std::uint64_t> constant_bits(Constant constant, Type type) {
  if (constant.kind == Constant::Kind::integer) {
    if (is_float(type)) return std::nullopt;
    const std::uint32_t width = size_bits(type);
    if (type == Type::pred) return constant.bits != 0;
    if (width == 0 || width >= 64) return constant.bits;
    const unsigned shift = 64 - width;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(constant.bits << shift) >> shift);
  }
  switch (type) {
    case Type::f32: case Type::tf32: return single_bits(constant);
    case Type::f64: return constant.kind == Constant::Kind::f64_bits ? constant.bits : std::bit_cast<std::uint64_t>(as_double(constant));
    case Type::f16: return half_bits(as_double(constant));
    case Type::b32: if (constant.kind == Constant::Kind::f32_bits) return constant.bits; return std::nullopt;
    case Type::b64: if (constant.kind == Constant::Kind::f64_bits) return constant.bits; return std::nullopt;
    default: return std::nullopt;
  }
}

bool Reader::number(Constant& out) {
  std::string_view text = token_.text;
  const auto parse = [&](std::string_view digits, int base, std::uint64_t& value) {
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    return result.ec == std::errc{} && result.ptr == digits.data() + digits.size() && !digits.empty();
  };
  const char second = text.size() > 1 && text[0] == '0' ? static_cast<char>(text[1] | 0x20) : '\0';
  bool good = false;
  if (second == 'f' || second == 'd') {
    out.kind = second == 'f' ? Constant::Kind::f32_bits : Constant::Kind::f64_bits;
    good = text.size() == (second == 'f' ? 10u : 18u) && parse(text.substr(2), 16, out.bits);
  } else if (text.find('.') != std::string_view::npos || (second != 'x' && text.find_first_of("eE") != std::string_view::npos)) {
    double value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    good = result.ec == std::errc{} && result.ptr == text.data() + text.size();
    out = {Constant::Kind::f64_bits, std::bit_cast<std::uint64_t>(value)};
  } else {
    if (!text.empty() && text.back() == 'U') text.remove_suffix(1);
    out.kind = Constant::Kind::integer;
    if (second == 'x') good = parse(text.substr(2), 16, out.bits);
    else if (second == 'b') good = parse(text.substr(2), 2, out.bits);
    else if (text.size() > 1 && text[0] == '0') good = parse(text.substr(1), 8, out.bits);
    else good = parse(text, 10, out.bits);
  }
  if (!good) return fail_at(token_, "'" + std::string(token_.text.substr(0, 60)) + "' is not a number that PTX can write in 64 bits",
                            "write 10, 0xA, 012, 0b1010, 1.5, 0f3FC00000 or 0d3FF8000000000000");
  advance();
  return true;
}

bool Reader::constant_unary(Constant& out, int depth) {
  if (depth > kMaxDepth) return fail_at(token_, "this constant expression is nested too deeply");
  const Token at = token_;
  if (token_.is('(')) {
    advance();
    if (token_.is(".s64") || token_.is(".u64")) {  // a cast changes nothing in 64 bits
      advance();
      return expect(')') && constant_unary(out, depth + 1);
    }
    return constant(out, depth + 1) && expect(')');
  }
  if (token_.is('-') || token_.is('+') || token_.is('~') || token_.is('!')) {
    const char op = token_.text[0];
    advance();
    if (!constant_unary(out, depth + 1)) return false;
    const bool is_integer = out.kind == Constant::Kind::integer;
    if (op == '-') out.bits = is_integer ? 0 - out.bits : out.bits ^ (out.kind == Constant::Kind::f32_bits ? 1ull << 31 : 1ull << 63);
    else if (op != '+' && !is_integer) return fail_at(at, "'~' and '!' need an integer constant");
    else if (op == '~') out.bits = ~out.bits;
    else if (op == '!') out.bits = out.bits == 0;
    return true;
  }
  if (token_.kind == TokenKind::number) return number(out);
  if (token_.is("WARP_SZ")) {
    advance();
    out = {Constant::Kind::integer, 32};
    return true;
  }
  return fail_here("a constant");
}

bool Reader::constant_binary(Constant& out, int precedence, int depth) {
  if (!constant_unary(out, depth)) return false;
  for (;;) {
    const Token at = token_;
    if (at.kind != TokenKind::punctuation) return true;
    const BinaryOperator* found = nullptr;
    // Operators are single characters to the lexer; a double one is two neighbours in the text.
    const std::string_view two(at.text.data(), at.text.size() + 1 <= static_cast<std::size_t>(end_ - at.text.data()) ? 2 : 1);
    for (const BinaryOperator& op : kBinary)
      if (two.substr(0, op.text.size()) == op.text) { found = &op; break; }
    if (!found || found->precedence < precedence) return true;
    advance();
    if (found->text.size() == 2) advance();
    Constant right;
    if (!constant_binary(right, found->precedence + 1, depth + 1)) return false;
    if (out.kind != Constant::Kind::integer || right.kind != Constant::Kind::integer)
      return fail_at(at, "arithmetic on floating constants is not supported");
    const auto value = apply(found->text, out.bits, right.bits);
    if (!value) return fail_at(at, "division by zero in a constant expression");
    out.bits = *value;
  }
}

bool Reader::constant(Constant& out, int depth) {
  if (depth > kMaxDepth) return fail_at(token_, "this constant expression is nested too deeply");
  if (!constant_binary(out, 1, depth)) return false;
  if (!token_.is('?')) return true;
  advance();
  Constant yes, no;
  if (!constant(yes, depth + 1) || !expect(':') || !constant(no, depth + 1)) return false;
  out = out.bits ? yes : no;
  return true;
}

bool Reader::integer_constant(std::uint64_t& out) {
  const Token at = token_;
  Constant value;
  if (!constant(value)) return false;
  if (value.kind != Constant::Kind::integer) return fail_at(at, "expected an integer, found a floating constant");
  out = value.bits;
  return true;
}

}  // namespace kforge::ptx
