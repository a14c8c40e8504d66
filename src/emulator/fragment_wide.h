// One register of a fragment between memory and its slot, in 512-bit registers, for machines with AVX-512. The four lanes of a row (of
// B: of a column) and the eight of them in a warp have places at equal distances, as wmma wants it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kforge::emulator::avx512 {

// Lane 4g + t has its element at `start` + g * group + t * lane, in bytes; the distance of any two of them is below 2^31.
struct FragmentPlaces {
  std::int32_t group = 0, lane = 0;
};

// Elements of 4 or 8 bytes (two neighbours of 2 bytes count as one of 4). The slot is written in whole pieces of 64 bytes, as products
// read it: a wide read of what several narrow stores have just written waits for all of them.
void load_fragment(std::byte* slot, const std::byte* start, FragmentPlaces places, std::uint32_t element_bytes);
void store_fragment(const std::byte* slot, std::byte* start, FragmentPlaces places, std::uint32_t element_bytes);
// Whether all lanes of a slot hold the same 4 or 8 bytes.
bool is_uniform(const std::byte* slot, std::uint32_t element_bytes);

}  // namespace kforge::emulator::avx512
