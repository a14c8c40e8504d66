// Where the wrong elements of an output lie: whole rows, a tail beyond a tile, every second column. What a kernel's author looks for first.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kforge::judge {

// The first ones that are found are kept; beyond that the pattern is told of a part and says so.
inline constexpr std::size_t kMismatchesKept = 1 << 16;

// `wrong`: row-major indices, ascending, each once. "all lie in rows 32 to 64: the tail beyond a multiple of 32" or the like, axis by axis; "" where there is
// no pattern to tell (one element, a scalar, or wrong elements everywhere).
std::string mismatch_pattern(std::span<const std::int64_t> wrong, const std::vector<std::int64_t>& shape);

}  // namespace kforge::judge
