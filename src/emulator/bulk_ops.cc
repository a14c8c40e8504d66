// Bulk copies are done as late as the program allows: loads when a thread waits for their mbarrier and nothing else is awaited there, stores when the
// issuing thread waits for its bulk group. Until then what a load fills counts as unwritten.
//
// For the race detector a copy is made by the thread that issued it, twice: when it was issued, and when it is known to be done. A load's
// complete_tx releases the mbarrier, so that whoever waited for the phase comes after it.
#include "emulator/bulk_ops.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <string_view>

#include "emulator/access.h"
#include "emulator/bulk_observe.h"
#include "emulator/cluster.h"
#include "emulator/store_notes.h"
#include "emulator/uninitialised.h"

namespace kforge::emulator {
namespace {

constexpr std::uint32_t kBulkAlignment = 16, kBoxAlignment = 128, kMapAlignment = 64;

bool is_own_offset(Address address) { return address >> kClusterRankShift == 0; }

Address address_at(const Warp& w, const Op& op, std::size_t k, std::uint32_t lane) {
  const auto offset = static_cast<std::int64_t>(get<std::uint64_t>(w.at(op.list[k + 1]), lane));
  if ((op.wide >> k & 1) != 0) return get<std::uint64_t>(w.at(op.list[k]), lane) + static_cast<std::uint64_t>(offset);
  return (get<std::uint32_t>(w.at(op.list[k]), lane) + static_cast<std::uint64_t>(offset)) & 0xffffffffu;
}

// ---- starting a copy -----------------------------------------------------------------------------------------------

Flow misaligned(Warp& w, const Op& op, std::uint32_t lane, Address address, std::uint32_t alignment, Direction direction) {
  Request request{{}, 1u << lane, alignment, ptx::Space::generic, direction};
  request.addresses[lane] = address;
  return fault_misaligned(w, op, request, 1u << lane);
}

Flow outside_shared(Warp& w, const Op& op, std::uint32_t lane, Address address, std::uint64_t bytes, Direction direction) {
  Request request{{}, 1u << lane, static_cast<std::uint32_t>(bytes), ptx::Space::shared, direction};
  request.addresses[lane] = address;
  return fault_window(w, op, request, 1u << lane, "shared", w.launch->shared_bytes);
}

// Where a box may begin, as an H200 has it (docs/h200-goldens.md): elsewhere it stops with an illegal instruction.
Flow check_corner(Warp& w, const Op& op, const BulkCopy& copy) {
  const auto corner = std::span(copy.at).first(copy.mode.dims);
  const std::uint64_t width = tensor_element_bytes(copy.map.type);
  const bool store = copy.mode.kind == BulkKind::store || copy.mode.kind == BulkKind::reduce;
  if (corner[0] * static_cast<std::int64_t>(width) % 16 != 0)
    return stop(w, op, 1u << copy.lane, LaunchStatus::illegal_instruction,
                fmt::format("a bulk tensor copy whose box begins at ({}), in elements of {} bytes: in the first dimension a box begins at a multiple of 16 bytes", fmt::join(corner, ", "), width));
  if (store && std::any_of(corner.begin(), corner.end(), [](std::int64_t at) { return at < 0; }))
    return stop(w, op, 1u << copy.lane, LaunchStatus::illegal_instruction,
                fmt::format("a bulk tensor copy to global memory whose box begins at ({}), before the tensor: only loads may begin there", fmt::join(corner, ", ")));
  return Flow::next;
}

// The map that a thread names, copied as it is now.
Flow read_map(Warp& w, const Op& op, std::uint32_t lane, BulkCopy& copy) {
  const Address at = address_at(w, op, kBulkGlobal, lane);
  const Allocation* allocation = w.launch->memory->find(at);
  if (allocation == nullptr || allocation->base + allocation->size - at < 128) {
    Request request{{}, 1u << lane, 128, ptx::Space::global, Direction::load};
    request.addresses[lane] = at;
    return fault_global(w, op, request, 1u << lane);
  }
  if (at % kMapAlignment != 0) return misaligned(w, op, lane, at, kMapAlignment, Direction::load);
  std::memcpy(&copy.map, allocation->data + (at - allocation->base), sizeof copy.map);
  if (copy.map.magic != kTensorMapMagic || copy.map.rank != copy.mode.dims)
    return stop(w, op, 1u << lane, LaunchStatus::illegal_instruction,
                copy.map.magic != kTensorMapMagic ? std::string("a bulk tensor copy whose tensor map was not made by cuTensorMapEncodeTiled")
                                                  : fmt::format("a bulk tensor copy of {} dimensions by a tensor map of {}", copy.mode.dims, copy.map.rank));
  if (copy.map.interleave != 0) return stop(w, op, 1u << lane, LaunchStatus::illegal_instruction, "the emulator does not execute interleaved tensor maps");
  for (std::uint32_t i = 0; i < copy.mode.dims; ++i) copy.at[i] = static_cast<std::int32_t>(get<std::uint32_t>(w.at(op.list[kBulkCoordinates + i]), lane));
  copy.bytes = box_bytes(copy.map);
  return check_corner(w, op, copy);
}

// Global memory of the copy lies in live allocations.
Flow check_global(Warp& w, const Op& op, const BulkCopy& copy) {
  const bool store = copy.mode.kind == BulkKind::store || copy.mode.kind == BulkKind::reduce;
  Allocation* allocation = nullptr;
  Flow flow = Flow::next;
  OpProfile* profile = w.launch->profile ? &w.launch->ops[op.index] : nullptr;
  if (profile != nullptr) ++profile->requests;
  for_pieces(copy, [&](const BulkPiece& piece) {
    if ((piece.global == 0 && copy.mode.dims != 0) || flow != Flow::next) return;   // outside the tensor
    if (allocation == nullptr || piece.global - allocation->base >= allocation->size) allocation = w.launch->memory->find(piece.global);
    Request request{{}, 1u << copy.lane, piece.bytes, ptx::Space::global, store ? Direction::store : Direction::load};
    request.addresses[copy.lane] = piece.global;
    if (allocation == nullptr || allocation->base + allocation->size - piece.global < piece.bytes) flow = fault_global(w, op, request, 1u << copy.lane);
    else if (store && allocation->read_only) flow = fault_read_only(w, op, request, *allocation);
    if (flow != Flow::next) return;
    if (profile != nullptr) count_piece(*profile, piece, store);
    tell_races(copy, *copy.block, allocation, piece.global, piece.bytes, copy.mode.kind == BulkKind::reduce ? AccessKind::atomic : store ? AccessKind::store : AccessKind::load);
  });
  return flow;
}

Flow start_store(Warp& w, const Op& op, BulkCopy& copy) {
  copy.group = w.bulk_groups[copy.lane];
  if (w.launch->safety) copy.source_hash = hash_source(copy);
  if (const Flow flow = check_global(w, op, copy); flow != Flow::next) return flow;
  tell_races(copy, *copy.block, nullptr, copy.shared, copy.bytes, AccessKind::load);
  for_pieces(copy, [&](const BulkPiece& piece) { check_proxy(copy, piece.shared, piece.bytes); });
  w.bulk_stores.push_back(copy);
  return Flow::next;
}

// Of the destination: red.async updates it.
AccessKind store_kind(const BulkCopy& copy) { return copy.op->source->mods.atom_op == ptx::AtomOp::none ? AccessKind::store : AccessKind::atomic; }

// `copy.block` is the destination.
Flow start_load(Warp& w, const Op& op, BulkCopy& copy) {
  const std::uint64_t window = w.launch->shared_bytes;
  if (copy.barrier % 8 != 0) return misaligned(w, op, copy.lane, copy.barrier, 8, Direction::atomic);
  if (copy.barrier > window || window - copy.barrier < 8) return outside_shared(w, op, copy.lane, copy.barrier, 8, Direction::atomic);
  if (w.launch->safety) check_readers(w, op, copy);
  if (copy.block != w.block) {
    note_reached(*copy.block, copy.shared, copy.bytes);
    expect_object(copy);
  }
  tell_races(copy, *copy.block, nullptr, copy.shared, copy.bytes, store_kind(copy));
  if (w.launch->safety && copy.op->source->mods.atom_op == ptx::AtomOp::none) copy.block->shared_shadow.mark_range(copy.shared, copy.bytes, false);
  copy.block->bulk_loads.push_back(copy);
  ++w.launch->stores;   // whoever waits for the mbarrier looks again
  return Flow::next;
}

// Into the same place of several blocks of the cluster, a bit each, whose own mbarriers count it.
Flow start_loads(Warp& w, const Op& op, BulkCopy& copy, std::uint32_t blocks) {
  if (w.block->cluster == nullptr) return start_load(w, op, copy);
  for (std::uint32_t rank = 0; blocks >> rank != 0; ++rank) {
    if ((blocks >> rank & 1) == 0) continue;
    Flow flow = Flow::next;
    const auto place = place_in_cluster(w, op, copy.lane, copy.shared | Address{rank + 1} << kClusterRankShift, 16, flow);
    if (!place) return flow;
    copy.block = place->block;
    if (flow = start_load(w, op, copy); flow != Flow::next) return flow;
  }
  return Flow::next;
}

// The block of the cluster whose memory the destination and the mbarrier name.
Flow find_destination(Warp& w, const Op& op, BulkCopy& copy) {
  if (w.block->cluster == nullptr || (is_own_offset(copy.shared) && is_own_offset(copy.barrier))) return Flow::next;
  Flow flow = Flow::next;
  const auto to = place_in_cluster(w, op, copy.lane, copy.shared, copy.bytes < 16 ? static_cast<std::uint32_t>(copy.bytes) : 16, flow);
  if (!to) return flow;
  const auto barrier = place_in_cluster(w, op, copy.lane, copy.barrier, 8, flow);
  if (!barrier) return flow;
  if (to->block != barrier->block)
    return stop(w, op, 1u << copy.lane, LaunchStatus::illegal_instruction, "an asynchronous copy into one block's shared memory that an mbarrier of another block is to count");
  copy.block = to->block;
  copy.shared = to->offset;
  copy.barrier = barrier->offset;
  return Flow::next;
}

// Bytes of the issuer's shared memory on their way to another block's.
Flow start_remote(Warp& w, const Op& op, BulkCopy& copy) {
  if (copy.global > w.launch->shared_bytes || w.launch->shared_bytes - copy.global < copy.bytes) return outside_shared(w, op, copy.lane, copy.global, copy.bytes, Direction::load);
  tell_races(copy, *copy.issuer, nullptr, copy.global, copy.bytes, AccessKind::load);
  check_proxy(copy, copy.global, copy.bytes);
  return start_load(w, op, copy);
}

// The registers of st.async and red.async.
void read_values(const Warp& w, const Op& op, BulkCopy& copy) {
  const std::uint32_t width = ptx::size_bytes(op.source->type);
  copy.bytes = 0;
  for (std::size_t k = kBulkCoordinates; k < op.list_count; ++k, copy.bytes += width) {
    if (width == 8) { const auto bits = get<std::uint64_t>(w.at(op.list[k]), copy.lane); std::memcpy(copy.value.data() + copy.bytes, &bits, 8); }
    else { const auto bits = get<std::uint32_t>(w.at(op.list[k]), copy.lane); std::memcpy(copy.value.data() + copy.bytes, &bits, 4); }
  }
}

Flow start_copy(Warp& w, const Op& op, std::uint32_t lane) {
  BulkCopy copy;
  copy.op = &op;
  copy.issuer = copy.block = w.block;
  copy.warp = w.index;
  copy.lane = lane;
  copy.mode = BulkMode::unpack(op.target);
  const BulkKind kind = copy.mode.kind;
  const Direction direction = kind == BulkKind::store || kind == BulkKind::reduce ? Direction::load : Direction::store;
  if (copy.mode.dims != 0) {
    if (const Flow flow = read_map(w, op, lane, copy); flow != Flow::next) return flow;
  } else if (kind == BulkKind::value) {
    read_values(w, op, copy);
  } else {
    copy.global = address_at(w, op, kBulkGlobal, lane);
    copy.bytes = get<std::uint32_t>(w.at(op.list[kBulkSize]), lane);
    if (copy.global % kBulkAlignment != 0) return misaligned(w, op, lane, copy.global, kBulkAlignment, Direction::load);
    if (copy.bytes % kBulkAlignment != 0) return misaligned(w, op, lane, copy.bytes, kBulkAlignment, Direction::load);
  }
  if (kind == BulkKind::prefetch) return Flow::next;
  copy.shared = address_at(w, op, kBulkShared, lane);
  if (direction == Direction::store) {
    copy.barrier = address_at(w, op, kBulkBarrier, lane);
    if (const Flow flow = find_destination(w, op, copy); flow != Flow::next) return flow;
  }
  const std::uint32_t alignment = copy.mode.dims != 0 ? kBoxAlignment : kind == BulkKind::value ? static_cast<std::uint32_t>(copy.bytes) : kBulkAlignment;
  if (copy.shared % alignment != 0) return misaligned(w, op, lane, copy.shared, alignment, direction);
  if (copy.shared > w.launch->shared_bytes || w.launch->shared_bytes - copy.shared < copy.bytes) return outside_shared(w, op, lane, copy.shared, copy.bytes, direction);
  if (direction == Direction::load) return start_store(w, op, copy);
  if (kind == BulkKind::remote) return start_remote(w, op, copy);
  if (kind == BulkKind::value) return start_load(w, op, copy);
  if (const Flow flow = check_global(w, op, copy); flow != Flow::next) return flow;
  if (!copy.mode.multicast) return start_load(w, op, copy);
  return start_loads(w, op, copy, get<std::uint16_t>(w.at(op.list[kBulkBlocks]), lane));
}

Flow run_bulk(Warp& w, const Op& op, std::uint32_t mask) {
  Flow flow = Flow::next;
  for_lanes(mask, [&](std::uint32_t lane) {
    if (flow == Flow::next) flow = start_copy(w, op, lane);
  });
  return flow;
}

// ---- ending a copy -------------------------------------------------------------------------------------------------

void land_shadow(const BulkCopy& copy, const BulkPiece& piece, const Allocation* from) {
  ByteShadow& shadow = copy.block->shared_shadow;
  shadow.mark_range(piece.shared, piece.bytes, true);
  if (from == nullptr || from->all_initialised) return;
  Warp& w = issuing_warp(copy);
  LaneAddresses source{}, target{};
  for (std::uint32_t at = 0; at < piece.bytes; ++at) {
    source[copy.lane] = piece.global + at;
    target[copy.lane] = piece.shared + at;
    UndefinedBytes byte = w.launch->global_shadow->unwritten(*from, source, 1u << copy.lane, 0, 1);
    if (byte.any() == 0) continue;
    if (byte.origin == 0) byte.origin = undefined_origin(w, *copy.op, ShadowSpace::global, piece.global + at, copy.lane);
    shadow.mark_stored(target, 1u << copy.lane, 0, 1, byte);
  }
}

void reduce_piece(const BulkCopy& copy, const BulkPiece& piece, const std::byte* from, std::byte* to) {
  static constexpr ptx::Type kTypes[] = {ptx::Type::u32, ptx::Type::u32, ptx::Type::u32, ptx::Type::s32, ptx::Type::u64, ptx::Type::s64, ptx::Type::f16,
                                         ptx::Type::f32, ptx::Type::f64, ptx::Type::bf16, ptx::Type::f32, ptx::Type::f32, ptx::Type::f32};
  ptx::Instruction in = *copy.op->source;
  if (copy.mode.dims != 0) in.type = kTypes[copy.map.type];
  const std::uint32_t width = ptx::size_bytes(in.type);
  for (std::uint32_t at = 0; at + width <= piece.bytes; at += width) {
    std::uint64_t old = 0, value = 0;
    std::memcpy(&old, to + at, width);
    std::memcpy(&value, from + at, width);
    const std::uint64_t result = atomic_step(in, old, value, 0, true);
    std::memcpy(to + at, &result, width);
  }
}

void land_remote(const BulkCopy& copy) {
  Block& to = *copy.block;
  tell_races(copy, *copy.issuer, nullptr, copy.global, copy.bytes, AccessKind::load);
  if (copy.issuer->live_warps == 0) report_unwaited(copy, "read", "some thread of the issuing block waits until the copy is done (a barrier of the cluster after the receiver's wait) before the block ends");
  std::memcpy(to.shared.data() + copy.shared, copy.issuer->shared.data() + copy.global, copy.bytes);
  if (copy.issuer->launch->safety) to.shared_shadow.copy_range(copy.shared, copy.issuer->shared_shadow, copy.global, copy.bytes);
}

void land_value(const BulkCopy& copy) {
  std::byte* const to = copy.block->shared.data() + copy.shared;
  const BulkPiece piece{copy.shared, 0, static_cast<std::uint32_t>(copy.bytes)};
  if (copy.op->source->mods.atom_op != ptx::AtomOp::none) reduce_piece(copy, piece, copy.value.data(), to);
  else std::memcpy(to, copy.value.data(), copy.bytes);
  if (copy.issuer->launch->safety) copy.block->shared_shadow.mark_range(copy.shared, copy.bytes, true);
}

void land(const BulkCopy& copy) {
  Launch& launch = *copy.issuer->launch;
  Allocation* from = nullptr;
  tell_races(copy, *copy.block, nullptr, copy.shared, copy.bytes, store_kind(copy));
  if (copy.mode.kind == BulkKind::remote || copy.mode.kind == BulkKind::value) {
    copy.mode.kind == BulkKind::remote ? land_remote(copy) : land_value(copy);
    ++launch.stores;
    return complete_bytes(copy);
  }
  for_pieces(copy, [&](const BulkPiece& piece) {
    std::byte* to = copy.block->shared.data() + piece.shared;
    if (piece.global == 0) {
      fill_outside(copy.map, to, piece.bytes);
      if (launch.safety) land_shadow(copy, piece, nullptr);
      return;
    }
    if (from == nullptr || piece.global - from->base >= from->size) from = launch.memory->find(piece.global);
    if (from == nullptr) return;
    std::memcpy(to, from->data + (piece.global - from->base), piece.bytes);
    if (!launch.safety) return;
    tell_races(copy, *copy.block, from, piece.global, piece.bytes, AccessKind::load);
    land_shadow(copy, piece, from);
  });
  ++launch.stores;
  complete_bytes(copy);
}

void store_shadow(const BulkCopy& copy, const BulkPiece& piece, Allocation& to) {
  Launch& launch = *copy.issuer->launch;
  const ByteShadow& shadow = copy.block->shared_shadow;
  if (shadow.range_written(piece.shared, piece.bytes)) {
    if (!to.all_initialised) launch.global_shadow->mark_range(to, piece.global - to.base, piece.bytes, true);
    return;
  }
  Warp& w = issuing_warp(copy);
  LaneAddresses source{}, target{};
  for (std::uint32_t at = 0; at < piece.bytes; ++at) {
    source[copy.lane] = piece.shared + at;
    target[copy.lane] = piece.global + at;
    UndefinedBytes byte = shadow.unwritten(source, 1u << copy.lane, 0, 1);
    if (byte.any() != 0 && byte.origin == 0) byte.origin = undefined_origin(w, *copy.op, ShadowSpace::shared, piece.shared + at, copy.lane);
    launch.global_shadow->mark_stored(to, target, 1u << copy.lane, 0, 1, byte);
  }
}

// The source is read, and the bytes go where they belong.
void move_out(BulkCopy& copy) {
  Launch& launch = *copy.issuer->launch;
  copy.moved = true;
  if (launch.safety) check_source(copy);
  tell_races(copy, *copy.block, nullptr, copy.shared, copy.bytes, AccessKind::load);
  Allocation* to = nullptr;
  for_pieces(copy, [&](const BulkPiece& piece) {
    if (piece.global == 0) return;
    if (to == nullptr || piece.global - to->base >= to->size) to = launch.memory->find(piece.global);
    if (to == nullptr) return;
    std::byte* target = to->data + (piece.global - to->base);
    const std::byte* source = copy.block->shared.data() + piece.shared;
    if (copy.mode.kind == BulkKind::reduce) reduce_piece(copy, piece, source, target);
    else std::memcpy(target, source, piece.bytes);
    ++launch.stores;
    if (launch.safety || launch.profile) mark_stored_range(*to, piece.global - to->base, piece.bytes);
    if (launch.profile) {
      Request part{{}, 1u << copy.lane, piece.bytes, ptx::Space::global, Direction::store};
      part.addresses[copy.lane] = piece.global;
      note_store(issuing_warp(copy), *copy.op, *to, part);
    }
    if (launch.safety) store_shadow(copy, piece, *to);
  });
}

void finish_store(BulkCopy& copy) {
  if (!copy.moved) move_out(copy);
  Allocation* to = nullptr;
  const AccessKind kind = copy.mode.kind == BulkKind::reduce ? AccessKind::atomic : AccessKind::store;
  for_pieces(copy, [&](const BulkPiece& piece) {
    if (piece.global == 0) return;
    if (to == nullptr || piece.global - to->base >= to->size) to = copy.issuer->launch->memory->find(piece.global);
    if (to != nullptr) tell_races(copy, *copy.block, to, piece.global, piece.bytes, kind);
  });
}

Flow run_commit(Warp& w, const Op&, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t i) { ++w.bulk_groups[i]; });
  return Flow::next;
}

// immediate: groups that may stay in flight; flags 1: until their sources were read.
Flow run_wait(Warp& w, const Op& op, std::uint32_t mask) {
  const bool only_read = (op.flags & 1) != 0;
  std::erase_if(w.bulk_stores, [&](BulkCopy& copy) {
    if ((mask >> copy.lane & 1) == 0 || copy.group + static_cast<std::uint64_t>(op.immediate) >= w.bulk_groups[copy.lane]) return false;
    if (only_read) {
      if (!copy.moved) move_out(copy);
      return false;
    }
    finish_store(copy);
    return true;
  });
  return Flow::next;
}

}  // namespace

void land_bulk(Block& block, Address barrier) {
  std::vector<BulkCopy> due;
  std::erase_if(block.bulk_loads, [&](const BulkCopy& copy) {
    if (copy.barrier != barrier) return false;
    due.push_back(copy);
    return true;
  });
  for (const BulkCopy& copy : due) land(copy);
}

void end_bulk(Block& block) {
  for (Warp& w : block.warps) {
    for (BulkCopy& copy : w.bulk_stores) {
      if (!copy.moved) report_unwaited(copy, "read", "cp.async.bulk.commit_group, and cp.async.bulk.wait_group or wait_group.read 0 by the issuing thread before it exits");
      finish_store(copy);
    }
    w.bulk_stores.clear();
  }
  for (const BulkCopy& copy : block.bulk_loads) report_unwaited(copy, "write", "some thread waits for the phase of the copy's mbarrier before the block ends");
  block.bulk_loads.clear();
}

const BulkCopy* bulk_in_flight(const Block& block, std::uint64_t offset) {
  for (const BulkCopy& copy : block.bulk_loads)
    if (offset - copy.shared < copy.bytes) return &copy;
  return nullptr;
}

BulkMode bulk_mode(const ptx::Instruction& in) {
  const std::string_view id = ptx::instruction_table()[in.form].id;
  const auto has = [&](std::string_view part) { return id.find(part) != std::string_view::npos; };
  BulkMode mode;
  mode.kind = has("remote") ? BulkKind::remote : id.starts_with("st_async") || id.starts_with("red_async") ? BulkKind::value : has("reduce") ? BulkKind::reduce : has("prefetch") ? BulkKind::prefetch : has("store") ? BulkKind::store : BulkKind::load;
  for (char dims = '1'; dims <= '5'; ++dims)
    if (const char word[] = {dims, 'd', '\0'}; has("tensor") && in.mods.text.find(word) != std::string::npos) mode.dims = static_cast<std::uint8_t>(dims - '0');
  mode.multicast = has("multicast");
  return mode;
}

Handler select_bulk(ptx::Exec exec) {
  switch (exec) {
    case ptx::Exec::cp_async_bulk: return &run_bulk;
    case ptx::Exec::cp_async_bulk_commit: return &run_commit;
    case ptx::Exec::cp_async_bulk_wait: return &run_wait;
    default: return nullptr;
  }
}

}  // namespace kforge::emulator
