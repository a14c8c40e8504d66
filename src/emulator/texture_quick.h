// Texture fetches as most programs make them: one level, one or two dimensions, without layers and offsets, of channels that are f32,
// integers, or unsigned integers read as [0, 1]. Where nothing observes. The numbers are those of texture_sample.h.
#pragma once

#include "emulator/handlers.h"
#include "emulator/texture.h"

namespace kforge::emulator {

// False: none of those, or texels that do not lie in one allocation; nothing was changed.
bool fetch_quickly(Warp& warp, const Op& op, std::uint32_t lanes, const Texture& texture);

}  // namespace kforge::emulator
