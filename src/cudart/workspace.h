// Memory that a candidate allocates in its calls, watched from call to call: a launcher may keep a workspace, and one that takes more of it in each call with
// the same arguments never frees it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "emulator/memory.h"

namespace kforge::cudart {

inline constexpr const char* kWorkspaceLabel = "workspace";   // of such an allocation

class WorkspaceGrowth {
 public:
  static constexpr unsigned kCalls = 4;   // in a row that must have grown: the first ones may keep buffers that take turns
  using Tensors = std::vector<std::pair<emulator::Address, std::uint64_t>>;   // base and bytes: the same in calls with the same arguments

  // `bytes`: what the candidate holds after the call. Returns by how much that grew when it did so in each of the last kCalls calls with these tensors; else 0.
  std::uint64_t after_call(Tensors tensors, std::uint64_t bytes);

 private:
  Tensors tensors_;
  std::uint64_t bytes_ = 0;
  unsigned grown_ = 0;
};

}  // namespace kforge::cudart
