// From the typed module to Ops: registers become slots, everything else that an operand may be becomes a slot too, and each
// instruction gets its handlers. What cannot be executed decodes to an op that ends the launch when it is reached.
#include <fmt/format.h>

#include <map>

#include "emulator/address_ops.h"
#include "emulator/alu.h"
#include "emulator/barrier_map.h"
#include "emulator/handlers.h"
#include "emulator/layout.h"
#include "emulator/matrix_ops.h"
#include "emulator/matrix_shape.h"
#include "emulator/mbarrier_ops.h"
#include "emulator/memory_quick.h"
#include "emulator/registers.h"
#include "emulator/saturate.h"
#include "emulator/source_lines.h"
#include "emulator/texture_ops.h"
#include "emulator/video_ops.h"
#include "emulator/wide_moves.h"

namespace kforge::emulator {
namespace {

using ptx::Exec;
using ptx::Operand;
using Kind = ptx::Operand::Kind;

// Type of operand `index` as the table's row says: `d,a:2,b:w`.
std::vector<std::string_view> operand_tokens(const ptx::Form& form, std::size_t written) {
  std::vector<std::string_view> tokens;
  std::string_view rest = form.operands;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    tokens.push_back(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  for (std::size_t i = 0; i < tokens.size() && tokens.size() > written;) {   // optional operands that were left out
    if (tokens[i].starts_with('?')) tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(i));
    else ++i;
  }
  return tokens;
}

std::uint32_t bits_of_token(std::string_view token, const ptx::Instruction& in) {
  if (token.find('!') != std::string_view::npos || token == "p" || token.starts_with("p|")) return 1;
  const std::size_t colon = token.find(':');
  const std::uint32_t own = in.type == ptx::Type::none ? 32 : ptx::size_bits(in.type);
  if (colon == std::string_view::npos) return own;
  const std::string_view word = token.substr(colon + 1);
  if (word.starts_with("2")) return ptx::size_bits(in.type2);
  if (word.starts_with("3")) return ptx::size_bits(in.type3);
  if (word.starts_with("4")) return ptx::size_bits(in.type4);
  if (word.starts_with("w")) return 2 * own;
  return word.find("64") != std::string_view::npos ? 64 : 32;
}

class Decoder {
 public:
  Decoder(LoadedModule& module, const ptx::Function& function) : loaded_(module), module_(*module.module), kernel_(std::make_unique<Kernel>()) {
    kernel_->module = &module_;
    kernel_->owner = &module;
    kernel_->function = &function;
  }

  Expected<std::unique_ptr<Kernel>> run() {
    const auto entry = static_cast<std::uint32_t>(kernel_->function - module_.functions.data());
    const std::vector<std::uint32_t> functions = reachable_functions(module_, entry);
    shared_ = lay_out_shared(module_, functions);
    kernel_->function_of_module.assign(module_.functions.size(), kNoSlot);
    std::uint32_t pc = 0;
    for (const std::uint32_t index : functions) {
      kernel_->function_of_module[index] = static_cast<std::uint32_t>(kernel_->functions.size());
      add_function(index, pc);
      pc = kernel_->functions.back().end;
    }
    kernel_->code.reserve(pc);
    for (FunctionCode& code : kernel_->functions) decode_function(code);
    for (const FunctionCode& code : kernel_->functions) complete_locations(*kernel_, code, flow_graph(*kernel_, code));
    watch_barriers(*kernel_);
    fill_info();
    return std::move(kernel_);
  }

 private:
  void add_function(std::uint32_t index, std::uint32_t pc) {
    const ptx::Function& function = module_.functions[index];
    FunctionCode code;
    code.source = &function;
    code.index = index;
    code.entry = pc;
    code.end = pc + static_cast<std::uint32_t>(function.instructions.size()) + 1;   // and an implicit ret
    RegisterLayout registers = lay_out_registers(function);
    code.frame_bytes = registers.frame_bytes;
    code.slot_of_register = std::move(registers.slots);
    std::map<std::uint32_t, std::uint32_t> dense;
    for (const std::uint32_t slot : code.slot_of_register)
      code.shadow_of_register.push_back(dense.try_emplace(slot, static_cast<std::uint32_t>(dense.size())).first->second);
    code.shadow_count = static_cast<std::uint32_t>(dense.size());
    code.undefined_at_entry = std::move(registers.undefined_at_entry);
    layouts_.push_back(lay_out_function(function));
    const FunctionLayout& layout = layouts_.back();
    code.local_bytes = layout.local_bytes;
    code.param_bytes = layout.param_bytes;
    for (std::uint32_t i = 0; i < function.parameter_count + function.return_count; ++i) {
      const bool is_return = i >= function.parameter_count;
      (is_return ? code.return_offsets : code.parameter_offsets).push_back(layout.offsets[i]);
      (is_return ? code.return_sizes : code.parameter_sizes).push_back(static_cast<std::uint32_t>(function.variables[i].size_bytes));
    }
    kernel_->functions.push_back(std::move(code));
  }

  void decode_function(FunctionCode& code) {
    code_ = &code;
    function_ = code.source;
    layout_ = &layouts_[static_cast<std::size_t>(&code - kernel_->functions.data())];
    for (const ptx::Instruction& in : function_->instructions) {
      kernel_->code.push_back(decode_one(in));
      kernel_->code.back().index = static_cast<std::uint32_t>(kernel_->code.size()) - 1;
    }
    static const ptx::Instruction kReturn;
    Op end;
    end.source = function_->instructions.empty() ? &kReturn : &function_->instructions.back();
    end.location = end.source->location;
    end.run = select_control(*end.source, Exec::ret);
    end.index = static_cast<std::uint32_t>(kernel_->code.size());
    kernel_->code.push_back(end);
  }

  // ---- operands ----------------------------------------------------------------------------------------------------

  Ref constant(std::uint64_t bits, bool wide) {
    const auto [entry, is_new] = constants_.try_emplace({bits, wide}, static_cast<std::uint32_t>(kernel_->constants.size()));
    if (is_new) {
      kernel_->constants.resize(kernel_->constants.size() + (wide ? kWideSlot : kNarrowSlot));
      std::byte* slot = kernel_->constants.data() + entry->second;
      for (std::uint32_t i = 0; i < 32; ++i) {
        if (wide) put<std::uint64_t>(slot, i, bits);
        else put<std::uint32_t>(slot, i, static_cast<std::uint32_t>(bits));
      }
    }
    return {entry->second, Bank::constants};
  }

  Ref register_ref(ptx::RegisterId reg) const {
    const std::uint32_t slot = code_->slot_of_register[reg];
    return {slot == kNoSlot ? kSinkSlot : slot, Bank::frame};
  }
  bool is_wide(ptx::RegisterId reg) const { return ptx::size_bits(function_->registers[reg].type) >= 64; }

  // The address of a variable in its own space.
  std::uint64_t address_of(const Operand& operand) {
    const ptx::Variable* variable = variable_of(module_, *function_, operand);
    std::uint64_t base = 0;
    if (variable->space == ptx::Space::shared) base = shared_.offsets.at(variable);
    else if (operand.variable->of_function) base = layout_->offsets[operand.variable->index];
    else if (const Allocation* allocation = loaded_.variables[operand.variable->index]; allocation != nullptr) base = allocation->base;
    return base + static_cast<std::uint64_t>(operand.offset);
  }

  Ref ref(const Operand& operand, std::uint32_t bits) {
    const bool wide = bits >= 64;
    switch (operand.kind) {
      case Kind::reg: return register_ref(operand.reg);
      case Kind::immediate: return constant(bits == 1 ? (operand.bits != 0 ? ~std::uint64_t{0} : 0) : operand.bits, wide);
      case Kind::special: {
        const SpecialPlace to = place_of(operand.special);
        return {to.offset, to.bank};
      }
      case Kind::symbol: case Kind::address: return constant(address_of(operand), wide);
      case Kind::function: return constant(kFunctionTag + operand.target, true);
      default: return {kSinkSlot, Bank::frame};
    }
  }

  // Whether the slot of an operand has 64-bit lanes.
  bool slot_is_wide(const Operand& operand, std::uint32_t bits) const {
    if (operand.kind == Kind::reg) return is_wide(operand.reg);
    if (operand.kind == Kind::special) return place_of(operand.special).wide;
    return bits >= 64;
  }

  void set_list(Op& op, const Operand& operand, std::uint32_t bits) {
    std::vector<Ref>& list = kernel_->lists.emplace_back();
    const auto add = [&](const Operand& element) {
      if (slot_is_wide(element, bits)) op.wide = static_cast<std::uint8_t>(op.wide | 1u << list.size());
      list.push_back(ref(element, bits));
    };
    if (operand.kind == Kind::vector) for (const Operand& element : operand.elements) add(element);
    else add(operand);
    if (bits == 128 && list.size() == 1) {   // a b128 register is two 64-bit slots
      list.push_back({list[0].offset + kWideSlot, list[0].bank});
      op.wide = 3;
    }
    op.list = list.data();
    op.list_count = static_cast<std::uint8_t>(list.size());
  }

  // ---- instructions ------------------------------------------------------------------------------------------------

  Op decode_one(const ptx::Instruction& in) {
    Op op;
    op.source = &in;
    op.location = in.location;
    if (in.guard.has_value()) {
      op.guard = register_ref(in.guard->reg).offset;
      op.guard_flip = in.guard->negated ? kFullMask : 0;
    }
    const Exec exec = family(in);
    if (is_matrix(exec)) decode_matrix(op, in, exec);
    else if (is_texture(exec)) decode_texture(op, in, exec);
    else if (exec != Exec::unsupported) decode_family(op, in, exec);
    for (Handler& handler : op.run)
      if (handler == nullptr) handler = &run_unsupported;
    return op;
  }

  void decode_family(Op& op, const ptx::Instruction& in, Exec exec) {
    switch (exec) {
      case Exec::ld: case Exec::ldu: return decode_memory(op, in, exec, 1, 0);
      case Exec::st: return decode_memory(op, in, exec, 0, 1);
      case Exec::atom: return decode_atomic(op, in, exec, 1);
      case Exec::red: return decode_atomic(op, in, exec, 0);
      case Exec::bra: case Exec::brx: return decode_branch(op, in, exec);
      case Exec::call: return decode_call(op, in);
      case Exec::cp_async: case Exec::cp_async_commit: case Exec::cp_async_wait: return decode_async(op, in, exec);
      case Exec::mbarrier: case Exec::mbarrier_update: return decode_mbarrier(op, in);
      case Exec::cvta: return decode_cvta(op, in);
      case Exec::isspacep: return decode_isspacep(op, in);
      case Exec::mov_pack: return decode_mov_pack(op, in);
      case Exec::lop3: return decode_lop3(op, in);
      case Exec::ret: case Exec::exit: case Exec::trap: case Exec::brkpt: case Exec::membar: case Exec::fence: case Exec::fence_proxy:
      case Exec::pmevent: case Exec::nanosleep: case Exec::prefetch: case Exec::discard: case Exec::griddepcontrol: case Exec::setmaxnreg: case Exec::nop:
        op.run = select_control(in, exec);
        return;
      default: break;
    }
    decode_operands(op, in);
    if (exec == Exec::video) {
      op.immediate = std::bit_cast<std::int64_t>(video_mode(in));
      op.run = same(video_handler());
      return;
    }
    if (exec == Exec::alloca_ || exec == Exec::stacksave || exec == Exec::stackrestore) return decode_stack(op, in, exec);
    if (exec == Exec::mov) return decode_mov(op, in);
    if (exec == Exec::cvt) return decode_cvt(op, in);
    if (exec == Exec::setp || exec == Exec::set || exec == Exec::testp) decode_compare(op, in, exec);
    if (ptx::is_float(in.type) || ptx::is_float(in.type2)) decode_half(op, in, exec);
    op.run = select_sync(in, exec);
    if (op.run[0] != nullptr) {
      if (in.operands.size() > (exec == Exec::bar_red ? 3u : 1u)) op.flags |= 2;   // a thread count is given
      return;
    }
    const Handler warp_op = select_warp_op(in, exec);
    op.run = same(warp_op != nullptr ? warp_op : select_alu(in, exec));
  }

  void decode_operands(Op& op, const ptx::Instruction& in) {
    const ptx::Form& form = ptx::instruction_table()[in.form];
    const std::vector<std::string_view> tokens = operand_tokens(form, in.operands.size());
    for (std::size_t i = 0; i < in.operands.size() && i < 5; ++i) {
      const Operand& operand = in.operands[i];
      op.r[i] = ref(operand, i < tokens.size() ? bits_of_token(tokens[i], in) : 32);
      if (operand.negated) op.flags |= 1;
      if (operand.pair != ptx::kNoRegister) {
        op.r[5] = register_ref(operand.pair);
        op.flags |= 32;
      }
    }
  }

  void decode_mov(Op& op, const ptx::Instruction& in) {
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

  void decode_cvt(Op& op, const ptx::Instruction& in) {
    const bool wide_result = slot_is_wide(in.operands[0], ptx::size_bits(in.type));
    const bool wide_source = slot_is_wide(in.operands[1], ptx::size_bits(in.type2));
    if (wide_result) op.flags |= 2;
    if (wide_source) op.flags |= 4;
    const bool fit = wide_result == (ptx::size_bits(in.type) == 64) && wide_source == (ptx::size_bits(in.type2) == 64);
    const Handler saturate = saturate_handler(in);
    op.run = same(saturate != nullptr ? saturate : select_cvt(in, fit));
  }

  void decode_compare(Op& op, const ptx::Instruction& in, Exec exec) {
    op.bytes = static_cast<std::uint8_t>(in.mods.bool_op);
    op.immediate = compare_table(in.mods.compare);
    if (exec == Exec::set && ptx::is_float(in.type)) op.flags |= 64;
    if (exec == Exec::set) op.wide = static_cast<std::uint8_t>(ptx::size_bytes(in.type));
    if (exec != Exec::testp) return;
    static constexpr std::string_view kTests[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
    for (std::size_t k = 0; k < std::size(kTests); ++k)
      if (in.mods.text == kTests[k]) op.immediate = static_cast<std::int64_t>(k);
  }

  static void decode_half(Op& op, const ptx::Instruction& in, Exec exec) {
    const ptx::Type type = exec == Exec::set ? in.type2 : in.type;
    const bool pair = type == ptx::Type::f16x2 || type == ptx::Type::bf16x2;
    if (!pair && type != ptx::Type::f16 && type != ptx::Type::bf16) return;
    if (in.mods.ftz) op.flags |= 2;
    if (in.mods.sat) op.flags |= 4;
    if (in.mods.relu) op.flags |= 8;
    if (pair) op.flags |= 16;
  }

  void decode_address(Op& op, const Operand& operand) {
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
  void make_generic(Op& op, const ptx::Instruction& in, const Operand& operand) {
    const ptx::Variable* variable = operand.reg == ptx::kNoRegister ? variable_of(module_, *function_, operand) : nullptr;
    if (in.mods.space != ptx::Space::generic || variable == nullptr) return;
    const std::uint64_t window = variable->space == ptx::Space::shared ? kSharedWindow : variable->space == ptx::Space::local ? kLocalWindow : 0;
    if (op.r[0].bank == Bank::constants) op.r[0] = constant(address_of(operand) + window, true);
    else op.immediate += static_cast<std::int64_t>(window);
  }

  void decode_memory(Op& op, const ptx::Instruction& in, Exec exec, std::size_t address, std::size_t data) {
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
    if (loaded_.shortcuts && !(in.mods.space == ptx::Space::param)) add_quick_handlers(op, in.mods.space, exec == Exec::st);
  }

  static ptx::Instruction pair_form(const ptx::Instruction& in) {
    ptx::Instruction half = in;
    half.type = ptx::Type::b64;
    return half;
  }

  void decode_atomic(Op& op, const ptx::Instruction& in, Exec exec, std::size_t address) {
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

  void decode_atomic_b128(Op& op, const ptx::Instruction& in, Exec exec) {
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

  void decode_branch(Op& op, const ptx::Instruction& in, Exec exec) {
    op.target = code_->entry;
    for (const Operand& operand : in.operands)
      if (operand.kind == Kind::label) op.target = code_->entry + operand.target;
    if (exec == Exec::brx) op.r[0] = ref(in.operands[0], 32);
    op.run = select_control(in, exec);
  }

  void decode_call(Op& op, const ptx::Instruction& in) {
    CallSite& site = kernel_->calls.emplace_back();
    op.call = &site;
    bool known = true;
    const auto copy = [&](const Operand& operand) {
      ParamCopy result;
      known &= operand.variable.has_value();
      if (!operand.variable.has_value()) return result;
      result.from = result.to = static_cast<std::uint32_t>(address_of(operand));
      result.bytes = static_cast<std::uint32_t>(variable_of(module_, *function_, operand)->size_bytes);
      return result;
    };
    for (const Operand& operand : in.call->arguments) site.arguments.push_back(copy(operand));
    for (const Operand& operand : in.call->returns) site.returns.push_back(copy(operand));
    if (!known) return;
    if (in.call->function.has_value()) {
      const ptx::Function& callee = module_.functions[*in.call->function];
      site.function = kernel_->function_of_module[*in.call->function];
      if (callee.instructions.empty()) site.intrinsic = find_intrinsic(callee.name);
      if (site.function == kNoSlot && site.intrinsic == 0) return;
    } else {
      site.indirect = true;
      site.pointer = register_ref(in.call->pointer);
    }
    op.run = select_control(in, Exec::call);
  }

  // See mbarrier_ops.h for the roles.
  void decode_mbarrier(Op& op, const ptx::Instruction& in) {
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
    op.target = static_cast<std::uint32_t>(kind);
    op.run = select_mbarrier(in);
  }

  // See matrix_ops.h for the roles.
  void decode_matrix(Op& op, const ptx::Instruction& in, Exec exec) {
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
    if (counts.size() == 4) {
      op.bytes = static_cast<std::uint8_t>(counts[0]);
      op.wide = static_cast<std::uint8_t>(counts[1]);
      op.flags = static_cast<std::uint8_t>(counts[2]);
    }
    op.run = select_matrix(in, exec);
  }

  static void decode_stack(Op& op, const ptx::Instruction& in, Exec exec) {
    op.flags = ptx::size_bits(in.type) == 64 ? 1 : 0;
    op.immediate = in.operands.size() > 2 ? static_cast<std::int64_t>(in.operands[2].bits) : 8;
    if (std::has_single_bit(static_cast<std::uint64_t>(op.immediate))) op.run = select_stack(exec);
  }

  // See texture_ops.h for the roles.
  void decode_texture(Op& op, const ptx::Instruction& in, Exec exec) {
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

  // See async_ops.cc for the roles.
  void decode_async(Op& op, const ptx::Instruction& in, Exec exec) {
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

  void decode_cvta(Op& op, const ptx::Instruction& in) {
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

  void decode_isspacep(Op& op, const ptx::Instruction& in) {
    op.r[0] = ref(in.operands[0], 1);
    op.r[1] = ref(in.operands[1], 64);
    op.immediate = static_cast<std::int64_t>(in.mods.space);
    op.run = same(isspacep_handler());
  }

  void decode_mov_pack(Op& op, const ptx::Instruction& in) {
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

  void decode_lop3(Op& op, const ptx::Instruction& in) {
    for (std::size_t i = 0; i < 4; ++i) op.r[i] = ref(in.operands[i], 32);
    op.immediate = static_cast<std::int64_t>(in.operands[4].bits);
    if (in.operands.size() > 5) {
      op.r[4] = ref(in.operands[5], 1);
      if (in.operands[5].negated) op.flags |= 1;
      op.r[5] = in.operands[0].pair != ptx::kNoRegister ? register_ref(in.operands[0].pair) : Ref{kSinkSlot, Bank::frame};
    }
    op.run = same(select_alu(in, Exec::lop3));
  }

  void fill_info() {
    const ptx::Function& function = *kernel_->function;
    const FunctionLayout& layout = layouts_[0];
    KernelInfo& info = kernel_->info;
    info.name = function.name;
    for (std::uint32_t i = 0; i < function.parameter_count; ++i) {
      info.parameter_offsets.push_back(layout.offsets[i]);
      info.parameter_sizes.push_back(static_cast<std::uint32_t>(function.variables[i].size_bytes));
    }
    info.parameter_bytes = layout.entry_bytes;
    info.static_shared_bytes = shared_.static_bytes;
    for (const FunctionCode& code : kernel_->functions) info.local_bytes = std::max(info.local_bytes, code.local_bytes);
    const auto product = [](const std::uint32_t (&t)[3]) { return t[0] * std::max(1u, t[1]) * std::max(1u, t[2]); };
    if (const std::uint32_t most = product(function.max_threads); most != 0) info.max_threads_per_block = std::min(1024u, most);
    if (const std::uint32_t exact = product(function.required_threads); exact != 0) info.max_threads_per_block = std::min(1024u, exact);
    kernel_->extern_shared_offset = shared_.dynamic_offset;
  }

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

}  // namespace

Expected<std::unique_ptr<Kernel>> decode(LoadedModule& module, const ptx::Function& function) { return Decoder(module, function).run(); }

}  // namespace kforge::emulator
