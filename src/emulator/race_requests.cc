#include "emulator/race_requests.h"

#include <algorithm>

namespace kforge::emulator::epochs {

std::uint32_t Requests::add(Slot slot, std::uint32_t block) {
  if (!free_.empty()) {
    const std::uint32_t request = free_.back();
    free_.pop_back();
    slots_[request] = slot;
    blocks_[request] = block;
    return request;
  }
  if (slots_.size() >= limit_) return 0;
  slots_.push_back(slot);
  blocks_.push_back(block);
  return static_cast<std::uint32_t>(slots_.size() - 1);
}

void Requests::forget(const std::vector<bool>& in_use, std::uint64_t cells) {
  free_.clear();
  for (std::uint32_t request = 1; request < slots_.size(); ++request)
    if (!in_use[request]) free_.push_back(request);
  const std::uint64_t used = slots_.size() - free_.size();
  limit_ = std::min<std::uint64_t>(kMost, std::max({limit_, used + used / 2, cells / 64}));
  slots_.reserve(limit_);
  blocks_.reserve(limit_);
  recent_.fill(0);
}

}  // namespace kforge::emulator::epochs
