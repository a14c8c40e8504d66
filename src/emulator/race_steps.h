// For tests of the race detector: accesses as steps of a RaceTrace, each kind at a source line of its own.
#pragma once

#include "emulator/race_trace.h"

namespace kforge::emulator::race_steps {

inline constexpr RaceMode kClocks{.named_barriers = true, .fences = true, .partial_warp_syncs = true, .sync_objects = true};

inline RaceTrace::Instruction load(std::uint32_t block = 0, bool shared = true) { return {.block = block, .shared = shared, .location = 10}; }
inline RaceTrace::Instruction store(std::uint32_t block = 0, bool shared = true) {
  return {.block = block, .shared = shared, .kind = AccessKind::store, .location = 20};
}
inline RaceTrace::Instruction atomic(std::uint32_t block, bool shared = false, ptx::Order order = ptx::Order::relaxed, ptx::Scope scope = ptx::Scope::gpu) {
  return {.block = block, .shared = shared, .kind = AccessKind::atomic, .strong = true, .order = order, .scope = scope, .location = 30};
}
inline RaceTrace::Instruction strong_load(std::uint32_t block, ptx::Order order = ptx::Order::volatile_, ptx::Scope scope = ptx::Scope::sys, bool shared = false) {
  return {.block = block, .shared = shared, .strong = true, .order = order, .scope = scope, .location = 40};
}
inline RaceTrace::Instruction strong_store(std::uint32_t block, ptx::Order order = ptx::Order::volatile_, ptx::Scope scope = ptx::Scope::sys, bool shared = false) {
  return {.block = block, .shared = shared, .kind = AccessKind::store, .strong = true, .order = order, .scope = scope, .location = 50};
}

}  // namespace kforge::emulator::race_steps
