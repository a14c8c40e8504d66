#include "emulator/matrix_wide.h"

#ifndef __clang__   // GCC 12's own header leaves the ignored operand of unmasked intrinsics unset (its bug 105593)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <algorithm>
#include <limits>
#include <utility>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")
#endif
namespace kforge::emulator::avx512 {
namespace {
#include "emulator/lanes_avx512.inc"
}  // namespace
#include "emulator/matrix_wide.inc"
}  // namespace kforge::emulator::avx512
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
