// Matrix tiles for machines with AVX2 and FMA: see matrix_kernel.h.
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

#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2,lzcnt,popcnt")
namespace kforge::emulator::avx2 {
#include "emulator/rounding_scope.inc"
#include "emulator/matrix_kernel.inc"
}  // namespace kforge::emulator::avx2
#pragma GCC pop_options
