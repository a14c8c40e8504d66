// Memory of the reference engine: spaces, generic addresses, loads, stores and atomics.
#include <cstring>

#include "emulator/reference_engine_thread.h"

namespace kforge::emulator::reference {

using ptx::Instruction;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

std::byte* within(std::span<std::byte> bytes, std::uint64_t offset, std::uint64_t size) {
  return offset + size <= bytes.size() && offset <= bytes.size() ? bytes.data() + offset : nullptr;
}
bool asks_for_cluster(const Instruction& in) { return ptx::instruction_table()[in.form].id == "isspacep_cluster"; }
std::byte* in_parameters(std::span<const std::byte> bytes, std::uint64_t offset, std::uint64_t size) {   // never stored to
  return within(std::span(const_cast<std::byte*>(bytes.data()), bytes.size()), offset, size);
}

}  // namespace

std::byte* Run::in_cluster(std::uint64_t address, std::uint64_t size) {
  const std::uint64_t rank = address >> kRankShift;
  if (rank == 0) return within(block().shared, address, size);
  return rank <= blocks_.size() ? within(blocks_[rank - 1].shared, address & ((std::uint64_t{1} << kRankShift) - 1), size) : nullptr;
}

Block& Run::owner_of(const std::byte* at) {
  for (Block& block : blocks_)
    if (at >= block.shared.data() && at < block.shared.data() + block.shared.size()) return block;
  return this->block();
}

// mapa and getctarank.
void Run::map_address(Thread& thread, const Instruction& in) {
  const std::uint64_t base = in.mods.space == Space::shared ? 0 : kSharedBase;
  const std::uint64_t address = static_cast<std::uint64_t>(value(thread, in.operands[1], in.type)) - base, named = address >> kRankShift;
  if (in.operands.size() == 2) return write(thread, in.operands[0], Type::u32, named == 0 ? rank_ : named - 1);
  const auto rank = static_cast<std::uint64_t>(value(thread, in.operands[2], Type::u32));
  write(thread, in.operands[0], in.type, base + ((address & ((std::uint64_t{1} << kRankShift) - 1)) | (rank + 1) << kRankShift));
}

std::byte* Run::generic(Thread& thread, std::uint64_t address, std::uint64_t size, bool* in_global) {
  if (address - kSharedBase < kWindow) return in_cluster(address - kSharedBase, size);
  if (address - kLocalBase < kWindow) return within(thread.local, address - kLocalBase, size);
  if (address - kParamBase < kWindow) return in_parameters(launch_.parameters, address - kParamBase, size);
  if (in_global != nullptr) *in_global = true;
  return memory_.find(address, size);
}

std::byte* Run::locate(Thread& thread, const Instruction& in, const Operand& operand, std::uint64_t size, bool* in_global) {
  const bool of_entry = module_.functions[thread.frames.back().function].is_entry;
  const Space space = in.mods.space;
  if (operand.reg == ptx::kNoRegister && operand.variable && operand.variable->of_function &&
      variable(thread, *operand.variable).space == Space::param) {
    const std::uint32_t index = operand.variable->index;
    if (of_entry && index < layout_.parameters.size())
      return in_parameters(launch_.parameters, layout_.parameters[index] + static_cast<std::uint64_t>(operand.offset), size);
    return within(thread.frames.back().variables[index], static_cast<std::uint64_t>(operand.offset), size);
  }
  std::uint64_t address = 0;
  if (operand.reg != ptx::kNoRegister) address = static_cast<std::uint64_t>(thread.frames.back().registers[operand.reg]) + static_cast<std::uint64_t>(operand.offset);
  else if (operand.variable) {
    const Space own = variable(thread, *operand.variable).space;
    address = variable_address(thread, operand) + (space != Space::generic ? 0 : own == Space::shared ? kSharedBase : own == Space::local ? kLocalBase : 0);
  }
  else address = operand.bits + static_cast<std::uint64_t>(operand.offset);
  if (operand.reg != ptx::kNoRegister && ptx::size_bits(module_.functions[thread.frames.back().function].registers[operand.reg].type) == 32) address = cut(address, 32);
  if (std::has_single_bit(size) && address % size != 0) {   // (cp.async may read any number of bytes)
    fail("an address that is not a multiple of the access's size");
    return nullptr;
  }
  switch (space) {
    case Space::shared: return in_cluster(address, size);
    case Space::local: return within(thread.local, address, size);
    case Space::param: return in_parameters(launch_.parameters, address, size);
    case Space::global: case Space::constant:
      if (in_global != nullptr) *in_global = true;
      return memory_.find(address, size);
    default: return generic(thread, address, size, in_global);
  }
}

namespace {
std::span<const Operand> elements(const Operand& operand) {
  return operand.kind == Operand::Kind::vector ? std::span<const Operand>(operand.elements) : std::span<const Operand>(&operand, 1);
}
}  // namespace

void Run::load(Thread& thread, const Instruction& in) {
  const auto parts = elements(in.operands[0]);
  const std::uint32_t size = ptx::size_bytes(in.type);
  const std::byte* from = locate(thread, in, in.operands[1], size * parts.size());
  if (from == nullptr) return fail("a load outside memory or misaligned");
  std::vector<std::byte> all(from, from + size * parts.size());   // a destination may be the address register
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Wide bits = 0;
    std::memcpy(&bits, all.data() + i * size, size);
    write(thread, parts[i], in.type, bits);
  }
}

void Run::store(Thread& thread, const Instruction& in) {
  const auto parts = elements(in.operands[1]);
  const std::uint32_t size = ptx::size_bytes(in.type);
  std::byte* to = locate(thread, in, in.operands[0], size * parts.size());
  if (to == nullptr) return fail("a store outside memory or misaligned");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Wide bits = value(thread, parts[i], in.type);
    std::memcpy(to + i * size, &bits, size);
  }
}

void Run::atomic(Thread& thread, const Instruction& in, bool returns) {
  const std::size_t first = returns ? 1 : 0;
  const auto values = elements(in.operands[first + 1]);
  const std::uint32_t size = ptx::size_bytes(in.type);
  bool in_global = false;
  std::byte* at = locate(thread, in, in.operands[first], size * values.size(), &in_global);
  if (at == nullptr) return fail("an atomic operation outside memory");
  const bool is_cas = in.mods.atom_op == ptx::AtomOp::cas;
  if (in.type == Type::b128) {
    Wide before = 0;
    std::memcpy(&before, at, 16);
    const Wide b = value(thread, in.operands[2], Type::b128), after = !is_cas ? b : before == b ? value(thread, in.operands[3], Type::b128) : before;
    std::memcpy(at, &after, 16);
    return write(thread, in.operands[0], Type::b128, before);
  }
  std::vector<std::uint64_t> old(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::memcpy(&old[i], at + i * size, size);
    const auto b = static_cast<std::uint64_t>(value(thread, values[i], in.type));
    const auto c = is_cas ? static_cast<std::uint64_t>(value(thread, in.operands[first + 2], in.type)) : 0;
    const std::uint64_t result = atomic_result(in, old[i], b, c, in_global);
    std::memcpy(at + i * size, &result, size);
  }
  if (!returns) return;
  const auto results = elements(in.operands[0]);
  for (std::size_t i = 0; i < results.size(); ++i) write(thread, results[i], in.type, old[i]);
}

void Run::convert_address(Thread& thread, const Instruction& in) {
  const auto base = [&]() -> std::uint64_t {
    switch (in.mods.space) {
      case Space::shared: return kSharedBase;
      case Space::local: return kLocalBase;
      case Space::param: return kParamBase;
      default: return 0;
    }
  }();
  const auto address = static_cast<std::uint64_t>(value(thread, in.operands[1], in.type));
  write(thread, in.operands[0], in.type, in.mods.to ? address - base : address + base);
}

void Run::is_space(Thread& thread, const Instruction& in) {
  const auto address = static_cast<std::uint64_t>(value(thread, in.operands[1], Type::u64));
  Space space = Space::global;
  const std::uint64_t named = (address - kSharedBase) >> kRankShift;
  if (address - kSharedBase < kWindow) space = asks_for_cluster(in) || named == 0 || named == rank_ + 1 ? Space::shared : Space::generic;
  else if (address - kLocalBase < kWindow) space = Space::local;
  else if (address - kParamBase < kWindow) space = Space::param;
  else
    for (std::size_t i = 0; i < variables_.size(); ++i)
      if (module_.variables[i].space == Space::constant && address - variables_[i] < module_.variables[i].size_bytes) space = Space::constant;
  write(thread, in.operands[0], Type::pred, space == in.mods.space ? 1 : 0);
}

// cp.async, done at once: [shared], [global], size {, bytes that are read; the rest is zero}.
void Run::copy_async(Thread& thread, const Instruction& in) {
  const std::vector<Type>& types = this->types(in);
  const std::uint64_t size = in.operands[2].bits;
  std::uint64_t read = size;
  if (in.operands.size() > 3 && types[3] == Type::u32) read = std::min(size, static_cast<std::uint64_t>(value(thread, in.operands[3], Type::u32)));
  if (in.operands.size() > 3 && types[3] == Type::pred && value(thread, in.operands[3], Type::pred) != 0) read = 0;
  Instruction as_global = in;
  as_global.mods.space = Space::global;
  Instruction as_shared = in;
  as_shared.mods.space = Space::shared;
  std::byte* to = locate(thread, as_shared, in.operands[0], size);
  const std::byte* from = locate(thread, as_global, in.operands[1], read);
  if (to == nullptr || (from == nullptr && read != 0)) return fail("cp.async outside memory");
  std::memset(to, 0, size);
  if (read != 0) std::memcpy(to, from, read);
}

}  // namespace kforge::emulator::reference
