#include "emulator/uninitialised.h"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/bulk_ops.h"
#include "emulator/handlers.h"
#include "emulator/matrix_ops.h"
#include "emulator/registers.h"

namespace kforge::emulator {
namespace {

using ptx::Exec;
using ptx::Operand;
using Kind = ptx::Operand::Kind;

const FunctionCode& code_of(const Warp& w) { return *w.frame->function; }

// The dense number of a register's slot.
std::uint32_t index_of(const Warp& w, ptx::RegisterId reg) { return code_of(w).shadow_of_register[reg]; }

WarpShadow& shadow_of(Warp& w) {
  if (w.frame->shadow == nullptr) w.frame->shadow = std::make_unique<WarpShadow>(code_of(w).shadow_count);
  return *w.frame->shadow;
}

void update_tainted(Warp& w) {
  w.tainted = false;
  for (const auto& frame : w.frames) {
    if (frame->shadow == nullptr) continue;
    if (frame->shadow->any()) w.tainted = true;
    else frame->shadow = nullptr;
  }
}

void assign(Warp& w, const Operand& operand, const UndefinedBytes& value, std::uint32_t mask) {
  if (operand.kind != Kind::reg) return;
  if (w.frame->shadow == nullptr && value.any() == 0) return;
  shadow_of(w).assign(index_of(w, operand.reg), value, mask);
}

const UndefinedBytes* undefined_of(const Warp& w, const Operand& operand) {
  if (operand.kind != Kind::reg || w.frame->shadow == nullptr) return nullptr;
  const UndefinedBytes& value = (*w.frame->shadow)[index_of(w, operand.reg)];
  return value.any() != 0 ? &value : nullptr;
}

// ---- faults --------------------------------------------------------------------------------------------------------

// The line of the finding is that of the load that first read the bytes; without one, that of the use.
void report_use(Warp& w, const Op& op, std::uint32_t lanes, OriginId origin_id, UndefinedUse use) {
  const Origin& origin = (*w.launch->origins)[origin_id];
  if (origin_id != 0 && (origin.space == ShadowSpace::in_flight || origin.space == ShadowSpace::accumulator)) return;   // reported where it was read
  const std::uint32_t location = origin_id != 0 ? origin.location : op.location;
  evidence::Violation* v = w.launch->violations->add("safety.uninitialised", use == UndefinedUse::address ? "uninitialised-address" : "uninitialised-branch",
                                                     w.launch->kernel->info.name, location);
  if (v == nullptr) return;
  v->where = origin_id != 0 ? origin.where : w.launch->where(location);
  v->other = w.launch->where(op.location);
  v->block = w.block->index;
  v->thread = thread_index(w.launch->block_size, w.index * 32 + static_cast<std::uint32_t>(std::countr_zero(lanes)));
  const std::string_view what = origin_id != 0 ? name(origin.space) : std::string_view("a register");
  v->message = fmt::format("an unwritten byte of {}, first read here, {} at {}", what, name(use), place(*w.launch, op));
  v->measured = origin_id != 0 ? describe(origin) : "a register that was never written";
  v->required = "every value that decides an address, a branch or an output was written";
}

OriginId add_origin(Warp& w, const Op& op, ShadowSpace space, std::uint64_t address, std::uint32_t lane) {
  if (const OriginId known = w.launch->origins->find(op.location, space); known != 0) return known;
  return w.launch->origins->add({op.location, space, address, static_cast<std::uint32_t>(w.block->linear), w.index * 32 + lane,
                                 w.launch->where(op.location), w.launch->kernel->info.name});
}

// The copy that is on its way to the byte, of any warp of the block.
const Op* copy_in_flight(const Block& block, std::uint64_t offset) {
  for (const Warp& warp : block.warps)
    for (const PendingCopy& copy : warp.pending_copies)
      for (std::uint32_t rest = copy.mask; rest != 0; rest &= rest - 1)
        if (offset - copy.to[static_cast<std::size_t>(std::countr_zero(rest))] < copy.op->bytes) return copy.op;
  const BulkCopy* bulk = bulk_in_flight(block, offset);
  return bulk != nullptr ? bulk->op : nullptr;
}

// Reading shared memory that a copy has not reached: a fault whatever becomes of the value. True when the first unwritten
// byte is of that kind.
bool report_in_flight(Warp& w, const Op& op, const Request& request) {
  const auto first = w.block->shared_shadow.first_unwritten(request.addresses, request.mask, request.bytes);
  const Op* copy = first ? copy_in_flight(*w.block, first->offset) : nullptr;
  if (copy == nullptr) return false;
  report(w, op, 1u << first->lane, "safety.async", "read-in-flight", [&](evidence::Violation& v) {
    v.other = w.launch->where(copy->location);
    v.message = fmt::format("reads shared memory offset {} while an asynchronous copy may still be on its way there", first->offset);
    v.measured = "a read of bytes in flight";
    v.required = family(*copy->source) == Exec::cp_async_bulk ? "every reader waits for the phase of the mbarrier that counts the copy's bytes (arrive.expect_tx, then try_wait)"
                                                              : "the issuing threads wait for their copies (cp.async.wait_group or wait_all), and a barrier follows, before others read";
  });
  return true;
}

// ---- loads and stores ----------------------------------------------------------------------------------------------

// The elements that a load fills or a store reads.
const Operand& data_operand(const Op& op, std::uint32_t element) {
  const bool store = family(*op.source) == Exec::st || family(*op.source) == Exec::red;
  const Operand& operand = op.source->operands[store ? 1 : 0];
  return operand.kind == Kind::vector ? operand.elements[element] : operand;
}

std::uint32_t register_bytes(const Warp& w, const Operand& operand) {
  return operand.kind == Kind::reg ? ptx::size_bytes(code_of(w).source->registers[operand.reg].type) : 4;
}

// A load of `element_bytes` into a register of `width` bytes: the bytes above are copies of the sign or zeros.
UndefinedBytes widen(UndefinedBytes value, bool sign, std::uint32_t element_bytes, std::uint32_t width) {
  const std::uint32_t top = value.lanes[element_bytes - 1];
  for (std::uint32_t b = element_bytes; b < width && b < 8; ++b) value.lanes[b] = sign ? top : 0;
  return value;
}

template <class Shadow>
void fill_from(Warp& w, const Op& op, std::uint32_t lanes, ShadowSpace space, const Shadow& unwritten, std::uint64_t first, std::uint32_t first_lane) {
  for (std::uint32_t e = 0; e < op.list_count; ++e) {
    UndefinedBytes value = unwritten(e * op.bytes);
    if (value.any() != 0 && value.origin == 0) value.origin = add_origin(w, op, space, first, first_lane);
    const Operand& operand = data_operand(op, e);
    assign(w, operand, widen(value, (op.flags & kSignExtend) != 0, op.bytes, register_bytes(w, operand)), lanes);
  }
  update_tainted(w);
}

void clear_loaded(Warp& w, const Op& op, std::uint32_t lanes) {
  if (!w.tainted) return;
  for (std::uint32_t e = 0; e < op.list_count; ++e) assign(w, data_operand(op, e), {}, lanes);
  update_tainted(w);
}

void load_window(Warp& w, const Op& op, const ByteShadow& shadow, const Request& request, ShadowSpace space) {
  if (shadow.all_written(request.addresses, request.mask, request.bytes)) return clear_loaded(w, op, request.mask);
  const auto first = shadow.first_unwritten(request.addresses, request.mask, request.bytes);
  fill_from(w, op, request.mask, space, [&](std::uint32_t at) { return shadow.unwritten(request.addresses, request.mask, at, op.bytes); },
            first ? first->offset : 0, first ? first->lane : 0);
}

void store_window(Warp& w, const Op& op, ByteShadow& shadow, const Request& request) {
  if (!w.tainted) return shadow.mark_written(request.addresses, request.mask, request.bytes);
  for (std::uint32_t e = 0; e < op.list_count; ++e) {
    const UndefinedBytes* value = undefined_of(w, data_operand(op, e));
    shadow.mark_stored(request.addresses, request.mask, e * op.bytes, op.bytes, value != nullptr ? *value : UndefinedBytes{});
  }
}

}  // namespace

const UndefinedBytes* undefined_operand(const Warp& w, const Operand& operand) { return undefined_of(w, operand); }
void assign_undefined(Warp& w, const Operand& operand, const UndefinedBytes& value, std::uint32_t mask) {
  if (w.frame->shadow == nullptr && value.any() == 0) return;
  assign(w, operand, value, mask);
  update_tainted(w);
}
void clear_undefined(Warp& w, const std::function<bool(const UndefinedBytes&)>& defines) {
  if (w.frame->shadow == nullptr) return;
  WarpShadow& shadow = *w.frame->shadow;
  for (std::size_t i = 0; i < shadow.size(); ++i)
    if (shadow[i].any() != 0 && defines(shadow[i])) shadow.assign(i, {}, kFullMask);
  update_tainted(w);
}
OriginId undefined_origin(Warp& w, const Op& op, ShadowSpace space, std::uint64_t address, std::uint32_t lane) { return add_origin(w, op, space, address, lane); }
bool report_read_in_flight(Warp& w, const Op& op, const Request& request) { return report_in_flight(w, op, request); }

void load_global_shadow(Warp& w, const Op& op, const Allocation& allocation, const Request& request, std::uint32_t lanes) {
  if (GlobalShadow::all_written(allocation, request.addresses, lanes, request.bytes)) return clear_loaded(w, op, lanes);
  const auto first = w.launch->global_shadow->first_unwritten(allocation, request.addresses, lanes, request.bytes);
  fill_from(w, op, lanes, ShadowSpace::global,
            [&](std::uint32_t at) { return w.launch->global_shadow->unwritten(allocation, request.addresses, lanes, at, op.bytes); },
            first ? first->offset : 0, first ? first->lane : 0);
}

void load_shared_shadow(Warp& w, const Op& op, const Request& request) {
  const ByteShadow& shadow = w.block->shared_shadow;
  if (shadow.all_written(request.addresses, request.mask, request.bytes)) return clear_loaded(w, op, request.mask);
  load_window(w, op, shadow, request, report_in_flight(w, op, request) ? ShadowSpace::in_flight : ShadowSpace::shared);
}
void load_local_shadow(Warp& w, const Op& op, const Request& request) { load_window(w, op, w.local_shadow, request, ShadowSpace::local); }
void store_shared_shadow(Warp& w, const Op& op, const Request& request) { store_window(w, op, w.block->shared_shadow, request); }
void store_local_shadow(Warp& w, const Op& op, const Request& request) { store_window(w, op, w.local_shadow, request); }

// No fault yet: it is one when the host, or the task as its output, reads the bytes (Device::check_read).
void store_global_shadow(Warp& w, const Op& op, Allocation& allocation, const Request& request, std::uint32_t lanes) {
  GlobalShadow& shadow = *w.launch->global_shadow;
  if (!w.tainted) return shadow.mark_written(allocation, request.addresses, lanes, request.bytes);
  for (std::uint32_t e = 0; e < op.list_count; ++e) {
    const UndefinedBytes* value = undefined_of(w, data_operand(op, e));
    UndefinedBytes stored = value != nullptr ? *value : UndefinedBytes{};
    if (stored.any() != 0 && stored.origin == 0) stored.origin = add_origin(w, op, ShadowSpace::register_file, 0, 0);
    shadow.mark_stored(allocation, request.addresses, lanes, e * op.bytes, op.bytes, stored);
  }
}

namespace {

// What an atomic of one lane leaves in memory that held `old`.
UndefinedBytes left_by(const Warp& w, const Op& op, std::uint32_t element, const UndefinedBytes& old, std::uint32_t lane) {
  const ptx::Instruction& in = *op.source;
  const std::size_t first = family(in) == Exec::atom ? 2 : 1;
  const auto operand = [&](std::size_t k) {
    const Operand& whole = in.operands[k];
    const UndefinedBytes* found = undefined_of(w, whole.kind == Kind::vector ? whole.elements[element] : whole);
    UndefinedBytes value = found != nullptr ? *found : UndefinedBytes{};
    for (std::uint32_t& lanes : value.lanes) lanes &= 1u << lane;
    return value;
  };
  const UndefinedBytes a = operand(first);
  if (in.mods.atom_op == ptx::AtomOp::exch) return a;
  const ShadowOperand both[] = {{&old, nullptr}, {&a, nullptr}};
  if (in.mods.atom_op != ptx::AtomOp::cas) return propagate_all(both, op.bytes);
  const UndefinedBytes replacement = operand(first + 1);
  const ShadowOperand all[] = {{&old, nullptr}, {&a, nullptr}, {&replacement, nullptr}};
  return old.any() != 0 || a.any() != 0 ? propagate_all(all, op.bytes) : propagate_bytewise({&all[2], 1}, op.bytes);
}

const Operand& result_operand(const Op& op, std::uint32_t element) {
  const Operand& operand = op.source->operands[0];
  return operand.kind == Kind::vector ? operand.elements[element] : operand;
}

bool has_undefined_register(const Warp& w, const Op& op) {
  if (!w.tainted) return false;
  const auto undefined = [&](const Operand& operand) {
    return undefined_of(w, operand) != nullptr ||
           (operand.kind == Kind::vector && std::any_of(operand.elements.begin(), operand.elements.end(), [&](const Operand& e) { return undefined_of(w, e) != nullptr; }));
  };
  return std::any_of(op.source->operands.begin(), op.source->operands.end(), undefined);
}

// unwritten(lanes, element offset) looks at memory, store(lanes, element offset, value) changes it. Lanes in order, as the
// atomic itself is performed.
template <class Unwritten, class Store>
void atomic_shadow(Warp& w, const Op& op, const Request& request, ShadowSpace space, Unwritten unwritten, Store store) {
  const std::uint32_t elements = std::max<std::uint32_t>(1, op.list_count);
  std::array<UndefinedBytes, 8> results{};
  for_lanes(request.mask, [&](std::uint32_t lane) {
    for (std::uint32_t e = 0; e < elements; ++e) {
      UndefinedBytes old = unwritten(1u << lane, e * op.bytes);
      if (old.any() != 0 && old.origin == 0) old.origin = add_origin(w, op, space, request.addresses[lane] + e * op.bytes, lane);
      UndefinedBytes left = left_by(w, op, e, old, lane);
      if (left.any() != 0 && left.origin == 0) left.origin = add_origin(w, op, ShadowSpace::register_file, 0, lane);
      store(1u << lane, e * op.bytes, left);
      for (std::size_t b = 0; b < old.lanes.size(); ++b) results[e].lanes[b] |= old.lanes[b];
      if (results[e].origin == 0) results[e].origin = old.origin;
    }
  });
  if (family(*op.source) == Exec::atom)
    for (std::uint32_t e = 0; e < elements; ++e) assign(w, result_operand(op, e), results[e], request.mask);
  update_tainted(w);
}

void clear_result(Warp& w, const Op& op, std::uint32_t lanes) {
  if (!w.tainted || family(*op.source) != Exec::atom) return;
  for (std::uint32_t e = 0; e < std::max<std::uint32_t>(1, op.list_count); ++e) assign(w, result_operand(op, e), {}, lanes);
  update_tainted(w);
}

}  // namespace

void atomic_global_shadow(Warp& w, const Op& op, Allocation& allocation, const Request& request) {
  GlobalShadow& shadow = *w.launch->global_shadow;
  if (GlobalShadow::all_written(allocation, request.addresses, request.mask, request.bytes) && !has_undefined_register(w, op)) return clear_result(w, op, request.mask);
  atomic_shadow(w, op, request, ShadowSpace::global,
                [&](std::uint32_t lanes, std::uint32_t at) { return shadow.unwritten(allocation, request.addresses, lanes, at, op.bytes); },
                [&](std::uint32_t lanes, std::uint32_t at, const UndefinedBytes& value) { shadow.mark_stored(allocation, request.addresses, lanes, at, op.bytes, value); });
}

void atomic_shared_shadow(Warp& w, const Op& op, const Request& request) {
  ByteShadow& shadow = w.block->shared_shadow;
  const bool written = shadow.all_written(request.addresses, request.mask, request.bytes);
  if (written && !has_undefined_register(w, op)) return clear_result(w, op, request.mask);
  const ShadowSpace space = !written && report_in_flight(w, op, request) ? ShadowSpace::in_flight : ShadowSpace::shared;
  atomic_shadow(w, op, request, space, [&](std::uint32_t lanes, std::uint32_t at) { return shadow.unwritten(request.addresses, lanes, at, op.bytes); },
                [&](std::uint32_t lanes, std::uint32_t at, const UndefinedBytes& value) { shadow.mark_stored(request.addresses, lanes, at, op.bytes, value); });
}

void load_param_shadow(Warp& w, const Op& op, const Request& request, bool entry) {
  if (entry || w.frame->params_shadow == nullptr) return clear_loaded(w, op, request.mask);
  load_window(w, op, *w.frame->params_shadow, request, ShadowSpace::parameter);
}

void store_param_shadow(Warp& w, const Op& op, const Request& request) {
  if (w.frame->params_shadow == nullptr) {
    if (!has_undefined_register(w, op)) return;
    w.frame->params_shadow = std::make_unique<ByteShadow>(w.frame->params.size());
    w.frame->params_shadow->mark_range(0, w.frame->params.size(), true);
  }
  store_window(w, op, *w.frame->params_shadow, request);
}

void copy_param_shadow(Frame& from, Frame& to, const ParamCopy& copy, std::uint32_t mask) {
  if (from.params_shadow == nullptr && to.params_shadow == nullptr) return;
  if (to.params_shadow == nullptr) {
    to.params_shadow = std::make_unique<ByteShadow>(to.params.size());
    to.params_shadow->mark_range(0, to.params.size(), true);
  }
  const std::size_t from_stride = from.function->param_bytes, to_stride = to.function->param_bytes;
  for_lanes(mask, [&](std::uint32_t i) {
    if (from.params_shadow == nullptr) to.params_shadow->mark_range(i * to_stride + copy.to, copy.bytes, true);
    else to.params_shadow->copy_range(i * to_stride + copy.to, *from.params_shadow, i * from_stride + copy.from, copy.bytes);
  });
}

void land_copy_shadow(Warp& w, const PendingCopy& copy, std::uint32_t lane, const Allocation* from) {
  ByteShadow& shadow = w.block->shared_shadow;
  shadow.mark_range(copy.to[lane], copy.op->bytes, true);
  if (from == nullptr || from->all_initialised) return;
  for (std::uint32_t at = 0; at < copy.bytes[lane]; ++at) {
    UndefinedBytes byte = w.launch->global_shadow->unwritten(*from, copy.from, 1u << lane, at, 1);
    if (byte.any() == 0) continue;
    if (byte.origin == 0) byte.origin = add_origin(w, *copy.op, ShadowSpace::global, copy.from[lane] + at, lane);
    shadow.mark_stored(copy.to, 1u << lane, at, 1, byte);
  }
}

void check_address(Warp& w, const Op& op, std::size_t, std::uint32_t mask) {
  if (!w.tainted || w.frame->shadow == nullptr) return;
  const auto check = [&](const Operand& operand) {
    if (operand.reg == ptx::kNoRegister) return;
    const UndefinedBytes& value = (*w.frame->shadow)[index_of(w, operand.reg)];
    if ((value.any() & mask) != 0) report_use(w, op, value.any() & mask, value.origin, UndefinedUse::address);
  };
  for (const Operand& operand : op.source->operands) {
    if (operand.kind == Kind::address) check(operand);
    if (operand.kind != Kind::text) continue;
    for (const Operand& part : operand.elements) {   // a texture's handle and coordinates
      check(part);
      for (const Operand& coordinate : part.elements) check(coordinate);
    }
  }
}

// ---- registers -----------------------------------------------------------------------------------------------------

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
  sources.operands[sources.count++] = {undefined_of(w, operand), values.data()};
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
    for (const Operand& e : in.operands[1].elements) values.push_back(undefined_of(w, e) != nullptr ? *undefined_of(w, e) : UndefinedBytes{});
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
    for (std::size_t e = 0; e < vector.elements.size() && e < elements.size(); ++e) elements[e].undefined = undefined_of(w, vector.elements[e]);
    assign(w, in.operands[0], propagate_pack({elements.data(), vector.elements.size()}, op.bytes), mask);
    return;
  }
  const UndefinedBytes* found = undefined_of(w, in.operands[1]);
  const UndefinedBytes whole = found != nullptr ? *found : UndefinedBytes{};
  for (std::uint32_t e = 0; e < vector.elements.size(); ++e) assign(w, vector.elements[e], propagate_unpack({&whole, nullptr}, e, op.bytes), mask);
}

bool moves_no_data(Exec exec) { return is_matrix(exec) || exec == Exec::wgmma || exec == Exec::tex || exec == Exec::suld || exec == Exec::ld || exec == Exec::ldu || exec == Exec::atom || exec == Exec::call || exec == Exec::ret || !writes_first_operand(exec); }

// Sums of wgmma may be copied (compilers do, and assemble it to nothing) and added to by wgmma; anything else must wait.
void check_accumulators(Warp& w, const Op& op, Exec exec, std::uint32_t mask) {
  if (w.wgmma.pending.empty() || exec == Exec::mov || exec == Exec::mov_pack || exec == Exec::wgmma) return;
  const auto check = [&](const Operand& operand) {
    const UndefinedBytes* value = undefined_of(w, operand);
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
    const UndefinedBytes* a = undefined_of(w, in.operands[1]);
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
