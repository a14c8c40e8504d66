// Which instructions store to which allocation, and between which offsets: what names the line that stores a tensor when the tensor
// turns out to be wrong (numerics, launch.coverage). One small list an instruction, kept while a launch is profiled; of small allocations every byte
// is kept, for several lines often store interleaved parts of one tensor.
#pragma once

#include "emulator/access.h"
#include "emulator/launch.h"

namespace kforge::emulator {

// `part.mask`: the lanes that fall into `allocation`.
void note_store(Warp& warp, const Op& op, const Allocation& allocation, const Request& part);
// What either has written; a map that is not there is empty.
void join_written(std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from);

}  // namespace kforge::emulator
