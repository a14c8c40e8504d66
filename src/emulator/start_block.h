// A block that becomes resident: its shared memory, its warps with their registers, and the special registers of both.
#pragma once

#include <cstdint>
#include <memory>

#include "emulator/launch.h"

namespace kforge::emulator {

std::unique_ptr<Block> start_block(Launch& launch, std::uint64_t linear);

}  // namespace kforge::emulator
