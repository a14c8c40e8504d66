#include "emulator/saturate.h"

#include <limits>

#include "emulator/warp.h"

namespace kforge::emulator {
namespace {

// NaN and -0 become +0; with kFlush, so do subnormals.
template <bool kFlush>
float clamp(float x) {
  const float least = kFlush ? std::numeric_limits<float>::min() : 0.0f;
  const float low = kFlush ? (x >= least ? x : 0.0f) : (x > 0.0f ? x : 0.0f);
  return low < 1.0f ? low : 1.0f;
}

template <bool kFlush>
Flow run_saturate(Warp& w, const Op& op, std::uint32_t mask) {
  std::byte* d = w.at(op.r[0]);
  const std::byte* a = w.at(op.r[1]);
  if (mask == kFullMask) {
    std::array<float, 32> result;
    for (std::uint32_t i = 0; i < 32; ++i) result[i] = clamp<kFlush>(get<float>(a, i));
    std::memcpy(d, result.data(), sizeof result);
  } else {
    for_lanes(mask, [&](std::uint32_t i) { put<float>(d, i, clamp<kFlush>(get<float>(a, i))); });
  }
  return Flow::next;
}

}  // namespace

Handler saturate_handler(const ptx::Instruction& in) {
  const auto& m = in.mods;
  const bool plain = in.type == ptx::Type::f32 && in.type2 == ptx::Type::f32 && in.operands.size() == 2 && m.sat && !m.relu && !m.satfinite && m.rounding == ptx::Rounding::none;
  if (!plain) return nullptr;
  return m.ftz ? &run_saturate<true> : &run_saturate<false>;
}

}  // namespace kforge::emulator
