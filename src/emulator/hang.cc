// A group that spins goes round a loop; the memory that it polls is what the loop's first load from memory that others can store to reads. Its
// registers still hold the address.
#include "emulator/hang.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/counted.h"
#include "emulator/access.h"
#include "emulator/handlers.h"
#include "emulator/registers.h"
#include "emulator/sleep.h"

namespace kforge::emulator {
namespace {

using ptx::Exec;

constexpr std::size_t kMostWaits = 4;   // told in one message

// The pc range [first, second] of the innermost loop that the group goes round.
std::optional<std::pair<std::uint32_t, std::uint32_t>> loop_around(const Kernel& kernel, const Group& group) {
  for (std::uint32_t pc = group.pc; pc < group.frame->function->end; ++pc) {
    const Op& op = kernel.code[pc];
    if (op.source->form >= ptx::instruction_table().size()) continue;
    if (family(*op.source) == Exec::bra && op.target <= group.pc) return std::pair{op.target, pc};
  }
  return std::nullopt;
}

// Which operand of an op that reads memory others may store to is its address.
std::optional<std::size_t> shared_address(const Op& op) {
  if (op.source->form >= ptx::instruction_table().size()) return std::nullopt;
  const ptx::Space space = op.source->mods.space;
  if (space == ptx::Space::param || space == ptx::Space::constant || space == ptx::Space::local) return std::nullopt;
  switch (family(*op.source)) {
    case Exec::ld: return 0;
    case Exec::atom: case Exec::mbarrier: return 1;
    default: return std::nullopt;
  }
}

std::string value_at(const std::byte* at, std::uint32_t bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, std::min<std::uint32_t>(bytes, 8));
  return fmt::format("{}", value);
}

// "offset 4 of `flag`, which holds 0"; empty when it cannot be told.
std::string polled_memory(Warp& w, const Group& group) {
  const auto loop = loop_around(*w.launch->kernel, group);
  if (!loop || group.mask == 0) return {};
  w.bases[static_cast<std::size_t>(Bank::frame)] = group.frame->registers.data();
  for (std::uint32_t pc = loop->first; pc <= loop->second; ++pc) {
    const Op& op = w.launch->kernel->code[pc];
    const auto operand = shared_address(op);
    if (!operand) continue;
    LaneAddresses addresses{};
    lane_addresses(w, op, *operand, group.mask, addresses);
    Address address = addresses[static_cast<std::size_t>(std::countr_zero(group.mask))];
    const std::uint32_t bytes = family(*op.source) == Exec::mbarrier ? 8 : std::max<std::uint32_t>(1, op.bytes);
    if (op.source->mods.space == ptx::Space::shared || space_of(address) == ptx::Space::shared) {
      if (address >= kSharedWindow) address -= kSharedWindow;
      if (family(*op.source) == Exec::mbarrier) return fmt::format("the mbarrier at shared offset {}", address);
      if (address + bytes > w.block->shared.size()) return {};
      return fmt::format("shared offset {}, which holds {}", address, value_at(w.block->shared.data() + address, bytes));
    }
    const Allocation* allocation = w.launch->memory->find(address);
    if (allocation == nullptr || address + bytes > allocation->base + allocation->size) return {};
    const std::string name = allocation->label.empty() ? fmt::format("allocation number {}", allocation->serial) : fmt::format("`{}`", allocation->label);
    return fmt::format("offset {} of {}, which holds {}", address - allocation->base, name, value_at(allocation->data + (address - allocation->base), bytes));
  }
  return {};
}

const Op& op_of(const Warp& w, const Group& group) {
  const bool passed = group.wait == Wait::barrier || sleep_of(group) != 0;   // its pc is that of the next op
  return w.launch->kernel->code[passed ? group.pc - 1 : group.pc];
}

std::string describe(Warp& w, const Group& group) {
  const std::string at = place(*w.launch, op_of(w, group));
  if (group.wait == Wait::barrier) {
    const Barrier& barrier = w.block->barriers[group.barrier];
    const std::uint32_t wanted = barrier.expected == 0 ? w.block->live_threads : barrier.expected;
    return fmt::format("wait at the barrier at {}, where {} of {} threads are", at, barrier.arrived, wanted);
  }
  if (group.wait == Wait::warp_sync) return fmt::format("wait at {} for lanes 0x{:08x} of their warp", at, group.sync_mask & w.live & ~group.mask);
  const std::string memory = polled_memory(w, group);
  return fmt::format("{} at {}{}{}", sleep_of(group) != 0 ? "sleep" : "spin", at, memory.empty() ? "" : " on ", memory);
}

struct Waiting {
  std::string how;
  evidence::Dim3 block;   // of the first
  std::uint32_t threads = 0;
};

std::vector<Waiting> gather(const std::deque<std::unique_ptr<Block>>& blocks) {
  std::vector<Waiting> all;
  for (const auto& block : blocks) {
    for (Warp& w : block->warps) {
      for (const Group& group : w.groups) {
        const auto threads = static_cast<std::uint32_t>(std::popcount(group.mask & w.live));
        if (threads == 0) continue;
        std::string how = describe(w, group);
        const auto known = std::find_if(all.begin(), all.end(), [&](const Waiting& waiting) { return waiting.how == how; });
        if (known != all.end()) known->threads += threads;
        else if (all.size() < kMostWaits) all.push_back({std::move(how), block->index, threads});
      }
    }
  }
  return all;
}

// "wait at ..." of one thread: "waits at ...".
std::string of_one(std::string how, std::uint32_t threads) { return threads == 1 ? how.insert(how.find(' '), "s") : how; }

// "3 warps wait at barriers and 1 warp spins": of either kind only where there is one.
std::string stuck_warps(std::size_t waiting, std::string_view wait, std::string_view waits, std::size_t spinning, std::string_view spin, std::string_view spins) {
  const auto part = [](std::size_t warps, std::string_view several, std::string_view one) { return warps == 0 ? std::string() : fmt::format("{} {}", counted(warps, "warp"), warps == 1 ? one : several); };
  const std::string still = part(waiting, wait, waits), busy = part(spinning, spin, spins);
  return still + (still.empty() || busy.empty() ? "" : " and ") + busy;
}

}  // namespace

void declare_hang(Launch& launch, const std::deque<std::unique_ptr<Block>>& blocks) {
  Warp* shown = nullptr;
  std::size_t waiting = 0, spinning = 0;
  for (const auto& block : blocks) {
    for (Warp& w : block->warps) {
      if (w.done() || w.groups.empty()) continue;
      const bool spins = std::any_of(w.groups.begin(), w.groups.end(), [](const Group& g) { return g.wait == Wait::none; });
      ++(spins ? spinning : waiting);
      if (shown == nullptr) shown = &w;
    }
  }
  if (shown == nullptr) return;
  for (const auto& block : blocks)
    for (std::uint32_t id = 0; id < block->barriers.size() && launch.safety && launch.kernel->barriers != nullptr; ++id)
      if (block->barriers[id].arrived != 0 && block->barriers[id].expected == 0) check_skipped_barrier(*block, id);
  std::string text = fmt::format("deadlock: {}, and nothing is stored any more", stuck_warps(waiting, "wait at barriers", "waits at a barrier", spinning, "spin", "spins"));
  for (const Waiting& one : gather(blocks))
    text += fmt::format("; {} (first block ({}, {}, {})) {}", counted(one.threads, "thread"), one.block.x, one.block.y, one.block.z, of_one(one.how, one.threads));
  const Group& group = shown->groups.front();
  const Op& op = op_of(*shown, group);
  report(*shown, op, group.mask, "run.hang", waiting != 0 && spinning == 0 ? "barrier-deadlock" : "endless-loop", [&](evidence::Violation& v) {
    v.message = text;
    v.measured = stuck_warps(waiting, "blocked", "blocked", spinning, "spinning", "spinning");
    v.required = "every warp ends";
  });
  stop(*shown, op, group.mask, LaunchStatus::hang, text);
}

}  // namespace kforge::emulator
