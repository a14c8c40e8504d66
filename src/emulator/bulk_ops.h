// cp.async.bulk, cp.async.bulk.tensor, cp.reduce.async.bulk, st.async and red.async. What decode_bulk fills in:
//   list    [0] address in shared memory, [2] address in global memory or of the tensor map, [4] mbarrier, each followed by its constant
//           offset; [6] size; [7] mask of blocks; [8...] coordinates, or the values of st.async and red.async; wide: which of [0], [2] and [4] are 64-bit slots
//   target  BulkMode::packed()
#pragma once

#include <string_view>

#include "emulator/bulk_copy.h"
#include "emulator/handlers.h"

namespace kforge::emulator {

inline constexpr std::size_t kBulkShared = 0, kBulkGlobal = 2, kBulkBarrier = 4, kBulkSize = 6, kBulkBlocks = 7, kBulkCoordinates = 8;

BulkMode bulk_mode(const ptx::Instruction& instruction);
Handler select_bulk(ptx::Exec exec);

// Copies that will be counted by the mbarrier at `barrier` of the block arrive now: a thread waits for the phase, and nothing else is awaited.
void land_bulk(Block& block, Address barrier);
// The last thread of the block has exited: what was stored becomes visible; what still touches its shared memory is a fault of the kernel.
void end_bulk(Block& block);
// The load on its way to a byte of shared memory; null: none.
const BulkCopy* bulk_in_flight(const Block& block, std::uint64_t offset);

// mbarrier_ops.cc: the copy's thread counts on the mbarrier of another block; complete_tx by it.
void expect_object(const BulkCopy& copy);
void complete_bytes(const BulkCopy& copy);

}  // namespace kforge::emulator
