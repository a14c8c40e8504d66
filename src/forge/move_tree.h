// The tree of moves: which candidates are worth deriving from, and which are dead ends.
//
// Best first with progressive widening: a candidate may have as many children as grow with the square root of what was tried below it, so that
// the search goes deep where it pays and comes back to width when the best line stops paying.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "forge/standing.h"

namespace kforge::forge {

class MoveTree {
 public:
  // In order of verdict; the parent may be "" or unknown (a root). `is_point`: it is a point of a searched space, of which a search tries
  // worse ones to learn.
  void add(const std::string& id, const std::string& parent, const Standing& standing, bool is_point = false);

  struct DeadEnd { std::string id, why; };
  // Those that became dead ends since the last call: wrong; slower than the parent by more than a fifth; several children and none of them
  // faster, points of a searched space left out. Told once.
  std::vector<DeadEnd> new_dead_ends();
  void mark_dead(const std::string& id);              // known from before

  // Candidates that may have another child, most promising first. While any right candidate that is no dead end is there, it is not empty:
  // when all have had their share, the shares are widened.
  std::vector<std::string> frontier() const;
  std::size_t descendants(const std::string& id) const;

 private:
  struct Node {
    std::string parent;
    Standing standing;
    std::vector<std::string> children;
    std::size_t order = 0;
    bool is_point = false, dead = false;
  };
  std::string death_of(const Node& node) const;       // why it is a dead end, or ""
  std::map<std::string, Node> nodes_;
};

}  // namespace kforge::forge
