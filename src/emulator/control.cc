// Branches, calls, returns and the end of lanes.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "emulator/cluster.h"
#include "emulator/handlers.h"
#include "emulator/sleep.h"
#include "emulator/uninitialised.h"

namespace kforge::emulator {
namespace {

using ptx::Exec;

template <Variant kVariant>
void count_divergent(Warp& w, const Op& op) {
  if constexpr (Observes<kVariant>::profile) ++w.launch->ops[static_cast<std::size_t>(&op - w.launch->kernel->code.data())].divergent;
}

void park(Warp& w, std::uint32_t mask, std::uint32_t pc) {
  if (mask == 0) return;
  Group group;
  group.frame = w.frame;
  group.pc = pc;
  group.mask = mask;
  w.groups.push_back(group);
}

// Lanes with a false guard never come here; they are `active & ~mask` and go on with the next instruction.
template <Variant kVariant>
Flow run_bra(Warp& w, const Op& op, std::uint32_t mask) {
  if (mask == w.active) {
    w.pc = op.target;
    return Flow::jump;
  }
  count_divergent<kVariant>(w, op);
  park(w, w.active & ~mask, w.pc + 1);
  w.active = mask;
  w.pc = op.target;
  return Flow::regroup;
}

// brx.idx: r[0] the index, targets in the source instruction, relative to the function's first pc (op.target).
template <Variant kVariant>
Flow run_brx(Warp& w, const Op& op, std::uint32_t mask) {
  park(w, w.active & ~mask, w.pc + 1);
  const std::vector<std::uint32_t>& targets = op.source->targets;
  std::uint32_t groups = w.active != mask ? 1 : 0;
  for (std::uint32_t rest = mask; rest != 0;) {
    const std::uint32_t index = get<std::uint32_t>(w.at(op.r[0]), static_cast<std::uint32_t>(std::countr_zero(rest)));
    std::uint32_t lanes = 0;
    for_lanes(rest, [&](std::uint32_t i) { lanes |= static_cast<std::uint32_t>(get<std::uint32_t>(w.at(op.r[0]), i) == index) << i; });
    if (index >= targets.size()) return stop(w, op, lanes, LaunchStatus::illegal_instruction, fmt::format("brx.idx with index {} of {}", index, targets.size()));
    park(w, lanes, op.target + targets[index]);
    rest &= ~lanes;
    ++groups;
  }
  if (groups > 1) count_divergent<kVariant>(w, op);
  w.active = 0;
  return Flow::regroup;
}

void end_lanes(Warp& w, std::uint32_t mask) {
  w.live &= ~mask;
  w.active &= ~mask;
  w.exited_since_barrier |= mask;
  w.frame->lanes &= ~mask;
  w.block->live_threads -= static_cast<std::uint32_t>(std::popcount(mask));
  if (w.live == 0) --w.block->live_warps;
  complete_barriers(*w.block);
  if (w.block->cluster != nullptr) leave_cluster(w, mask);
}

Flow run_exit(Warp& w, const Op&, std::uint32_t mask) {
  const std::uint32_t rest = w.active & ~mask;
  end_lanes(w, mask);
  for (Frame* frame = w.frame->parent; frame != nullptr; frame = frame->parent) frame->lanes &= ~mask;
  if (rest == 0) return Flow::regroup;
  w.active = rest;
  ++w.pc;
  return Flow::regroup;
}

void copy_params(Frame& from, Frame& to, const ParamCopy& copy, std::uint32_t mask) {
  const std::size_t from_stride = from.function->param_bytes, to_stride = to.function->param_bytes;
  for_lanes(mask, [&](std::uint32_t i) { std::memcpy(&to.params[i * to_stride + copy.to], &from.params[i * from_stride + copy.from], copy.bytes); });
  copy_param_shadow(from, to, copy, mask);
}

Flow run_ret(Warp& w, const Op& op, std::uint32_t mask) {
  if (w.frame->parent == nullptr) return run_exit(w, op, mask);
  park(w, w.active & ~mask, w.pc + 1);
  leave_frame(w, mask);
  return Flow::regroup;
}

constexpr std::uint32_t kMaxDepth = 1024;
constexpr std::uint32_t kMaxLocalBytes = 512 * 1024;   // per thread (CUDA Programming Guide, "Technical Specifications")

}  // namespace

bool grow_local(Warp& w, std::uint32_t bytes) {
  if (bytes <= w.local_stride) return true;
  if (bytes > kMaxLocalBytes) return false;
  const std::uint32_t stride = std::min(std::max(bytes, 2 * w.local_stride), kMaxLocalBytes);
  std::vector<std::byte> moved(std::size_t{32} * stride);
  for (std::size_t i = 0; i < 32 && w.local_stride != 0; ++i) std::memcpy(&moved[i * stride], &w.local[i * w.local_stride], w.local_stride);
  if (w.launch->safety) {   // what was there counts as written, wherever it was
    w.local_shadow.reset(moved.size());
    for (std::uint64_t i = 0; i < 32 && w.local_stride != 0; ++i) w.local_shadow.mark_range(i * stride, w.local_stride, true);
  }
  w.local = std::move(moved);
  w.local_stride = stride;
  return true;
}

namespace {

Frame* new_frame(Warp& w) {
  if (!w.spare_frames.empty()) {
    Frame* frame = w.spare_frames.back();
    w.spare_frames.pop_back();
    return frame;
  }
  return w.frames.emplace_back(std::make_unique<Frame>()).get();
}

// Frames that are known when a kernel is built are given to it whatever the limit (cuCtxSetLimit, CU_LIMIT_STACK_SIZE); what counts is how often functions run anew
// inside themselves. What one call takes is ptxas's to choose: 16, 24, 32 and 48 bytes of five small functions built for sm_90, and 104 with 64 of .local.
// Whether the program raised the limit is not known here, so this is advice.
void note_deep_recursion(Warp& w, const Op& op, std::uint32_t mask) {
  constexpr std::uint32_t kLimit = 1024, kUsualFrameBytes = 16, kRounding = 12;   // .local variables are rounded up to 16 here
  std::vector<const FunctionCode*> seen;
  std::uint32_t repeats = 0, bytes = 0;
  for (const Frame* frame = w.frame; frame != nullptr; frame = frame->parent) {
    if (std::find(seen.begin(), seen.end(), frame->function) == seen.end()) {
      seen.push_back(frame->function);
      continue;
    }
    ++repeats;
    bytes += kUsualFrameBytes + frame->function->local_bytes - std::min(frame->function->local_bytes, kRounding);
  }
  if (bytes <= kLimit) return;
  report(w, op, mask, "safety.bounds", "deep-recursion", [&](evidence::Violation& v) {
    v.advice = true;
    v.message = fmt::format("recursion {} calls deep takes some {} bytes of stack a thread, and a GPU grants {} unless the program raises cudaLimitStackSize", repeats, bytes, kLimit);
    v.measured = fmt::format("{} bytes", bytes);
    v.required = fmt::format("{} bytes, or cudaDeviceSetLimit(cudaLimitStackSize, ...); a loop with a stack of its own needs none", kLimit);
  });
}

Flow enter(Warp& w, const Op& op, std::uint32_t mask, std::uint32_t callee_index) {
  const FunctionCode& callee = w.launch->kernel->functions[callee_index];
  Frame& caller = *w.frame;
  const std::uint32_t local_base = (caller.local_top + 15) / 16 * 16;
  if (caller.depth + 1 >= kMaxDepth || !grow_local(w, local_base + callee.local_bytes))
    return stop(w, op, mask, LaunchStatus::stack_overflow, fmt::format("stack overflow: call depth {}, {} bytes of local memory", caller.depth + 1, local_base + callee.local_bytes));
  constexpr std::uint32_t kLookEvery = 8;   // calls
  if (w.launch->safety && caller.depth % kLookEvery == kLookEvery - 1) note_deep_recursion(w, op, mask);
  park(w, w.active & ~mask, w.pc + 1);
  Frame* frame = new_frame(w);
  frame->function = &callee;
  frame->registers.assign(callee.frame_bytes, std::byte{0});
  frame->params.assign(std::size_t{32} * callee.param_bytes, std::byte{0});
  frame->local_base = local_base;
  frame->local_top = local_base + callee.local_bytes;
  frame->stack.clear();
  for (std::uint32_t i = 0; i < 32; ++i) put<std::uint64_t>(frame->registers.data() + kLocalBaseSlot, i, local_base);
  frame->depth = caller.depth + 1;
  frame->parent = &caller;
  frame->return_pc = w.pc + 1;
  frame->site = op.call;
  frame->lanes = mask;
  frame->shadow = nullptr;
  frame->params_shadow = nullptr;
  if (w.launch->safety && callee.local_bytes != 0)
    for_lanes(mask, [&](std::uint32_t i) { w.local_shadow.mark_range(std::uint64_t{i} * w.local_stride + local_base, callee.local_bytes, false); });
  if (w.launch->safety && w.launch->kernel->barriers != nullptr) enter_watched_function(w, callee_index, mask);
  for (std::size_t k = 0; k < op.call->arguments.size() && k < callee.parameter_offsets.size(); ++k) {
    ParamCopy copy = op.call->arguments[k];
    copy.to = callee.parameter_offsets[k];
    copy.bytes = std::min(copy.bytes, callee.parameter_sizes[k]);
    copy_params(caller, *frame, copy, mask);
  }
  Group group;
  group.frame = frame;
  group.pc = callee.entry;
  group.mask = mask;
  w.groups.push_back(group);
  w.active = 0;
  return Flow::regroup;
}

Flow run_call(Warp& w, const Op& op, std::uint32_t mask) {
  if (op.call->intrinsic != 0) return call_intrinsic(w, op, mask);
  if (!op.call->indirect) return enter(w, op, mask, op.call->function);
  const std::uint64_t pointer = get<std::uint64_t>(w.at(op.call->pointer), static_cast<std::uint32_t>(std::countr_zero(mask)));
  std::uint32_t lanes = 0;
  for_lanes(mask, [&](std::uint32_t i) { lanes |= static_cast<std::uint32_t>(get<std::uint64_t>(w.at(op.call->pointer), i) == pointer) << i; });
  const std::uint64_t index = pointer - kFunctionTag;
  const std::vector<std::uint32_t>& known = w.launch->kernel->function_of_module;
  if (index >= known.size() || known[index] == kNoSlot)
    return stop(w, op, lanes, LaunchStatus::illegal_address, fmt::format("call through 0x{:x}, which is no device function", pointer));
  if (lanes != mask) {   // the others call from this pc again
    park(w, mask & ~lanes, w.pc);
    w.active &= ~(mask & ~lanes);
  }
  return enter(w, op, lanes, known[index]);
}

Flow run_trap(Warp& w, const Op& op, std::uint32_t mask) { return stop(w, op, mask, LaunchStatus::trap, "trap"); }
Flow run_brkpt(Warp& w, const Op& op, std::uint32_t mask) { return stop(w, op, mask, LaunchStatus::trap, "breakpoint"); }
Flow run_nop(Warp&, const Op&, std::uint32_t) { return Flow::next; }

Flow run_nanosleep(Warp& w, const Op& op, std::uint32_t mask) {
  std::uint32_t longest = 1;
  for_lanes(mask, [&](std::uint32_t i) { longest = std::max(longest, get<std::uint32_t>(w.at(op.r[0]), i)); });
  return sleep_group(w, mask, longest);
}

template <Variant kVariant>
Flow run_fence(Warp& w, const Op& op, std::uint32_t mask) {
  if constexpr (Observes<kVariant>::safety) {
    const ptx::Scope scope = op.source->mods.scope == ptx::Scope::none ? ptx::Scope::gpu : op.source->mods.scope;
    w.launch->races->fence(w.block->races, w.index, mask, scope);
  } else {
    (void)w, (void)op, (void)mask;
  }
  return Flow::next;
}

// Only fences of the async proxy for shared memory change what is observed.
template <Variant kVariant>
Flow run_fence_proxy(Warp& w, const Op& op, std::uint32_t mask) {
  if constexpr (Observes<kVariant>::safety) {
    const ptx::Instruction& in = *op.source;
    const std::string_view id = ptx::instruction_table()[in.form].id;
    const bool named = id == "fence_proxy_async" ? in.mods.space != ptx::Space::global : in.mods.text.starts_with("async") && in.mods.text.find("global") == std::string::npos;
    if (named) w.launch->races->proxy_fence(w.block->races, w.index, mask);
    // It hands on mbarrier.init alone; here what the thread wrote before besides.
    if (id == "fence_mbarrier_init") w.launch->races->fence(w.block->races, w.index, mask, ptx::Scope::cluster);
  } else {
    (void)w, (void)op, (void)mask;
  }
  return Flow::next;
}

}  // namespace

void leave_frame(Warp& w, std::uint32_t mask) {
  Frame& callee = *w.frame;
  Frame& caller = *callee.parent;
  for (std::size_t k = 0; k < callee.site->returns.size() && k < callee.function->return_offsets.size(); ++k) {
    ParamCopy copy = callee.site->returns[k];
    copy.from = callee.function->return_offsets[k];
    copy.bytes = std::min(copy.bytes, callee.function->return_sizes[k]);
    copy_params(callee, caller, copy, mask);
  }
  Group group;
  group.frame = &caller;
  group.pc = callee.return_pc;
  group.mask = mask;
  w.groups.push_back(group);
  callee.lanes &= ~mask;
  w.active = 0;
  if (callee.lanes == 0) w.spare_frames.push_back(&callee);
}

Flow run_unsupported(Warp& w, const Op& op, std::uint32_t mask) {
  const ptx::Form& form = ptx::instruction_table()[op.source->form];
  // No fault of the kernel: what it would do is not known.
  const std::string what = fmt::format("the emulator does not execute `{}` (form {}, PTX line {})", form.opcode, form.id, op.source->line);
  report(w, op, mask, "portability", "unsupported-instruction", [&](evidence::Violation& v) {
    v.advice = true;
    v.message = what;
    v.measured = std::string(form.opcode);
    v.required = "an instruction that the emulator executes";
  });
  return stop(w, op, mask, LaunchStatus::illegal_instruction, what);
}

Handlers select_control(const ptx::Instruction&, Exec exec) {
  switch (exec) {
    case Exec::bra: return for_variants([](auto v) -> Handler { return &run_bra<decltype(v)::value>; });
    case Exec::brx: return for_variants([](auto v) -> Handler { return &run_brx<decltype(v)::value>; });
    case Exec::call: return same(&run_call);
    case Exec::ret: return same(&run_ret);
    case Exec::exit: return same(&run_exit);
    case Exec::trap: return same(&run_trap);
    case Exec::brkpt: return same(&run_brkpt);
    case Exec::nanosleep: return same(&run_nanosleep);
    case Exec::membar: case Exec::fence: return for_variants([](auto v) -> Handler { return &run_fence<decltype(v)::value>; });
    case Exec::fence_proxy: return for_variants([](auto v) -> Handler { return &run_fence_proxy<decltype(v)::value>; });
    case Exec::pmevent: case Exec::prefetch: case Exec::discard:
    case Exec::griddepcontrol: case Exec::setmaxnreg: case Exec::nop:
      return same(&run_nop);
    default: return Handlers{};
  }
}

}  // namespace kforge::emulator
