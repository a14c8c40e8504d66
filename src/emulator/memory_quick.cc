#include "emulator/memory_quick.h"

#include "emulator/alu.h"
#include "emulator/handlers.h"

namespace kforge::emulator {

void add_quick_handlers(Op& op, ptx::Space space, bool store) {
  if (op.run[0] == nullptr) return;
  const Handlers quick = has_avx2() ? avx2::select_quick(op, space, store) : baseline::select_quick(op, space, store);
  constexpr auto kPlain = static_cast<std::size_t>(Variant::plain);
  // Where nobody looks for races, strong accesses are as others.
  for (std::size_t k = 0; k < kVariants; ++k)
    if (quick[k] != nullptr && (k == kPlain || (op.flags & kStrong) == 0)) op.run[k] = quick[k];
}

}  // namespace kforge::emulator
