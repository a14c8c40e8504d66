#include "emulator/flow_graph.h"

#include <algorithm>
#include <utility>

#include "emulator/handlers.h"
#include "emulator/registers.h"

namespace kforge::emulator {
namespace {

using ptx::Exec;
using Edges = std::vector<std::vector<std::uint32_t>>;

bool ends_thread(Exec exec) { return exec == Exec::ret || exec == Exec::exit; }

bool never_returns(const Kernel& kernel, const Op& op, Exec exec) {
  if (exec == Exec::trap) return true;
  if (exec != Exec::call || op.call == nullptr || op.call->intrinsic == 0) return false;
  return op.source->call->function.has_value() && kernel.module->functions[*op.source->call->function].name == "__assertfail";
}

bool ends_block(const Kernel& kernel, const Op& op, Exec exec) {
  return exec == Exec::bra || exec == Exec::brx || ends_thread(exec) || never_returns(kernel, op, exec);
}

// The implicit `ret` behind the last instruction borrows its source.
Exec exec_at(const Kernel& kernel, const FunctionCode& function, std::uint32_t pc) {
  return pc + 1 == function.end ? Exec::ret : family(*kernel.code[pc].source);
}

std::vector<std::uint32_t> targets_of(const Op& op, Exec exec) {
  std::vector<std::uint32_t> targets;
  if (exec == Exec::bra) targets.push_back(op.target);
  if (exec == Exec::brx)
    for (const std::uint32_t target : op.source->targets) targets.push_back(op.target + target);
  return targets;
}

void find_blocks(const Kernel& kernel, const FunctionCode& function, FlowGraph& graph) {
  const std::uint32_t count = function.end - function.entry;
  std::vector<bool> starts(count + 1, false);
  starts[0] = true;
  for (std::uint32_t pc = function.entry; pc < function.end; ++pc) {
    const Exec exec = exec_at(kernel, function, pc);
    for (const std::uint32_t target : targets_of(kernel.code[pc], exec)) starts[target - function.entry] = true;
    if (ends_block(kernel, kernel.code[pc], exec)) starts[pc + 1 - function.entry] = true;
  }
  graph.block_of.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (starts[i]) graph.blocks.push_back({function.entry + i, function.entry + i, {}});
    graph.block_of[i] = static_cast<std::uint32_t>(graph.blocks.size() - 1);
    graph.blocks.back().end = function.entry + i + 1;
  }
  graph.exit = static_cast<std::uint32_t>(graph.blocks.size());
}

void find_edges(const Kernel& kernel, const FunctionCode& function, FlowGraph& graph) {
  const auto node = [&](std::uint32_t pc) {
    const std::uint32_t block = graph.block_of[pc - function.entry];
    const bool is_return = ends_thread(exec_at(kernel, function, pc)) && (kernel.code[pc].guard == kNoSlot || pc + 1 == function.end);
    return is_return ? graph.exit : block;
  };
  for (FlowBlock& block : graph.blocks) {
    const std::uint32_t last = block.end - 1;
    const Op& op = kernel.code[last];
    const Exec exec = exec_at(kernel, function, last);
    for (const std::uint32_t target : targets_of(op, exec)) block.successors.push_back(node(target));
    if (ends_thread(exec)) block.successors.push_back(graph.exit);
    const bool falls = !ends_block(kernel, op, exec) || (op.guard != kNoSlot && last + 1 != function.end);
    if (falls && block.end < function.end) block.successors.push_back(node(block.end));
  }
}

Edges reversed(const Edges& edges) {
  Edges result(edges.size());
  for (std::uint32_t from = 0; from < edges.size(); ++from)
    for (const std::uint32_t to : edges[from]) result[to].push_back(from);
  return result;
}

std::vector<std::uint32_t> reverse_post_order(const Edges& successors, std::uint32_t root) {
  std::vector<std::uint32_t> order;
  std::vector<bool> seen(successors.size(), false);
  std::vector<std::pair<std::uint32_t, std::size_t>> path{{root, 0}};
  seen[root] = true;
  while (!path.empty()) {
    auto& [node, next] = path.back();
    if (next == successors[node].size()) {
      order.push_back(node);
      path.pop_back();
      continue;
    }
    const std::uint32_t to = successors[node][next++];
    if (!seen[to]) {
      seen[to] = true;
      path.emplace_back(to, 0);
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

Edges edges_of(const FlowGraph& graph) {
  Edges edges;
  for (const FlowBlock& block : graph.blocks) edges.push_back(block.successors);
  edges.emplace_back();
  return edges;
}

bool dominates(const FlowGraph& graph, std::uint32_t above, std::uint32_t block) {
  for (; block != above; block = graph.dominator[block])
    if (block == kNoBlock || block == 0) return false;
  return true;
}

void add_body(const Edges& predecessors, std::uint32_t from, FlowLoop& loop) {
  std::vector<std::uint32_t> work{from};
  while (!work.empty()) {
    const std::uint32_t block = work.back();
    work.pop_back();
    if (loop.contains[block]) continue;
    loop.contains[block] = true;
    work.insert(work.end(), predecessors[block].begin(), predecessors[block].end());
  }
}

void find_loops(const Edges& edges, FlowGraph& graph) {
  const Edges predecessors = reversed(edges);
  const std::vector<std::uint32_t> order = reverse_post_order(edges, 0);
  std::vector<std::uint32_t> position(edges.size(), kNoBlock);
  for (std::uint32_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  for (const std::uint32_t header : order) {
    FlowLoop loop;
    loop.header = header;
    loop.contains.assign(edges.size(), false);
    loop.contains[header] = true;
    bool is_loop = false;
    for (const std::uint32_t from : predecessors[header]) {
      if (position[from] == kNoBlock || position[from] < position[header]) continue;   // not a retreating edge
      if (!dominates(graph, header, from)) {
        graph.reducible = false;
        continue;
      }
      is_loop = true;
      add_body(predecessors, from, loop);
    }
    if (is_loop) graph.loops.push_back(std::move(loop));
  }
  // A header comes before the headers of its inner loops in the order: the last loop that holds a block is its innermost.
  graph.loop_of.assign(edges.size(), kNoBlock);
  for (std::uint32_t k = 0; k < graph.loops.size(); ++k) {
    FlowLoop& loop = graph.loops[k];
    loop.parent = graph.loop_of[loop.header];
    loop.depth = loop.parent == kNoBlock ? 1 : graph.loops[loop.parent].depth + 1;
    for (std::uint32_t block = 0; block < edges.size(); ++block)
      if (loop.contains[block]) graph.loop_of[block] = k;
  }
}

}  // namespace

// Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001).
std::vector<std::uint32_t> immediate_dominators(const Edges& successors, std::uint32_t root) {
  const std::vector<std::uint32_t> order = reverse_post_order(successors, root);
  std::vector<std::uint32_t> position(successors.size(), kNoBlock), result(successors.size(), kNoBlock);
  for (std::uint32_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  const Edges predecessors = reversed(successors);
  result[root] = root;
  const auto meet = [&](std::uint32_t a, std::uint32_t b) {
    while (a != b) {
      while (position[a] > position[b]) a = result[a];
      while (position[b] > position[a]) b = result[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::uint32_t node : order) {
      if (node == root) continue;
      std::uint32_t best = kNoBlock;
      for (const std::uint32_t from : predecessors[node])
        if (position[from] != kNoBlock && result[from] != kNoBlock) best = best == kNoBlock ? from : meet(from, best);
      changed |= best != result[node];
      result[node] = best;
    }
  }
  return result;
}

FlowGraph flow_graph(const Kernel& kernel, const FunctionCode& function) {
  FlowGraph graph;
  find_blocks(kernel, function, graph);
  find_edges(kernel, function, graph);
  const Edges edges = edges_of(graph);
  graph.dominator = immediate_dominators(edges, 0);
  graph.post_dominator = immediate_dominators(reversed(edges), graph.exit);
  find_loops(edges, graph);
  return graph;
}

}  // namespace kforge::emulator
