// Where special registers live: per launch (sizes, lane masks), per block (indices) or per warp (thread indices).
#include <algorithm>
#include <array>

#include "emulator/code.h"

namespace kforge::emulator {
namespace {

using S = ptx::SpecialRegister;
constexpr S kOfWarp[] = {S::tid_x, S::tid_y, S::tid_z, S::warpid};
constexpr S kOfBlock[] = {S::ctaid_x, S::ctaid_y, S::ctaid_z, S::smid, S::clusterid_x, S::clusterid_y, S::clusterid_z,
                          S::cluster_ctaid_x, S::cluster_ctaid_y, S::cluster_ctaid_z, S::cluster_ctarank};
constexpr S kWide[] = {S::clock64, S::globaltimer, S::gridid, S::current_graph_exec};
constexpr std::size_t kCount = static_cast<std::size_t>(S::envreg3) + 1;

template <std::size_t N>
constexpr std::ptrdiff_t position(const S (&list)[N], S special) {
  for (std::size_t i = 0; i < N; ++i)
    if (list[i] == special) return static_cast<std::ptrdiff_t>(i);
  return -1;
}

constexpr SpecialPlace find_place(S special) {
  const bool wide = position(kWide, special) >= 0;
  if (const auto k = position(kOfWarp, special); k >= 0) return {Bank::warp, static_cast<std::uint32_t>(k) * kNarrowSlot, false};
  if (const auto k = position(kOfBlock, special); k >= 0) return {Bank::block, static_cast<std::uint32_t>(k) * kNarrowSlot, false};
  return {Bank::launch, static_cast<std::uint32_t>(special) * kWideSlot, wide};
}

constexpr auto kPlaces = [] {   // asked for a dozen times a block
  std::array<SpecialPlace, kCount> places{};
  for (std::size_t i = 0; i < kCount; ++i) places[i] = find_place(static_cast<S>(i));
  return places;
}();

}  // namespace

SpecialPlace place_of(S special) { return kPlaces[static_cast<std::size_t>(special)]; }

std::uint32_t bank_bytes(Bank bank) {
  if (bank == Bank::warp) return static_cast<std::uint32_t>(std::size(kOfWarp)) * kNarrowSlot;
  if (bank == Bank::block) return static_cast<std::uint32_t>(std::size(kOfBlock)) * kNarrowSlot;
  return static_cast<std::uint32_t>(kCount) * kWideSlot;
}

}  // namespace kforge::emulator
