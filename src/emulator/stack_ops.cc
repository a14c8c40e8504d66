// alloca, stacksave and stackrestore (PTX manual, 9.7.17). A frame's stack lies above its .local variables and grows upwards; it is
// gone when the function returns. Its pointer is an offset in local memory.
#include <fmt/format.h>

#include <algorithm>

#include "emulator/handlers.h"

namespace kforge::emulator {
namespace {

std::uint64_t slot_value(const Warp& w, const Op& op, std::size_t k, std::uint32_t lane) {
  return (op.flags & 1) != 0 ? get<std::uint64_t>(w.at(op.r[k]), lane) : get<std::uint32_t>(w.at(op.r[k]), lane);
}

void put_slot(const Warp& w, const Op& op, std::uint32_t lane, std::uint64_t value) {
  if ((op.flags & 1) != 0) put<std::uint64_t>(w.at(op.r[0]), lane, value);
  else put<std::uint32_t>(w.at(op.r[0]), lane, static_cast<std::uint32_t>(value));
}

std::vector<std::uint32_t>& stack_of(Frame& frame) {
  if (frame.stack.empty()) frame.stack.assign(32, frame.local_base + frame.function->local_bytes);
  return frame.stack;
}

void update_top(Frame& frame) { frame.local_top = *std::max_element(frame.stack.begin(), frame.stack.end()); }

template <Variant kVariant>
Flow run_alloca(Warp& w, const Op& op, std::uint32_t mask) {
  Frame& frame = *w.frame;
  std::vector<std::uint32_t>& stack = stack_of(frame);
  const auto align = static_cast<std::uint64_t>(op.immediate);
  std::array<std::uint64_t, 32> first{}, size{};
  std::uint64_t top = frame.local_top;
  for_lanes(mask, [&](std::uint32_t i) {
    first[i] = (stack[i] + align - 1) / align * align;
    size[i] = std::min<std::uint64_t>(slot_value(w, op, 1, i), std::uint64_t{1} << 31);
    top = std::max(top, first[i] + size[i]);
  });
  if (top > std::numeric_limits<std::uint32_t>::max() || !grow_local(w, static_cast<std::uint32_t>(top)))
    return stop(w, op, mask, LaunchStatus::stack_overflow, fmt::format("stack overflow: alloca needs {} bytes of local memory", top));
  for_lanes(mask, [&](std::uint32_t i) {
    stack[i] = static_cast<std::uint32_t>(first[i] + size[i]);
    if constexpr (Observes<kVariant>::safety)
      if (size[i] != 0) w.local_shadow.mark_range(std::uint64_t{i} * w.local_stride + first[i], size[i], false);
    put_slot(w, op, i, first[i]);
  });
  update_top(frame);
  return Flow::next;
}

Flow run_stacksave(Warp& w, const Op& op, std::uint32_t mask) {
  const std::vector<std::uint32_t>& stack = stack_of(*w.frame);
  for_lanes(mask, [&](std::uint32_t i) { put_slot(w, op, i, stack[i]); });
  return Flow::next;
}

Flow run_stackrestore(Warp& w, const Op& op, std::uint32_t mask) {
  Frame& frame = *w.frame;
  std::vector<std::uint32_t>& stack = stack_of(frame);
  const std::uint64_t base = frame.local_base + frame.function->local_bytes;
  std::uint32_t wrong = 0;
  for_lanes(mask, [&](std::uint32_t i) {
    const std::uint64_t pointer = slot_value(w, op, 0, i);
    if (pointer < base || pointer > stack[i]) wrong |= 1u << i;
    else stack[i] = static_cast<std::uint32_t>(pointer);
  });
  if (wrong != 0) return stop(w, op, wrong, LaunchStatus::illegal_address, "stackrestore with a pointer that stacksave did not give in this function");
  update_top(frame);
  return Flow::next;
}

}  // namespace

Handlers select_stack(ptx::Exec exec) {
  switch (exec) {
    case ptx::Exec::alloca_: return for_variants([](auto v) -> Handler { return &run_alloca<decltype(v)::value>; });
    case ptx::Exec::stacksave: return same(&run_stacksave);
    default: return same(&run_stackrestore);
  }
}

}  // namespace kforge::emulator
