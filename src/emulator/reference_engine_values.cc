// Operands of the reference engine, and the instructions that only compute.
#include "emulator/reference_engine_thread.h"

namespace kforge::emulator::reference {

using ptx::Exec;
using ptx::Instruction;
using ptx::Operand;
using ptx::Type;
using Kind = ptx::Operand::Kind;

std::vector<Type> operand_types(const Instruction& in) {
  const ptx::CompiledForm& form = ptx::compiled_form(in.form);
  const Type written[4] = {in.type, in.type2, in.type3, in.type4};
  std::vector<Type> types;
  std::size_t extra = in.operands.size() - std::min<std::size_t>(form.mandatory_operands, in.operands.size());
  for (const ptx::OperandSpec& spec : form.operands) {
    if (spec.optional && extra == 0) continue;
    extra -= spec.optional ? 1 : 0;
    types.push_back(ptx::operand_type(spec, written));
  }
  types.resize(in.operands.size(), Type::none);
  return types;
}

const std::vector<Type>& Run::types(const Instruction& in) {
  auto [it, is_new] = types_.try_emplace(&in);
  if (is_new) it->second = operand_types(in);
  return it->second;
}

std::uint64_t Run::special(const Thread& thread, ptx::SpecialRegister special) {
  using S = ptx::SpecialRegister;
  const evidence::Dim3 &threads = launch_.block, &cluster = launch_.cluster;
  const std::uint32_t i = thread.index, lane = thread.lane();
  switch (special) {
    case S::tid_x: return i % threads.x;
    case S::tid_y: return i / threads.x % threads.y;
    case S::tid_z: return i / (threads.x * threads.y);
    case S::ntid_x: return threads.x;
    case S::ntid_y: return threads.y;
    case S::ntid_z: return threads.z;
    case S::ctaid_x: return block().index.x;
    case S::ctaid_y: return block().index.y;
    case S::ctaid_z: return block().index.z;
    case S::nctaid_x: return launch_.grid.x;
    case S::nctaid_y: return launch_.grid.y;
    case S::nctaid_z: return launch_.grid.z;
    case S::laneid: return lane;
    case S::warpid: return i / 32;
    case S::nwarpid: return (threads.count() + 31) / 32;
    case S::lanemask_eq: return std::uint64_t{1} << lane;
    case S::lanemask_lt: return (std::uint64_t{1} << lane) - 1;
    case S::lanemask_le: return (std::uint64_t{2} << lane) - 1;
    case S::lanemask_gt: return 0xffffffff & ~((std::uint64_t{2} << lane) - 1);
    case S::lanemask_ge: return 0xffffffff & ~((std::uint64_t{1} << lane) - 1);
    case S::clock: case S::clock64: case S::globaltimer: case S::globaltimer_lo: return ++clock_;
    case S::dynamic_smem_size: return launch_.dynamic_shared_bytes;
    case S::total_smem_size: return layout_.shared_bytes;
    case S::cluster_nctaid_x: return cluster.x;
    case S::cluster_nctaid_y: return cluster.y;
    case S::cluster_nctaid_z: return cluster.z;
    case S::cluster_nctarank: return cluster.count();
    case S::cluster_ctaid_x: return block().index.x % cluster.x;
    case S::cluster_ctaid_y: return block().index.y % cluster.y;
    case S::cluster_ctaid_z: return block().index.z % cluster.z;
    case S::cluster_ctarank: return rank_;
    case S::is_explicit_cluster: return cluster.count() > 1 ? 1 : 0;
    case S::clusterid_x: return block().index.x / cluster.x;
    case S::clusterid_y: return block().index.y / cluster.y;
    case S::clusterid_z: return block().index.z / cluster.z;
    case S::nclusterid_x: return launch_.grid.x / cluster.x;
    case S::nclusterid_y: return launch_.grid.y / cluster.y;
    case S::nclusterid_z: return launch_.grid.z / cluster.z;
    default: return 0;
  }
}

const ptx::Variable& Run::variable(const Thread& thread, ptx::VariableId id) const {
  return id.of_function ? module_.functions[thread.frames.back().function].variables[id.index] : module_.variables[id.index];
}

// In the variable's own space. (Param-space variables of device functions have no address.)
std::uint64_t Run::variable_address(const Thread& thread, const Operand& operand) {
  const ptx::VariableId id = *operand.variable;
  const ptx::Variable& v = variable(thread, id);
  const auto offset = static_cast<std::uint64_t>(operand.offset);
  if (v.space == ptx::Space::shared) return layout_.shared.at(&v) + offset;
  if (!id.of_function) return variables_[id.index] + offset;
  if (v.space == ptx::Space::param) return layout_.parameters[id.index] + offset;
  const std::vector<ptx::Variable>& all = module_.functions[thread.frames.back().function].variables;
  std::uint64_t at = thread.frames.back().local_base;
  for (std::uint32_t i = 0; i <= id.index; ++i) {
    if (all[i].space != ptx::Space::local) continue;
    at = (at + all[i].align - 1) / all[i].align * all[i].align;
    if (i < id.index) at += all[i].size_bytes;
  }
  return at + offset;
}

Wide Run::value(Thread& thread, const Operand& operand, Type type) {
  const std::uint32_t width = type == Type::none ? 64 : ptx::size_bits(type);
  Wide bits = 0;
  switch (operand.kind) {
    case Kind::reg: bits = thread.frames.back().registers[operand.reg]; break;
    case Kind::immediate: bits = operand.bits; break;
    case Kind::special: bits = special(thread, operand.special); break;
    case Kind::symbol: bits = variable_address(thread, operand); break;
    case Kind::function: bits = kFunctionBase + operand.target; break;
    default: break;
  }
  if (type == Type::pred) return (bits != 0) != operand.negated ? 1 : 0;
  return width >= 128 ? bits : bits & ((Wide{1} << width) - 1);
}

// Wider registers get the value extended as its type says.
void Run::write(Thread& thread, const Operand& operand, Type type, Wide bits) {
  if (operand.kind != Kind::reg) return;
  Frame& frame = thread.frames.back();
  const std::uint32_t width = ptx::size_bits(type);
  const std::uint32_t room = ptx::size_bits(module_.functions[frame.function].registers[operand.reg].type);
  if (width < 128) bits &= (Wide{1} << width) - 1;
  if (width < room && ptx::is_signed(type) && (bits >> (width - 1) & 1) != 0) bits |= ~((Wide{1} << width) - 1);
  if (room < 128) bits &= (Wide{1} << room) - 1;
  frame.registers[operand.reg] = bits;
}

void Run::pure(Thread& thread, const Instruction& in, Exec exec) {
  const std::vector<Type>& types = this->types(in);
  const std::uint32_t results = ptx::destination_count(ptx::instruction_table()[in.form]);
  if (in.type == Type::b128 && exec == Exec::mov) return write(thread, in.operands[0], Type::b128, value(thread, in.operands[1], Type::b128));
  Scalars s;
  s.carry = thread.carry;
  for (std::size_t i = results; i < in.operands.size() && s.count < s.in.size(); ++i)
    s.in[s.count++] = static_cast<std::uint64_t>(value(thread, in.operands[i], types[i]));
  if (results != 1 || !evaluate(in, exec, s)) return fail("the reference engine does not execute this instruction");
  thread.carry = s.carry;
  write(thread, in.operands[0], types[0], s.d);
  write_predicate(thread, in.operands[0].pair, s.q);
}

void Run::pack(Thread& thread, const Instruction& in) {
  if (in.mods.vector > 1) {
    std::vector<Wide> values;
    for (const Operand& element : in.operands[1].elements) values.push_back(value(thread, element, in.type));
    for (std::size_t i = 0; i < values.size(); ++i) write(thread, in.operands[0].elements[i], in.type, values[i]);
    return;
  }
  const bool splits = in.operands[0].kind == Kind::vector;
  const std::vector<Operand>& parts = in.operands[splits ? 0 : 1].elements;
  const std::uint32_t width = ptx::size_bits(in.type) / static_cast<std::uint32_t>(parts.size());
  const Type part = width == 8 ? Type::b8 : width == 16 ? Type::b16 : width == 32 ? Type::b32 : Type::b64;
  if (splits) {
    const Wide whole = value(thread, in.operands[1], in.type);
    for (std::size_t i = 0; i < parts.size(); ++i) write(thread, parts[i], part, whole >> width * i);
    return;
  }
  Wide whole = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) whole |= value(thread, parts[i], part) << width * i;
  write(thread, in.operands[0], in.type, whole);
}

}  // namespace kforge::emulator::reference
