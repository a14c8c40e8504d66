#include "cudart/workspace.h"

namespace kforge::cudart {

std::uint64_t WorkspaceGrowth::after_call(Tensors tensors, std::uint64_t bytes) {
  const std::uint64_t more = bytes > bytes_ ? bytes - bytes_ : 0;
  if (tensors != tensors_) grown_ = 0;
  grown_ = more > 0 ? grown_ + 1 : 0;
  tensors_ = std::move(tensors);
  bytes_ = bytes;
  return grown_ >= kCalls ? more : 0;
}

}  // namespace kforge::cudart
