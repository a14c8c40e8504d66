// Bits of memory: 64 bytes a word. An aligned lane access lies in one word; a full warp of consecutive accesses is one range.
#include "emulator/shadow.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>

namespace kforge::emulator {
namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};

std::uint64_t low_bits(std::uint64_t count) { return count >= 64 ? kAll : (std::uint64_t{1} << count) - 1; }

// Calls f(word, bits) for each word of [offset, offset + bytes); stops when f returns false.
template <class F>
bool for_range(std::uint64_t offset, std::uint64_t bytes, F f) {
  while (bytes != 0) {
    const std::uint64_t shift = offset % 64, part = std::min<std::uint64_t>(bytes, 64 - shift);
    if (!f(offset / 64, low_bits(part) << shift)) return false;
    offset += part;
    bytes -= part;
  }
  return true;
}

// The same over a warp's request; `base` is subtracted from each address.
template <class F>
bool for_request(const LaneAddresses& addresses, std::uint64_t base, std::uint32_t mask, std::uint32_t bytes, F f) {
  if (mask == ~0u && is_consecutive(addresses, bytes)) return for_range(addresses[0] - base, std::uint64_t{32} * bytes, f);
  std::uint64_t previous = kAll;
  for (; mask != 0; mask &= mask - 1) {
    const std::uint64_t offset = addresses[std::countr_zero(mask)] - base;
    if (offset == previous) continue;
    previous = offset;
    if (!for_range(offset, bytes, f)) return false;
  }
  return true;
}

bool request_written(const std::vector<std::uint64_t>& words, const LaneAddresses& addresses, std::uint64_t base,
                     std::uint32_t mask, std::uint32_t bytes) {
  return for_request(addresses, base, mask, bytes,
                     [&](std::uint64_t word, std::uint64_t bits) { return (words[word] & bits) == bits; });
}

bool byte_written(const std::vector<std::uint64_t>& words, std::uint64_t offset) {
  return !words.empty() && (words[offset / 64] >> (offset % 64) & 1) != 0;
}

std::optional<ByteShadow::Unwritten> first_in(const std::vector<std::uint64_t>& words, const LaneAddresses& addresses,
                                              std::uint64_t base, std::uint32_t mask, std::uint32_t bytes) {
  for (; mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(mask));
    for (std::uint64_t i = 0; i < bytes; ++i)
      if (!byte_written(words, addresses[lane] - base + i)) return ByteShadow::Unwritten{lane, addresses[lane] + i};
  }
  return std::nullopt;
}

// `key_base`: added to word numbers to make keys of `stored`.
UndefinedBytes unwritten_in(const std::vector<std::uint64_t>& words, const StoredUndefined& stored, std::uint64_t key_base,
                            const LaneAddresses& addresses, std::uint64_t base, std::uint32_t mask, std::uint32_t bytes) {
  UndefinedBytes result;
  for (; mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(mask));
    for (std::uint64_t i = 0; i < bytes; ++i) {
      const std::uint64_t offset = addresses[lane] - base + i;
      if (byte_written(words, offset)) continue;
      result.lanes[i] |= 1u << lane;
      if (result.origin != 0 || stored.empty()) continue;
      const auto found = stored.find(key_base + offset / 64);
      if (found != stored.end() && (found->second.bits >> (offset % 64) & 1) != 0) result.origin = found->second.origin;
    }
  }
  return result;
}

void clear_stored(StoredUndefined& stored, std::uint64_t key, std::uint64_t bits) {
  if (stored.empty()) return;
  const auto found = stored.find(key);
  if (found != stored.end() && (found->second.bits &= ~bits) == 0) stored.erase(found);
}

void add_stored(StoredUndefined& stored, std::uint64_t key, std::uint64_t bits, OriginId origin) {
  StoredUndefinedWord& word = stored[key];
  word.bits |= bits;
  word.origin = origin;
}

// The lane's undefined bytes as bits, byte 0 lowest.
std::uint64_t lane_bits(const UndefinedBytes& value, std::uint32_t lane, std::uint32_t bytes) {
  std::uint64_t bits = 0;
  for (std::uint32_t i = 0; i < bytes; ++i) bits |= std::uint64_t{value.lanes[i] >> lane & 1} << i;
  return bits;
}

LaneAddresses shifted(const LaneAddresses& addresses, std::uint32_t by) {
  LaneAddresses result;
  for (std::size_t lane = 0; lane < result.size(); ++lane) result[lane] = addresses[lane] + by;
  return result;
}

// An element of `bytes` bytes at `offset`: store(word, defined bits, undefined bits).
template <class F>
void for_element(std::uint64_t offset, std::uint32_t bytes, std::uint64_t undefined, F store) {
  std::uint64_t done = 0;
  for_range(offset, bytes, [&](std::uint64_t word, std::uint64_t bits) {
    const int shift = std::countr_zero(bits);
    const std::uint64_t undefined_here = (undefined >> done) << shift & bits;
    store(word, bits & ~undefined_here, undefined_here);
    done += static_cast<std::uint64_t>(std::popcount(bits));
    return true;
  });
}

std::uint64_t word_count(std::uint64_t bytes) { return (bytes + 63) / 64; }

// Gives the allocation its bits, all set or all clear as all_initialised says.
void materialise(Allocation& allocation) {
  if (!allocation.initialised.empty() && !allocation.all_initialised) return;
  allocation.initialised.assign(word_count(allocation.size), allocation.all_initialised ? kAll : 0);
  allocation.all_initialised = false;
}

}  // namespace

std::string_view name(ShadowSpace space) {
  constexpr std::string_view kNames[] = {"shared memory", "local memory", "global memory", "a parameter",
                                         "shared memory that a copy was on its way to", "a register", "a register that wgmma was writing"};
  return kNames[static_cast<std::size_t>(space)];
}

std::string describe(const Origin& origin) {
  if (origin.space == ShadowSpace::register_file) return "a register that was never written";
  if (origin.space == ShadowSpace::global) return fmt::format("unwritten byte at address {:#x} of {}", origin.address, name(origin.space));
  return fmt::format("unwritten byte at offset {} of {}", origin.address, name(origin.space));
}

std::string_view name(UndefinedUse use) {
  constexpr std::string_view kNames[] = {"decides an address", "decides a branch", "is stored to an output",
                                         "selects the lane of a shuffle"};
  return kNames[static_cast<std::size_t>(use)];
}

namespace {
std::uint64_t site_of(std::uint32_t location, ShadowSpace space) { return std::uint64_t{location} << 8 | static_cast<std::uint64_t>(space); }
}  // namespace

void OriginTable::begin_kernel(const void* kernel) {
  if (kernel == kernel_) return;
  by_site_.clear();
  kernel_ = kernel;
}

OriginId OriginTable::find(std::uint32_t location, ShadowSpace space) const {
  const auto found = by_site_.find(site_of(location, space));
  return found == by_site_.end() ? 0 : found->second;
}

OriginId OriginTable::add(const Origin& origin) {
  const auto [entry, fresh] = by_site_.try_emplace(site_of(origin.location, origin.space), static_cast<OriginId>(origins_.size()));
  if (fresh) origins_.push_back(origin);
  return entry->second;
}

// ---- a window ------------------------------------------------------------------------------------------------------

void ByteShadow::reset(std::uint64_t size_bytes) {
  size_ = size_bytes;
  incomplete_words_ = word_count(size_bytes);
  words_.assign(incomplete_words_, 0);
  if (size_bytes % 64 != 0) words_.back() = ~low_bits(size_bytes % 64);  // bytes past the end count as written
  stored_.clear();
}

void ByteShadow::set_bits(std::uint64_t word, std::uint64_t bits) {
  const std::uint64_t before = words_[word];
  words_[word] = before | bits;
  incomplete_words_ -= before != kAll && words_[word] == kAll;
}

void ByteShadow::mark_written_slow(const LaneAddresses& offsets, std::uint32_t mask, std::uint32_t bytes) {
  for_request(offsets, 0, mask, bytes, [&](std::uint64_t word, std::uint64_t bits) {
    clear_stored(stored_, word, bits);
    set_bits(word, bits);
    return true;
  });
}

bool ByteShadow::all_written_slow(const LaneAddresses& offsets, std::uint32_t mask, std::uint32_t bytes) const {
  return request_written(words_, offsets, 0, mask, bytes);
}

UndefinedBytes ByteShadow::unwritten(const LaneAddresses& offsets, std::uint32_t mask, std::uint32_t element_offset,
                                     std::uint32_t element_bytes) const {
  return unwritten_in(words_, stored_, 0, shifted(offsets, element_offset), 0, mask, element_bytes);
}

std::optional<ByteShadow::Unwritten> ByteShadow::first_unwritten(const LaneAddresses& offsets, std::uint32_t mask,
                                                                 std::uint32_t bytes) const {
  if (complete()) return std::nullopt;
  return first_in(words_, offsets, 0, mask, bytes);
}

void ByteShadow::mark_stored(const LaneAddresses& offsets, std::uint32_t mask, std::uint32_t element_offset,
                             std::uint32_t element_bytes, const UndefinedBytes& value) {
  for (; mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(mask));
    for_element(offsets[lane] + element_offset, element_bytes, lane_bits(value, lane, element_bytes),
                [&](std::uint64_t word, std::uint64_t defined, std::uint64_t undefined) {
                  clear_stored(stored_, word, defined);
                  set_bits(word, defined);
                  if (undefined == 0) return;
                  incomplete_words_ += words_[word] == kAll;
                  words_[word] &= ~undefined;
                  add_stored(stored_, word, undefined, value.origin);
                });
  }
}

void ByteShadow::mark_range(std::uint64_t offset, std::uint64_t bytes, bool written) {
  for_range(offset, bytes, [&](std::uint64_t word, std::uint64_t bits) {
    clear_stored(stored_, word, bits);
    if (written) {
      set_bits(word, bits);
    } else {
      incomplete_words_ += words_[word] == kAll;
      words_[word] &= ~bits;
    }
    return true;
  });
}

void ByteShadow::copy_range(std::uint64_t offset, const ByteShadow& from, std::uint64_t from_offset, std::uint64_t bytes) {
  for (std::uint64_t i = 0; i < bytes; ++i) {
    const bool written = byte_written(from.words_, from_offset + i);
    mark_range(offset + i, 1, written);
    if (written || from.stored_.empty()) continue;
    const auto found = from.stored_.find((from_offset + i) / 64);
    if (found != from.stored_.end() && (found->second.bits >> ((from_offset + i) % 64) & 1) != 0)
      add_stored(stored_, (offset + i) / 64, std::uint64_t{1} << (offset + i) % 64, found->second.origin);
  }
}

bool ByteShadow::range_written(std::uint64_t offset, std::uint64_t bytes) const {
  return for_range(offset, bytes, [&](std::uint64_t word, std::uint64_t bits) { return (words_[word] & bits) == bits; });
}

// ---- global allocations --------------------------------------------------------------------------------------------

bool GlobalShadow::all_written_slow(const Allocation& allocation, const LaneAddresses& addresses, std::uint32_t mask,
                                    std::uint32_t bytes) {
  if (allocation.initialised.empty()) return mask == 0;
  return request_written(allocation.initialised, addresses, allocation.base, mask, bytes);
}

void GlobalShadow::mark_written_slow(Allocation& allocation, const LaneAddresses& addresses, std::uint32_t mask,
                                     std::uint32_t bytes) {
  materialise(allocation);
  for_request(addresses, allocation.base, mask, bytes, [&](std::uint64_t word, std::uint64_t bits) {
    clear_stored(stored_, allocation.base / 64 + word, bits);
    const std::atomic_ref<std::uint64_t> shared(allocation.initialised[word]);   // with other workers of a team
    if ((shared.load(std::memory_order_relaxed) & bits) != bits) shared.fetch_or(bits, std::memory_order_relaxed);
    return true;
  });
}

UndefinedBytes GlobalShadow::unwritten(const Allocation& allocation, const LaneAddresses& addresses, std::uint32_t mask,
                                       std::uint32_t element_offset, std::uint32_t element_bytes) const {
  if (allocation.all_initialised) return {};
  return unwritten_in(allocation.initialised, stored_, allocation.base / 64, shifted(addresses, element_offset),
                      allocation.base, mask, element_bytes);
}

std::optional<ByteShadow::Unwritten> GlobalShadow::first_unwritten(const Allocation& allocation,
                                                                   const LaneAddresses& addresses, std::uint32_t mask,
                                                                   std::uint32_t bytes) const {
  if (allocation.all_initialised) return std::nullopt;
  return first_in(allocation.initialised, addresses, allocation.base, mask, bytes);
}

void GlobalShadow::mark_stored(Allocation& allocation, const LaneAddresses& addresses, std::uint32_t mask,
                               std::uint32_t element_offset, std::uint32_t element_bytes, const UndefinedBytes& value) {
  if (allocation.all_initialised && (value.any() & mask) == 0) return;
  materialise(allocation);
  for (; mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(mask));
    for_element(addresses[lane] - allocation.base + element_offset, element_bytes, lane_bits(value, lane, element_bytes),
                [&](std::uint64_t word, std::uint64_t defined, std::uint64_t undefined) {
                  const std::uint64_t key = allocation.base / 64 + word;
                  clear_stored(stored_, key, defined);
                  allocation.initialised[word] = (allocation.initialised[word] | defined) & ~undefined;
                  if (undefined != 0) add_stored(stored_, key, undefined, value.origin);
                });
  }
}

void GlobalShadow::mark_range(Allocation& allocation, std::uint64_t offset, std::uint64_t bytes, bool written) {
  if (written && allocation.all_initialised) return;
  if (offset == 0 && bytes == allocation.size) {
    forget(allocation);
    allocation.all_initialised = written;
    allocation.initialised.clear();
    return;
  }
  materialise(allocation);
  for_range(offset, bytes, [&](std::uint64_t word, std::uint64_t bits) {
    clear_stored(stored_, allocation.base / 64 + word, bits);
    if (written) allocation.initialised[word] |= bits;
    else allocation.initialised[word] &= ~bits;
    return true;
  });
}

void GlobalShadow::copy_shadow(Allocation& to, std::uint64_t to_offset, const Allocation& from, std::uint64_t from_offset,
                               std::uint64_t bytes) {
  if (from.all_initialised) return mark_range(to, to_offset, bytes, true);
  // Copies within one allocation may overlap: the source's bits are taken first.
  const std::vector<std::uint64_t> source = from.initialised;
  copy_origins(to, to_offset, from, from_offset, bytes);
  materialise(to);
  for (std::uint64_t i = 0; i < bytes; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << (to_offset + i) % 64;
    std::uint64_t& word = to.initialised[(to_offset + i) / 64];
    word = byte_written(source, from_offset + i) ? word | bit : word & ~bit;
  }
}

void GlobalShadow::copy_origins(const Allocation& to, std::uint64_t to_offset, const Allocation& from, std::uint64_t from_offset,
                                std::uint64_t bytes) {
  if (stored_.empty()) return;
  std::vector<std::pair<std::uint64_t, OriginId>> undefined;
  for_range(from.base + from_offset, bytes, [&](std::uint64_t word, std::uint64_t bits) {
    const auto found = stored_.find(word);
    for (std::uint64_t rest = found == stored_.end() ? 0 : found->second.bits & bits; rest != 0; rest &= rest - 1)
      undefined.emplace_back(word * 64 + static_cast<std::uint64_t>(std::countr_zero(rest)) - from.base - from_offset, found->second.origin);
    return true;
  });
  for_range(to.base + to_offset, bytes, [&](std::uint64_t word, std::uint64_t bits) {
    clear_stored(stored_, word, bits);
    return true;
  });
  for (const auto& [i, origin] : undefined)
    add_stored(stored_, (to.base + to_offset + i) / 64, std::uint64_t{1} << (to.base + to_offset + i) % 64, origin);
}

std::vector<GlobalShadow::Output> GlobalShadow::undefined_outputs(const Allocation& allocation, std::uint64_t offset,
                                                                  std::uint64_t bytes) const {
  std::vector<Output> result;
  if (stored_.empty() || allocation.all_initialised) return result;
  for_range(offset, bytes, [&](std::uint64_t word, std::uint64_t bits) {
    const auto found = stored_.find(allocation.base / 64 + word);
    if (found == stored_.end()) return true;
    // What the host has filled since is in the bits alone.
    const std::uint64_t written = allocation.initialised.empty() ? 0 : allocation.initialised[word];
    const std::uint64_t undefined = found->second.bits & bits & ~written;
    const auto known = [&](const Output& output) { return output.origin == found->second.origin; };
    if (undefined != 0 && std::none_of(result.begin(), result.end(), known))
      result.push_back({word * 64 + static_cast<std::uint64_t>(std::countr_zero(undefined)), found->second.origin});
    return true;
  });
  return result;
}

std::optional<GlobalShadow::Output> GlobalShadow::first_undefined_output(const Allocation& allocation, std::uint64_t offset,
                                                                         std::uint64_t bytes) const {
  const std::vector<Output> all = undefined_outputs(allocation, offset, bytes);
  return all.empty() ? std::nullopt : std::optional(all.front());
}

void GlobalShadow::forget(const Allocation& allocation) {
  if (stored_.empty()) return;
  const std::uint64_t first = allocation.base / 64, count = word_count(allocation.size);
  std::erase_if(stored_, [&](const auto& entry) { return entry.first - first < count; });
}

}  // namespace kforge::emulator
