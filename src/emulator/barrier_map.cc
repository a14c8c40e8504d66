#include "emulator/barrier_map.h"

#include <algorithm>

#include "emulator/barrier_watch.h"
#include "emulator/handlers.h"
#include "emulator/registers.h"

namespace kforge::emulator {
namespace {

using ptx::Exec;

bool may_run_again(Exec exec) {   // ops that wait at their own pc, and are then executed anew
  switch (exec) {
    case Exec::call: case Exec::shfl: case Exec::vote: case Exec::match: case Exec::redux: case Exec::elect: case Exec::bar_warp_sync: return true;
    default: return false;
  }
}

// Which functions of the kernel hold a barrier, or call one that does.
std::vector<bool> functions_with_barriers(const Kernel& kernel) {
  std::vector<bool> has(kernel.functions.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t f = 0; f < has.size(); ++f) {
      for (std::uint32_t pc = kernel.functions[f].entry; !has[f] && pc < kernel.functions[f].end; ++pc) {
        const Op& op = kernel.code[pc];
        const bool calls = op.call != nullptr && (op.call->indirect ? std::find(has.begin() + 1, has.end(), true) != has.end()
                                                                    : op.call->function != kNoSlot && has[op.call->function]);
        if (!calls && !is_block_barrier(op)) continue;
        has[f] = changed = true;
      }
    }
  }
  return has;
}

class FunctionWatch {
 public:
  FunctionWatch(Kernel& kernel, BarrierMap& map, std::uint32_t function, const std::vector<bool>& has_barrier)
      : kernel_(kernel), map_(map), function_(function), has_barrier_(has_barrier), graph_(flow_graph(kernel, kernel.functions[function])) {}

  void run() {
    if (!graph_.reducible) return;
    find_dependence();
    first_scope_ = static_cast<std::uint32_t>(map_.scopes.size());
    add_scopes();
    guard_of_block_.assign(graph_.blocks.size(), kNoSlot);
    const std::uint32_t entry = kernel_.functions[function_].entry, end = kernel_.functions[function_].end;
    std::vector<std::pair<std::uint32_t, BarrierSpot>> spots;
    for (std::uint32_t pc = entry; pc < end; ++pc) {
      if (!stops_block(kernel_.code[pc])) continue;
      const std::uint32_t block = graph_.block_of[pc - entry];
      if (graph_.dominator[block] == kNoBlock) continue;
      spots.emplace_back(pc, spot_of(block));
    }
    std::vector<bool> counted(graph_.loops.size(), false);
    for (auto& [pc, spot] : spots) {
      for (const auto& level : spot.levels)
        if (level.scope != first_scope_) counted[level.scope - first_scope_ - 1] = true;
      const bool matters = spot.levels.size() > 1 || !spot.levels[0].uses.empty();
      if (matters) map_.spots.emplace(pc, std::move(spot));
    }
    map_.scope_of_function[function_] = first_scope_;
    for (std::uint32_t k = 0; k < counted.size(); ++k)
      if (counted[k] && !count_header(k)) return forget();
  }

 private:
  bool stops_block(const Op& op) const {
    if (is_block_barrier(op)) return true;
    if (op.call == nullptr || op.call->intrinsic != 0) return false;
    if (op.call->indirect) return std::find(has_barrier_.begin() + 1, has_barrier_.end(), true) != has_barrier_.end();
    return op.call->function != kNoSlot && has_barrier_[op.call->function];
  }

  // dependence_[b]: the blocks whose branch decides whether b runs (Ferrante, Ottenstein and Warren 1987).
  void find_dependence() {
    dependence_.resize(graph_.blocks.size());
    for (std::uint32_t a = 0; a < graph_.blocks.size(); ++a) {
      if (graph_.blocks[a].successors.size() < 2 || graph_.dominator[a] == kNoBlock || graph_.post_dominator[a] == kNoBlock) continue;
      for (std::uint32_t at : graph_.blocks[a].successors) {
        for (; at != kNoBlock && at != graph_.exit && at != graph_.post_dominator[a]; at = graph_.post_dominator[at])
          if (dependence_[at].empty() || dependence_[at].back() != a) dependence_[at].push_back(a);
      }
    }
  }

  void add_scopes() {
    BarrierScope& body = map_.scopes.emplace_back();
    body.header = kernel_.functions[function_].entry;
    for (const FlowLoop& loop : graph_.loops) {
      const auto index = static_cast<std::uint32_t>(map_.scopes.size());
      BarrierScope& scope = map_.scopes.emplace_back();
      scope.header = graph_.blocks[loop.header].first;
      scope.is_loop = true;
      map_.scopes[first_scope_].inner.push_back(index);
      for (std::uint32_t k = loop.parent; k != kNoBlock; k = graph_.loops[k].parent) map_.scopes[scope_of(k)].inner.push_back(index);
    }
  }

  std::uint32_t scope_of(std::uint32_t loop) const { return loop == kNoBlock ? first_scope_ : first_scope_ + 1 + loop; }

  // The blocks that can be reached from `from` before `join`.
  std::vector<bool> reachable(std::uint32_t from, std::uint32_t join) const {
    std::vector<bool> seen(graph_.blocks.size() + 1, false);
    std::vector<std::uint32_t> work{from};
    while (!work.empty()) {
      const std::uint32_t block = work.back();
      work.pop_back();
      if (block == join || block == graph_.exit || seen[block]) continue;
      seen[block] = true;
      work.insert(work.end(), graph_.blocks[block].successors.begin(), graph_.blocks[block].successors.end());
    }
    return seen;
  }

  struct Decider {
    std::uint32_t block = 0, loop = kNoBlock;        // the innermost loop around it and its join
    std::vector<std::vector<bool>> reaches;          // by side
  };

  const Decider& decider(std::uint32_t block) {
    const auto [entry, is_new] = deciders_.try_emplace(block);
    Decider& d = entry->second;
    if (!is_new) return d;
    const std::uint32_t join = graph_.post_dominator[block];
    d.block = block;
    d.loop = graph_.loop_of[block];
    while (d.loop != kNoBlock && !graph_.loops[d.loop].contains[join]) d.loop = graph_.loops[d.loop].parent;
    for (const std::uint32_t side : graph_.blocks[block].successors) d.reaches.push_back(reachable(side, join));
    return d;
  }

  // All blocks on whose branches `block` depends, however indirectly.
  std::vector<std::uint32_t> deciding_blocks(std::uint32_t block) const {
    std::vector<bool> seen(graph_.blocks.size(), false);
    std::vector<std::uint32_t> result, work{block};
    while (!work.empty()) {
      const std::uint32_t at = work.back();
      work.pop_back();
      for (const std::uint32_t by : dependence_[at]) {
        if (seen[by]) continue;
        seen[by] = true;
        result.push_back(by);
        work.push_back(by);
      }
    }
    return result;
  }

  BarrierSpot spot_of(std::uint32_t block) {
    BarrierSpot spot;
    for (std::uint32_t loop = graph_.loop_of[block]; loop != kNoBlock; loop = graph_.loops[loop].parent) spot.levels.push_back({scope_of(loop), {}});
    spot.levels.push_back({first_scope_, {}});
    std::reverse(spot.levels.begin(), spot.levels.end());
    for (const std::uint32_t by : deciding_blocks(block)) {
      const FlowBlock& branch = graph_.blocks[by];
      const Exec exec = family(*kernel_.code[branch.end - 1].source);
      if (graph_.post_dominator[by] == graph_.exit || (exec != Exec::bra && exec != Exec::brx) || branch.successors.size() > 32) continue;
      const Decider& d = decider(by);
      std::uint32_t skip = 0;
      for (std::uint32_t side = 0; side < d.reaches.size(); ++side)
        if (!d.reaches[side][block]) skip |= 1u << side;
      if (skip == 0) continue;
      for (auto& level : spot.levels)
        if (level.scope == scope_of(d.loop)) level.uses.push_back({guard(by, d.loop), skip});
    }
    return spot;
  }

  std::uint32_t guard(std::uint32_t block, std::uint32_t loop) {
    if (guard_of_block_[block] != kNoSlot) return guard_of_block_[block];
    const auto index = static_cast<std::uint32_t>(map_.guards.size());
    const auto sides = static_cast<std::uint32_t>(graph_.blocks[block].successors.size());
    const std::uint32_t pc = graph_.blocks[block].end - 1;
    map_.guards.push_back({pc, map_.side_count, sides});
    map_.side_count += sides;
    for (;; loop = graph_.loops[loop].parent) {
      map_.scopes[scope_of(loop)].guards.push_back(index);
      if (loop == kNoBlock) break;
    }
    point(pc).guard = index;
    return guard_of_block_[block] = index;
  }

  bool count_header(std::uint32_t loop) {
    const FlowBlock& header = graph_.blocks[graph_.loops[loop].header];
    for (std::uint32_t pc = header.first; pc < header.end; ++pc) {
      const Exec exec = family(*kernel_.code[pc].source);
      if (may_run_again(exec)) continue;
      point(pc).counted = scope_of(loop);
      return true;
    }
    return false;
  }

  BarrierWatchPoint& point(std::uint32_t pc) {
    Op& op = kernel_.code[pc];
    if (op.watch == kNoSlot) {
      op.watch = static_cast<std::uint32_t>(map_.points.size());
      map_.points.push_back({op.run, kNoSlot, kNoSlot});
      install_watch(op);
    }
    return map_.points[op.watch];
  }

  void forget() {
    std::erase_if(map_.spots, [&](const auto& spot) { return spot.first >= kernel_.functions[function_].entry && spot.first < kernel_.functions[function_].end; });
  }

  Kernel& kernel_;
  BarrierMap& map_;
  std::uint32_t function_;
  const std::vector<bool>& has_barrier_;
  FlowGraph graph_;
  std::vector<std::vector<std::uint32_t>> dependence_;
  std::uint32_t first_scope_ = 0;
  std::vector<std::uint32_t> guard_of_block_;
  std::map<std::uint32_t, Decider> deciders_;
};

}  // namespace

bool is_block_barrier(const Op& op) {
  const Exec exec = family(*op.source);
  return (exec == Exec::bar_sync || exec == Exec::bar_red) && (op.flags & 2) == 0;
}

void watch_barriers(Kernel& kernel) {
  const std::vector<bool> has = functions_with_barriers(kernel);
  auto map = std::make_shared<BarrierMap>();
  map->scope_of_function.assign(kernel.functions.size(), kNoSlot);
  for (std::uint32_t f = 0; f < has.size(); ++f)
    if (has[f]) FunctionWatch(kernel, *map, f, has).run();
  if (!map->spots.empty()) kernel.barriers = std::move(map);
}

}  // namespace kforge::emulator
