// How undefined bytes travel through registers: one pure function a rule. A rule may call more undefined than is (a sum of an
// undefined low byte), never less.
#include <algorithm>
#include <bit>

#include "emulator/shadow.h"

namespace kforge::emulator {
namespace {

const UndefinedBytes kAllDefined;

const UndefinedBytes& undefined_of(const ShadowOperand& operand) {
  return operand.undefined != nullptr ? *operand.undefined : kAllDefined;
}

OriginId first_origin(OriginId a, OriginId b) { return a != 0 ? a : b; }

OriginId origin_of(std::span<const ShadowOperand> sources) {
  for (const ShadowOperand& source : sources) {
    const UndefinedBytes& undefined = undefined_of(source);
    if (undefined.origin != 0 && undefined.any() != 0) return undefined.origin;
  }
  return 0;
}

// Lanes of `candidates` whose byte `byte` equals `value`.
std::uint32_t lanes_with_byte(const std::uint64_t* values, std::uint32_t byte, std::uint8_t value, std::uint32_t candidates) {
  std::uint32_t result = 0;
  if (values == nullptr) return 0;
  for (; candidates != 0; candidates &= candidates - 1) {
    const int lane = std::countr_zero(candidates);
    if (static_cast<std::uint8_t>(values[lane] >> (8 * byte)) == value) result |= 1u << lane;
  }
  return result;
}

// And, or: an absorbing byte on one side, if defined, decides the result's.
UndefinedBytes propagate_absorbing(const ShadowOperand& a, const ShadowOperand& b, std::uint8_t absorbing, std::uint32_t bytes) {
  const UndefinedBytes& in_a = undefined_of(a);
  const UndefinedBytes& in_b = undefined_of(b);
  UndefinedBytes result;
  for (std::uint32_t i = 0; i < bytes; ++i) {
    const std::uint32_t only_a = in_a.lanes[i] & ~in_b.lanes[i], only_b = in_b.lanes[i] & ~in_a.lanes[i];
    const std::uint32_t decided = lanes_with_byte(b.values, i, absorbing, only_a) | lanes_with_byte(a.values, i, absorbing, only_b);
    result.lanes[i] = (in_a.lanes[i] | in_b.lanes[i]) & ~decided;
  }
  const ShadowOperand both[] = {a, b};
  result.origin = result.any() != 0 ? origin_of(both) : 0;
  return result;
}

}  // namespace

void WarpShadow::assign(std::size_t index, const UndefinedBytes& value, std::uint32_t mask) {
  UndefinedBytes& target = registers_[index];
  const bool before = target.any() != 0;
  for (std::size_t i = 0; i < target.lanes.size(); ++i) target.lanes[i] = (target.lanes[i] & ~mask) | (value.lanes[i] & mask);
  const bool after = target.any() != 0;
  if ((value.any() & mask) != 0) target.origin = value.origin;
  if (!after) target.origin = 0;
  undefined_registers_ += static_cast<std::size_t>(after) - static_cast<std::size_t>(before);
}

UndefinedBytes propagate_all(std::span<const ShadowOperand> sources, std::uint32_t bytes) {
  std::uint32_t lanes = 0;
  for (const ShadowOperand& source : sources) lanes |= undefined_of(source).any();
  UndefinedBytes result;
  std::fill_n(result.lanes.begin(), bytes, lanes);
  result.origin = origin_of(sources);
  return result;
}

UndefinedBytes propagate_move(const ShadowOperand& source, std::uint32_t source_bytes, std::uint32_t bytes) {
  UndefinedBytes result;
  std::copy_n(undefined_of(source).lanes.begin(), std::min(source_bytes, bytes), result.lanes.begin());
  result.origin = undefined_of(source).origin;
  return result;
}

UndefinedBytes propagate_sign_extend(const ShadowOperand& source, std::uint32_t source_bytes, std::uint32_t bytes) {
  UndefinedBytes result = propagate_move(source, source_bytes, bytes);
  for (std::uint32_t i = source_bytes; i < bytes; ++i) result.lanes[i] = result.lanes[source_bytes - 1];
  return result;
}

UndefinedBytes propagate_and(const ShadowOperand& a, const ShadowOperand& b, std::uint32_t bytes) {
  return propagate_absorbing(a, b, 0x00, bytes);
}

UndefinedBytes propagate_or(const ShadowOperand& a, const ShadowOperand& b, std::uint32_t bytes) {
  return propagate_absorbing(a, b, 0xff, bytes);
}

UndefinedBytes propagate_bytewise(std::span<const ShadowOperand> sources, std::uint32_t bytes) {
  UndefinedBytes result;
  for (const ShadowOperand& source : sources)
    for (std::uint32_t i = 0; i < bytes; ++i) result.lanes[i] |= undefined_of(source).lanes[i];
  result.origin = origin_of(sources);
  return result;
}

UndefinedBytes propagate_shift_left(const ShadowOperand& a, std::uint32_t amount, std::uint32_t bytes) {
  const UndefinedBytes& in = undefined_of(a);
  UndefinedBytes result;
  if (amount >= 8 * bytes) return result;  // the result is zero
  const std::uint32_t whole = amount / 8;
  for (std::uint32_t i = whole; i < bytes; ++i) {
    result.lanes[i] = in.lanes[i - whole];
    if (amount % 8 != 0 && i > whole) result.lanes[i] |= in.lanes[i - whole - 1];
  }
  result.origin = in.origin;
  return result;
}

UndefinedBytes propagate_shift_right(const ShadowOperand& a, std::uint32_t amount, bool arithmetic, std::uint32_t bytes) {
  const UndefinedBytes& in = undefined_of(a);
  const std::uint32_t beyond = arithmetic ? in.lanes[bytes - 1] : 0;
  const auto plane = [&](std::uint32_t i) { return i < bytes ? in.lanes[i] : beyond; };
  const std::uint32_t whole = std::min(amount, 8 * bytes) / 8;
  UndefinedBytes result;
  for (std::uint32_t i = 0; i < bytes; ++i) {
    result.lanes[i] = plane(i + whole);
    if (amount % 8 != 0 && amount < 8 * bytes) result.lanes[i] |= plane(i + whole + 1);
  }
  result.origin = in.origin;
  return result;
}

UndefinedBytes propagate_select(const ShadowOperand& a, const ShadowOperand& b, std::uint32_t chosen,
                                const UndefinedBytes* predicate, std::uint32_t bytes) {
  const std::uint32_t undecided = predicate != nullptr ? predicate->any() : 0;
  const UndefinedBytes& in_a = undefined_of(a);
  const UndefinedBytes& in_b = undefined_of(b);
  UndefinedBytes result;
  for (std::uint32_t i = 0; i < bytes; ++i)
    result.lanes[i] = (in_a.lanes[i] & chosen) | (in_b.lanes[i] & ~chosen) | undecided;
  if (undecided != 0) result.origin = predicate->origin;
  if ((in_a.any() & chosen) != 0) result.origin = first_origin(result.origin, in_a.origin);
  if ((in_b.any() & ~chosen) != 0) result.origin = first_origin(result.origin, in_b.origin);
  return result;
}

UndefinedBytes propagate_pack(std::span<const ShadowOperand> elements, std::uint32_t element_bytes) {
  UndefinedBytes result;
  for (std::size_t i = 0; i < elements.size() && (i + 1) * element_bytes <= result.lanes.size(); ++i)
    std::copy_n(undefined_of(elements[i]).lanes.begin(), element_bytes, result.lanes.begin() + static_cast<std::ptrdiff_t>(i * element_bytes));
  result.origin = origin_of(elements);
  return result;
}

UndefinedBytes propagate_unpack(const ShadowOperand& whole, std::uint32_t index, std::uint32_t element_bytes) {
  UndefinedBytes result;
  std::copy_n(undefined_of(whole).lanes.begin() + index * element_bytes, element_bytes, result.lanes.begin());
  result.origin = result.any() != 0 ? undefined_of(whole).origin : 0;
  return result;
}

UndefinedBytes propagate_permute(const ShadowOperand& a, const ShadowOperand& b, std::uint32_t selector) {
  UndefinedBytes result;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint32_t from = selector >> (4 * i) & 7;
    result.lanes[i] = from < 4 ? undefined_of(a).lanes[from] : undefined_of(b).lanes[from - 4];
  }
  const ShadowOperand both[] = {a, b};
  result.origin = result.any() != 0 ? origin_of(both) : 0;
  return result;
}

UndefinedBytes propagate_shuffle(const ShadowOperand& a, const std::array<std::uint8_t, 32>& source, std::uint32_t bytes) {
  const UndefinedBytes& in = undefined_of(a);
  UndefinedBytes result;
  if (in.any() == 0) return result;
  for (std::uint32_t i = 0; i < bytes; ++i)
    for (std::uint32_t lane = 0; lane < 32; ++lane) result.lanes[i] |= (in.lanes[i] >> source[lane] & 1) << lane;
  result.origin = in.origin;
  return result;
}

}  // namespace kforge::emulator
