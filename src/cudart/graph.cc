#include "cudart/graph.h"

#include <algorithm>

namespace kforge::cudart {

GraphNode* Graph::add(Work work, std::span<GraphNode* const> after) {
  auto node = std::make_unique<GraphNode>();
  node->graph = this;
  node->work = std::move(work);
  node->after.assign(after.begin(), after.end());
  return nodes.emplace_back(std::move(node)).get();
}

void copy_graph(const Graph& from, Graph& to, std::unordered_map<const GraphNode*, GraphNode*>* copies) {
  std::unordered_map<const GraphNode*, GraphNode*> own;
  for (const auto& node : from.nodes) {
    GraphNode* copy = to.add(node->work, {});
    copy->enabled = node->enabled;
    copy->origin = node.get();
    own[node.get()] = copy;
    if (auto* child = std::get_if<ChildWork>(&copy->work)) {
      auto inner = std::make_shared<Graph>();
      copy_graph(*child->graph, *inner, copies);
      child->graph = std::move(inner);
    }
  }
  for (const auto& node : from.nodes)
    for (GraphNode* before : node->after) own[node.get()]->after.push_back(own[before]);
  to.objects.insert(to.objects.end(), from.objects.begin(), from.objects.end());
  if (copies != nullptr) copies->insert(own.begin(), own.end());
}

std::vector<GraphNode*> run_order(const Graph& graph) {
  std::unordered_map<const GraphNode*, std::size_t> waiting;
  std::unordered_map<const GraphNode*, std::vector<GraphNode*>> followers;
  for (const auto& node : graph.nodes) {
    waiting[node.get()] = node->after.size();
    for (GraphNode* before : node->after) followers[before].push_back(node.get());
  }
  std::vector<GraphNode*> order;
  for (const auto& node : graph.nodes)
    if (node->after.empty()) order.push_back(node.get());
  for (std::size_t i = 0; i < order.size(); ++i)
    for (GraphNode* follower : followers[order[i]])
      if (--waiting[follower] == 0) order.push_back(follower);
  if (order.size() != graph.nodes.size()) order.clear();
  return order;
}

int type_of(const GraphNode& node) {
  constexpr int kTypes[] = {kNodeKernel, kNodeMemcpy, kNodeMemset, kNodeHost, kNodeGraph, kNodeEmpty, kNodeWaitEvent, kNodeRecordEvent, kNodeAlloc, kNodeFree};
  static_assert(std::size(kTypes) == std::variant_size_v<Work>);
  return kTypes[node.work.index()];
}

Graph* GraphStore::create() { return adopt(std::make_shared<Graph>()); }

Graph* GraphStore::adopt(std::shared_ptr<Graph> graph) {
  Graph* result = graph.get();
  known_[result] = graph;
  owned_[result] = std::move(graph);
  return result;
}

void GraphStore::know(const std::shared_ptr<Graph>& graph) {
  known_[graph.get()] = graph;
  for (const auto& node : graph->nodes)
    if (const auto* child = std::get_if<ChildWork>(&node->work)) know(child->graph);
}

std::shared_ptr<Graph> GraphStore::find(const void* graph) const {
  const auto found = known_.find(graph);
  return found == known_.end() ? nullptr : found->second.lock();
}

// Handles of nodes come from the program: one that is in no live graph is none.
GraphNode* GraphStore::find_node(const void* node) const {
  for (const auto& [handle, weak] : known_) {
    const auto graph = weak.lock();
    if (!graph) continue;
    for (const auto& known : graph->nodes)
      if (known.get() == node) return known.get();
  }
  return nullptr;
}

bool GraphStore::destroy(const void* graph) {
  known_.erase(graph);
  return owned_.erase(graph) != 0;
}

bool GraphStore::destroy_node(GraphNode* node) {
  Graph& graph = *node->graph;
  for (const auto& other : graph.nodes) std::erase(other->after, node);
  return std::erase_if(graph.nodes, [&](const auto& known) { return known.get() == node; }) != 0;
}

GraphExec* GraphStore::find_exec(const void* exec) const {
  const auto found = std::find_if(execs_.begin(), execs_.end(), [&](const auto& known) { return known.get() == exec; });
  return found == execs_.end() ? nullptr : found->get();
}

bool GraphStore::destroy_exec(const void* exec) {
  return std::erase_if(execs_, [&](const auto& known) { return known.get() == exec; }) != 0;
}

void* GraphStore::create_object(void* data, void (*destroy)(void*), unsigned references) {
  auto object = std::make_shared<UserObject>(data, destroy);
  void* handle = object.get();
  objects_[handle] = object;
  held_[handle] = {std::move(object), references};
  return handle;
}

std::shared_ptr<UserObject> GraphStore::find_object(const void* object) const {
  const auto found = objects_.find(object);
  return found == objects_.end() ? nullptr : found->second.lock();
}

bool GraphStore::retain_object(void* object, unsigned count) {
  auto known = find_object(object);
  if (known == nullptr || count == 0) return false;
  Held& held = held_.try_emplace(object, Held{std::move(known), 0}).first->second;
  held.references += count;
  return true;
}

bool GraphStore::release_object(void* object, unsigned count) {
  const auto held = held_.find(object);
  if (held == held_.end() || count == 0 || held->second.references < count) return false;
  held->second.references -= count;
  if (held->second.references == 0) held_.erase(held);
  return true;
}

}  // namespace kforge::cudart
