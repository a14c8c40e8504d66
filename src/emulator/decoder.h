// The decoder of one kernel: from the typed module to Ops (decode.cc says how). One class, whose members are by family of instructions in
// decode.cc, decode_arithmetic.cc, decode_memory.cc and decode_matrix.cc.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "emulator/code.h"
#include "emulator/layout.h"

namespace kforge::emulator {

class Decoder {
 public:
  using Exec = ptx::Exec;
  using Operand = ptx::Operand;
  using Kind = ptx::Operand::Kind;

  Decoder(LoadedModule& module, const ptx::Function& function);
  Expected<std::unique_ptr<Kernel>> run();

 private:
  void add_function(std::uint32_t index, std::uint32_t pc);
  void decode_function(FunctionCode& code);
  void fill_info();

  // ---- operands: decode.cc
  Ref constant(std::uint64_t bits, bool wide);
  Ref register_ref(ptx::RegisterId reg) const {
    const std::uint32_t slot = code_->slot_of_register[reg];
    return {slot == kNoSlot ? kSinkSlot : slot, Bank::frame};
  }
  bool is_wide(ptx::RegisterId reg) const { return ptx::size_bits(function_->registers[reg].type) >= 64; }
  // The address of a variable in its own space.
  std::uint64_t address_of(const Operand& operand);
  Ref ref(const Operand& operand, std::uint32_t bits);
  // Whether the slot of an operand has 64-bit lanes.
  bool slot_is_wide(const Operand& operand, std::uint32_t bits) const;
  void set_list(Op& op, const Operand& operand, std::uint32_t bits);

  // ---- instructions: decode.cc
  Op decode_one(const ptx::Instruction& in);
  void decode_family(Op& op, const ptx::Instruction& in, Exec exec);
  void decode_operands(Op& op, const ptx::Instruction& in);
  void decode_branch(Op& op, const ptx::Instruction& in, Exec exec);
  void decode_call(Op& op, const ptx::Instruction& in);

  // ---- decode_arithmetic.cc
  void decode_mov(Op& op, const ptx::Instruction& in);
  void decode_mov_pack(Op& op, const ptx::Instruction& in);
  void decode_cvt(Op& op, const ptx::Instruction& in);
  void decode_compare(Op& op, const ptx::Instruction& in, Exec exec);
  static void decode_half(Op& op, const ptx::Instruction& in, Exec exec);
  void decode_lop3(Op& op, const ptx::Instruction& in);

  // ---- decode_memory.cc
  void decode_address(Op& op, const Operand& operand);
  // A shared or local variable's name as a generic address.
  void make_generic(Op& op, const ptx::Instruction& in, const Operand& operand);
  void decode_memory(Op& op, const ptx::Instruction& in, Exec exec, std::size_t address, std::size_t data);
  void decode_atomic(Op& op, const ptx::Instruction& in, Exec exec, std::size_t address);
  void decode_atomic_b128(Op& op, const ptx::Instruction& in, Exec exec);
  void decode_cvta(Op& op, const ptx::Instruction& in);
  void decode_mapa(Op& op, const ptx::Instruction& in);
  void decode_isspacep(Op& op, const ptx::Instruction& in);
  void decode_policy(Op& op, const ptx::Instruction& in);
  static void decode_stack(Op& op, const ptx::Instruction& in, Exec exec);
  void decode_async(Op& op, const ptx::Instruction& in, Exec exec);
  void decode_bulk(Op& op, const ptx::Instruction& in, Exec exec);
  void decode_mbarrier(Op& op, const ptx::Instruction& in);

  // ---- decode_matrix.cc
  void decode_matrix(Op& op, const ptx::Instruction& in, Exec exec);
  void decode_wgmma(Op& op, const ptx::Instruction& in, Exec exec);
  void decode_texture(Op& op, const ptx::Instruction& in, Exec exec);

  LoadedModule& loaded_;
  const ptx::Module& module_;
  std::unique_ptr<Kernel> kernel_;
  SharedLayout shared_;
  std::vector<FunctionLayout> layouts_;
  std::map<std::pair<std::uint64_t, bool>, std::uint32_t> constants_;
  FunctionCode* code_ = nullptr;
  const ptx::Function* function_ = nullptr;
  const FunctionLayout* layout_ = nullptr;
};

}  // namespace kforge::emulator
