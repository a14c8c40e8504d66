// The control-flow graph of one function, and what decides who comes to a point of it: dominators, post-dominators,
// loops and control dependence.
//
// Nodes are basic blocks; one more node, `exit`, stands for the end of the thread. A block that holds nothing but a `ret`
// is the exit: an early return is a branch to it. Ways that end in a trap or a failed assertion, or that never end, are no
// ways to the exit: what lies on them does not keep a join from being one.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/code.h"

namespace kforge::emulator {

inline constexpr std::uint32_t kNoBlock = 0xffffffffu;

struct FlowBlock {
  std::uint32_t first = 0, end = 0;       // pcs [first, end)
  std::vector<std::uint32_t> successors;  // blocks or the exit. Of a guarded branch: {taken, fall-through}; of brx: the targets, in order, then fall-through
};

// A natural loop: the target of a backward edge with all that reaches that edge without passing it.
struct FlowLoop {
  std::uint32_t header = 0;
  std::uint32_t parent = kNoBlock;        // the innermost loop around it
  std::uint32_t depth = 1;
  std::vector<bool> contains;             // by block
};

struct FlowGraph {
  std::vector<FlowBlock> blocks;          // [0] is the entry
  std::vector<std::uint32_t> block_of;    // by pc - first pc of the function
  std::uint32_t exit = 0;                 // == blocks.size()
  std::vector<std::uint32_t> dominator;       // immediate; kNoBlock: none, or not reachable
  std::vector<std::uint32_t> post_dominator;  // immediate; kNoBlock: cannot reach the exit. [exit] is exit
  std::vector<FlowLoop> loops;            // outer ones before inner ones
  std::vector<std::uint32_t> loop_of;     // innermost, by block; kNoBlock: none
  bool reducible = true;                  // false: some cycle has two entries, and loops says nothing of it
};

FlowGraph flow_graph(const Kernel& kernel, const FunctionCode& function);

// dominator-like tree of a graph in which every node is named by its successors; used both ways round.
std::vector<std::uint32_t> immediate_dominators(const std::vector<std::vector<std::uint32_t>>& successors, std::uint32_t root);

}  // namespace kforge::emulator
