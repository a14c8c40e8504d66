// Elapsed time by a clock that nobody sets.
#pragma once

#include <chrono>

namespace kforge {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace kforge
