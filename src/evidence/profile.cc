#include "evidence/profile.h"

#include <algorithm>

namespace kforge::evidence {

std::string_view name(Source source) {
  static constexpr std::string_view kNames[] = {"ncu", "emulator", "emulator(ptx)", "sass", "ptxas", "ptx"};
  return kNames[static_cast<std::size_t>(source)];
}

double LoadReuse::miss_share(double lines) const {
  if (sectors == 0) return 1;
  double missed = static_cast<double>(first);
  for (std::size_t k = 0; k < kDistances; ++k) {
    const double above = static_cast<double>(std::uint64_t{1} << k), below = k == 0 ? 0 : above / 2;   // distances from `below` to less than `above`
    missed += static_cast<double>(again[k]) * std::clamp((above - lines) / (above - below), 0.0, 1.0);
  }
  return missed / static_cast<double>(sectors);
}

}  // namespace kforge::evidence
