// Operations that read other lanes: shfl, vote, match, redux, activemask, elect (PTX manual, 9.7.9.6 and 9.7.13.9 to 14).
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <limits>

#include "emulator/handlers.h"

namespace kforge::emulator {
namespace {

using ptx::Exec;
using U = std::uint32_t;

U lane_of(U mask) { return static_cast<U>(std::countr_zero(mask)); }

// Source lane of lane i, and whether it is inside the segment that c gives.
struct Source { U lane; bool inside; };
Source shuffle_source(ptx::ShuffleMode mode, U lane, U b, U c) {
  const U segment = c >> 8 & 31, clamp = c & 31;
  b &= 31;
  const U low = lane & segment, high = low | (clamp & ~segment);
  switch (mode) {
    case ptx::ShuffleMode::up: return {lane - b, static_cast<std::int32_t>(lane - b) >= static_cast<std::int32_t>(high)};
    case ptx::ShuffleMode::down: return {lane + b, lane + b <= high};
    case ptx::ShuffleMode::bfly: return {lane ^ b, (lane ^ b) <= high};
    default: return {low | (b & ~segment), (low | (b & ~segment)) <= high};
  }
}

void report_absent(Warp& w, const Op& op, U lane, U source) {
  report(w, op, 1u << lane, "safety.barriers", "shuffle-absent-lane", [&](evidence::Violation& v) {
    const bool exited = (w.live >> source & 1) == 0;
    v.message = fmt::format("lane {} reads by shuffle from lane {}, which {}", lane, source, exited ? "has exited or never existed" : "does not execute the shuffle");
    v.measured = fmt::format("source lane {} of lane {}", source, lane);
    v.required = "a source lane that executes the same shuffle";
  });
}

// Source lanes of a whole warp whose lanes give the same b and c, as most shuffles do.
struct ShuffleTable {
  ptx::ShuffleMode mode{};
  U b = 0, c = 0, inside = 0;
  std::array<std::uint8_t, 32> lanes{};
  bool filled = false;
};
const ShuffleTable& shuffle_table(ptx::ShuffleMode mode, U b, U c) {
  thread_local std::array<ShuffleTable, 64> tables;
  ShuffleTable& table = tables[(b ^ c >> 3 ^ static_cast<U>(mode) << 4) % tables.size()];
  if (table.filled && table.mode == mode && table.b == b && table.c == c) return table;
  table = {mode, b, c, 0, {}, true};
  for (U i = 0; i < 32; ++i) {
    const Source source = shuffle_source(mode, i, b, c);
    table.inside |= static_cast<U>(source.inside) << i;
    table.lanes[i] = static_cast<std::uint8_t>(source.inside ? source.lane : i);
  }
  return table;
}

// Whether the lanes of the mask hold one value. Those of a whole warp are compared at once.
bool is_uniform(const std::byte* slot, U mask) {
  const U first = get<U>(slot, lane_of(mask));
  U difference = 0;
  if (mask == kFullMask) for (U i = 0; i < 32; ++i) difference |= get<U>(slot, i) ^ first;
  else for_lanes(mask, [&](U i) { difference |= get<U>(slot, i) ^ first; });
  return difference == 0;
}

// for_lanes, which counts bits, where whole warps are the rule.
template <class F>
void each_lane(U mask, F f) {
  if (mask != kFullMask) return for_lanes(mask, f);
  for (U i = 0; i < 32; ++i) f(i);
}

// shfl: r[0] d, r[1] a, r[2] b, r[3] c, r[4] member mask, r[5] p (flags bit 5).
Flow run_shfl(Warp& w, const Op& op, U mask) {
  if (!gather_lanes(w, op, mask, w.at(op.r[4]))) return Flow::regroup;
  if (w.launch->safety) w.launch->races->shuffle(w.block->races, w.index, mask);
  const std::byte* a = w.at(op.r[1]);
  const std::byte* b = w.at(op.r[2]);
  const std::byte* c = w.at(op.r[3]);
  const ptx::ShuffleMode mode = op.source->mods.shuffle;
  U result[32], inside = 0;
  if (is_uniform(b, mask) && is_uniform(c, mask)) {
    const U lane = lane_of(mask);
    const ShuffleTable& table = shuffle_table(mode, get<U>(b, lane), get<U>(c, lane));
    std::memcpy(result, a, sizeof result);
    std::byte* d = w.at(op.r[0]);
    each_lane(mask, [&](U i) { put<U>(d, i, result[table.lanes[i]]); });
    if (mask != kFullMask)
      for_lanes(mask, [&](U i) { if ((mask >> table.lanes[i] & 1) == 0) report_absent(w, op, i, table.lanes[i]); });
    if ((op.flags & 32) != 0) put_predicate(w.at(op.r[5]), table.inside, mask);
    return Flow::next;
  }
  for_lanes(mask, [&](U i) {
    Source source = shuffle_source(mode, i, get<U>(b, i), get<U>(c, i));
    inside |= static_cast<U>(source.inside) << i;
    if (!source.inside) source.lane = i;
    if ((mask >> source.lane & 1) == 0) report_absent(w, op, i, source.lane);
    result[i] = get<U>(a, source.lane);
  });
  std::byte* d = w.at(op.r[0]);
  for_lanes(mask, [&](U i) { put<U>(d, i, result[i]); });
  if ((op.flags & 32) != 0) put_predicate(w.at(op.r[5]), inside, mask);
  return Flow::next;
}

// Calls f(lanes) for each set of executing lanes that name each other.
template <class F>
void for_parties(U mask, const std::byte* member_masks, F f) {
  if (is_uniform(member_masks, mask)) return f(mask);
  for (U rest = mask; rest != 0;) {
    const U members = get<U>(member_masks, lane_of(rest));
    U lanes = 0;
    for_lanes(rest, [&](U i) { lanes |= static_cast<U>(get<U>(member_masks, i) == members) << i; });
    f(lanes);
    rest &= ~lanes;
  }
}

void put_all(std::byte* slot, U lanes, U value) {
  each_lane(lanes, [&](U i) { put<U>(slot, i, value); });
}

// vote: r[0] d, r[1] p (flags bit 0: negated), r[2] member mask.
Flow run_vote(Warp& w, const Op& op, U mask) {
  if (!gather_lanes(w, op, mask, w.at(op.r[2]))) return Flow::regroup;
  const U p = predicate(w.at(op.r[1])) ^ ((op.flags & 1) != 0 ? kFullMask : 0);
  for_parties(mask, w.at(op.r[2]), [&](U lanes) {
    const U votes = p & lanes;
    switch (op.source->mods.vote) {
      case ptx::VoteMode::ballot: put_all(w.at(op.r[0]), lanes, votes); break;
      case ptx::VoteMode::all: put_predicate(w.at(op.r[0]), votes == lanes ? kFullMask : 0, lanes); break;
      case ptx::VoteMode::any: put_predicate(w.at(op.r[0]), votes != 0 ? kFullMask : 0, lanes); break;
      default: put_predicate(w.at(op.r[0]), votes == lanes || votes == 0 ? kFullMask : 0, lanes); break;
    }
  });
  return Flow::next;
}

// match: r[0] d, r[1] a, r[2] member mask, r[5] p.
template <class T>
Flow run_match(Warp& w, const Op& op, U mask) {
  if (!gather_lanes(w, op, mask, w.at(op.r[2]))) return Flow::regroup;
  const bool all = op.source->mods.vote == ptx::VoteMode::all;
  for_parties(mask, w.at(op.r[2]), [&](U lanes) {
    U result[32];
    U agreeing = 0;
    for_lanes(lanes, [&](U i) {
      U same = 0;
      for_lanes(lanes, [&](U k) { same |= static_cast<U>(get<T>(w.at(op.r[1]), k) == get<T>(w.at(op.r[1]), i)) << k; });
      agreeing |= static_cast<U>(same == lanes) << i;
      result[i] = all && same != lanes ? 0 : same;
    });
    for_lanes(lanes, [&](U i) { put<U>(w.at(op.r[0]), i, result[i]); });
    if ((op.flags & 32) != 0) put_predicate(w.at(op.r[5]), agreeing, lanes);
  });
  return Flow::next;
}

U reduce(ptx::AtomOp how, bool is_signed, U x, U y) {
  switch (how) {
    case ptx::AtomOp::add: return x + y;
    case ptx::AtomOp::and_: return x & y;
    case ptx::AtomOp::or_: return x | y;
    case ptx::AtomOp::xor_: return x ^ y;
    case ptx::AtomOp::min: return is_signed ? static_cast<U>(std::min(static_cast<std::int32_t>(x), static_cast<std::int32_t>(y))) : std::min(x, y);
    default: return is_signed ? static_cast<U>(std::max(static_cast<std::int32_t>(x), static_cast<std::int32_t>(y))) : std::max(x, y);
  }
}

// redux: r[0] d, r[1] a, r[2] member mask.
Flow run_redux(Warp& w, const Op& op, U mask) {
  if (!gather_lanes(w, op, mask, w.at(op.r[2]))) return Flow::regroup;
  for_parties(mask, w.at(op.r[2]), [&](U lanes) {
    U value = get<U>(w.at(op.r[1]), lane_of(lanes));
    for_lanes(lanes & (lanes - 1), [&](U i) { value = reduce(op.source->mods.atom_op, ptx::is_signed(op.source->type), value, get<U>(w.at(op.r[1]), i)); });
    put_all(w.at(op.r[0]), lanes, value);
  });
  return Flow::next;
}

Flow run_activemask(Warp& w, const Op& op, U mask) {
  for_lanes(mask, [&](U i) { put<U>(w.at(op.r[0]), i, mask); });
  return Flow::next;
}

// elect: r[0] d, r[1] member mask, r[5] p: the lowest lane is elected.
Flow run_elect(Warp& w, const Op& op, U mask) {
  if (!gather_lanes(w, op, mask, w.at(op.r[1]))) return Flow::regroup;
  for_lanes(mask, [&](U i) { put<U>(w.at(op.r[0]), i, lane_of(mask)); });
  if ((op.flags & 32) != 0) put_predicate(w.at(op.r[5]), mask & (~mask + 1), mask);
  return Flow::next;
}

}  // namespace

U shuffle_source_lane(ptx::ShuffleMode mode, U lane, U b, U c) {
  const Source source = shuffle_source(mode, lane, b, c);
  return source.inside ? source.lane & 31 : lane;
}

Handler select_warp_op(const ptx::Instruction& in, Exec exec) {
  switch (exec) {
    case Exec::shfl: return &run_shfl;
    case Exec::vote: return &run_vote;
    case Exec::match: return ptx::size_bits(in.type) == 64 ? &run_match<std::uint64_t> : &run_match<U>;
    case Exec::redux: return &run_redux;
    case Exec::activemask: return &run_activemask;
    case Exec::elect: return &run_elect;
    default: return nullptr;
  }
}

}  // namespace kforge::emulator
