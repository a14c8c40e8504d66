// For tests of the race detector: a launch played by hand, one thread or one warp at a time, with memory that holds values.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "emulator/race.h"

namespace kforge::emulator {

class RaceTrace {
 public:
  static constexpr std::uint32_t kSharedBytes = 8192;
  static constexpr std::uint64_t kGlobalBytes = 1 << 16;

  RaceTrace(RaceMode mode, std::uint32_t blocks, std::uint32_t threads) : threads_(threads) {
    global_.base = kDeviceOffset;
    global_.size = kGlobalBytes;
    memory_.resize(kGlobalBytes);
    detector.begin_launch(mode, threads);
    for (std::uint32_t block = 0; block < blocks; ++block) {
      blocks_.push_back(detector.begin_block(block, kSharedBytes));
      shared_.emplace_back(kSharedBytes);
    }
  }

  // One instruction of some lanes of a warp. `location` names the source line in the findings.
  struct Instruction {
    std::uint32_t block = 0, warp = 0, mask = 0;
    bool shared = true;
    AccessKind kind = AccessKind::load;
    std::uint32_t bytes = 4;
    bool strong = false;
    ptx::Order order = ptx::Order::none;
    ptx::Scope scope = ptx::Scope::none;
    std::uint32_t location = 1;
    std::uint32_t wrote = ~0u;
  };
  void run(const Instruction& instruction, const LaneAddresses& offsets, const std::array<std::uint32_t, 32>& values = {}) {
    LaneAddresses addresses = offsets;
    if (!instruction.shared)
      for (std::uint64_t& address : addresses) address += global_.base;
    std::vector<std::byte>& memory = instruction.shared ? shared_[instruction.block] : memory_;
    RaceAccess access;
    access.block = blocks_[instruction.block];
    access.warp = instruction.warp;
    access.mask = instruction.mask;
    access.bytes = instruction.bytes;
    access.addresses = &addresses;
    access.allocation = instruction.shared ? nullptr : &global_;
    access.memory = memory.data();
    if (instruction.kind == AccessKind::store) {   // each word of a wide store has the lane's value
      access.values.element.fill(reinterpret_cast<const std::byte*>(values.data()));
      access.values.element_bytes = std::min(4u, instruction.bytes);
      access.values.lane_stride = 4;
    }
    access.location = instruction.location;
    access.kind = instruction.kind;
    access.strong = instruction.strong || instruction.kind == AccessKind::atomic;
    access.order = instruction.order;
    access.scope = instruction.scope;
    access.wrote = instruction.wrote;
    detector.access(access);
    if (instruction.kind == AccessKind::load) return;
    for (std::uint32_t lane = 0; lane < 32; ++lane)
      for (std::uint32_t i = 0; (instruction.mask >> lane & 1) && i < instruction.bytes; i += 4)
        std::memcpy(&memory[offsets[lane] + i], &values[lane], std::min(4u, instruction.bytes));
  }

  // All lanes of all warps of a block, thread t at offset + t * stride.
  void all(Instruction instruction, std::uint64_t offset, std::uint64_t stride, std::uint32_t value = 0) {
    for (instruction.warp = 0; instruction.warp < threads_ / 32; ++instruction.warp)
      warp(instruction, offset + instruction.warp * 32 * stride, stride, value + instruction.warp * 32);
  }
  // One warp, lane l at offset + l * stride, storing value + l.
  void warp(Instruction instruction, std::uint64_t offset, std::uint64_t stride, std::uint32_t value = 0) {
    LaneAddresses offsets;
    std::array<std::uint32_t, 32> values;
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      offsets[lane] = offset + lane * stride;
      values[lane] = value + lane;
    }
    if (instruction.mask == 0) instruction.mask = ~0u;
    run(instruction, offsets, values);
  }
  // One thread.
  void one(Instruction instruction, std::uint32_t thread, std::uint64_t offset, std::uint32_t value = 1) {
    instruction.warp = thread / 32;
    instruction.mask = 1u << thread % 32;
    LaneAddresses offsets;
    offsets.fill(offset);
    std::array<std::uint32_t, 32> values;
    values.fill(value);
    run(instruction, offsets, values);
  }
  void barrier(std::uint32_t block) { detector.block_barrier(blocks_[block]); }
  void warp_sync(std::uint32_t block, std::uint32_t warp, std::uint32_t mask = ~0u) {
    detector.warp_sync(blocks_[block], warp, mask);
  }
  void fence(std::uint32_t block, std::uint32_t thread, ptx::Scope scope = ptx::Scope::gpu) {
    detector.fence(blocks_[block], thread / 32, 1u << thread % 32, scope);
  }
  BlockRaces* block(std::uint32_t index) { return blocks_[index]; }
  Allocation& global() { return global_; }

  std::vector<Race> races() { return detector.take_races(); }
  // Rejecting races only.
  std::size_t faults() {
    std::size_t count = 0;
    for (const Race& race : detector.take_races()) count += !race.advice;
    return count;
  }

  RaceDetector detector;

 private:
  std::uint32_t threads_;
  Allocation global_;
  std::vector<std::byte> memory_;
  std::vector<BlockRaces*> blocks_;
  std::vector<std::vector<std::byte>> shared_;
};

}  // namespace kforge::emulator
