// Graphs: work with dependencies, built node by node or captured from streams, run as a whole.
//
// A graph runs its nodes one after another in an order that the dependencies allow (the order of creation where they leave it open);
// graph_run.h knows what that order must not be taken for.
// An executable graph is a copy that remembers which of its nodes came from which.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cudart/work.h"

namespace kforge::cudart {

struct GraphNode {
  Graph* graph = nullptr;
  Work work = EmptyWork{};
  std::vector<GraphNode*> after;         // dependencies
  bool enabled = true;
  GraphNode* origin = nullptr;           // the node that this one was cloned from
  std::map<int, std::array<std::byte, kAttributeBytes>> attributes;
  std::vector<void*> argument_pointers;  // what cudaGraphKernelNodeGetParams gives
};

// What a graph keeps alive for the program (cudaUserObjectCreate): destroyed with its last reference, the program's own ones and those of graphs and their copies.
struct UserObject {
  void* data = nullptr;
  void (*destroy)(void*) = nullptr;
  UserObject(void* data, void (*destroy)(void*)) : data(data), destroy(destroy) {}
  UserObject(const UserObject&) = delete;
  UserObject& operator=(const UserObject&) = delete;
  ~UserObject() { destroy(data); }
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;   // in order of creation
  std::vector<std::shared_ptr<UserObject>> objects;   // one entry a reference
  GraphNode* add(Work work, std::span<GraphNode* const> after);
};

struct GraphExec {
  Graph graph;
  std::vector<GraphNode*> order;
  std::unordered_map<const GraphNode*, GraphNode*> copies;   // of the graph's nodes
  unsigned long long flags = 0;
  Clock ended;                           // its last launch: the next one comes after it, whatever the streams
};

// A capture: the streams that take part put their work into one graph.
struct Capture {
  std::shared_ptr<Graph> graph;
  std::uint64_t id = 0;
  Stream* origin = nullptr;
  bool to_given_graph = false;           // cudaStreamBeginCaptureToGraph: the program owns it
  bool invalid = false;
  bool ended = false;
};

// Copies nodes and dependencies; child graphs too.
void copy_graph(const Graph& from, Graph& to, std::unordered_map<const GraphNode*, GraphNode*>* copies = nullptr);
// Dependencies first; empty when they form a circle (and there are nodes).
std::vector<GraphNode*> run_order(const Graph& graph);
int type_of(const GraphNode& node);

// All graphs, nodes and executable graphs that the program holds handles of.
class GraphStore {
 public:
  Graph* create();
  Graph* adopt(std::shared_ptr<Graph> graph);
  std::shared_ptr<Graph> find(const void* graph) const;         // null: no such graph; child graphs are found too
  GraphNode* find_node(const void* node) const;
  bool destroy(const void* graph);
  bool destroy_node(GraphNode* node);
  void know(const std::shared_ptr<Graph>& graph);               // of a child node

  GraphExec* create_exec() { return execs_.emplace_back(std::make_unique<GraphExec>()).get(); }
  GraphExec* find_exec(const void* exec) const;
  bool destroy_exec(const void* exec);
  void* create_object(void* data, void (*destroy)(void*), unsigned references);
  std::shared_ptr<UserObject> find_object(const void* object) const;   // null: no such object, or it is destroyed
  bool retain_object(void* object, unsigned count);             // the program's own references
  bool release_object(void* object, unsigned count);
  std::uint64_t next_capture_id() { return next_capture_id_++; }

 private:
  std::unordered_map<const void*, std::weak_ptr<Graph>> known_;
  std::unordered_map<const void*, std::shared_ptr<Graph>> owned_;
  std::vector<std::unique_ptr<GraphExec>> execs_;
  struct Held { std::shared_ptr<UserObject> object; unsigned references; };
  std::unordered_map<const void*, Held> held_;                  // by the program itself
  std::unordered_map<const void*, std::weak_ptr<UserObject>> objects_;
  std::uint64_t next_capture_id_ = 1;
};

}  // namespace kforge::cudart
