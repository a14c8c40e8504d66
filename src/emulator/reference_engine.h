// The slow, obviously right engine of PTX: an interpreter straight over ptx::Module, one thread at a time, registers as plain
// values. It stands beside the fast executor only to be compared with it, and shares none of its code: no decoding, no warps
// in lockstep, no masks. A thread runs until it exits or waits for others; warp and block operations are done when all that
// they wait for have come.
//
// Blocks of a cluster take turns; clusters run one after the other. Not here: device runtime calls, and grids whose blocks wait for one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/texture.h"
#include "evidence/launch_log.h"
#include "ptx/module.h"

namespace kforge::emulator {

struct ReferenceLaunch {
  std::string_view kernel;
  evidence::Dim3 grid, block;
  std::uint32_t dynamic_shared_bytes = 0;
  std::span<const std::byte> parameters;           // laid out as the entry's .param list, each aligned
  std::uint64_t instruction_limit = 100'000'000;   // of threads, all together
  evidence::Dim3 cluster{1, 1, 1};
};

struct ReferenceResult {
  std::string error;                               // empty: ended well
  std::uint64_t thread_instructions = 0;
};

class ReferenceEngine {
 public:
  explicit ReferenceEngine(std::shared_ptr<const ptx::Module> module);
  // Zeroed global memory, exact to the byte.
  std::uint64_t allocate(std::uint64_t bytes);
  // The bytes of an allocation. REQUIRES: allocate() returned `address`.
  std::span<std::byte> bytes(std::uint64_t address);
  TextureTable& textures() { return textures_; }   // Image::data are addresses of allocate()
  ReferenceResult launch(const ReferenceLaunch& launch);

  // Global memory: [base, bytes), and the module's variables in it (0: not in global memory).
  struct Memory {
    std::map<std::uint64_t, std::vector<std::byte>> allocations;
    std::uint64_t next = 0x10'0000'0000;
    std::byte* find(std::uint64_t address, std::uint64_t size);
  };

 private:
  void create_variables();
  std::shared_ptr<const ptx::Module> module_;
  Memory memory_;
  TextureTable textures_;
  std::vector<std::uint64_t> variables_;
};

}  // namespace kforge::emulator
