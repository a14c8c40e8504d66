// Texture fetches for any x86-64: see texture_quick.h.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "emulator/texture_quick.h"

namespace kforge::emulator::baseline {
#include "emulator/texture_quick.inc"
}  // namespace kforge::emulator::baseline
