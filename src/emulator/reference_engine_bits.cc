// Bits, logic, shifts and selection (PTX manual 9.7.1.14-22, 9.7.6.3-4, 9.7.8, 9.7.9.7), bit by bit as its loops are written.
#include <algorithm>

#include "emulator/reference_engine_float.h"
#include "emulator/reference_engine_ops.h"

namespace kforge::emulator::reference {
namespace {

using ptx::Exec;
using ptx::Instruction;
using ptx::Type;

std::uint64_t bit(std::uint64_t x, std::uint64_t position) { return x >> position & 1; }

std::uint64_t find_bit(std::uint64_t a, const Instruction& in) {
  const int msb = static_cast<int>(ptx::size_bits(in.type)) - 1;
  if (ptx::is_signed(in.type) && bit(a, static_cast<std::uint64_t>(msb)) != 0) a = cut(~a, static_cast<std::uint32_t>(msb) + 1);
  for (int i = msb; i >= 0; --i)
    if (bit(a, static_cast<std::uint64_t>(i)) != 0) return static_cast<std::uint64_t>(in.mods.shift_amount ? msb - i : i);
  return 0xffffffff;
}

// Positions and lengths are 0 to 255; above that, 64-bit forms of sm_90 shift everything out, where 32-bit ones drop the upper bits.
std::uint64_t field_operand(const Instruction& in, std::uint64_t x) { return ptx::size_bits(in.type) == 64 ? std::min<std::uint64_t>(x, 255) : x & 0xff; }

std::uint64_t extract(const Instruction& in, const Scalars& s) {
  const std::uint64_t msb = ptx::size_bits(in.type) - 1, position = field_operand(in, s.in[1]), length = field_operand(in, s.in[2]);
  const std::uint64_t sign = !ptx::is_signed(in.type) || length == 0 ? 0 : bit(s.in[0], std::min(position + length - 1, msb));
  std::uint64_t d = 0;
  for (std::uint64_t i = 0; i <= msb; ++i) d |= (i < length && position + i <= msb ? bit(s.in[0], position + i) : sign) << i;
  return d;
}

std::uint64_t insert(const Instruction& in, const Scalars& s) {
  const std::uint64_t msb = ptx::size_bits(in.type) - 1, position = field_operand(in, s.in[2]), length = field_operand(in, s.in[3]);
  std::uint64_t f = s.in[1];
  for (std::uint64_t i = 0; i < length && position + i <= msb; ++i)
    f = (f & ~(std::uint64_t{1} << (position + i))) | bit(s.in[0], i) << (position + i);
  return f;
}

std::uint64_t find_nth(const Scalars& s) {
  const auto offset = static_cast<std::int32_t>(s.in[2]);
  if (s.in[2] == 0x80000000u) return 0;   // has no magnitude: the H200's answer
  auto position = static_cast<std::int64_t>(s.in[1]);
  if (offset == 0) return position < 32 && bit(s.in[0], static_cast<std::uint64_t>(position)) != 0 ? s.in[1] : 0xffffffff;
  std::int64_t count = (offset < 0 ? -static_cast<std::int64_t>(offset) : offset) - 1;
  for (; position >= 0 && position < 32; position += offset > 0 ? 1 : -1)
    if (bit(s.in[0], static_cast<std::uint64_t>(position)) != 0 && count-- == 0) return static_cast<std::uint64_t>(position);
  return 0xffffffff;
}

std::uint32_t ones_from(std::uint64_t shift) { return shift >= 32 ? 0 : ~std::uint32_t{0} << shift; }

std::uint64_t make_mask(const Instruction& in, const Scalars& s) {
  const bool clamp = in.mods.overflow == ptx::Overflow::clamp;
  const std::uint64_t a1 = s.in[0] & 31, b1 = s.in[1] & 31, sum = a1 + b1;
  std::uint32_t mask0 = ones_from(a1), mask1 = ones_from(sum);
  const bool position_over = clamp && s.in[0] >= 32, width_over = clamp && s.in[1] >= 32;
  if (position_over) mask0 = 0;
  if (sum >= 32 || position_over || width_over) mask1 = 0;
  else if (b1 == 0) mask1 = ~std::uint32_t{0};
  return mask0 & ~mask1;
}

std::uint64_t extend_bits(const Instruction& in, const Scalars& s) {
  const std::uint64_t b1 = s.in[1] & 31;
  const bool too_large = s.in[1] >= 32 && in.mods.overflow == ptx::Overflow::clamp;
  const std::uint32_t mask = too_large ? 0 : ones_from(b1);
  const bool sign = b1 != 0 && !too_large && in.type == Type::s32 && bit(s.in[0], (b1 - 1) & 31) != 0;
  return (s.in[0] & ~mask & 0xffffffff) | (sign ? mask : 0);
}

std::uint64_t reverse(std::uint64_t a, std::uint32_t width) {
  std::uint64_t d = 0;
  for (std::uint32_t i = 0; i < width; ++i) d |= bit(a, i) << (width - 1 - i);
  return d;
}

std::uint64_t leading_zeros(std::uint64_t a, std::uint32_t width) {
  std::uint64_t d = 0;
  while (d < width && bit(a, width - 1 - d) == 0) ++d;
  return d;
}

std::uint64_t ones(std::uint64_t a) {
  std::uint64_t d = 0;
  for (; a != 0; a >>= 1) d += a & 1;
  return d;
}

std::uint64_t lookup3(const Scalars& s) {
  std::uint64_t d = 0;
  for (std::uint64_t i = 0; i < 32; ++i) d |= bit(s.in[3], bit(s.in[0], i) * 4 + bit(s.in[1], i) * 2 + bit(s.in[2], i)) << i;
  return d;
}

std::uint64_t shift_right(const Instruction& in, const Scalars& s) {
  const std::uint32_t width = ptx::size_bits(in.type);
  const std::uint64_t amount = std::min<std::uint64_t>(s.in[1], width);
  const std::uint64_t fill = ptx::is_signed(in.type) ? bit(s.in[0], width - 1) : 0;
  std::uint64_t d = 0;
  for (std::uint64_t i = 0; i < width; ++i) d |= (i + amount < width ? bit(s.in[0], i + amount) : fill) << i;
  return d;
}

std::uint64_t funnel(const Instruction& in, const Scalars& s) {
  const std::uint64_t n = in.mods.overflow == ptx::Overflow::clamp ? std::min<std::uint64_t>(s.in[2], 32) : s.in[2] & 31;
  std::uint64_t d = 0;
  for (std::uint64_t i = 0; i < 32; ++i) {   // bit i of the result is bit `from` of {b, a}
    const std::uint64_t from = in.mods.left ? 32 + i - n : i + n;
    d |= (from < 32 ? bit(s.in[0], from) : bit(s.in[1], from - 32)) << i;
  }
  return d;
}

// The byte numbers (and sign bits) of the result's bytes, most significant first, by mode and the two low bits of c.
std::uint32_t selectors(std::string_view mode, std::uint64_t c) {
  const auto n = static_cast<std::uint32_t>(c & 3);
  std::uint32_t result = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    std::uint32_t byte = 0;
    if (mode == "f4e") byte = n + i;                       // forward four extract
    else if (mode == "b4e") byte = (n + 8 - i) & 7;        // backward
    else if (mode == "rc8") byte = n;                      // replicate 8
    else if (mode == "ecl") byte = std::max(i, n);         // edge clamp left
    else if (mode == "ecr") byte = std::min(i, n);         // edge clamp right
    else if (mode == "rc16") byte = (n & 1) * 2 + (i & 1);  // replicate 16
    result |= byte << 4 * i;
  }
  return result;
}

std::uint64_t permute(const Instruction& in, const Scalars& s) {
  const std::string_view mode = in.mods.text;
  const std::uint64_t control = mode.empty() ? s.in[2] : selectors(mode, s.in[2]);
  const std::uint64_t bytes = s.in[1] << 32 | s.in[0];
  std::uint64_t d = 0;
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::uint64_t select = control >> 4 * i & 15;
    std::uint64_t byte = bytes >> 8 * (select & 7) & 0xff;
    if ((select & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    d |= byte << 8 * i;
  }
  return d;
}

bool selects_first(const Instruction& in, std::uint64_t c) {
  if (in.type2 == Type::s32) return static_cast<std::int32_t>(c) >= 0;
  const Format& f = format_of(Type::f32);
  const int order = compare(in.mods.ftz ? flush(c, f) : c, 0, f);
  return order == 0 || order == 1;
}

}  // namespace

bool evaluate_bits(const Instruction& in, Exec exec, Scalars& s) {
  const std::uint32_t width = in.type == Type::none ? 64 : ptx::size_bits(in.type);
  switch (exec) {
    case Exec::mov: s.d = s.in[0]; return true;
    case Exec::and_: s.d = s.in[0] & s.in[1]; return true;
    case Exec::or_: s.d = s.in[0] | s.in[1]; return true;
    case Exec::xor_: s.d = s.in[0] ^ s.in[1]; return true;
    case Exec::not_: s.d = ~s.in[0]; return true;
    case Exec::cnot: s.d = s.in[0] == 0 ? 1 : 0; return true;
    case Exec::popc: s.d = ones(s.in[0]); return true;
    case Exec::clz: s.d = leading_zeros(s.in[0], width); return true;
    case Exec::brev: s.d = reverse(s.in[0], width); return true;
    case Exec::bfind: s.d = find_bit(s.in[0], in); return true;
    case Exec::fns: s.d = find_nth(s); return true;
    case Exec::bfe: s.d = extract(in, s); return true;
    case Exec::bfi: s.d = insert(in, s); return true;
    case Exec::bmsk: s.d = make_mask(in, s); return true;
    case Exec::szext: s.d = extend_bits(in, s); return true;
    case Exec::lop3:
      s.d = lookup3(s);
      s.q = in.mods.bool_op == ptx::BoolOp::and_ ? s.d != 0 && s.in[4] != 0 : s.d != 0 || s.in[4] != 0;
      return true;
    case Exec::shl: s.d = s.in[1] >= width ? 0 : s.in[0] << s.in[1]; return true;
    case Exec::shr: s.d = shift_right(in, s); return true;
    case Exec::shf: s.d = funnel(in, s); return true;
    case Exec::prmt: s.d = permute(in, s); return true;
    case Exec::selp: s.d = s.in[2] != 0 ? s.in[0] : s.in[1]; return true;
    case Exec::slct: s.d = selects_first(in, s.in[2]) ? s.in[0] : s.in[1]; return true;
    default: return false;
  }
}

}  // namespace kforge::emulator::reference
