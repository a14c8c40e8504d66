// Moves, conversions, comparisons and logic: what their operands' types tell the handlers.
#include "emulator/address_ops.h"
#include "emulator/alu.h"
#include "emulator/decoder.h"
#include "emulator/handlers.h"
#include "emulator/integer_conversion.h"
#include "emulator/saturate.h"
#include "emulator/wide_moves.h"

namespace kforge::emulator {

void Decoder::decode_mov(Op& op, const ptx::Instruction& in) {
  const Operand& source = in.operands[1];
  const bool wide = slot_is_wide(in.operands[0], ptx::size_bits(in.type));
  if (source.kind == Kind::special && is_clock(source.special)) {
    op.immediate = static_cast<std::int64_t>(source.special);
    op.flags = wide ? 2 : 0;
    op.run = same(clock_handler());
    return;
  }
  const ptx::Variable* variable = variable_of(module_, *function_, source);
  if (variable != nullptr && variable->space == ptx::Space::local && !function_->is_entry) {
    op.r[1] = {kLocalBaseSlot, Bank::frame};
    op.immediate = static_cast<std::int64_t>(address_of(source));
    op.flags = static_cast<std::uint8_t>(1 | (wide ? 2 : 0));
    op.run = same(offset_handler());
    return;
  }
  op.run = same(ptx::size_bits(in.type) == 128 ? wide_move_handler() : select_alu(in, Exec::mov));
}

void Decoder::decode_mov_pack(Op& op, const ptx::Instruction& in) {
  const bool pack = in.operands[1].kind == Kind::vector;
  if (in.mods.vector > 1) {   // results, then sources
    set_list(op, in.operands[0], ptx::size_bits(in.type));
    std::vector<Ref>& list = kernel_->lists.back();
    for (const Operand& element : in.operands[1].elements) list.push_back(ref(element, ptx::size_bits(in.type)));
    op.list = list.data();
    op.run = same(vector_move_handler());
    return;
  }
  const Operand& vector = in.operands[pack ? 1 : 0];
  const Operand& whole = in.operands[pack ? 0 : 1];
  const std::uint32_t bits = ptx::size_bits(in.type);
  const auto count = static_cast<std::uint32_t>(vector.elements.size());
  if (count == 0) return;
  set_list(op, vector, bits / count);
  op.bytes = static_cast<std::uint8_t>(bits / count / 8);
  op.r[pack ? 0 : 1] = ref(whole, bits);
  if (bits > 64) {
    op.run = same(wide_pack_handler(pack));
    return;
  }
  op.flags = bits == 64 ? 2 : 0;
  op.run = same(select_alu(in, Exec::mov_pack));
}

void Decoder::decode_cvt(Op& op, const ptx::Instruction& in) {
  const bool wide_result = slot_is_wide(in.operands[0], ptx::size_bits(in.type));
  const bool wide_source = slot_is_wide(in.operands[1], ptx::size_bits(in.type2));
  if (wide_result) op.flags |= 2;
  if (wide_source) op.flags |= 4;
  const bool fit = wide_result == (ptx::size_bits(in.type) == 64) && wide_source == (ptx::size_bits(in.type2) == 64);
  const Handler saturate = saturate_handler(in);
  const bool narrow = !fit || ptx::size_bits(in.type) < 32 || ptx::size_bits(in.type2) < 16;
  const Handler integer = narrow && loaded_.shortcuts ? integer_conversion(in, wide_result, wide_source) : nullptr;
  op.run = same(saturate != nullptr ? saturate : integer != nullptr ? integer : select_cvt(in, fit));
}

void Decoder::decode_compare(Op& op, const ptx::Instruction& in, Exec exec) {
  op.bytes = static_cast<std::uint8_t>(in.mods.bool_op);
  op.immediate = compare_table(in.mods.compare);
  if (exec == Exec::set && ptx::is_float(in.type)) op.flags |= 64;
  if (exec == Exec::set) op.wide = static_cast<std::uint8_t>(ptx::size_bytes(in.type));
  if (exec != Exec::testp) return;
  static constexpr std::string_view kTests[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
  for (std::size_t k = 0; k < std::size(kTests); ++k)
    if (in.mods.text == kTests[k]) op.immediate = static_cast<std::int64_t>(k);
}

void Decoder::decode_half(Op& op, const ptx::Instruction& in, Exec exec) {
  const ptx::Type type = exec == Exec::set ? in.type2 : in.type;
  const bool pair = type == ptx::Type::f16x2 || type == ptx::Type::bf16x2;
  if (!pair && type != ptx::Type::f16 && type != ptx::Type::bf16) return;
  if (in.mods.ftz) op.flags |= 2;
  if (in.mods.sat) op.flags |= 4;
  if (in.mods.relu) op.flags |= 8;
  if (pair) op.flags |= 16;
}

void Decoder::decode_lop3(Op& op, const ptx::Instruction& in) {
  for (std::size_t i = 0; i < 4; ++i) op.r[i] = ref(in.operands[i], 32);
  op.immediate = static_cast<std::int64_t>(in.operands[4].bits);
  if (in.operands.size() > 5) {
    op.r[4] = ref(in.operands[5], 1);
    if (in.operands[5].negated) op.flags |= 1;
    op.r[5] = in.operands[0].pair != ptx::kNoRegister ? register_ref(in.operands[0].pair) : Ref{kSinkSlot, Bank::frame};
  }
  op.run = same(select_alu(in, Exec::lop3));
}

}  // namespace kforge::emulator
