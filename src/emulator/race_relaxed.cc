#include "emulator/race_relaxed.h"

#include <algorithm>
#include <unordered_set>

namespace kforge::emulator {
namespace {

constexpr std::size_t kSpin = 64;   // so many sightings back one that repeats itself is looked for

}  // namespace

void RelaxedFlags::see(std::uint64_t address, const Moment& moment) {
  const auto flag = flags_.find(address);
  if (flag == flags_.end() || flag->second.block == moment.block) return;
  std::vector<Seen>& seen = seen_[moment.block];
  const auto from = seen.end() - static_cast<std::ptrdiff_t>(std::min(seen.size(), kSpin));
  const bool again = std::any_of(from, seen.end(), [&](const Seen& before) { return before.flag.now == flag->second.now && before.warp == moment.warp; });
  if (!again) seen.push_back({flag->second, moment.warp, moment.now});
}

// Fills over_ with all that `moment` depends on, flag by flag.
void RelaxedFlags::follow(const Moment& moment) {
  over_.clear();
  std::unordered_set<RaceTime> met;   // flags, by the time they were set
  std::vector<Moment> open{moment};
  while (!open.empty()) {
    const Moment at = open.back();
    open.pop_back();
    const auto seen = seen_.find(at.block);
    if (seen == seen_.end()) continue;
    for (const Seen& sight : seen->second) {
      const bool before = sight.now <= at.barrier || (sight.warp == at.warp && sight.now <= at.now);
      if (!before || !met.insert(sight.flag.now).second) continue;
      RaceTime& over = over_[sight.flag.block];
      over = std::max(over, sight.flag.barrier);
      open.push_back(sight.flag);
    }
  }
}

bool RelaxedFlags::is_over(std::uint32_t block, RaceTime time, const Moment& moment) {
  const auto seen = seen_.find(moment.block);
  if (seen == seen_.end()) return false;
  const bool asked = asked_seen_ == seen->second.size() && asked_.block == moment.block && asked_.warp == moment.warp && asked_.barrier == moment.barrier;
  if (!asked) {
    follow(moment);
    asked_ = moment;
    asked_seen_ = seen->second.size();
  }
  const auto over = over_.find(block);
  return over != over_.end() && time <= over->second;
}

}  // namespace kforge::emulator
