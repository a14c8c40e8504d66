// Addresses, and the instructions that have one: loads and stores, atomics, asynchronous copies, mbarriers; and what makes addresses.
#include <bit>

#include "emulator/address_ops.h"
#include "emulator/alu.h"
#include "emulator/bulk_ops.h"
#include "emulator/cluster.h"
#include "emulator/decoder.h"
#include "emulator/handlers.h"
#include "emulator/mbarrier_ops.h"
#include "emulator/memory_quick.h"

namespace kforge::emulator {
namespace {

ptx::Instruction pair_form(const ptx::Instruction& in) {
  ptx::Instruction half = in;
  half.type = ptx::Type::b64;
  return half;
}

}  // namespace

void Decoder::decode_address(Op& op, const Operand& operand) {
  if (operand.reg != ptx::kNoRegister) {
    op.r[0] = register_ref(operand.reg);
    op.immediate = operand.offset;
    if (is_wide(operand.reg)) op.flags |= kWideAddress;
    return;
  }
  op.flags |= kWideAddress;
  const ptx::Variable* variable = variable_of(module_, *function_, operand);
  if (variable == nullptr) {
    op.r[0] = constant(operand.bits + static_cast<std::uint64_t>(operand.offset), true);
  } else if (variable->space == ptx::Space::local && !function_->is_entry) {
    op.r[0] = {kLocalBaseSlot, Bank::frame};
    op.immediate = static_cast<std::int64_t>(address_of(operand));
  } else {
    op.r[0] = constant(address_of(operand), true);
  }
}

// A shared or local variable's name as a generic address.
void Decoder::make_generic(Op& op, const ptx::Instruction& in, const Operand& operand) {
  const ptx::Variable* variable = operand.reg == ptx::kNoRegister ? variable_of(module_, *function_, operand) : nullptr;
  if (in.mods.space != ptx::Space::generic || variable == nullptr) return;
  const std::uint64_t window = variable->space == ptx::Space::shared ? kSharedWindow : variable->space == ptx::Space::local ? kLocalWindow : 0;
  if (op.r[0].bank == Bank::constants) op.r[0] = constant(address_of(operand) + window, true);
  else op.immediate += static_cast<std::int64_t>(window);
}

void Decoder::decode_memory(Op& op, const ptx::Instruction& in, Exec exec, std::size_t address, std::size_t data) {
  const std::uint32_t bits = ptx::size_bits(in.type);
  decode_address(op, in.operands[address]);
  make_generic(op, in, in.operands[address]);
  set_list(op, in.operands[data], bits);
  op.bytes = static_cast<std::uint8_t>(bits == 128 ? 8 : bits / 8);
  if (ptx::is_signed(in.type)) op.flags |= kSignExtend;
  if (in.mods.order != ptx::Order::none && in.mods.order != ptx::Order::weak) op.flags |= kStrong;
  const Operand& operand = in.operands[address];
  if (in.mods.space == ptx::Space::param && function_->is_entry &&
      (!operand.variable.has_value() || (operand.variable->of_function && operand.variable->index < function_->parameter_count)))
    op.flags |= kEntryParam;
  op.slow = op.run = bits == 128 ? select_memory(pair_form(in), exec) : select_memory(in, exec);
  if (loaded_.shortcuts) add_quick_handlers(op, in.mods.space, exec == Exec::st);
}

void Decoder::decode_atomic(Op& op, const ptx::Instruction& in, Exec exec, std::size_t address) {
  decode_address(op, in.operands[address]);
  make_generic(op, in, in.operands[address]);
  const std::uint32_t bits = ptx::size_bits(in.type);
  const Ref where = op.r[0];
  op.r[1] = where;
  if (bits == 128) return decode_atomic_b128(op, in, exec);
  if (address + 1 < in.operands.size() && in.operands[address + 1].kind == Kind::vector) {
    set_list(op, in.operands[address + 1], bits);
    if (address == 1) {   // results follow the operands in the list
      const std::uint8_t count = op.list_count;
      std::vector<Ref>& list = kernel_->lists.back();
      for (const Operand& element : in.operands[0].elements) list.push_back(ref(element, bits));
      op.list = list.data();
      op.list_count = count;
    }
  } else {
    op.r[0] = address == 1 ? ref(in.operands[0], bits) : Ref{kSinkSlot, Bank::frame};
    op.r[2] = ref(in.operands[address + 1], bits);
    if (in.mods.atom_op == ptx::AtomOp::cas) op.r[3] = ref(in.operands[address + 2], bits);
  }
  op.bytes = static_cast<std::uint8_t>(bits / 8);
  op.run = select_atomic(in, exec);
}

void Decoder::decode_atomic_b128(Op& op, const ptx::Instruction& in, Exec exec) {
  set_list(op, in.operands[2], 128);
  std::vector<Ref>& list = kernel_->lists.back();
  const Ref result = ref(in.operands[0], 128);
  for (const std::uint32_t at : {0u, kWideSlot}) list.push_back(in.operands[0].kind == Kind::reg ? Ref{result.offset + at, result.bank} : Ref{kSinkSlot, Bank::frame});
  op.list = list.data();
  op.bytes = 8;
  if (in.mods.atom_op == ptx::AtomOp::cas) {
    op.r[3] = ref(in.operands[3], 128);
    op.r[4] = {op.r[3].offset + kWideSlot, op.r[3].bank};
  }
  op.run = select_atomic(in, exec);
}

void Decoder::decode_cvta(Op& op, const ptx::Instruction& in) {
  const std::uint32_t bits = ptx::size_bits(in.type);
  op.r[0] = ref(in.operands[0], bits);
  op.r[1] = ref(in.operands[1], bits);
  if (in.mods.space == ptx::Space::param) {
    op.immediate = in.mods.to ? -1 : 1;
    op.run = same(cvta_param_handler());
    return;
  }
  const std::uint64_t window = in.mods.space == ptx::Space::shared ? kSharedWindow : in.mods.space == ptx::Space::local ? kLocalWindow : 0;
  op.immediate = static_cast<std::int64_t>(in.mods.to ? 0 - window : window);
  if (bits == 32 && window != 0) return;   // 32-bit generic addresses have no room for windows
  op.flags = static_cast<std::uint8_t>((slot_is_wide(in.operands[1], bits) ? 1 : 0) | (slot_is_wide(in.operands[0], bits) ? 2 : 0));
  op.run = same(window == 0 ? select_alu(in, Exec::mov) : offset_handler());
}

// mapa: r[0] result, r[1] address, r[2] rank; getctarank: r[0] rank, r[1] address. flags: 1 the address is a 64-bit slot, 2 the result is.
void Decoder::decode_mapa(Op& op, const ptx::Instruction& in) {
  const std::uint32_t bits = ptx::size_bits(in.type);
  const bool maps = in.operands.size() == 3;
  const std::uint32_t result_bits = maps ? bits : 32;
  op.r[0] = ref(in.operands[0], result_bits);
  op.r[1] = ref(in.operands[1], bits);
  if (maps) op.r[2] = ref(in.operands[2], 32);
  op.flags = static_cast<std::uint8_t>((slot_is_wide(in.operands[1], bits) ? 1 : 0) | (slot_is_wide(in.operands[0], result_bits) ? 2 : 0));
  op.immediate = in.mods.space == ptx::Space::shared ? 0 : static_cast<std::int64_t>(kSharedWindow);
  op.run = select_cluster(in);
  kernel_->meets_cluster = true;
}

void Decoder::decode_isspacep(Op& op, const ptx::Instruction& in) {
  op.r[0] = ref(in.operands[0], 1);
  op.r[1] = ref(in.operands[1], 64);
  op.immediate = static_cast<std::int64_t>(in.mods.space);
  op.run = same(isspacep_handler());
}

// A cache policy is an opaque value that changes no result: all are the one that means no preference (CUTLASS, TMA::CacheHintSm90::EVICT_NORMAL).
void Decoder::decode_policy(Op& op, const ptx::Instruction& in) {
  constexpr std::uint64_t kEvictNormal = 0x1000000000000000;
  op.r[0] = ref(in.operands[0], 64);
  op.r[1] = ptx::instruction_table()[in.form].id == "createpolicy_cvt" ? ref(in.operands[1], 64) : constant(kEvictNormal, true);
  op.run = same(select_alu(in, Exec::mov));
}

void Decoder::decode_stack(Op& op, const ptx::Instruction& in, Exec exec) {
  op.flags = ptx::size_bits(in.type) == 64 ? 1 : 0;
  op.immediate = in.operands.size() > 2 ? static_cast<std::int64_t>(in.operands[2].bits) : 8;
  if (std::has_single_bit(static_cast<std::uint64_t>(op.immediate))) op.run = select_stack(exec);
}

// See async_ops.cc for the roles.
void Decoder::decode_async(Op& op, const ptx::Instruction& in, Exec exec) {
  op.run = same(select_async(exec));
  if (exec == Exec::cp_async_wait) op.immediate = in.operands.empty() ? -1 : static_cast<std::int64_t>(in.operands[0].bits);
  if (exec != Exec::cp_async) return;
  Op source;
  decode_address(op, in.operands[0]);
  decode_address(source, in.operands[1]);
  op.r[1] = source.r[0];
  op.target = static_cast<std::uint32_t>(source.immediate);
  op.flags = static_cast<std::uint8_t>((op.flags & kWideAddress) | ((source.flags & kWideAddress) << 1));
  op.bytes = static_cast<std::uint8_t>(in.operands[2].bits);
  if (in.operands.size() < 4) return;
  const Operand& extra = in.operands[3];
  const bool is_predicate = extra.kind == Kind::reg && function_->registers[extra.reg].type == ptx::Type::pred;
  if (!is_predicate && slot_is_wide(extra, 32)) return;   // a cache hint
  op.r[2] = ref(extra, is_predicate ? 1 : 32);
  op.flags = static_cast<std::uint8_t>(op.flags | (is_predicate ? 8 : 4) | (extra.negated ? 16 : 0));
}

// See bulk_ops.h for the roles.
void Decoder::decode_bulk(Op& op, const ptx::Instruction& in, Exec exec) {
  op.run = same(select_bulk(exec));
  if (exec == Exec::cp_async_bulk_wait) {
    op.immediate = static_cast<std::int64_t>(in.operands[0].bits);
    op.flags = in.mods.text == "read" ? 1 : 0;
  }
  if (exec != Exec::cp_async_bulk) return;
  const BulkMode mode = bulk_mode(in);
  op.target = mode.packed();
  std::vector<Ref>& list = kernel_->lists.emplace_back(kBulkCoordinates, Ref{kSinkSlot, Bank::frame});
  const bool to_shared = mode.kind == BulkKind::load || mode.kind == BulkKind::remote || mode.kind == BulkKind::value;
  std::size_t addresses = 0;
  const auto add_address = [&](std::size_t place, const Operand& operand) {
    Op part;
    decode_address(part, operand);
    list[place] = part.r[0];
    list[place + 1] = constant(static_cast<std::uint64_t>(part.immediate), true);
    if ((part.flags & kWideAddress) != 0) op.wide = static_cast<std::uint8_t>(op.wide | 1u << place);
  };
  for (const Operand& operand : in.operands) {
    if (operand.kind == Kind::address) {
      // [to], [from], size {, [mbarrier]}; a tensor stands in place of global memory.
      const bool is_shared = mode.dims != 0 || (addresses == 0) == to_shared;
      const bool is_barrier = addresses == (mode.dims != 0 || mode.kind == BulkKind::value ? 1u : 2u);
      add_address(is_barrier ? kBulkBarrier : is_shared && mode.kind != BulkKind::prefetch ? kBulkShared : kBulkGlobal, operand);
      ++addresses;
    } else if (mode.kind == BulkKind::value) {
      const std::uint32_t bits = ptx::size_bits(in.type);
      if (operand.kind == Kind::vector) for (const Operand& element : operand.elements) list.push_back(ref(element, bits));
      else list.push_back(ref(operand, bits));
    } else if (operand.kind == Kind::text) {
      add_address(kBulkGlobal, operand.elements[0]);
      const Operand& at = operand.elements[1];
      if (at.kind == Kind::vector) for (const Operand& element : at.elements) list.push_back(ref(element, 32));
      else list.push_back(ref(at, 32));
    } else if (mode.dims == 0 && list[kBulkSize].bank == Bank::frame && list[kBulkSize].offset == kSinkSlot) {
      list[kBulkSize] = ref(operand, 32);
    } else if (mode.multicast && list[kBulkBlocks].offset == kSinkSlot) {
      list[kBulkBlocks] = ref(operand, 16);
    }   // else a cache hint
  }
  op.list = list.data();
  op.list_count = static_cast<std::uint8_t>(list.size());
}

// See mbarrier_ops.h for the roles.
void Decoder::decode_mbarrier(Op& op, const ptx::Instruction& in) {
  const std::string_view form = ptx::instruction_table()[in.form].id;
  std::size_t address = 0;
  while (address < in.operands.size() && in.operands[address].kind != Kind::address) ++address;
  if (address < in.operands.size()) decode_address(op, in.operands[address]);
  op.r[1] = op.r[0];
  op.r[0] = address == 0 ? Ref{kSinkSlot, Bank::frame} : ref(in.operands[0], 64);
  if (address == in.operands.size()) op.r[1] = ref(in.operands[1], 64);   // pending_count
  const bool parity = form.find("parity") != std::string_view::npos;
  const MbarrierKind kind = mbarrier_kind(form);
  if (address + 1 < in.operands.size()) {
    op.r[2] = ref(in.operands[address + 1], kind == MbarrierKind::wait && !parity ? 64 : 32);
    op.flags |= kMbarrierOperand;
  }
  if (parity) op.flags |= kMbarrierParity;
  if (form.find("try_wait") != std::string_view::npos) op.flags |= kMbarrierSuspends;
  if (address + 2 < in.operands.size()) {
    op.r[3] = ref(in.operands[address + 2], 32);
    op.flags |= kMbarrierHint;
  }
  op.target = static_cast<std::uint32_t>(kind);
  op.run = select_mbarrier(in);
}

}  // namespace kforge::emulator
