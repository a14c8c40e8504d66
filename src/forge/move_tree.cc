#include "forge/move_tree.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace kforge::forge {
namespace {

constexpr double kWorse = 1.2;                  // times the parent's time: not worth following
constexpr std::size_t kFruitlessChildren = 6;
constexpr double kFirstShare = 2;               // children of a fresh candidate; grows with the square root of its descendants

std::size_t share(std::size_t descendants, double widening) {
  return static_cast<std::size_t>(std::ceil(kFirstShare * widening * std::sqrt(1.0 + static_cast<double>(descendants))));
}

}  // namespace

void MoveTree::add(const std::string& id, const std::string& parent, const Standing& standing, bool is_point) {
  Node& node = nodes_[id];
  node.parent = parent;
  node.standing = standing;
  node.is_point = is_point;
  node.order = nodes_.size();
  if (const auto found = nodes_.find(parent); found != nodes_.end() && parent != id) found->second.children.push_back(id);
}

std::string MoveTree::death_of(const Node& node) const {
  if (!node.standing.right()) return node.standing.grade == Grade::wrong ? "it is wrong" : "it could not be judged";
  const auto parent = nodes_.find(node.parent);
  const double own = node.standing.us;
  if (parent != nodes_.end() && parent->second.standing.right() && parent->second.standing.us > 0 && own > kWorse * parent->second.standing.us)
    return fmt::format("{:.2f} times its parent's time", own / parent->second.standing.us);
  std::size_t moves = 0, fruitful = 0;
  for (const std::string& id : node.children) {
    const Node& child = nodes_.at(id);
    moves += !child.is_point;
    fruitful += child.standing.right() && child.standing.us > 0 && child.standing.us < own;
  }
  return own > 0 && moves >= kFruitlessChildren && fruitful == 0 ? fmt::format("{} children and none of them faster", moves) : std::string();
}

std::vector<MoveTree::DeadEnd> MoveTree::new_dead_ends() {
  std::vector<DeadEnd> out;
  for (auto& [id, node] : nodes_) {
    if (node.dead) continue;
    std::string why = death_of(node);
    if (why.empty()) continue;
    node.dead = true;
    out.push_back({id, std::move(why)});
  }
  return out;
}

void MoveTree::mark_dead(const std::string& id) {
  if (const auto found = nodes_.find(id); found != nodes_.end()) found->second.dead = true;
}

std::size_t MoveTree::descendants(const std::string& id) const {
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return 0;
  std::size_t count = 0;
  for (const std::string& child : found->second.children) count += 1 + descendants(child);
  return count;
}

std::vector<std::string> MoveTree::frontier() const {
  std::vector<std::pair<std::string, const Node*>> alive;
  for (const auto& [id, node] : nodes_)
    if (!node.dead && node.standing.right()) alive.emplace_back(id, &node);
  std::sort(alive.begin(), alive.end(), [](const auto& a, const auto& b) {
    if (more_promising(a.second->standing, b.second->standing)) return true;
    if (more_promising(b.second->standing, a.second->standing)) return false;
    return a.second->order < b.second->order;
  });
  std::vector<std::string> out;
  for (double widening = 1; out.empty() && !alive.empty(); widening *= 2)
    for (const auto& [id, node] : alive)
      if (node->children.size() < share(descendants(id), widening)) out.push_back(id);
  return out;
}

}  // namespace kforge::forge
