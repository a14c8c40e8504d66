// Operands against a row of the table: number, kinds and register widths (manual 9.2 to 9.5).
#include "ptx/reader.h"

namespace kforge::ptx {
namespace {

using Role = OperandSpec::Role;
using Kind = Operand::Kind;

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::reg: return "a register";
    case Kind::sink: return "'_'";
    case Kind::immediate: return "a constant";
    case Kind::special: return "a special register";
    case Kind::symbol: return "a variable";
    case Kind::address: return "an address";
    case Kind::vector: return "a vector";
    case Kind::label: return "an undeclared name or label";
    case Kind::function: return "a function";
    case Kind::text: return "a list in brackets";
  }
  return "an operand";
}

bool role_takes(Role role, Kind kind) {
  switch (role) {
    case Role::destination: case Role::predicate_out: return kind == Kind::reg || kind == Kind::sink;
    case Role::source: return kind == Kind::reg || kind == Kind::immediate;
    case Role::reg: return kind == Kind::reg;
    case Role::immediate: return kind == Kind::immediate;
    case Role::special: return kind == Kind::reg || kind == Kind::immediate || kind == Kind::special;
    case Role::any: return kind != Kind::vector && kind != Kind::address && kind != Kind::text && kind != Kind::sink;
    case Role::pointer: return kind == Kind::reg || kind == Kind::symbol || kind == Kind::immediate;
    case Role::predicate_in: return kind == Kind::reg || kind == Kind::immediate;
    case Role::address: return kind == Kind::address;
    case Role::texture: return kind == Kind::text;
    case Role::label: case Role::targets: case Role::callee: return kind == Kind::label;
  }
  return false;
}

std::string_view wanted(Role role) {
  switch (role) {
    case Role::destination: return "a register or '_'";
    case Role::source: return "a register or a constant";
    case Role::reg: return "a register";
    case Role::immediate: return "a constant";
    case Role::special: return "a register, a special register or a constant";
    case Role::any: return "a value";
    case Role::pointer: return "a register or a variable";
    case Role::predicate_out: return "a predicate register or '_'";
    case Role::predicate_in: return "a predicate";
    case Role::address: return "an address in [ ]";
    case Role::texture: return "[handle, {coordinates}]";
    default: return "a label";
  }
}

// 'i' integers, 'f' floats, 'b' untyped, 'p' predicates: an instruction's type and its register's must not be i and f.
char family(Type type) {
  if (type == Type::pred) return 'p';
  if (is_float(type)) return 'f';
  switch (type) {
    case Type::b8: case Type::b16: case Type::b32: case Type::b64: case Type::b128: case Type::b1: return 'b';
    default: return 'i';
  }
}

// Loads, stores and conversions of 8-bit types use wider registers.
std::string check_register(Type have, Type want, bool wider_ok) {
  const char a = family(have), b = family(want);
  const auto wrong = [&] { return "has a register of type ." + std::string(name(have)) + ", expected ." + std::string(name(want)); };
  if ((a == 'p') != (b == 'p')) return wrong();
  if (a == 'p') return {};
  const std::uint32_t have_bits = size_bits(have), want_bits = size_bits(want);
  if (wider_ok ? have_bits < want_bits : have_bits != std::max(want_bits, 8u) && !(want_bits < 8 && have_bits == 32)) return wrong();
  const bool packed_or_half = want != Type::f32 && want != Type::f64;  // written in .b16 and .u32 registers by old compilers
  if (!wider_ok && ((a == 'i' && b == 'f' && !packed_or_half) || (a == 'f' && b == 'i'))) return wrong();
  return {};
}

std::string check_scalar(Operand& operand, const OperandSpec& spec, Type type, const std::vector<Register>& registers) {
  if (!role_takes(spec.role, operand.kind))
    return "is " + std::string(name_of(operand.kind)) + ", expected " + std::string(wanted(spec.role));
  if (operand.negated && type != Type::pred) return "is negated, but is no predicate";
  if (operand.pair != kNoRegister || operand.text == "|_") {
    if (!spec.pair) return "has a second predicate after '|', which this form does not take";
    if (operand.pair != kNoRegister && registers[operand.pair].type != Type::pred) return "has a second destination that is no predicate";
  }
  if (operand.kind == Kind::reg) return check_register(registers[operand.reg].type, type, spec.wider_ok);
  if (operand.kind == Kind::immediate) {
    const Constant constant{static_cast<Constant::Kind>(operand.offset), operand.bits};
    const bool by_width = spec.wider_ok && constant.kind == Constant::Kind::integer && is_float(type);  // st.f32 [x], 0
    if (!by_width && !constant_bits(constant, type))
      return "is " + std::string(operand.is_float_immediate ? "a floating" : "an integer") + " constant, which ." + std::string(name(type)) + " does not take";
  }
  if (operand.kind == Kind::special) {
    if (type == Type::pred || type_of(operand.special) == Type::pred) return type == type_of(operand.special) ? "" : "mixes a predicate and a number";
    if (is_float(type)) return "is a special register, which ." + std::string(name(type)) + " does not take";
  }
  return {};
}

void convert(Operand& operand, Type type) {
  if (operand.text == "|_") operand.text.clear();
  for (Operand& element : operand.elements) convert(element, type);
  if (operand.kind != Kind::immediate) return;
  const Constant constant{static_cast<Constant::Kind>(operand.offset), operand.bits};
  operand.bits = constant_bits(constant, type).value_or(operand.bits);
  operand.is_float_immediate = is_float(type);
  operand.offset = 0;
}

// The element type of `mov.b64 {a, b}, c`: the vector's share of the whole.
Type share_of(Type whole, std::size_t parts) {
  const std::uint32_t bits = parts ? size_bits(whole) / static_cast<std::uint32_t>(parts) : 0;
  if (parts * bits != size_bits(whole)) return Type::none;
  switch (bits) {
    case 8: return Type::b8;
    case 16: return Type::b16;
    case 32: return Type::b32;
    case 64: return Type::b64;
    default: return Type::none;
  }
}

// [handle, {coordinates}]: both of registers, coordinates of 32 bits.
std::string check_texture(const Operand& operand, const std::vector<Register>& registers) {
  if (operand.kind != Kind::text || operand.elements.size() != 2) return "is not [handle, {coordinates}]";
  const Operand& handle = operand.elements[0];
  const Operand& at = operand.elements[1];
  if (handle.reg == kNoRegister || handle.offset != 0 || size_bits(registers[handle.reg].type) != 64) return "has a handle that is no 64-bit register";
  if (at.kind != Kind::vector && at.kind != Kind::reg) return "has coordinates that are no vector of registers";
  for (const Operand& element : at.elements)
    if (element.kind == Kind::reg ? size_bits(registers[element.reg].type) != 32 : element.kind != Kind::immediate) return "has a coordinate that is no 32-bit register";
  return {};
}

std::string check_operand(Operand& operand, const OperandSpec& spec, const Spelling& spelling, Type type, const std::vector<Register>& registers) {
  if (spec.role == Role::texture) return check_texture(operand, registers);
  if (!spec.braces) return check_scalar(operand, spec, type, registers);
  const std::uint8_t count = spec.count == OperandSpec::kVectorCount ? spelling.mods.vector : spec.count;
  if (count == 1 && operand.kind != Kind::vector) return check_scalar(operand, spec, type, registers);
  if (operand.kind != Kind::vector) return "is " + std::string(name_of(operand.kind)) + ", expected a vector in { }";
  if (count != 0 && operand.elements.size() != count)
    return "has " + std::to_string(operand.elements.size()) + " elements, expected " + std::to_string(count);
  if (operand.elements.empty()) return "is an empty vector";
  if (operand.pair != kNoRegister && (!spec.pair || registers[operand.pair].type != Type::pred)) return "has a second destination after '|' that this form does not take";
  if (type == Type::none) return "cannot be split into " + std::to_string(operand.elements.size()) + " equal parts";
  for (Operand& element : operand.elements)
    if (std::string wrong = check_scalar(element, spec, type, registers); !wrong.empty()) return "has an element that " + wrong;
  return {};
}

std::string expected_count(const CompiledForm& form) {
  const std::size_t least = form.mandatory_operands, most = form.operands.size();
  return least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
}

}  // namespace

Misfit fit(const Spelling& spelling, std::vector<Operand>& operands, const std::vector<Register>& registers) {
  const CompiledForm& form = compiled_form(spelling.form);
  if (form.any_operands) {
    for (Operand& operand : operands) convert(operand, operand.is_float_immediate && operand.offset == 1 ? Type::f32 : operand.is_float_immediate ? Type::f64 : Type::b64);
    return {};
  }
  if (operands.size() < form.mandatory_operands || operands.size() > form.operands.size())
    return {operands.size(), "has " + std::to_string(operands.size()) + " operands, expected " + expected_count(form)};
  std::size_t extra = operands.size() - form.mandatory_operands, next = 0;
  const bool is_pack = form.form->exec == Exec::mov_pack;
  Type types[8] = {};
  for (const OperandSpec& spec : form.operands) {
    if (spec.optional && extra == 0) continue;
    extra -= spec.optional ? 1 : 0;
    Operand& operand = operands[next];
    Type type = operand_type(spec, spelling.types);
    if (is_pack && spelling.mods.vector == 1 && spec.braces && operand.kind == Kind::vector) type = share_of(type, operand.elements.size());
    if (std::string wrong = check_operand(operand, spec, spelling, type, registers); !wrong.empty()) return {next, std::move(wrong)};
    types[next++] = type;
  }
  for (std::size_t i = 0; i < operands.size(); ++i) convert(operands[i], types[i]);
  return {};
}

}  // namespace kforge::ptx
