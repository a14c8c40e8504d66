#include "emulator/memory_quick.h"

#include "emulator/alu.h"
#include "emulator/handlers.h"

namespace kforge::emulator {

void add_quick_handlers(Op& op, ptx::Space space, bool store) {
  if ((op.flags & kStrong) != 0 || op.run[0] == nullptr) return;
  const Handlers quick = has_avx2() ? avx2::select_quick(op, space, store) : baseline::select_quick(op, space, store);
  if (quick[0] != nullptr) op.run = quick;
}

}  // namespace kforge::emulator
