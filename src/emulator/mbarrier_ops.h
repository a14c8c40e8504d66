// mbarrier.* and cp.async.mbarrier.arrive. r[0] result, r[1] address (+ immediate, flags kWideAddress), r[2] count, bytes, state or parity
// (flags kMbarrierOperand when it is there); target: MbarrierKind.
#pragma once

#include <string_view>

#include "emulator/handlers.h"

namespace kforge::emulator {

enum class MbarrierKind : std::uint8_t { init, inval, expect_tx, complete_tx, arrive, arrive_drop, arrive_expect_tx, wait, pending_count, copy_arrive };
MbarrierKind mbarrier_kind(std::string_view form_id);
inline constexpr std::uint8_t kMbarrierOperand = 2, kMbarrierParity = 4;   // beside kWideAddress
// A wait in vain lets other warps run. try_wait (kMbarrierSuspends) sleeps until the phase is over, or for as long as r[3] says (kMbarrierHint) in
// nanoseconds; test_wait asks again soon.
inline constexpr std::uint8_t kMbarrierSuspends = 8, kMbarrierHint = 16;

Handlers select_mbarrier(const ptx::Instruction& instruction);

// async_ops.cc: the lanes' copies that are in flight are done now.
void land_copies(Warp& warp, std::uint32_t mask);

}  // namespace kforge::emulator
