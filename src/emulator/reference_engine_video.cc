// Video instructions, as the pseudo-code of 9.7.18 has them.
#include <algorithm>

#include "emulator/reference_engine_ops.h"

namespace kforge::emulator::reference {

using ptx::Exec;
using ptx::Instruction;
using ptx::Type;

namespace {

// A part named by letter and digit, of a register pair where digits go beyond the first register.
Int select(std::uint64_t a, std::uint64_t b, char letter, char digit, bool is_signed) {
  const int width = letter == 'b' ? 8 : 16, per_register = 32 / width, index = digit - '0';
  const std::uint64_t from = index >= per_register ? b : a;
  return value_of(cut(from >> width * (index % per_register), static_cast<std::uint32_t>(width)),
                  width == 8 ? (is_signed ? Type::s8 : Type::u8) : (is_signed ? Type::s16 : Type::u16));
}

Int saturate(Int x, int width, bool is_signed) {
  const Type type = width == 8 ? (is_signed ? Type::s8 : Type::u8) : width == 16 ? (is_signed ? Type::s16 : Type::u16) : (is_signed ? Type::s32 : Type::u32);
  return std::min(std::max(x, lowest(type)), highest(type));
}

bool compared(ptx::Compare how, Int a, Int b) {
  if (how == ptx::Compare::eq) return a == b;
  if (how == ptx::Compare::ne) return a != b;
  if (how == ptx::Compare::lt) return a < b;
  if (how == ptx::Compare::le) return a <= b;
  if (how == ptx::Compare::gt) return a > b;
  return a >= b;
}

Int operate(std::string_view name, const Instruction& in, Int a, Int b) {
  if (name == "vadd") return a + b;
  if (name == "vsub") return a - b;
  if (name == "vabsdiff") return a > b ? a - b : b - a;
  if (name == "vmin") return a < b ? a : b;
  if (name == "vmax") return a < b ? b : a;
  if (name == "vset") return compared(in.mods.compare, a, b) ? 1 : 0;
  if (name == "vavrg") return (a + b >= 0 ? a + b + 1 : a + b) >> 1;
  Int amount = b;
  if (in.mods.overflow == ptx::Overflow::clamp) amount = std::min<Int>(amount, 32);
  else amount = amount % 32;
  Int x = a;
  for (Int i = 0; i < amount; ++i) x = name == "vshl" ? x * 2 : x >> 1;
  return x;
}

}  // namespace

bool evaluate_video(const Instruction& in, Exec exec, Scalars& s) {
  if (exec != Exec::video) return false;
  std::string_view name = ptx::instruction_table()[in.form].opcode;
  int lanes = 1;
  if (name.back() == '2' || name.back() == '4') {
    lanes = name.back() - '0';
    name.remove_suffix(1);
  }
  const bool is_set = name == "vset";
  const bool signed_d = !is_set && ptx::is_signed(in.type), signed_a = ptx::is_signed(is_set ? in.type : in.type2), signed_b = ptx::is_signed(is_set ? in.type2 : in.type3);
  const std::string& to = in.operands[0].text;
  const std::string& from_a = in.operands[1].text;
  const std::string& from_b = in.operands[2].text;
  const std::uint64_t c = s.count > 2 ? s.in[2] : 0;
  const bool adds = in.mods.atom_op == ptx::AtomOp::add;
  if (lanes > 1) {
    const char letter = lanes == 2 ? 'h' : 'b';
    const int width = 32 / lanes;
    Int sum = value_of(c, Type::u32);
    std::uint64_t merged = 0;
    for (int i = 0; i < lanes; ++i) {
      const auto digit = [&](const std::string& text, int first) { return text.empty() ? static_cast<char>('0' + first + i) : text[text.size() - 1 - static_cast<std::size_t>(i)]; };
      Int t = operate(name, in, select(s.in[0], s.in[1], letter, digit(from_a, 0), signed_a), select(s.in[0], s.in[1], letter, digit(from_b, lanes), signed_b));
      if (in.mods.sat) t = saturate(t, width, signed_d);
      const bool chosen = to.empty() || to.find(static_cast<char>('0' + i)) != std::string::npos;
      if (chosen) sum += t;
      const std::uint64_t part = chosen ? static_cast<std::uint64_t>(t) : c >> width * i;
      merged |= cut(part, static_cast<std::uint32_t>(width)) << width * i;
    }
    s.d = adds ? cut(static_cast<std::uint64_t>(sum), 32) : merged;
    return true;
  }
  const Int a = from_a.empty() ? value_of(s.in[0], signed_a ? Type::s32 : Type::u32) : select(s.in[0], 0, from_a[0], from_a[1], signed_a);
  const Int b = from_b.empty() ? value_of(s.in[1], signed_b ? Type::s32 : Type::u32) : select(s.in[1], 0, from_b[0], from_b[1], signed_b);
  if (name == "vmad") {
    const bool final_signed = signed_a || signed_b;
    Int x = a * b + value_of(c, final_signed ? Type::s32 : Type::u32) + (in.mods.text.find("po") != std::string::npos ? 1 : 0);
    x >>= in.mods.text.find("shr7") != std::string::npos ? 7 : in.mods.text.find("shr15") != std::string::npos ? 15 : 0;
    s.d = cut(static_cast<std::uint64_t>(in.mods.sat ? saturate(x, 32, final_signed) : x), 32);
    return true;
  }
  Int x = operate(name, in, a, b);
  const int width = to.empty() ? 32 : to[0] == 'b' ? 8 : 16;
  if (in.mods.sat) x = saturate(x, width, signed_d);
  const Int third = value_of(c, signed_d ? Type::s32 : Type::u32);
  if (adds) x += third;
  if (in.mods.atom_op == ptx::AtomOp::min) x = std::min(x, third);
  if (in.mods.atom_op == ptx::AtomOp::max) x = std::max(x, third);
  s.d = cut(static_cast<std::uint64_t>(x), 32);
  if (to.empty()) return true;
  const int at = width * (to[1] - '0');
  const std::uint64_t hole = cut(~std::uint64_t{0}, static_cast<std::uint32_t>(width)) << at;
  s.d = (cut(static_cast<std::uint64_t>(x), static_cast<std::uint32_t>(width)) << at) | (c & ~hole);
  return true;
}

}  // namespace kforge::emulator::reference
