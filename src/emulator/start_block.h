// A block that becomes resident: its shared memory, its warps with their registers, and the special registers of both.
#pragma once

#include <cstdint>
#include <memory>

#include "emulator/launch.h"

namespace kforge::emulator {

// `used`: a block of this launch that has ended, whose memory the new one takes; may be null.
std::unique_ptr<Block> start_block(Launch& launch, std::uint64_t linear, std::unique_ptr<Block> used = nullptr);

}  // namespace kforge::emulator
