// From the typed module to Ops: registers become slots, everything else that an operand may be becomes a slot too, and each
// instruction gets its handlers. What cannot be executed decodes to an op that ends the launch when it is reached.
#include "emulator/decoder.h"

#include <algorithm>
#include <string_view>

#include "emulator/cluster.h"
#include "emulator/alu.h"
#include "emulator/barrier_map.h"
#include "emulator/footprint.h"
#include "emulator/handlers.h"
#include "emulator/matrix_ops.h"
#include "emulator/guesses.h"
#include "emulator/polls.h"
#include "emulator/registers.h"
#include "emulator/source_lines.h"
#include "emulator/texture_ops.h"
#include "emulator/video_ops.h"
#include "emulator/wgmma_ops.h"

namespace kforge::emulator {
namespace {

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

}  // namespace

Decoder::Decoder(LoadedModule& module, const ptx::Function& function) : loaded_(module), module_(*module.module), kernel_(std::make_unique<Kernel>()) {
  kernel_->module = &module_;
  kernel_->owner = &module;
  kernel_->function = &function;
}

Expected<std::unique_ptr<Kernel>> Decoder::run() {
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
  for (const FunctionCode& code : kernel_->functions) {
    const FlowGraph graph = flow_graph(*kernel_, code);
    complete_locations(*kernel_, code, graph);
    mark_polls(*kernel_, code, graph);
    mark_guesses(*kernel_, code);
  }
  note_dependence(*kernel_);
  watch_barriers(*kernel_);
  fill_info();
  return std::move(kernel_);
}

void Decoder::add_function(std::uint32_t index, std::uint32_t pc) {
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

void Decoder::decode_function(FunctionCode& code) {
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

// ---- operands ------------------------------------------------------------------------------------------------------

Ref Decoder::constant(std::uint64_t bits, bool wide) {
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

// The address of a variable in its own space.
std::uint64_t Decoder::address_of(const Operand& operand) {
  const ptx::Variable* variable = variable_of(module_, *function_, operand);
  std::uint64_t base = 0;
  if (variable->space == ptx::Space::shared) base = shared_.offsets.at(variable);
  else if (operand.variable->of_function) base = layout_->offsets[operand.variable->index];
  else if (const Allocation* allocation = loaded_.variables[operand.variable->index]; allocation != nullptr) base = allocation->base;
  return base + static_cast<std::uint64_t>(operand.offset);
}

Ref Decoder::ref(const Operand& operand, std::uint32_t bits) {
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
bool Decoder::slot_is_wide(const Operand& operand, std::uint32_t bits) const {
  if (operand.kind == Kind::reg) return is_wide(operand.reg);
  if (operand.kind == Kind::special) return place_of(operand.special).wide;
  return bits >= 64;
}

void Decoder::set_list(Op& op, const Operand& operand, std::uint32_t bits) {
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

// ---- instructions --------------------------------------------------------------------------------------------------

Op Decoder::decode_one(const ptx::Instruction& in) {
  Op op;
  op.source = &in;
  op.location = in.location;
  if (in.guard.has_value()) {
    op.guard = register_ref(in.guard->reg).offset;
    op.guard_flip = in.guard->negated ? kFullMask : 0;
  }
  const Exec exec = family(in);
  if (is_matrix(exec)) decode_matrix(op, in, exec);
  else if (is_wgmma(exec)) decode_wgmma(op, in, exec);
  else if (is_texture(exec)) decode_texture(op, in, exec);
  else if (exec != Exec::unsupported) decode_family(op, in, exec);
  for (Handler& handler : op.run)
    if (handler == nullptr) handler = &run_unsupported;
  return op;
}

void Decoder::decode_family(Op& op, const ptx::Instruction& in, Exec exec) {
  switch (exec) {
    case Exec::ld: case Exec::ldu: return decode_memory(op, in, exec, 1, 0);
    case Exec::st: return decode_memory(op, in, exec, 0, 1);
    case Exec::atom: return decode_atomic(op, in, exec, 1);
    case Exec::red: return decode_atomic(op, in, exec, 0);
    case Exec::bra: case Exec::brx: return decode_branch(op, in, exec);
    case Exec::call: return decode_call(op, in);
    case Exec::cp_async: case Exec::cp_async_commit: case Exec::cp_async_wait: return decode_async(op, in, exec);
    case Exec::cp_async_bulk: case Exec::cp_async_bulk_commit: case Exec::cp_async_bulk_wait: return decode_bulk(op, in, exec);
    case Exec::mbarrier: case Exec::mbarrier_update: return decode_mbarrier(op, in);
    case Exec::cvta: return decode_cvta(op, in);
    case Exec::isspacep: return decode_isspacep(op, in);
    case Exec::createpolicy: return decode_policy(op, in);
    case Exec::mapa: return decode_mapa(op, in);
    case Exec::mov_pack: return decode_mov_pack(op, in);
    case Exec::lop3: return decode_lop3(op, in);
    case Exec::ret: case Exec::exit: case Exec::trap: case Exec::brkpt: case Exec::membar: case Exec::fence: case Exec::fence_proxy:
    case Exec::pmevent: case Exec::prefetch: case Exec::discard: case Exec::griddepcontrol: case Exec::setmaxnreg: case Exec::nop:
      op.run = select_control(in, exec);
      return;
    default: break;
  }
  decode_operands(op, in);
  if (exec == Exec::nanosleep) {
    op.run = select_control(in, exec);
    return;
  }
  if (exec == Exec::video) {
    op.immediate = std::bit_cast<std::int64_t>(video_mode(in));
    op.run = same(video_handler());
    return;
  }
  if (exec == Exec::alloca_ || exec == Exec::stacksave || exec == Exec::stackrestore) return decode_stack(op, in, exec);
  if (exec == Exec::barrier_cluster) {
    op.run = select_cluster(in);
    kernel_->meets_cluster = true;
    return;
  }
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

void Decoder::decode_operands(Op& op, const ptx::Instruction& in) {
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

void Decoder::decode_branch(Op& op, const ptx::Instruction& in, Exec exec) {
  op.target = code_->entry;
  for (const Operand& operand : in.operands)
    if (operand.kind == Kind::label) op.target = code_->entry + operand.target;
  if (exec == Exec::brx) op.r[0] = ref(in.operands[0], 32);
  op.run = select_control(in, exec);
}

void Decoder::decode_call(Op& op, const ptx::Instruction& in) {
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

void Decoder::fill_info() {
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

Expected<std::unique_ptr<Kernel>> decode(LoadedModule& module, const ptx::Function& function) { return Decoder(module, function).run(); }

}  // namespace kforge::emulator
