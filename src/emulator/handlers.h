// Handlers that are not lane-wise arithmetic, by family. Each select function returns one handler per compiled variant;
// all null when the form is not executed.
#pragma once

#include "emulator/code.h"
#include "emulator/launch.h"

namespace kforge::emulator {

inline Handlers same(Handler handler) { return {handler, handler, handler, handler}; }

// What a variant observes.
template <Variant kVariant>
struct Observes {
  static constexpr bool safety = kVariant == Variant::safety || kVariant == Variant::all;
  static constexpr bool profile = kVariant == Variant::profile || kVariant == Variant::all;
};
// { f(Variant constant)... } for all variants.
template <class F>
Handlers for_variants(F f) {
  return {f(std::integral_constant<Variant, Variant::plain>{}), f(std::integral_constant<Variant, Variant::safety>{}),
          f(std::integral_constant<Variant, Variant::profile>{}), f(std::integral_constant<Variant, Variant::all>{})};
}

// ld, st, ldu. Address in r[0], data in list; flags: kWideAddress; op.bytes per element; op.wide: 64-bit data slots.
inline constexpr std::uint8_t kWideAddress = 1, kSignExtend = 2, kStrong = 4, kEntryParam = 8;
Handlers select_memory(const ptx::Instruction& instruction, ptx::Exec exec);
// atom, red. r[0] result, r[1] address, r[2], r[3] operands.
Handlers select_atomic(const ptx::Instruction& instruction, ptx::Exec exec);
// What an atomic of the instruction's operation and type leaves of `old`; b: cas's new value. In global memory f32 sums flush subnormals.
std::uint64_t atomic_step(const ptx::Instruction& instruction, std::uint64_t old, std::uint64_t a, std::uint64_t b, bool global);
// bra, brx, call, ret, exit, trap, nanosleep, fences and the like.
Handlers select_control(const ptx::Instruction& instruction, ptx::Exec exec);
// bar.*, shfl, vote, match, redux, activemask, elect.
Handlers select_sync(const ptx::Instruction& instruction, ptx::Exec exec);
// The lane that lane `lane` reads; itself when its source is outside the segment.
std::uint32_t shuffle_source_lane(ptx::ShuffleMode mode, std::uint32_t lane, std::uint32_t b, std::uint32_t c);
Handler select_warp_op(const ptx::Instruction& instruction, ptx::Exec exec);
// cp.async, its commit_group and its waits.
Handler select_async(ptx::Exec exec);
Flow run_unsupported(Warp& warp, const Op& op, std::uint32_t mask);

// Shared by the families and run_warp.cc.
void block_group(Warp& warp, std::uint32_t mask, Wait wait, std::uint32_t sync_mask, std::uint8_t barrier);
void complete_barriers(Block& block);   // after arrivals and exits
// False (and reported) when lanes that the mask names are elsewhere: the group waits, the handler returns regroup.
bool gather_lanes(Warp& warp, const Op& op, std::uint32_t mask, const std::byte* member_masks);
void leave_frame(Warp& warp, std::uint32_t mask);   // ret
// Room for `bytes` of local memory in each lane, moving the lanes' bytes apart; false: more than a thread may have.
bool grow_local(Warp& warp, std::uint32_t bytes);
// alloca (r[0] the pointer, r[1] the size, immediate the alignment), stacksave and stackrestore (r[0]); flags 1: 64-bit slots.
Handlers select_stack(ptx::Exec exec);
Flow call_intrinsic(Warp& warp, const Op& op, std::uint32_t mask);
std::uint32_t find_intrinsic(std::string_view name);   // index + 1; 0: none

}  // namespace kforge::emulator
