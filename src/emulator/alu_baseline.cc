// The arithmetic handlers for any x86-64: see alu.h.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <xmmintrin.h>

#include "emulator/alu.h"
#include "emulator/formats.h"
#include "emulator/warp.h"

namespace kforge::emulator::baseline {
#include "emulator/alu_lanes.inc"
#include "emulator/alu_integer.inc"
#include "emulator/alu_logic.inc"
#include "emulator/rounding_scope.inc"
#include "emulator/alu_float.inc"
#include "emulator/alu_half.inc"
#include "emulator/alu_compare.inc"
#include "emulator/alu_small_floats.inc"
#include "emulator/alu_convert.inc"
#include "emulator/alu_select.inc"
}  // namespace kforge::emulator::baseline

