// How undefined bytes go from an instruction's sources to its result, by the rules of shadow.h.
#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <vector>

#include "emulator/handlers.h"
#include "emulator/matrix_ops.h"
#include "emulator/tainted_registers.h"

namespace kforge::emulator {

using ptx::Exec;
using ptx::Operand;
using Kind = ptx::Operand::Kind;

namespace {

struct Sources {
  std::array<ShadowOperand, 6> operands{};
  std::array<std::array<std::uint64_t, 32>, 6> values{};
  std::size_t count = 0;
  std::span<const ShadowOperand> all() const { return {operands.data(), count}; }
};

void add_source(const Warp& w, const Op& op, const Operand& operand, std::size_t k, std::uint32_t bytes, Sources& sources) {
  if (sources.count >= sources.operands.size()) return;
  std::array<std::uint64_t, 32>& values = sources.values[sources.count];
  const Ref ref = k < op.r.size() ? op.r[k] : Ref{kSinkSlot, Bank::frame};
  const bool predicate_source = operand.kind == Kind::reg && code_of(w).source->registers[operand.reg].type == ptx::Type::pred;
  const std::uint32_t width = operand.kind == Kind::reg ? register_bytes(w, operand) : bytes;
  for (std::uint32_t i = 0; i < 32; ++i)   // a true predicate is all ones, as the rules of and and or know a byte
    values[i] = predicate_source ? (predicate(w.at(ref)) >> i & 1) * 0xff : width == 8 ? get<std::uint64_t>(w.at(ref), i) : get<std::uint32_t>(w.at(ref), i);
  sources.operands[sources.count++] = {undefined_operand(w, operand), values.data()};
}

bool uniform(const ShadowOperand& operand, std::uint32_t mask) {
  if (operand.undefined != nullptr && (operand.undefined->any() & mask) != 0) return false;
  const std::uint64_t first = operand.values[std::countr_zero(mask)];
  bool equal = true;
  for_lanes(mask, [&](std::uint32_t i) { equal &= operand.values[i] == first; });
  return equal;
}

// A comparison's result is defined where a defined predicate decides it alone: true or x, false and x.
UndefinedBytes propagate_comparison(const ptx::Instruction& in, const Sources& s, std::uint32_t bytes) {
  UndefinedBytes result = propagate_all(s.all(), bytes);
  if (s.count < 3 || (in.mods.bool_op != ptx::BoolOp::and_ && in.mods.bool_op != ptx::BoolOp::or_)) return result;
  const ShadowOperand& c = s.operands[2];
  const bool deciding = (in.mods.bool_op == ptx::BoolOp::or_) != in.operands[3].negated;
  std::uint32_t decided = 0;
  for (std::uint32_t i = 0; i < 32; ++i) decided |= static_cast<std::uint32_t>((c.values[i] != 0) == deciding) << i;
  if (c.undefined != nullptr) decided &= ~c.undefined->any();
  for (std::uint32_t& lanes : result.lanes) lanes &= ~decided;
  return result;
}

// The rule of the instruction's family, over its sources in written order.
UndefinedBytes propagate(const Op& op, Exec exec, const Sources& s, std::uint32_t mask, std::uint32_t bytes) {
  const ptx::Instruction& in = *op.source;
  const std::uint32_t from = in.type2 != ptx::Type::none ? ptx::size_bytes(in.type2) : bytes;
  const auto amount = [&](std::size_t k) { return static_cast<std::uint32_t>(s.operands[k].values[std::countr_zero(mask)]); };
  switch (exec) {
    case Exec::mov: case Exec::cvta: return propagate_move(s.operands[0], bytes, bytes);
    case Exec::cvt:
      if (ptx::is_float(in.type) || ptx::is_float(in.type2)) return propagate_all(s.all(), bytes);
      return ptx::is_signed(in.type2) ? propagate_sign_extend(s.operands[0], from, bytes) : propagate_move(s.operands[0], from, bytes);
    case Exec::and_: return propagate_and(s.operands[0], s.operands[1], bytes);
    case Exec::or_: return propagate_or(s.operands[0], s.operands[1], bytes);
    case Exec::setp: return propagate_comparison(in, s, bytes);
    case Exec::xor_: case Exec::not_: case Exec::lop3: return propagate_bytewise(s.all(), bytes);
    case Exec::shl: return uniform(s.operands[1], mask) ? propagate_shift_left(s.operands[0], amount(1), bytes) : propagate_all(s.all(), bytes);
    case Exec::shr:
      return uniform(s.operands[1], mask) ? propagate_shift_right(s.operands[0], amount(1), ptx::is_signed(in.type), bytes) : propagate_all(s.all(), bytes);
    case Exec::prmt: return uniform(s.operands[2], mask) ? propagate_permute(s.operands[0], s.operands[1], amount(2)) : propagate_all(s.all(), bytes);
    case Exec::selp: {
      std::uint32_t chosen = 0;
      for (std::uint32_t i = 0; i < 32; ++i) chosen |= static_cast<std::uint32_t>(s.operands[2].values[i] & 1) << i;
      if (in.operands[3].negated) chosen = ~chosen;
      return propagate_select(s.operands[0], s.operands[1], chosen, s.operands[2].undefined, bytes);
    }
    default: return propagate_all(s.all(), bytes);
  }
}

// shfl: a lane takes the bytes of its source lane; lanes outside their segment keep their own.
UndefinedBytes propagate_lanes(const Warp& w, const Op& op, const UndefinedBytes& a, std::uint32_t mask) {
  UndefinedBytes result;
  result.origin = a.origin;
  for_lanes(mask, [&](std::uint32_t i) {
    const std::uint32_t source = shuffle_source_lane(op.source->mods.shuffle, i, get<std::uint32_t>(w.at(op.r[2]), i), get<std::uint32_t>(w.at(op.r[3]), i));
    for (std::size_t b = 0; b < 4; ++b) result.lanes[b] |= (a.lanes[b] >> source & 1) << i;
  });
  return result;
}

void propagate_pack_op(Warp& w, const Op& op, std::uint32_t mask) {
  const ptx::Instruction& in = *op.source;
  if (in.mods.vector > 1) {
    std::vector<UndefinedBytes> values;
    for (const Operand& e : in.operands[1].elements) values.push_back(undefined_operand(w, e) != nullptr ? *undefined_operand(w, e) : UndefinedBytes{});
    for (std::size_t e = 0; e < values.size(); ++e) assign(w, in.operands[0].elements[e], values[e], mask);
    return;
  }
  const bool pack = in.operands[1].kind == Kind::vector;
  const Operand& vector = in.operands[pack ? 1 : 0];
  if (ptx::size_bits(in.type) > 64) {   // .b128 registers have no shadow
    for (std::size_t e = 0; e < vector.elements.size() && !pack; ++e) assign(w, vector.elements[e], {}, mask);
    return;
  }
  if (pack) {
    std::array<ShadowOperand, 8> elements{};
    for (std::size_t e = 0; e < vector.elements.size() && e < elements.size(); ++e) elements[e].undefined = undefined_operand(w, vector.elements[e]);
    assign(w, in.operands[0], propagate_pack({elements.data(), vector.elements.size()}, op.bytes), mask);
    return;
  }
  const UndefinedBytes* found = undefined_operand(w, in.operands[1]);
  const UndefinedBytes whole = found != nullptr ? *found : UndefinedBytes{};
  for (std::uint32_t e = 0; e < vector.elements.size(); ++e) assign(w, vector.elements[e], propagate_unpack({&whole, nullptr}, e, op.bytes), mask);
}

bool moves_no_data(Exec exec) { return is_matrix(exec) || exec == Exec::wgmma || exec == Exec::tex || exec == Exec::suld || exec == Exec::ld || exec == Exec::ldu || exec == Exec::atom || exec == Exec::call || exec == Exec::ret || !writes_first_operand(exec); }

// Sums of wgmma may be copied (compilers do, and assemble it to nothing) and added to by wgmma; anything else must wait.
void check_accumulators(Warp& w, const Op& op, Exec exec, std::uint32_t mask) {
  if (w.wgmma.pending.empty() || exec == Exec::mov || exec == Exec::mov_pack || exec == Exec::wgmma) return;
  const auto check = [&](const Operand& operand) {
    const UndefinedBytes* value = undefined_operand(w, operand);
    if (value == nullptr || (value->any() & mask) == 0 || (*w.launch->origins)[value->origin].space != ShadowSpace::accumulator) return;
    report(w, op, value->any() & mask, "safety.async", "accumulator-in-flight", [&](evidence::Violation& v) {
      v.other = (*w.launch->origins)[value->origin].where;
      v.message = "uses a sum that wgmma may still be writing";
      v.measured = "a register of a wgmma.mma_async that was not waited for";
      v.required = "wgmma.commit_group, and wgmma.wait_group for it, before its sums are used";
    });
  };
  const auto check_all = [&](const Operand& operand) {
    check(operand);
    for (const Operand& element : operand.elements) check(element);
  };
  for (std::size_t k = writes_first_operand(exec) ? 1 : 0; k < op.source->operands.size(); ++k) check_all(op.source->operands[k]);
}

}  // namespace

Flow run_tainted(Warp& w, const Op& op, std::uint32_t mask, Handler handler) {
  const ptx::Instruction& in = *op.source;
  const Exec exec = family(in);
  if (in.guard.has_value() && w.frame->shadow != nullptr) {
    const UndefinedBytes& guard = (*w.frame->shadow)[index_of(w, in.guard->reg)];
    if ((guard.any() & w.active) != 0) report_use(w, op, guard.any() & w.active, guard.origin, UndefinedUse::branch);
  }
  if (mask == 0) return Flow::next;
  check_accumulators(w, op, exec, mask);
  if (w.frame->shadow == nullptr || moves_no_data(exec) || in.operands.empty()) return handler(w, op, mask);
  Frame* frame = w.frame;
  if (exec == Exec::mov_pack) {
    propagate_pack_op(w, op, mask);
    update_tainted(w);
    return handler(w, op, mask);
  }
  const std::uint32_t bytes = std::min(8u, register_bytes(w, in.operands[0]));
  UndefinedBytes result;
  if (exec == Exec::shfl) {
    const UndefinedBytes* a = undefined_operand(w, in.operands[1]);
    if (a != nullptr) result = propagate_lanes(w, op, *a, mask);
  } else {
    Sources sources;
    const std::uint32_t source_bytes = in.type2 != ptx::Type::none && exec == Exec::cvt ? ptx::size_bytes(in.type2) : ptx::size_bytes(in.type);
    for (std::size_t k = 1; k < in.operands.size(); ++k) {
      const bool amount = k == 2 && (exec == Exec::shl || exec == Exec::shr);   // always 32 bits
      add_source(w, op, in.operands[k], k, source_bytes == 8 && !amount ? 8 : 4, sources);
    }
    result = propagate(op, exec, sources, mask, bytes);
  }
  const Flow flow = handler(w, op, mask);
  if (flow != Flow::next || w.frame != frame) return flow;
  assign(w, in.operands[0], result, mask);
  if (in.operands[0].pair != ptx::kNoRegister && frame->shadow != nullptr) {
    if (exec == Exec::shfl) result = {};   // whether the source lane is in range has nothing to do with what it holds
    frame->shadow->assign(index_of(w, in.operands[0].pair), result, mask);
  }
  update_tainted(w);
  return flow;
}

void start_shadow(Warp& w) {
  for (const ptx::RegisterId reg : code_of(w).undefined_at_entry) {
    UndefinedBytes all;
    const std::uint32_t bytes = ptx::size_bytes(code_of(w).source->registers[reg].type);
    for (std::uint32_t b = 0; b < std::min(bytes, 8u); ++b) all.lanes[b] = kFullMask;
    shadow_of(w).assign(index_of(w, reg), all, w.live);
    w.tainted = true;
  }
}

}  // namespace kforge::emulator
