#include "cudart/bits.h"

#include <algorithm>

namespace kforge::cudart {
namespace {

constexpr std::uint64_t kWord = 64;

std::uint64_t low_mask(std::uint64_t count) { return count >= kWord ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1; }

// Calls f(word index, mask of the bits in it) over a range of bits.
template <class F>
void for_words(std::uint64_t offset, std::uint64_t bits, F&& f) {
  while (bits != 0) {
    const std::uint64_t shift = offset % kWord, count = std::min(bits, kWord - shift);
    f(offset / kWord, low_mask(count) << shift);
    offset += count;
    bits -= count;
  }
}

void put_bits(Bits& bits, std::uint64_t offset, std::uint64_t count, std::uint64_t value) {
  for_words(offset, count, [&](std::uint64_t word, std::uint64_t mask) {
    const auto shift = static_cast<unsigned>(word == offset / kWord ? offset % kWord : 0);
    bits[word] = (bits[word] & ~mask) | ((value << shift) & mask);
    value = shift == 0 ? 0 : value >> (kWord - shift);
  });
}

void ensure(Bits& bits, std::uint64_t size) {
  if (bits.empty()) bits.resize((size + kWord - 1) / kWord);
}

}  // namespace

void set_range(Bits& bits, std::uint64_t size, std::uint64_t offset, std::uint64_t bytes, bool value) {
  if (bytes == 0 || (bits.empty() && !value)) return;
  ensure(bits, size);
  for_words(offset, bytes, [&](std::uint64_t word, std::uint64_t mask) { bits[word] = value ? bits[word] | mask : bits[word] & ~mask; });
}

std::uint64_t get_bits(const Bits& bits, std::uint64_t offset, std::uint64_t count) {
  if (bits.empty()) return 0;
  const std::uint64_t word = offset / kWord, shift = offset % kWord;
  std::uint64_t value = bits[word] >> shift;
  if (shift != 0 && word + 1 < bits.size()) value |= bits[word + 1] << (kWord - shift);
  return value & low_mask(count);
}

std::uint64_t first_clear(const Bits& bits, std::uint64_t offset, std::uint64_t bytes) {
  if (bits.empty()) return offset;
  const std::uint64_t end = offset + bytes;
  while (offset < end) {
    const std::uint64_t count = std::min(kWord, end - offset);
    const std::uint64_t missing = ~get_bits(bits, offset, count) & low_mask(count);
    if (missing != 0) return offset + static_cast<std::uint64_t>(__builtin_ctzll(missing));
    offset += count;
  }
  return end;
}

bool all_set(const Bits& bits, std::uint64_t offset, std::uint64_t bytes) {
  return bytes == 0 || first_clear(bits, offset, bytes) == offset + bytes;
}

bool any_set(const Bits& bits) {
  return std::any_of(bits.begin(), bits.end(), [](std::uint64_t word) { return word != 0; });
}

void mark_initialised(emulator::Allocation& allocation, std::uint64_t offset, std::uint64_t bytes, bool value) {
  if (bytes == 0 || (value && allocation.all_initialised)) return;
  const bool whole = offset == 0 && bytes == allocation.size;
  if (whole) {
    allocation.all_initialised = value;
    allocation.initialised.clear();
    return;
  }
  if (!value && allocation.all_initialised) {
    set_range(allocation.initialised, allocation.size, 0, allocation.size, true);
    allocation.all_initialised = false;
  }
  set_range(allocation.initialised, allocation.size, offset, bytes, value);
}

void mark_from_host(emulator::Allocation& allocation, std::uint64_t offset, std::uint64_t bytes) {
  mark_initialised(allocation, offset, bytes, true);
  set_range(allocation.host_written, allocation.size, offset, bytes, true);
  set_range(allocation.written, allocation.size, offset, bytes, false);
}

void mark_from_device(emulator::Allocation& allocation, std::uint64_t offset, std::uint64_t bytes) {
  mark_initialised(allocation, offset, bytes, true);
  set_range(allocation.written, allocation.size, offset, bytes, true);
  set_range(allocation.host_written, allocation.size, offset, bytes, false);
}

void copy_marks(emulator::Allocation& to, std::uint64_t to_offset, const emulator::Allocation& from, std::uint64_t from_offset,
                std::uint64_t bytes) {
  if (from.all_initialised) {
    mark_initialised(to, to_offset, bytes, true);
  } else {
    mark_initialised(to, to_offset, bytes, false);
    ensure(to.initialised, to.size);
  }
  ensure(to.written, to.size);
  if (!from.host_written.empty()) ensure(to.host_written, to.size);
  for (std::uint64_t done = 0; done < bytes; done += kWord) {
    const std::uint64_t count = std::min(kWord, bytes - done);
    const std::uint64_t host = get_bits(from.host_written, from_offset + done, count);
    const std::uint64_t kernel = get_bits(from.written, from_offset + done, count);
    if (!from.all_initialised) put_bits(to.initialised, to_offset + done, count, get_bits(from.initialised, from_offset + done, count));
    if (!to.host_written.empty()) put_bits(to.host_written, to_offset + done, count, host & ~kernel);
    put_bits(to.written, to_offset + done, count, kernel | (~host & low_mask(count)));
  }
}

bool is_initialised(const emulator::Allocation& allocation, std::uint64_t offset, std::uint64_t bytes) {
  return allocation.all_initialised || all_set(allocation.initialised, offset, bytes);
}

}  // namespace kforge::cudart
