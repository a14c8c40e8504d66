#include "emulator/bulk_observe.h"

#include <algorithm>
#include <bit>
#include <functional>

#include <fmt/format.h>

#include "emulator/access.h"
#include "emulator/wgmma_ops.h"

namespace kforge::emulator {

Warp& issuing_warp(const BulkCopy& copy) { return copy.issuer->warps[copy.warp]; }

// The copy's thread touches a stretch of memory: the shared window of `block`, or an allocation.
void tell_races(const BulkCopy& copy, const Block& block, Allocation* allocation, Address first, std::uint64_t bytes, AccessKind kind) {
  Launch& launch = *copy.issuer->launch;
  if (!launch.safety) return;
  LaneAddresses addresses{};
  RaceAccess access;
  access.block = copy.issuer->races;
  access.window = block.races;
  access.warp = copy.warp;
  access.mask = 1u << copy.lane;
  access.addresses = &addresses;
  access.allocation = allocation;
  access.memory = allocation != nullptr ? allocation->data : block.shared.data();
  access.location = copy.op->location;
  access.kind = kind;
  access.strong = kind == AccessKind::atomic;
  while (bytes != 0) {
    const auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>({32, std::bit_floor(bytes), first % 32 == 0 ? 32 : first & (~first + 1)}));
    addresses[copy.lane] = first;
    access.bytes = part;
    if (copy.mode.kind == BulkKind::value) launch.races->access(access);   // no async proxy
    else launch.races->async_access(access);
    first += part;
    bytes -= part;
  }
}

// Of the issuer's shared memory.
void check_proxy(const BulkCopy& copy, Address first, std::uint64_t bytes) {
  Launch& launch = *copy.issuer->launch;
  if (!launch.safety) return;
  const std::uint32_t thread = copy.warp * 32 + copy.lane;
  const auto unfenced = launch.races->unfenced_write(copy.issuer->races, thread, first, bytes);
  if (unfenced) report_unfenced(issuing_warp(copy), *copy.op, 1u << copy.lane, *unfenced, "a bulk copy");
}

// Sectors of a stretch of global memory.
void count_piece(OpProfile& profile, const BulkPiece& piece, bool store) {
  const std::uint64_t first = piece.global / 32, last = (piece.global + piece.bytes - 1) / 32;
  profile.sectors += last - first + 1;
  profile.sectors_ideal += last - first + 1;
  profile.sectors_aligned_ideal += (piece.bytes + 31) / 32;
  profile.distinct_bytes += piece.bytes;
  if (store) profile.partial_sectors += (piece.global % 32 != 0 ? 1u : 0u) + (last != first && (piece.global + piece.bytes) % 32 != 0 ? 1u : 0u);
}

void report_unwaited(const BulkCopy& copy, std::string_view what, std::string_view required) {
  if (!copy.issuer->launch->safety) return;
  report(issuing_warp(copy), *copy.op, 1u << copy.lane, "safety.async", "bulk-copy-unwaited", [&](evidence::Violation& v) {
    v.message = fmt::format("the block ends while a bulk copy may still {} its shared memory", what);
    v.measured = "a copy in flight at the end of the block";
    v.required = required;
  });
}

// A product that its warpgroup has not waited for may still read what the copy overwrites: nobody can know that it has not.
void check_readers(Warp& w, const Op& op, const BulkCopy& copy) {
  const Op* product = product_reading(*copy.block, copy.shared, copy.bytes);
  if (product == nullptr) return;
  report(w, op, 1u << copy.lane, "safety.async", "overwritten-while-read", [&](evidence::Violation& v) {
    v.other = w.launch->where(product->location);
    v.message = fmt::format("an asynchronous copy into shared memory at offset {} begins while wgmma may still read there", copy.shared);
    v.measured = "a product that was not waited for";
    v.required = "wgmma.wait_group by the warpgroup that multiplies, before it gives the buffer back";
  });
}

// What the source of a store holds now.
std::size_t hash_source(const BulkCopy& copy) {
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(copy.block->shared.data() + copy.shared), static_cast<std::size_t>(copy.bytes)});
}

// Barriers may order the writes before the read that is done here; a GPU may have read at any time since the copy was issued.
void check_source(const BulkCopy& copy) {
  if (hash_source(copy) == copy.source_hash) return;
  report(issuing_warp(copy), *copy.op, 1u << copy.lane, "safety.async", "source-overwritten", [&](evidence::Violation& v) {
    v.message = fmt::format("{} bytes of shared memory at offset {} were written while a bulk copy may still read them", copy.bytes, copy.shared);
    v.measured = "a write before the copy has read its source";
    v.required = "cp.async.bulk.commit_group and cp.async.bulk.wait_group.read by the issuing thread, then a barrier, before the source is written again";
  });
}

}  // namespace kforge::emulator
