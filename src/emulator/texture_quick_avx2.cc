// Texture fetches for machines with AVX2: see texture_quick.h.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "emulator/texture_quick.h"

#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2,lzcnt,popcnt")
namespace kforge::emulator::avx2 {
#include "emulator/texture_quick.inc"
}  // namespace kforge::emulator::avx2
#pragma GCC pop_options
