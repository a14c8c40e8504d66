// The quick memory handlers for any x86-64: see memory_quick.h.
#include <cstring>

#include "emulator/access.h"
#include "emulator/handlers.h"
#include "emulator/memory_quick.h"
#include "emulator/race_engine.h"
#include "emulator/store_notes.h"
#include "emulator/uninitialised.h"

namespace kforge::emulator::baseline {
#include "emulator/memory_quick.inc"
}  // namespace kforge::emulator::baseline
