#include "emulator/integer_conversion.h"

#include <cstdint>
#include <type_traits>

#include "emulator/handlers.h"

namespace kforge::emulator {
namespace {

using ptx::Type;

// The low bits of the source as a T, extended to the result's slot. Slots are equal or disjoint.
template <class D, class S, class T>
Flow run_extend(Warp& w, const Op& op, std::uint32_t mask) {
  std::byte* d = w.at(op.r[0]);
  const std::byte* a = w.at(op.r[1]);
  const auto each = [&](std::uint32_t i) { put<D>(d, i, static_cast<D>(static_cast<std::make_signed_t<D>>(static_cast<T>(get<S>(a, i))))); };
  if (mask != kFullMask) {
    for_lanes(mask, each);
    return Flow::next;
  }
  if constexpr (sizeof(D) == sizeof(S)) {
#pragma GCC ivdep
    for (std::uint32_t i = 0; i < 32; ++i) each(i);
  } else {
    for (std::uint32_t i = 0; i < 32; ++i) each(i);
  }
  return Flow::next;
}

template <class D, class S>
Handler extend(Type part) {
  switch (part) {
    case Type::s8: return &run_extend<D, S, std::int8_t>;
    case Type::u8: return &run_extend<D, S, std::uint8_t>;
    case Type::s16: return &run_extend<D, S, std::int16_t>;
    case Type::u16: return &run_extend<D, S, std::uint16_t>;
    case Type::s32: return &run_extend<D, S, std::int32_t>;
    case Type::u32: return &run_extend<D, S, std::uint32_t>;
    default: return nullptr;
  }
}

}  // namespace

Handler integer_conversion(const ptx::Instruction& in, bool wide_result, bool wide_source) {
  if (ptx::is_float(in.type) || ptx::is_float(in.type2) || in.mods.sat) return nullptr;
  const std::uint32_t to = ptx::size_bits(in.type), from = ptx::size_bits(in.type2);
  // A negative number that becomes an unsigned one is cut at its type's width, which is the slot's or needs the general way.
  if (to > from && to != (wide_result ? 64u : 32u) && ptx::is_signed(in.type2) && !ptx::is_signed(in.type)) return nullptr;
  const Type part = to <= from ? in.type : in.type2;
  if (wide_result) return wide_source ? extend<std::uint64_t, std::uint64_t>(part) : extend<std::uint64_t, std::uint32_t>(part);
  return wide_source ? extend<std::uint32_t, std::uint64_t>(part) : extend<std::uint32_t, std::uint32_t>(part);
}

}  // namespace kforge::emulator
