// The quick memory handlers for machines with AVX2: see memory_quick.h.
#include <cstring>

#include "emulator/access.h"
#include "emulator/handlers.h"
#include "emulator/memory_quick.h"
#include "emulator/race_engine.h"
#include "emulator/store_notes.h"
#include "emulator/uninitialised.h"

#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2,lzcnt,popcnt")
namespace kforge::emulator::avx2 {
#include "emulator/memory_quick.inc"
}  // namespace kforge::emulator::avx2
#pragma GCC pop_options
