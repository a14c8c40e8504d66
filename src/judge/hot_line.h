// Which lines are hot, and what is asked of them beside the thresholds of the table of contracts (docs/contracts.md, "Hot line"). The judge finds by these
// numbers, and reports mark by them.
#pragma once

namespace kforge::judge {

inline constexpr double kHotLine = 0.01;            // of the kernel's sectors or wavefronts
inline constexpr double kHotDivergentLine = 0.10;   // of the kernel's warp instructions
inline constexpr double kHotLineLanes = 0.5;        // of 32: the fewest that may be active in a hot divergent line

}  // namespace kforge::judge
