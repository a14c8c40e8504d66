// Blocks, edges and dominators of small kernels, written by hand.
#include "emulator/flow_graph.h"

#include <gtest/gtest.h>

#include <random>

namespace kforge::emulator {
namespace {

using Edges = std::vector<std::vector<std::uint32_t>>;

// Whether `to` can be reached from `root` without passing `without`.
bool reaches(const Edges& edges, std::uint32_t root, std::uint32_t to, std::uint32_t without) {
  std::vector<bool> seen(edges.size(), false);
  std::vector<std::uint32_t> work{root};
  while (!work.empty()) {
    const std::uint32_t at = work.back();
    work.pop_back();
    if (at == without || seen[at]) continue;
    seen[at] = true;
    work.insert(work.end(), edges[at].begin(), edges[at].end());
  }
  return seen[to];
}

// By definition: a dominates b when b cannot be reached without a.
TEST(FlowGraph, DominatorsAreThoseOfTheDefinitionOnRandomGraphs) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE(round);
    const std::uint32_t count = 1 + random() % 9;
    Edges edges(count);
    for (auto& out : edges)
      for (std::uint32_t k = random() % 3; k > 0; --k) out.push_back(random() % count);
    const std::vector<std::uint32_t> found = immediate_dominators(edges, 0);
    for (std::uint32_t b = 1; b < count; ++b) {
      if (!reaches(edges, 0, b, kNoBlock)) {
        ASSERT_EQ(found[b], kNoBlock);
        continue;
      }
      for (std::uint32_t a = 0; a < count; ++a) {
        bool in_tree = a == b;
        for (std::uint32_t up = b; up != 0 && !in_tree;) in_tree = (up = found[up]) == a;
        ASSERT_EQ(in_tree, a == b || !reaches(edges, 0, b, a)) << a << " over " << b;
      }
    }
  }
}

}  // namespace
}  // namespace kforge::emulator
