// Liveness by backward data flow over basic blocks, then one interval per register: from its first definition to its last
// use in program order, stretched over every block that it is live into or out of. Slots come in three sizes (masks, 32-bit
// and 64-bit lanes) and never change size, because a lane's place in a slot depends on it: lanes that are elsewhere in the
// program keep their own values in the same slot.
#include "emulator/registers.h"

#include <algorithm>
#include <array>
#include <map>

#include "emulator/code.h"

namespace kforge::emulator {
namespace {

using ptx::Exec;
using ptx::RegisterId;

constexpr Exec kNoResult[] = {
    Exec::st, Exec::red, Exec::bra, Exec::brx, Exec::call, Exec::ret, Exec::exit, Exec::trap, Exec::brkpt, Exec::pmevent,
    Exec::nanosleep, Exec::bar_sync, Exec::bar_arrive, Exec::bar_warp_sync, Exec::barrier_cluster, Exec::membar, Exec::fence,
    Exec::fence_proxy, Exec::prefetch, Exec::discard, Exec::cp_async, Exec::cp_async_commit, Exec::cp_async_wait,
    Exec::cp_async_bulk, Exec::cp_async_bulk_commit, Exec::cp_async_bulk_wait, Exec::wgmma_fence, Exec::wgmma_commit, Exec::wgmma_wait,
    Exec::mbarrier_update, Exec::stmatrix, Exec::wmma_store, Exec::griddepcontrol, Exec::setmaxnreg, Exec::nop, Exec::unsupported,
    Exec::stackrestore, Exec::sust, Exec::sured,
};
constexpr Exec kAcrossLanes[] = {
    Exec::mbarrier, Exec::shfl, Exec::vote, Exec::match, Exec::redux, Exec::elect, Exec::ldmatrix, Exec::movmatrix, Exec::mma, Exec::wgmma,
    Exec::wmma_load, Exec::wmma_mma, Exec::ld, Exec::ldu, Exec::atom, Exec::bar_red, Exec::mov_pack, Exec::call,
    Exec::set, Exec::setp, Exec::testp, Exec::isspacep, Exec::alloca_, Exec::stacksave, Exec::tex, Exec::suld, Exec::tex_query, Exec::cvt_pack, Exec::addc, Exec::subc, Exec::madc,
};

template <std::size_t N>
bool contains(const Exec (&list)[N], Exec exec) {
  return std::find(std::begin(list), std::end(list), exec) != std::end(list);
}

using Bits = std::vector<std::uint64_t>;
bool test(const Bits& bits, RegisterId r) { return (bits[r / 64] >> (r % 64) & 1) != 0; }
void set(Bits& bits, RegisterId r) { bits[r / 64] |= std::uint64_t{1} << (r % 64); }

struct BasicBlock {
  std::uint32_t begin = 0, end = 0;
  std::vector<std::uint32_t> successors;
  Bits used, defined, in, out;   // used: read before any full definition in the block
};

using Visit = std::function<void(RegisterId, bool)>;

void visit_operand(const ptx::Operand& operand, bool result, const Visit& visit) {
  using Kind = ptx::Operand::Kind;
  if (operand.kind == Kind::reg) visit(operand.reg, result);
  if (operand.kind == Kind::address && operand.reg != ptx::kNoRegister) visit(operand.reg, false);
  if (operand.pair != ptx::kNoRegister) visit(operand.pair, result);
  for (const ptx::Operand& element : operand.elements) visit_operand(element, result && operand.kind == Kind::vector, visit);
}

std::vector<std::uint32_t> block_starts(const ptx::Function& function) {
  std::vector<bool> leader(function.instructions.size() + 1, false);
  leader[0] = true;
  for (std::size_t i = 0; i < function.instructions.size(); ++i) {
    const ptx::Instruction& in = function.instructions[i];
    if (!is_terminator(family(in))) continue;
    leader[i + 1] = true;
    for (const ptx::Operand& operand : in.operands)
      if (operand.kind == ptx::Operand::Kind::label) leader[std::min<std::size_t>(operand.target, function.instructions.size())] = true;
    for (const std::uint32_t target : in.targets) leader[std::min<std::size_t>(target, function.instructions.size())] = true;
  }
  std::vector<std::uint32_t> starts;
  for (std::uint32_t i = 0; i < function.instructions.size(); ++i)
    if (leader[i]) starts.push_back(i);
  return starts;
}

std::vector<std::uint32_t> successor_pcs(const ptx::Instruction& in, std::uint32_t next) {
  std::vector<std::uint32_t> result;
  const Exec exec = family(in);
  if (exec == Exec::bra)
    for (const ptx::Operand& operand : in.operands)
      if (operand.kind == ptx::Operand::Kind::label) result.push_back(operand.target);
  if (exec == Exec::brx) result = in.targets;
  if (!is_terminator(exec) || in.guard.has_value()) result.push_back(next);
  return result;
}

void summarise(const ptx::Function& function, BasicBlock& block) {
  for (std::uint32_t i = block.begin; i < block.end; ++i) {
    const ptx::Instruction& in = function.instructions[i];
    visit_registers(in, [&](RegisterId r, bool result) {
      if (!result && !test(block.defined, r)) set(block.used, r);
    });
    if (in.guard.has_value()) continue;   // the other lanes keep the old value
    visit_registers(in, [&](RegisterId r, bool result) {
      if (result) set(block.defined, r);
    });
  }
}

std::vector<BasicBlock> build_blocks(const ptx::Function& function) {
  const std::vector<std::uint32_t> starts = block_starts(function);
  const std::uint32_t size = static_cast<std::uint32_t>(function.instructions.size());
  const std::size_t words = (function.registers.size() + 63) / 64;
  std::vector<std::uint32_t> block_of(size + 1, kNoSlot);
  for (std::uint32_t b = 0; b < starts.size(); ++b) block_of[starts[b]] = b;
  std::vector<BasicBlock> blocks(starts.size());
  for (std::size_t b = 0; b < starts.size(); ++b) {
    BasicBlock& block = blocks[b];
    block.begin = starts[b];
    block.end = b + 1 < starts.size() ? starts[b + 1] : size;
    for (Bits* bits : {&block.used, &block.defined, &block.in, &block.out}) bits->assign(words, 0);
    summarise(function, block);
    for (const std::uint32_t pc : successor_pcs(function.instructions[block.end - 1], block.end))
      if (pc < size) block.successors.push_back(block_of[pc]);
  }
  return blocks;
}

void solve(std::vector<BasicBlock>& blocks) {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t b = blocks.size(); b-- > 0;) {
      BasicBlock& block = blocks[b];
      for (const std::uint32_t s : block.successors)
        for (std::size_t w = 0; w < block.out.size(); ++w) block.out[w] |= blocks[s].in[w];
      for (std::size_t w = 0; w < block.in.size(); ++w) {
        const std::uint64_t in = block.used[w] | (block.out[w] & ~block.defined[w]);
        changed |= in != block.in[w];
        block.in[w] = in;
      }
    }
  }
}

// Positions: 2 i for reads of instruction i, 2 i + 1 for its results.
struct Interval {
  std::uint32_t begin = kNoSlot, end = 0;
  RegisterId reg = 0;
  void include(std::uint32_t position) {
    begin = std::min(begin, position);
    end = std::max(end, position);
  }
};

std::vector<Interval> intervals(const ptx::Function& function, const std::vector<BasicBlock>& blocks) {
  std::vector<Interval> result(function.registers.size());
  for (RegisterId r = 0; r < result.size(); ++r) result[r].reg = r;
  for (const BasicBlock& block : blocks) {
    for (RegisterId r = 0; r < result.size(); ++r) {
      if (test(block.in, r)) result[r].include(2 * block.begin);
      if (test(block.out, r)) result[r].include(2 * block.end - 1);
    }
    for (std::uint32_t i = block.begin; i < block.end; ++i) {
      const ptx::Instruction& in = function.instructions[i];
      const bool in_place = is_lanewise(family(in));
      visit_registers(in, [&](RegisterId r, bool is_result) {
        result[r].include(2 * i + (is_result ? 1 : 0));
        if (is_result && !in_place) result[r].include(2 * i);
      });
    }
  }
  std::erase_if(result, [](const Interval& interval) { return interval.begin == kNoSlot; });
  std::sort(result.begin(), result.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  return result;
}

std::uint32_t slot_bytes(ptx::Type type) {
  const std::uint32_t bits = ptx::size_bits(type);
  if (type == ptx::Type::pred) return 4;
  return bits <= 32 ? kNarrowSlot : bits / 64 * kWideSlot;
}

}  // namespace

Exec family(const ptx::Instruction& instruction) { return ptx::instruction_table()[instruction.form].exec; }
bool writes_first_operand(Exec exec) { return !contains(kNoResult, exec); }
bool is_lanewise(Exec exec) { return !contains(kAcrossLanes, exec); }
bool is_terminator(Exec exec) { return exec == Exec::bra || exec == Exec::brx || exec == Exec::ret || exec == Exec::exit; }

void visit_registers(const ptx::Instruction& instruction, const Visit& visit) {
  const bool result = writes_first_operand(family(instruction));
  if (instruction.guard.has_value()) visit(instruction.guard->reg, false);
  for (std::size_t i = 1; i < instruction.operands.size(); ++i) visit_operand(instruction.operands[i], false, visit);
  if (instruction.call != nullptr) {
    for (const ptx::Operand& argument : instruction.call->arguments) visit_operand(argument, false, visit);
    if (instruction.call->pointer != ptx::kNoRegister) visit(instruction.call->pointer, false);
    for (const ptx::Operand& returned : instruction.call->returns) visit_operand(returned, true, visit);
  }
  if (family(instruction) == Exec::wgmma) visit_operand(instruction.operands[0], false, visit);   // sums are added to
  if (!instruction.operands.empty()) visit_operand(instruction.operands[0], result, visit);
}

RegisterLayout lay_out_registers(const ptx::Function& function) {
  RegisterLayout layout;
  layout.slots.assign(function.registers.size(), kNoSlot);
  layout.frame_bytes = kFirstSlot;
  if (function.instructions.empty()) return layout;
  std::vector<BasicBlock> blocks = build_blocks(function);
  solve(blocks);

  std::map<std::uint32_t, std::vector<std::uint32_t>> spare;       // by slot size
  std::multimap<std::uint32_t, RegisterId> active;                 // by end
  const auto take = [&](std::uint32_t bytes) {
    std::vector<std::uint32_t>& free = spare[bytes];
    if (free.empty()) {
      const std::uint32_t step = std::max(bytes, kNarrowSlot);   // masks come 32 at a time
      for (std::uint32_t at = step; at > 0; at -= bytes) free.push_back(layout.frame_bytes + at - bytes);
      layout.frame_bytes += step;
    }
    const std::uint32_t slot = free.back();
    free.pop_back();
    return slot;
  };
  for (const Interval& interval : intervals(function, blocks)) {
    while (!active.empty() && active.begin()->first < interval.begin) {
      const RegisterId old = active.begin()->second;
      spare[slot_bytes(function.registers[old].type)].push_back(layout.slots[old]);
      active.erase(active.begin());
    }
    layout.slots[interval.reg] = take(slot_bytes(function.registers[interval.reg].type));
    active.emplace(interval.end, interval.reg);
  }
  for (RegisterId r = 0; r < function.registers.size(); ++r)
    if (test(blocks[0].in, r)) layout.undefined_at_entry.push_back(r);
  return layout;
}

}  // namespace kforge::emulator
