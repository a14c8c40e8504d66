// What the observers make of a bulk copy: races, the order of proxies, sectors, and copies that are not waited for.
#pragma once

#include <cstddef>
#include <string_view>

#include "emulator/bulk_copy.h"
#include "emulator/handlers.h"

namespace kforge::emulator {

Warp& issuing_warp(const BulkCopy& copy);
// The copy's thread touches a stretch of memory: the shared window of `block`, or an allocation.
void tell_races(const BulkCopy& copy, const Block& block, Allocation* allocation, Address first, std::uint64_t bytes, AccessKind kind);
// Whether the issuing thread's writes to a stretch of its block's shared memory were fenced for the copy.
void check_proxy(const BulkCopy& copy, Address first, std::uint64_t bytes);
// Sectors of a stretch of global memory.
void count_piece(OpProfile& profile, const BulkPiece& piece, bool store);
void report_unwaited(const BulkCopy& copy, std::string_view what, std::string_view required);
// A product that its warpgroup has not waited for may still read what a load overwrites.
void check_readers(Warp& w, const Op& op, const BulkCopy& copy);
// Of what the source of a store holds now; check_source() compares it with what it was at the issue.
std::size_t hash_source(const BulkCopy& copy);
void check_source(const BulkCopy& copy);

}  // namespace kforge::emulator
