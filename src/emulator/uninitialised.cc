#include "emulator/uninitialised.h"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/bulk_ops.h"
#include "emulator/handlers.h"
#include "emulator/matrix_ops.h"
#include "emulator/registers.h"
#include "emulator/tainted_registers.h"

namespace kforge::emulator {

using ptx::Exec;
using ptx::Operand;
using Kind = ptx::Operand::Kind;

// ---- faults --------------------------------------------------------------------------------------------------------

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

OriginId undefined_origin(Warp& w, const Op& op, ShadowSpace space, std::uint64_t address, std::uint32_t lane) {
  if (const OriginId known = w.launch->origins->find(op.location, space); known != 0) return known;
  return w.launch->origins->add({op.location, space, address, static_cast<std::uint32_t>(w.block->linear), w.index * 32 + lane,
                                 w.launch->where(op.location), w.launch->kernel->info.name});
}

namespace {

// The copy that is on its way to the byte, of any warp of the block.
const Op* copy_in_flight(const Block& block, std::uint64_t offset) {
  for (const Warp& warp : block.warps)
    for (const PendingCopy& copy : warp.pending_copies)
      for (std::uint32_t rest = copy.mask; rest != 0; rest &= rest - 1)
        if (offset - copy.to[static_cast<std::size_t>(std::countr_zero(rest))] < copy.op->bytes) return copy.op;
  const BulkCopy* bulk = bulk_in_flight(block, offset);
  return bulk != nullptr ? bulk->op : nullptr;
}

}  // namespace

// Reading shared memory that a copy has not reached: a fault whatever becomes of the value. True when the first unwritten
// byte is of that kind.
bool report_read_in_flight(Warp& w, const Op& op, const Request& request) {
  const Block& block = owner_of(w, request);
  const auto first = block.shared_shadow.first_unwritten(request.addresses, request.mask, request.bytes);
  const Op* copy = first ? copy_in_flight(block, first->offset) : nullptr;
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

const UndefinedBytes* undefined_operand(const Warp& w, const Operand& operand) {
  if (operand.kind != Kind::reg || w.frame->shadow == nullptr) return nullptr;
  const UndefinedBytes& value = (*w.frame->shadow)[index_of(w, operand.reg)];
  return value.any() != 0 ? &value : nullptr;
}

// ---- loads and stores ----------------------------------------------------------------------------------------------

namespace {

// The elements that a load fills or a store reads.
const Operand& data_operand(const Op& op, std::uint32_t element) {
  const bool store = family(*op.source) == Exec::st || family(*op.source) == Exec::red;
  const Operand& operand = op.source->operands[store ? 1 : 0];
  return operand.kind == Kind::vector ? operand.elements[element] : operand;
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
    if (value.any() != 0 && value.origin == 0) value.origin = undefined_origin(w, op, space, first, first_lane);
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
    const UndefinedBytes* value = undefined_operand(w, data_operand(op, e));
    shadow.mark_stored(request.addresses, request.mask, e * op.bytes, op.bytes, value != nullptr ? *value : UndefinedBytes{});
  }
}

}  // namespace

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

void load_global_shadow(Warp& w, const Op& op, const Allocation& allocation, const Request& request, std::uint32_t lanes) {
  if (GlobalShadow::all_written(allocation, request.addresses, lanes, request.bytes)) return clear_loaded(w, op, lanes);
  const auto first = w.launch->global_shadow->first_unwritten(allocation, request.addresses, lanes, request.bytes);
  fill_from(w, op, lanes, ShadowSpace::global,
            [&](std::uint32_t at) { return w.launch->global_shadow->unwritten(allocation, request.addresses, lanes, at, op.bytes); },
            first ? first->offset : 0, first ? first->lane : 0);
}

void load_shared_shadow(Warp& w, const Op& op, const Request& request) {
  const ByteShadow& shadow = owner_of(w, request).shared_shadow;
  if (shadow.all_written(request.addresses, request.mask, request.bytes)) return clear_loaded(w, op, request.mask);
  load_window(w, op, shadow, request, report_read_in_flight(w, op, request) ? ShadowSpace::in_flight : ShadowSpace::shared);
}
void load_local_shadow(Warp& w, const Op& op, const Request& request) { load_window(w, op, w.local_shadow, request, ShadowSpace::local); }
void store_shared_shadow(Warp& w, const Op& op, const Request& request) { store_window(w, op, owner_of(w, request).shared_shadow, request); }
void store_local_shadow(Warp& w, const Op& op, const Request& request) { store_window(w, op, w.local_shadow, request); }

// No fault yet: it is one when the host, or the task as its output, reads the bytes (Device::check_read).
void store_global_shadow(Warp& w, const Op& op, Allocation& allocation, const Request& request, std::uint32_t lanes) {
  GlobalShadow& shadow = *w.launch->global_shadow;
  if (!w.tainted) return shadow.mark_written(allocation, request.addresses, lanes, request.bytes);
  for (std::uint32_t e = 0; e < op.list_count; ++e) {
    const UndefinedBytes* value = undefined_operand(w, data_operand(op, e));
    UndefinedBytes stored = value != nullptr ? *value : UndefinedBytes{};
    if (stored.any() != 0 && stored.origin == 0) stored.origin = undefined_origin(w, op, ShadowSpace::register_file, 0, 0);
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
    const UndefinedBytes* found = undefined_operand(w, whole.kind == Kind::vector ? whole.elements[element] : whole);
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
    return undefined_operand(w, operand) != nullptr ||
           (operand.kind == Kind::vector && std::any_of(operand.elements.begin(), operand.elements.end(), [&](const Operand& e) { return undefined_operand(w, e) != nullptr; }));
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
      if (old.any() != 0 && old.origin == 0) old.origin = undefined_origin(w, op, space, request.addresses[lane] + e * op.bytes, lane);
      UndefinedBytes left = left_by(w, op, e, old, lane);
      if (left.any() != 0 && left.origin == 0) left.origin = undefined_origin(w, op, ShadowSpace::register_file, 0, lane);
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
  ByteShadow& shadow = owner_of(w, request).shared_shadow;
  const bool written = shadow.all_written(request.addresses, request.mask, request.bytes);
  if (written && !has_undefined_register(w, op)) return clear_result(w, op, request.mask);
  const ShadowSpace space = !written && report_read_in_flight(w, op, request) ? ShadowSpace::in_flight : ShadowSpace::shared;
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
    if (byte.origin == 0) byte.origin = undefined_origin(w, *copy.op, ShadowSpace::global, copy.from[lane] + at, lane);
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

}  // namespace kforge::emulator
