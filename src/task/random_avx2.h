// The part of random.cc that is compiled for AVX2: no inline function may be shared with it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kforge::task {

inline constexpr std::size_t kWideRun = 256;   // normal numbers a call

// CounterRandom::unit of `first` and the indices after it, whole fours of `count`; how many. `key` is the generator's.
std::size_t units_avx2(std::uint64_t key, std::uint64_t first, std::size_t count, double* out);
// normal() of kWideRun indices, `edges` being the ziggurat's 257. Returns the number of those that need the slow way, whose places go to `slow`
// (room for kWideRun) and whose numbers are not right.
std::size_t normals_avx2(std::uint64_t key, std::uint64_t first, const double* edges, double* out, std::uint32_t* slow);

}  // namespace kforge::task
