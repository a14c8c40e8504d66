#include "emulator/wide_moves.h"

#include <cstring>

#include "emulator/warp.h"

namespace kforge::emulator {
namespace {

Flow run_move(Warp& w, const Op& op, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t i) {
    for (std::uint32_t half = 0; half < 2; ++half) put<std::uint64_t>(w.at(op.r[0]) + half * kWideSlot, i, get<std::uint64_t>(w.at(op.r[1]) + half * kWideSlot, i));
  });
  return Flow::next;
}

Flow run_vector_move(Warp& w, const Op& op, std::uint32_t mask) {
  const std::uint32_t count = op.list_count;
  for_lanes(mask, [&](std::uint32_t i) {
    std::uint64_t values[4] = {};
    for (std::uint32_t e = 0; e < count; ++e)
      values[e] = (op.wide >> e & 1) != 0 ? get<std::uint64_t>(w.at(op.list[count + e]), i) : get<std::uint32_t>(w.at(op.list[count + e]), i);
    for (std::uint32_t e = 0; e < count; ++e) {
      if ((op.wide >> e & 1) != 0) put<std::uint64_t>(w.at(op.list[e]), i, values[e]);
      else put<std::uint32_t>(w.at(op.list[e]), i, static_cast<std::uint32_t>(values[e]));
    }
  });
  return Flow::next;
}

std::uint64_t element(const Warp& w, const Op& op, std::uint32_t e, std::uint32_t lane) {
  return (op.wide >> e & 1) != 0 ? get<std::uint64_t>(w.at(op.list[e]), lane) : get<std::uint32_t>(w.at(op.list[e]), lane);
}

Flow run_pack(Warp& w, const Op& op, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t i) {
    std::byte whole[16];
    for (std::uint32_t e = 0; e < op.list_count; ++e) {
      const std::uint64_t part = element(w, op, e, i);
      std::memcpy(whole + e * op.bytes, &part, op.bytes);
    }
    for (std::uint32_t half = 0; half < 2; ++half) std::memcpy(w.at(op.r[0]) + half * kWideSlot + 8 * i, whole + 8 * half, 8);
  });
  return Flow::next;
}

Flow run_unpack(Warp& w, const Op& op, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t i) {
    std::byte whole[16];
    for (std::uint32_t half = 0; half < 2; ++half) std::memcpy(whole + 8 * half, w.at(op.r[1]) + half * kWideSlot + 8 * i, 8);
    for (std::uint32_t e = 0; e < op.list_count; ++e) {
      std::uint64_t part = 0;
      std::memcpy(&part, whole + e * op.bytes, op.bytes);
      if ((op.wide >> e & 1) != 0) put<std::uint64_t>(w.at(op.list[e]), i, part);
      else put<std::uint32_t>(w.at(op.list[e]), i, static_cast<std::uint32_t>(part));
    }
  });
  return Flow::next;
}

}  // namespace

Handler wide_move_handler() { return &run_move; }
Handler vector_move_handler() { return &run_vector_move; }
Handler wide_pack_handler(bool pack) { return pack ? &run_pack : &run_unpack; }

}  // namespace kforge::emulator
