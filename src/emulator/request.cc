// Both counts run over every global and shared request of a launch, so each has a way for the shapes that real kernels make:
// one address for all lanes, ascending addresses (sorted already), and no two lanes in one bank.
#include "emulator/request.h"

#include <algorithm>
#include <bit>

namespace kforge::emulator {
namespace {

constexpr std::uint64_t kSectorBytes = 32, kLineBytes = 128;
constexpr std::uint32_t kBanks = 32;
constexpr std::uint32_t kBankBytes = 4;

// Active lanes' addresses in lane order; returns how many. `ascending` tells whether they are sorted already.
std::uint32_t gather(const LaneAddresses& addresses, std::uint32_t mask, LaneAddresses& active, bool& ascending) {
  std::uint32_t count = 0;
  std::uint64_t previous = 0;
  ascending = true;
  for (; mask != 0; mask &= mask - 1) {
    const std::uint64_t address = addresses[std::countr_zero(mask)];
    ascending &= address >= previous;
    active[count++] = previous = address;
  }
  return count;
}

// Over sorted addresses: an interval is new where it passes the end of what came before.
SectorCount count_sorted(const std::uint64_t* sorted, std::uint32_t count, std::uint32_t bytes) {
  SectorCount result;
  std::uint64_t covered = sorted[0];
  std::uint64_t next_sector = sorted[0] / kSectorBytes, next_line = sorted[0] / kLineBytes;
  std::uint64_t last_sector = next_sector, bytes_of_last = 0;   // how much of the last sector is asked for
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t end = sorted[i] + bytes;
    if (end <= covered) continue;
    for (std::uint64_t at = std::max(covered, sorted[i]); at < end;) {
      const std::uint64_t sector = at / kSectorBytes, part_end = std::min(end, (sector + 1) * kSectorBytes);
      if (sector != last_sector) last_sector = sector, bytes_of_last = 0;
      bytes_of_last += part_end - at;
      result.whole += bytes_of_last == kSectorBytes;
      at = part_end;
    }
    const std::uint64_t first_line = std::max(sorted[i] / kLineBytes, next_line), after_line = (end - 1) / kLineBytes + 1;
    if (after_line > first_line) result.lines += static_cast<std::uint32_t>(after_line - first_line);
    next_line = std::max(next_line, after_line);
    result.distinct_bytes += static_cast<std::uint32_t>(end - std::max(covered, sorted[i]));
    covered = end;
    const std::uint64_t first = std::max(sorted[i] / kSectorBytes, next_sector);
    const std::uint64_t after = (end - 1) / kSectorBytes + 1;
    if (after > first) result.sectors += static_cast<std::uint32_t>(after - first);
    next_sector = std::max(next_sector, after);
  }
  const std::uint64_t lead = sorted[0] % kSectorBytes;
  result.ideal = static_cast<std::uint32_t>((lead + result.distinct_bytes + kSectorBytes - 1) / kSectorBytes);
  result.aligned_ideal = static_cast<std::uint32_t>((result.distinct_bytes + kSectorBytes - 1) / kSectorBytes);
  return result;
}

SectorCount count_consecutive(std::uint64_t base, std::uint32_t span) {
  const auto units = [&](std::uint64_t unit) { return static_cast<std::uint32_t>((base + span - 1) / unit - base / unit + 1); };
  const std::uint64_t first_whole = (base + kSectorBytes - 1) / kSectorBytes, after_whole = (base + span) / kSectorBytes;
  const std::uint32_t sectors = units(kSectorBytes), whole = after_whole > first_whole ? static_cast<std::uint32_t>(after_whole - first_whole) : 0;
  return {sectors, sectors, static_cast<std::uint32_t>((span + kSectorBytes - 1) / kSectorBytes), span, whole, units(kLineBytes)};
}

constexpr std::uint64_t kWindowBytes = 64 * kSectorBytes;

// Requests within 2 KiB, aligned to their width: one bit a sector, one bit a lane's unit. False: not of that kind.
bool count_in_window(const std::uint64_t* active, std::uint32_t count, std::uint32_t bytes, SectorCount& result) {
  std::uint64_t lowest = active[0], highest = active[0], low_bits = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    lowest = std::min(lowest, active[i]);
    highest = std::max(highest, active[i]);
    low_bits |= active[i];
  }
  const std::uint64_t base = lowest / kSectorBytes * kSectorBytes;
  if ((low_bits & (bytes - 1)) != 0 || bytes > kSectorBytes || highest - base >= kWindowBytes) return false;
  const int shift = std::countr_zero(bytes);
  std::array<std::uint64_t, kWindowBytes / 64> units{};
  std::uint64_t sectors = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t offset = active[i] - base;
    sectors |= std::uint64_t{1} << offset / kSectorBytes;   // aligned: a unit lies in one sector
    std::uint64_t& word = units[offset >> shift >> 6];
    const std::uint64_t bit = std::uint64_t{1} << (offset >> shift & 63);
    result.distinct_bytes += (word & bit) == 0 ? bytes : 0;
    word |= bit;
  }
  result.sectors = static_cast<std::uint32_t>(std::popcount(sectors));
  const int units_of_sector = static_cast<int>(kSectorBytes) >> shift;   // 1 to 32, so that a sector's bits lie in one word
  const std::uint64_t all = (std::uint64_t{1} << units_of_sector) - 1;
  std::uint64_t last_line = ~std::uint64_t{0};
  for (std::uint64_t rest = sectors; rest != 0; rest &= rest - 1) {
    const auto sector = static_cast<std::uint32_t>(std::countr_zero(rest));
    const std::uint32_t bit = sector * static_cast<std::uint32_t>(units_of_sector);
    result.whole += (units[bit / 64] >> bit % 64 & all) == all;
    const std::uint64_t line = (base + sector * kSectorBytes) / kLineBytes;
    result.lines += line != last_line;
    last_line = line;
  }
  result.ideal = static_cast<std::uint32_t>((lowest - base + result.distinct_bytes + kSectorBytes - 1) / kSectorBytes);
  result.aligned_ideal = static_cast<std::uint32_t>((result.distinct_bytes + kSectorBytes - 1) / kSectorBytes);
  return true;
}

// The most distinct units that fall on one group of banks. A unit is a word, or the aligned 8 or 16 bytes of a lane: its
// words lie in neighbouring banks that no other unit shares in part, so units may be counted in place of words.
std::uint32_t busiest_group(const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t unit_shift) {
  const std::uint32_t group_mask = (kBanks * kBankBytes >> unit_shift) - 1;
  std::array<std::uint64_t, 32> units;   // distinct units, and the next one (+ 1) of the same group
  std::array<std::uint8_t, 32> next;
  std::array<std::uint8_t, kBanks> head, population;
  std::uint32_t seen = 0, count = 0, busiest = 0;
  std::uint64_t previous = ~std::uint64_t{0};
  for (; mask != 0; mask &= mask - 1) {
    const std::uint64_t unit = addresses[std::countr_zero(mask)] >> unit_shift;
    if (unit == previous) continue;
    previous = unit;
    const auto group = static_cast<std::uint32_t>(unit) & group_mask;
    if ((seen >> group & 1) == 0) {
      seen |= 1u << group;
      head[group] = static_cast<std::uint8_t>(count);
      population[group] = 1;
      units[count] = unit;
      next[count++] = 0;
      continue;
    }
    std::uint32_t entry = head[group];
    while (units[entry] != unit && next[entry] != 0) entry = next[entry];
    if (units[entry] == unit) continue;
    next[entry] = static_cast<std::uint8_t>(count);
    units[count] = unit;
    next[count++] = 0;
    busiest = std::max<std::uint32_t>(busiest, ++population[group]);
  }
  return std::max(busiest, seen != 0 ? 1u : 0u);
}

// All active lanes ask for what lane ^ distance asks for (an inactive partner asks for nothing).
bool partners_agree(const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t distance) {
  std::uint32_t lower = 0;  // lanes whose partner is above them
  for (std::uint32_t lane = 0; lane < 32; ++lane) lower |= (lane & distance) == 0 ? 1u << lane : 0u;
  for (std::uint32_t pairs = mask & mask >> distance & lower; pairs != 0; pairs &= pairs - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(pairs));
    if (addresses[lane] != addresses[lane + distance]) return false;
  }
  return true;
}

// The rule of contracts.md for requests that are split: `lanes_per_part` lanes at a time.
WavefrontCount count_parts(const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t bytes, std::uint32_t lanes_per_part) {
  const std::uint32_t part = lanes_per_part >= 32 ? ~0u : (1u << lanes_per_part) - 1;
  const auto unit_shift = static_cast<std::uint32_t>(std::countr_zero(bytes));
  WavefrontCount result;
  for (std::uint32_t first = 0; first < 32; first += lanes_per_part) {
    const std::uint32_t lanes = mask & part << first;
    if (lanes == 0) continue;
    result.wavefronts += busiest_group(addresses, lanes, unit_shift);
    ++result.ideal;
  }
  return result;
}

}  // namespace

SectorCount count_sectors(const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t bytes) {
  if (mask == 0 || bytes == 0) return {};
  if (mask == ~0u && is_consecutive(addresses, bytes)) return count_consecutive(addresses[0], 32 * bytes);
  LaneAddresses active;
  bool ascending = false;
  const std::uint32_t count = gather(addresses, mask, active, ascending);
  SectorCount result;
  if (!ascending && count_in_window(active.data(), count, bytes, result)) return result;
  if (!ascending) std::sort(active.begin(), active.begin() + count);
  return count_sorted(active.data(), count, bytes);
}

std::uint32_t count_atomic_passes(const LaneAddresses& addresses, std::uint32_t mask) {
  LaneAddresses active;
  bool ascending = false;
  const std::uint32_t count = gather(addresses, mask, active, ascending);
  if (!ascending) std::sort(active.begin(), active.begin() + count);
  std::uint32_t passes = 0, same = 0, most = 0;   // lanes of this word; the most of a word of this sector
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool new_sector = i == 0 || active[i] / kSectorBytes != active[i - 1] / kSectorBytes;
    if (new_sector) passes += most, most = 0;
    same = !new_sector && active[i] == active[i - 1] ? same + 1 : 1;
    most = std::max(most, same);
  }
  return passes + most;
}

std::uint32_t most_lanes_of_a_bank(const LaneAddresses& addresses, std::uint32_t mask) {
  std::array<std::uint32_t, kBanks> lanes{};
  for (; mask != 0; mask &= mask - 1) ++lanes[addresses[std::countr_zero(mask)] / kBankBytes % kBanks];
  return *std::max_element(lanes.begin(), lanes.end());
}

WavefrontCount count_wavefronts(const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t bytes) {
  if (mask == 0 || bytes == 0) return {};
  if (bytes <= kBankBytes) {
    if (mask == ~0u && bytes == kBankBytes && is_consecutive(addresses, bytes)) return {1, 1};
    return {busiest_group(addresses, mask, 2), 1};
  }
  std::uint32_t lanes_per_part = 32 * kBankBytes / bytes;
  if (partners_agree(addresses, mask, 1) || partners_agree(addresses, mask, 2)) lanes_per_part *= 2;
  return count_parts(addresses, mask, bytes, lanes_per_part);
}

WavefrontCount count_store_wavefronts(const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t bytes) {
  if (bytes <= kBankBytes) return count_wavefronts(addresses, mask, bytes);
  return mask == 0 ? WavefrontCount{} : count_parts(addresses, mask, bytes, 32 * kBankBytes / bytes);
}

std::optional<std::uint32_t> smallest_padding(std::span<const ObservedRequest> requests, std::uint64_t array_base,
                                              std::uint32_t row_pitch_bytes) {
  if (row_pitch_bytes == 0) return std::nullopt;
  std::uint32_t widest = 1;
  for (const ObservedRequest& request : requests) widest = std::max(widest, request.bytes);
  const auto conflict_free = [&](std::uint32_t padding) {
    return std::all_of(requests.begin(), requests.end(), [&](const ObservedRequest& request) {
      LaneAddresses moved = request.addresses;
      for (std::uint64_t& address : moved)
        if (address >= array_base) address += (address - array_base) / row_pitch_bytes * padding;
      const WavefrontCount count = count_wavefronts(moved, request.mask, request.bytes);
      return count.wavefronts == count.ideal;
    });
  };
  for (std::uint32_t padding = 0; padding < kBanks * kBankBytes; padding += widest)
    if (conflict_free(padding)) return padding;
  return std::nullopt;
}

}  // namespace kforge::emulator
