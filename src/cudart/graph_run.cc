#include "cudart/graph_run.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

namespace kforge::cudart {
namespace {

bool is_chain(const std::vector<GraphNode*>& order) {
  for (std::size_t i = 1; i < order.size(); ++i)
    if (std::find(order[i]->after.begin(), order[i]->after.end(), order[i - 1]) == order[i]->after.end()) return false;
  return true;
}

Stream& add_branch(Context& context, Stream& home) {
  auto branch = std::make_unique<Stream>();
  branch->index = context.timeline.create(StreamSort::non_blocking);
  branch->branch_of = &home;
  return *home.branches.emplace_back(std::move(branch));
}

// One whose last operation is among what the node comes after: using it promises no more than that.
Stream& branch_for(Context& context, Stream& home, const Clock& before) {
  const auto is_covered = [&](const Stream& stream) { return before.of(stream.index) >= context.timeline.clock(stream.index).of(stream.index); };
  if (is_covered(home)) return home;
  const auto found = std::find_if(home.branches.begin(), home.branches.end(), [&](const auto& branch) { return is_covered(*branch); });
  return found == home.branches.end() ? add_branch(context, home) : **found;
}

Status run(Context& context, Stream& stream, const GraphNode& node) { return node.enabled ? perform(context, stream, node.work) : cudaSuccess; }

Status run_chain(Context& context, Stream& stream, const std::vector<GraphNode*>& order) {
  for (const GraphNode* node : order)
    if (const Status status = run(context, stream, *node); status != cudaSuccess) return status;
  return cudaSuccess;
}

}  // namespace

Status run_nodes(Context& context, Stream& home, const std::vector<GraphNode*>& order) {
  if (is_chain(order)) return run_chain(context, home, order);
  Timeline& timeline = context.timeline;
  if (home.branches.empty()) add_branch(context, home);   // so that races are looked for from the first node on
  const Clock start = timeline.record(home.index);
  std::unordered_map<const GraphNode*, Clock> done;
  for (const GraphNode* node : order) {
    Clock before = start;
    for (const GraphNode* dependency : node->after) before.join(done[dependency]);
    Stream& branch = branch_for(context, home, before);
    timeline.wait(branch.index, before);
    const std::uint64_t tick = timeline.clock(branch.index).of(branch.index);
    if (const Status status = run(context, branch, *node); status != cudaSuccess) return status;
    if (timeline.clock(branch.index).of(branch.index) == tick) timeline.issue(branch.index, "a graph node", 0);   // each has its place, whatever it does
    done[node] = timeline.clock(branch.index);
  }
  for (const auto& [node, clock] : done) timeline.wait(home.index, clock);
  return cudaSuccess;
}

}  // namespace kforge::cudart
