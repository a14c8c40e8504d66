// The byte shadows of an allocation (emulator/memory.h), changed by what the runtime does to whole ranges: copies, memset,
// marking. One bit a byte; an empty vector is "no bit set", except where `all_initialised` says otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/memory.h"

namespace kforge::cudart {

using Bits = std::vector<std::uint64_t>;

// `size`: bytes of the allocation (bits of the shadow). REQUIRES: offset + bytes <= size.
void set_range(Bits& bits, std::uint64_t size, std::uint64_t offset, std::uint64_t bytes, bool value);
// 64 bits from bit `offset`, of which `count` are meaningful (the others are 0).
std::uint64_t get_bits(const Bits& bits, std::uint64_t offset, std::uint64_t count);
bool all_set(const Bits& bits, std::uint64_t offset, std::uint64_t bytes);
bool any_set(const Bits& bits);
// First byte whose bit is not set in [offset, offset + bytes); offset + bytes when all are.
std::uint64_t first_clear(const Bits& bits, std::uint64_t offset, std::uint64_t bytes);

void mark_initialised(emulator::Allocation& allocation, std::uint64_t offset, std::uint64_t bytes, bool value);
// Bytes that the host provided: initialised, and no longer the work of a kernel.
void mark_from_host(emulator::Allocation& allocation, std::uint64_t offset, std::uint64_t bytes);
// Bytes that the device produced itself (memset).
void mark_from_device(emulator::Allocation& allocation, std::uint64_t offset, std::uint64_t bytes);
// A device-side copy: bytes are as initialised, and as much the host's, as their source; what is not the host's counts as
// written by the device (contracts.md, launch.coverage).
void copy_marks(emulator::Allocation& to, std::uint64_t to_offset, const emulator::Allocation& from, std::uint64_t from_offset,
                std::uint64_t bytes);
bool is_initialised(const emulator::Allocation& allocation, std::uint64_t offset, std::uint64_t bytes);

}  // namespace kforge::cudart
