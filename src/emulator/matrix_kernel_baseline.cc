// Matrix tiles for any x86-64: see matrix_kernel.h.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <xmmintrin.h>

#include "emulator/alu.h"
#include "emulator/formats.h"
#include "emulator/matrix_kernel.h"
#include "emulator/warp.h"

namespace kforge::emulator::baseline {
#include "emulator/rounding_scope.inc"
#include "emulator/matrix_kernel.inc"
}  // namespace kforge::emulator::baseline
