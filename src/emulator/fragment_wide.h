// One register of a fragment between memory and its slot, in the registers of AVX-512 or AVX2, for machines that have these. The four lanes of a row (of
// B: of a column) and the eight of them in a warp have places at equal distances, as wmma wants it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kforge::emulator {

// Lane 4g + t has its element at `start` + g * group + t * lane, in bytes; the distance of any two of them is below 2^31.
struct FragmentPlaces {
  std::int32_t group = 0, lane = 0;
};

// load_fragment, store_fragment: elements of 4 or 8 bytes (two neighbours of 2 bytes count as one of 4). The slot is written in whole registers, as
// products read it: a wide read of what several narrow stores have just written waits for all of them.
// is_uniform: whether all lanes of a slot hold the same 4 or 8 bytes.
namespace avx512 {
void load_fragment(std::byte* slot, const std::byte* start, FragmentPlaces places, std::uint32_t element_bytes);
void store_fragment(const std::byte* slot, std::byte* start, FragmentPlaces places, std::uint32_t element_bytes);
bool is_uniform(const std::byte* slot, std::uint32_t element_bytes);
}  // namespace avx512
namespace avx2 {
void load_fragment(std::byte* slot, const std::byte* start, FragmentPlaces places, std::uint32_t element_bytes);
void store_fragment(const std::byte* slot, std::byte* start, FragmentPlaces places, std::uint32_t element_bytes);
bool is_uniform(const std::byte* slot, std::uint32_t element_bytes);
}  // namespace avx2

}  // namespace kforge::emulator
