#include "emulator/load_trace.h"

#include <algorithm>
#include <bit>

namespace kforge::emulator {
namespace {

constexpr std::uint64_t kSectorBytes = 32, kSectorsOfLine = 4;
constexpr std::size_t kMostSectors = std::size_t{1} << 19;

// How many lines were last used after a given moment: a Fenwick tree over moments, with a one at each line's last use.
class LastUses {
 public:
  explicit LastUses(std::size_t moments) : sums_(moments + 1) {}
  void add(std::size_t moment, std::int32_t change) {
    total_ += change;
    for (std::size_t i = moment + 1; i < sums_.size(); i += i & (~i + 1)) sums_[i] += change;
  }
  std::int32_t after(std::size_t moment) const {
    std::int32_t until = 0;
    for (std::size_t i = moment + 1; i != 0; i &= i - 1) until += sums_[i];
    return total_ - until;
  }

 private:
  std::vector<std::int32_t> sums_;
  std::int32_t total_ = 0;
};

struct Line {
  std::size_t last_use = 0;
  std::uint8_t sectors = 0;   // loaded so far, a bit each; 0: never used
};

}  // namespace

void LoadTrace::begin(std::uint32_t warps) {
  warps_.assign(warps, {});
  sectors_.clear();
}

void LoadTrace::add(std::uint32_t warp, const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t bytes) {
  if (sectors_.size() >= kMostSectors) return;
  const std::size_t first = sectors_.size();
  for (; mask != 0; mask &= mask - 1) {
    const std::uint64_t address = addresses[static_cast<std::size_t>(std::countr_zero(mask))];
    for (std::uint64_t sector = address / kSectorBytes; sector <= (address + bytes - 1) / kSectorBytes; ++sector)
      if (sectors_.size() == first || sectors_.back() != sector) sectors_.push_back(sector);
  }
  warps_[warp].push_back({first, sectors_.size()});
}

evidence::LoadReuse LoadTrace::reuse() const {
  std::vector<std::uint64_t> numbers(sectors_.size());
  std::transform(sectors_.begin(), sectors_.end(), numbers.begin(), [](std::uint64_t sector) { return sector / kSectorsOfLine; });
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::vector<Line> lines(numbers.size());
  LastUses uses(sectors_.size());
  evidence::LoadReuse result;
  result.sectors = sectors_.size();
  std::size_t moment = 0;
  const auto use = [&](std::uint64_t sector) {
    Line& line = lines[static_cast<std::size_t>(std::lower_bound(numbers.begin(), numbers.end(), sector / kSectorsOfLine) - numbers.begin())];
    const auto bit = static_cast<std::uint8_t>(1u << sector % kSectorsOfLine);
    if ((line.sectors & bit) == 0) ++result.first;
    else ++result.again[std::min<std::size_t>(evidence::LoadReuse::kDistances - 1, std::bit_width(static_cast<std::uint32_t>(uses.after(line.last_use))))];
    if (line.sectors != 0) uses.add(line.last_use, -1);
    uses.add(moment, 1);
    line.last_use = moment++;
    line.sectors = static_cast<std::uint8_t>(line.sectors | bit);
  };
  std::size_t most = 0;
  for (const auto& requests : warps_) most = std::max(most, requests.size());
  for (std::size_t k = 0; k < most; ++k)
    for (const auto& requests : warps_)
      if (k < requests.size()) std::for_each(sectors_.begin() + static_cast<std::ptrdiff_t>(requests[k].first), sectors_.begin() + static_cast<std::ptrdiff_t>(requests[k].end), use);
  return result;
}

}  // namespace kforge::emulator
