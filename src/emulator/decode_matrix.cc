// Instructions of many registers: matrix products and their loads, textures and surfaces.
#include <algorithm>
#include <bit>
#include <cstdlib>

#include "emulator/decoder.h"
#include "emulator/matrix_ops.h"
#include "emulator/matrix_shape.h"
#include "emulator/matrix_sparse.h"
#include "emulator/texture_ops.h"
#include "emulator/wgmma_ops.h"

namespace kforge::emulator {

// See matrix_ops.h for the roles.
void Decoder::decode_matrix(Op& op, const ptx::Instruction& in, Exec exec) {
  std::vector<Ref>& list = kernel_->lists.emplace_back();
  std::vector<std::size_t> counts;
  for (const Operand& operand : in.operands) {
    if (operand.kind == Kind::address) {
      decode_address(op, operand);
    } else if (operand.kind == Kind::vector) {
      for (const Operand& element : operand.elements) list.push_back(ref(element, ptx::size_bits(in.type)));
      counts.push_back(operand.elements.size());
    } else if (exec == Exec::mma && operand.kind == Kind::immediate) {
      op.immediate = static_cast<std::int64_t>(operand.bits);   // mma.sp's selector; its metadata are r[2]
    } else if (exec == Exec::movmatrix) {
      list.push_back(ref(operand, 32));
    } else {
      op.r[2] = ref(operand, 32);
    }
  }
  op.r[4] = constant(kFullMask, false);
  op.list = list.data();
  op.list_count = static_cast<std::uint8_t>(list.size());
  op.target = matrix_shape(in).packed();
  if (exec == Exec::wmma_load || exec == Exec::wmma_store) {
    const Fragment which = has_word(in.mods.text, "a") ? Fragment::a : has_word(in.mods.text, "b") ? Fragment::b : Fragment::c;
    op.wide = static_cast<std::uint8_t>(static_cast<unsigned>(which) << 1 | (has_word(in.mods.text, "row") ? 1u : 0u));
  }
  if (counts.size() == 4) {
    op.bytes = static_cast<std::uint8_t>(counts[0]);
    op.wide = static_cast<std::uint8_t>(counts[1]);
    op.flags = static_cast<std::uint8_t>(counts[2]);
    const MatrixShape shape = matrix_shape(in);
    const std::size_t tiles = std::size_t{std::max(1u, shape.n / 8)} * std::max(1u, shape.m / 16);
    if (!is_sparse(in)) op.immediate = writes_at_once(list, counts[0], counts[1] + counts[2], tiles) ? 1 : 0;
  }
  op.run = select_matrix(in, exec);
}

// See wgmma_ops.h for the roles.
void Decoder::decode_wgmma(Op& op, const ptx::Instruction& in, Exec exec) {
  op.run = select_wgmma(exec);
  op.r[4] = constant(kFullMask, false);
  if (exec == Exec::wgmma_wait) op.immediate = static_cast<std::int64_t>(in.operands[0].bits);
  if (exec != Exec::wgmma) return;
  const std::string_view text = in.mods.text;   // m64n128k16
  const std::size_t n = text.find('n'), k = text.find('k');
  const auto number = [&](std::size_t at) { return static_cast<std::uint32_t>(std::strtoul(text.data() + at + 1, nullptr, 10)); };
  op.target = number(n) | number(k) << 16;
  op.bytes = static_cast<std::uint8_t>(in.type2 == ptx::Type::tf32 ? 4 : ptx::size_bytes(in.type2));
  std::vector<Ref>& list = kernel_->lists.emplace_back();
  for (const Operand& element : in.operands[0].elements) list.push_back(ref(element, 32));
  const bool from_registers = in.operands[1].kind == Kind::vector;
  if (from_registers) for (const Operand& element : in.operands[1].elements) list.push_back(ref(element, 32));
  else op.r[0] = ref(in.operands[1], 64);
  op.r[1] = ref(in.operands[2], 64);
  op.r[2] = ref(in.operands[3], 1);
  const auto immediate = [&](std::size_t i) { return i < in.operands.size() ? static_cast<std::int32_t>(in.operands[i].bits) : 0; };
  const bool trans_a = !from_registers && immediate(6) == 1, trans_b = immediate(from_registers ? 6 : 7) == 1;
  op.flags = static_cast<std::uint8_t>((from_registers ? kWgmmaRegisters : 0) | (immediate(4) < 0 ? kWgmmaNegateA : 0) | (immediate(5) < 0 ? kWgmmaNegateB : 0) |
                                       (trans_a ? kWgmmaTransposeA : 0) | (trans_b ? kWgmmaTransposeB : 0) | (in.operands[3].negated ? kWgmmaFlipScale : 0));
  op.list = list.data();
  op.list_count = static_cast<std::uint8_t>(list.size());
  // D has as many registers as N wants.
  if (std::size_t{in.type == ptx::Type::f16 ? 4u : 2u} * in.operands[0].elements.size() != number(n)) op.run = {};
}

// See texture_ops.h for the roles.
void Decoder::decode_texture(Op& op, const ptx::Instruction& in, Exec exec) {
  op.immediate = std::bit_cast<std::int64_t>(texture_mode(in));
  op.run = select_texture(exec);
  if (exec == Exec::tex_query) {
    op.r[0] = ref(in.operands[0], 32);
    op.r[1] = register_ref(in.operands[1].reg);
    if (in.operands.size() > 2) op.r[2] = ref(in.operands[2], 32);
    return;
  }
  const bool stores = exec == Exec::sust || exec == Exec::sured;
  const Operand& place = in.operands[stores ? 0 : 1];
  const Operand& data = in.operands[stores ? 1 : 0];
  set_list(op, data, ptx::size_bits(in.type));
  std::vector<Ref>& list = kernel_->lists.back();
  const auto data_count = static_cast<std::uint8_t>(list.size());
  const auto add = [&](const Operand& operand) {
    if (operand.kind != Kind::vector) list.push_back(ref(operand, 32));
    for (const Operand& element : operand.elements) list.push_back(ref(element, 32));
    return static_cast<std::uint8_t>(operand.kind == Kind::vector ? operand.elements.size() : 1);
  };
  op.r[1] = register_ref(place.elements[0].reg);
  const std::uint8_t coordinates = add(place.elements[1]);
  op.flags = data_count;
  op.bytes = static_cast<std::uint8_t>(ptx::size_bytes(in.type));
  if (exec == Exec::tex) {
    const TextureMode mode = mode_of(op);
    const std::size_t extras = mode.how == TextureMode::How::level ? 1 : mode.how == TextureMode::How::grad ? 2 : 0;
    op.bytes = data_count;
    op.wide = coordinates;
    op.flags = 0;
    for (std::size_t k = 2; k < in.operands.size(); ++k) {
      const std::uint8_t count = add(in.operands[k]);
      if (k < 2 + extras) op.flags = static_cast<std::uint8_t>(op.flags + count);
    }
    if (data.pair != ptx::kNoRegister) op.r[5] = register_ref(data.pair);
  }
  op.list = list.data();
  op.list_count = static_cast<std::uint8_t>(list.size());
}

}  // namespace kforge::emulator
