// wgmma (PTX manual, 9.7.15): products of a warpgroup, 64 rows of which each of its four warps has 16. What decode_wgmma fills in:
//   list       D's registers, then A's if it comes from registers (flags kWgmmaRegisters)
//   r[0] r[1]  matrix descriptors of A and B   r[2] scale-d   r[4] a slot with all ones
//   target     N | K << 16     bytes  bytes of an element of A and B
// Results are there at once, but count as unwritten until the warp waits for their group: what uses them before is found.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/handlers.h"

namespace kforge::emulator {

inline constexpr std::uint8_t kWgmmaRegisters = 1, kWgmmaNegateA = 2, kWgmmaNegateB = 4, kWgmmaTransposeA = 8, kWgmmaTransposeB = 16, kWgmmaFlipScale = 32;

bool is_wgmma(ptx::Exec exec);
Handlers select_wgmma(ptx::Exec exec);
// A product of the block that no warp has waited for and that reads some of these bytes of its shared memory; null: none.
const Op* product_reading(const Block& block, Address first, std::uint64_t bytes);

}  // namespace kforge::emulator
