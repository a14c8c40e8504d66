#include "cudart/graph_api.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "cudart/graph_run.h"
#include "cudart/memory_api.h"
#include "cudart/pool_api.h"

namespace kforge::cudart {
namespace {

// The node's work of type T; null when it has another.
template <class T>
T* work_of(Context& context, GraphNode* node) {
  GraphNode* known = context.graphs->find_node(node);
  return known == nullptr ? nullptr : std::get_if<T>(&known->work);
}

template <class T>
Status fill_list(const std::vector<T>& found, T* list, std::size_t* count) {
  if (count == nullptr) return cudaErrorInvalidValue;
  if (list == nullptr) {
    *count = found.size();
    return cudaSuccess;
  }
  for (std::size_t i = 0; i < *count; ++i) list[i] = i < found.size() ? found[i] : T{};
  *count = std::min(*count, found.size());
  return cudaSuccess;
}

// What may change in an executable graph: everything but the kind of work, a kernel's function within its context excepted.
bool can_take(const Work& from, const Work& to) { return from.index() == to.index(); }

}  // namespace

Status create_graph(Context& context, Graph** graph, unsigned flags) {
  if (graph == nullptr || flags != 0) return cudaErrorInvalidValue;
  *graph = context.graphs->create();
  return cudaSuccess;
}

Status destroy_graph(Context& context, Graph* graph) { return context.graphs->destroy(graph) ? cudaSuccess : cudaErrorInvalidValue; }

Status clone_graph(Context& context, Graph** clone, Graph* graph) {
  const auto original = context.graphs->find(graph);
  if (clone == nullptr || original == nullptr) return cudaErrorInvalidValue;
  auto copy = std::make_shared<Graph>();
  copy_graph(*original, *copy);
  context.graphs->know(copy);
  *clone = context.graphs->adopt(std::move(copy));
  return cudaSuccess;
}

Status find_in_clone(Context& context, GraphNode** node, GraphNode* original, Graph* clone) {
  const auto graph = context.graphs->find(clone);
  if (node == nullptr || graph == nullptr) return cudaErrorInvalidValue;
  for (const auto& known : graph->nodes) {
    if (known->origin != original) continue;
    *node = known.get();
    return cudaSuccess;
  }
  return cudaErrorInvalidValue;
}

Status destroy_node(Context& context, GraphNode* node) {
  GraphNode* known = context.graphs->find_node(node);
  return known != nullptr && context.graphs->destroy_node(known) ? cudaSuccess : cudaErrorInvalidValue;
}

Status to_work(Context& context, const KernelNodeParams* params, Work& work) {
  if (params == nullptr) return cudaErrorInvalidValue;
  KernelWork kernel;
  const Status status = make_kernel_work(context, params->func, {params->gridDim, params->blockDim, {0, 0, 0}, params->sharedMemBytes, false}, params->kernelParams, params->extra, kernel);
  work = std::move(kernel);
  return status;
}

Status to_work(Context& context, const Copy3D* params, Work& work) {
  if (params == nullptr) return cudaErrorInvalidValue;
  CopyWork copy;
  const Status status = make_copy_work(context, *params, copy);
  work = std::move(copy);
  return status;
}

Status to_work(Context&, const MemsetParams* params, Work& work) {
  if (params == nullptr || params->dst == nullptr) return cudaErrorInvalidValue;
  if (params->elementSize != 1 && params->elementSize != 2 && params->elementSize != 4) return cudaErrorInvalidValue;
  work = FillWork{{params->dst, params->pitch, params->pitch * params->height}, params->value, params->elementSize, params->width, std::max<std::size_t>(1, params->height), 1};
  return cudaSuccess;
}

Status to_work(Context&, const HostNodeParams* params, Work& work) {
  if (params == nullptr || params->fn == nullptr) return cudaErrorInvalidValue;
  work = HostWork{params->fn, params->userData};
  return cudaSuccess;
}

Status to_work(Context& context, AllocNodeParams* params, Work& work) {
  if (params == nullptr) return cudaErrorInvalidValue;
  const Status status = reserve_graph_memory(context, *params);
  work = AllocWork{*params};
  return status;
}

Status child_work(Context& context, Graph* child, Work& work) {
  const auto known = context.graphs->find(child);
  if (known == nullptr) return cudaErrorInvalidValue;
  auto copy = std::make_shared<Graph>();
  copy_graph(*known, *copy);
  context.graphs->know(copy);
  work = ChildWork{std::move(copy)};
  return cudaSuccess;
}

Status event_work(Context& context, void* event, bool record, Work& work) {
  if (context.find_event(event) == nullptr) return cudaErrorInvalidValue;
  if (record) work = RecordWork{event};
  else work = WaitWork{event};
  return cudaSuccess;
}

Work copy_1d_work(void* to, const void* from, std::size_t bytes, int kind) {
  CopyWork work;
  work.to = {to, bytes, bytes};
  work.from = {const_cast<void*>(from), bytes, bytes};
  work.width = bytes, work.kind = kind;
  work.given.srcPtr = {const_cast<void*>(from), bytes, bytes, 1}, work.given.dstPtr = {to, bytes, bytes, 1};
  work.given.extent = {bytes, 1, 1}, work.given.kind = kind;
  return work;
}

Status symbol_work(Context& context, const SymbolCopy& copy, void* other, bool to_symbol, Work& work) {
  void* base = nullptr;
  if (const Status status = symbol_address(context, &base, copy.symbol); status != cudaSuccess) return status;
  void* place = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(base) + copy.offset);
  work = to_symbol ? copy_1d_work(place, other, copy.bytes, copy.kind) : copy_1d_work(other, place, copy.bytes, copy.kind);
  return cudaSuccess;
}

Status to_work(Context& context, GraphNodeParams* params, Work& work) {
  if (params == nullptr) return cudaErrorInvalidValue;
  switch (params->type) {
    case kNodeKernel: return to_work(context, &params->kernel, work);
    case kNodeMemcpy: return to_work(context, &params->memcpy.copyParams, work);
    case kNodeMemset: return to_work(context, &params->memset, work);
    case kNodeHost: return to_work(context, &params->host, work);
    case kNodeGraph: return child_work(context, params->graph.graph, work);
    case kNodeEmpty: work = EmptyWork{}; return cudaSuccess;
    case kNodeWaitEvent: return event_work(context, params->event.event, false, work);
    case kNodeRecordEvent: return event_work(context, params->event.event, true, work);
    case kNodeAlloc: return to_work(context, &params->alloc, work);
    case kNodeFree: work = FreeWork{params->free.dptr}; return cudaSuccess;
    default: return params->type == kNodeConditional ? cudaErrorNotSupported : cudaErrorInvalidValue;
  }
}

Status add_node(Context& context, const NodePlace& place, const MakeWork& make) {
  const auto graph = context.graphs->find(place.graph);
  if (place.node == nullptr || graph == nullptr || (place.after == nullptr && place.count != 0)) return cudaErrorInvalidValue;
  for (std::size_t i = 0; i < place.count; ++i)
    if (place.after[i] == nullptr || place.after[i]->graph != graph.get()) return cudaErrorInvalidValue;
  Work work;
  if (const Status status = make(work); status != cudaSuccess) return status;
  *place.node = graph->add(std::move(work), {place.after, place.count});
  return cudaSuccess;
}

Status set_node(Context& context, GraphNode* node, const MakeWork& make) {
  GraphNode* known = context.graphs->find_node(node);
  if (known == nullptr) return cudaErrorInvalidValue;
  Work work;
  if (const Status status = make(work); status != cudaSuccess) return status;
  if (!can_take(known->work, work)) return cudaErrorInvalidValue;
  known->work = std::move(work);
  return cudaSuccess;
}

Status set_exec_node(Context& context, GraphExec* exec, GraphNode* node, const MakeWork& make) {
  GraphExec* known = context.graphs->find_exec(exec);
  if (known == nullptr) return cudaErrorInvalidValue;
  const auto copy = known->copies.find(node);
  if (copy == known->copies.end()) return cudaErrorInvalidValue;
  Work work;
  if (const Status status = make(work); status != cudaSuccess) return status;
  if (!can_take(copy->second->work, work)) return cudaErrorInvalidValue;
  copy->second->work = std::move(work);
  return cudaSuccess;
}

Status set_kernel_node_attribute(Context& context, GraphNode* node, int attribute, const void* value) {
  KernelWork* work = work_of<KernelWork>(context, node);
  if (work == nullptr || value == nullptr) return cudaErrorInvalidValue;
  std::memcpy(node->attributes[attribute].data(), value, kAttributeBytes);
  if (attribute == static_cast<int>(kAttributeCooperative)) work->shape.cooperative = *static_cast<const int*>(value) != 0;
  if (attribute == static_cast<int>(kAttributeCluster)) std::memcpy(&work->shape.cluster, value, sizeof work->shape.cluster);
  return cudaSuccess;
}

Status kernel_node_attribute(Context& context, GraphNode* node, int attribute, void* value) {
  if (work_of<KernelWork>(context, node) == nullptr || value == nullptr) return cudaErrorInvalidValue;
  const auto known = node->attributes.find(attribute);
  std::memset(value, 0, kAttributeBytes);
  if (known != node->attributes.end()) std::memcpy(value, known->second.data(), kAttributeBytes);
  return cudaSuccess;
}

Status kernel_params(Context& context, GraphNode* node, KernelNodeParams* params) {
  KernelWork* work = work_of<KernelWork>(context, node);
  if (work == nullptr || params == nullptr) return cudaErrorInvalidValue;
  const emulator::KernelInfo& info = emulator::Device::info(work->kernel->kernel);
  node->argument_pointers.clear();
  for (const std::uint32_t offset : info.parameter_offsets) node->argument_pointers.push_back(work->parameters.data() + offset);
  *params = {work->kernel, work->shape.grid, work->shape.block, static_cast<unsigned>(work->shape.dynamic_shared_bytes), node->argument_pointers.data(), nullptr};
  return cudaSuccess;
}

Status copy_params(Context& context, GraphNode* node, Copy3D* params) {
  const CopyWork* work = work_of<CopyWork>(context, node);
  if (work == nullptr || params == nullptr) return cudaErrorInvalidValue;
  *params = work->given;
  return cudaSuccess;
}

Status memset_params(Context& context, GraphNode* node, MemsetParams* params) {
  const FillWork* work = work_of<FillWork>(context, node);
  if (work == nullptr || params == nullptr) return cudaErrorInvalidValue;
  *params = {work->to.pointer, work->to.pitch, work->value, work->element_bytes, work->width, work->height};
  return cudaSuccess;
}

Status host_params(Context& context, GraphNode* node, HostNodeParams* params) {
  const HostWork* work = work_of<HostWork>(context, node);
  if (work == nullptr || params == nullptr) return cudaErrorInvalidValue;
  *params = {work->function, work->data};
  return cudaSuccess;
}

Status alloc_params(Context& context, GraphNode* node, AllocNodeParams* params) {
  const AllocWork* work = work_of<AllocWork>(context, node);
  if (work == nullptr || params == nullptr) return cudaErrorInvalidValue;
  *params = work->params;
  return cudaSuccess;
}

Status free_params(Context& context, GraphNode* node, void** pointer) {
  const FreeWork* work = work_of<FreeWork>(context, node);
  if (work == nullptr || pointer == nullptr) return cudaErrorInvalidValue;
  *pointer = work->pointer;
  return cudaSuccess;
}

Status node_event(Context& context, GraphNode* node, void** event) {
  const RecordWork* record = work_of<RecordWork>(context, node);
  const WaitWork* wait = work_of<WaitWork>(context, node);
  if (event == nullptr || (record == nullptr && wait == nullptr)) return cudaErrorInvalidValue;
  *event = record != nullptr ? record->event : wait->event;
  return cudaSuccess;
}

Status child_graph(Context& context, GraphNode* node, Graph** graph) {
  const ChildWork* work = work_of<ChildWork>(context, node);
  if (work == nullptr || graph == nullptr) return cudaErrorInvalidValue;
  *graph = work->graph.get();
  return cudaSuccess;
}

Status node_type(Context& context, GraphNode* node, int* type) {
  const GraphNode* known = context.graphs->find_node(node);
  if (known == nullptr || type == nullptr) return cudaErrorInvalidValue;
  *type = type_of(*known);
  return cudaSuccess;
}

Status graph_nodes(Context& context, Graph* graph, GraphNode** nodes, std::size_t* count, bool roots_only) {
  const auto known = context.graphs->find(graph);
  if (known == nullptr) return cudaErrorInvalidValue;
  std::vector<GraphNode*> found;
  for (const auto& node : known->nodes)
    if (!roots_only || node->after.empty()) found.push_back(node.get());
  return fill_list(found, nodes, count);
}

Status graph_edges(Context& context, Graph* graph, GraphNode** from, GraphNode** to, EdgeData* data, std::size_t* count) {
  const auto known = context.graphs->find(graph);
  if (known == nullptr || count == nullptr || (from == nullptr) != (to == nullptr)) return cudaErrorInvalidValue;
  std::vector<GraphNode*> sources, targets;
  for (const auto& node : known->nodes)
    for (GraphNode* before : node->after) sources.push_back(before), targets.push_back(node.get());
  std::size_t second = *count;
  if (data != nullptr) std::fill_n(data, std::min(*count, sources.size()), EdgeData{});
  fill_list(sources, from, count);
  return fill_list(targets, to, &second);
}

Status node_dependencies(Context& context, GraphNode* node, GraphNode** nodes, EdgeData* data, std::size_t* count) {
  const GraphNode* known = context.graphs->find_node(node);
  if (known == nullptr || count == nullptr) return cudaErrorInvalidValue;
  if (data != nullptr && nodes != nullptr) std::fill_n(data, *count, EdgeData{});
  return fill_list(known->after, nodes, count);
}

Status node_dependents(Context& context, GraphNode* node, GraphNode** nodes, EdgeData* data, std::size_t* count) {
  const GraphNode* known = context.graphs->find_node(node);
  if (known == nullptr || count == nullptr) return cudaErrorInvalidValue;
  std::vector<GraphNode*> found;
  for (const auto& other : known->graph->nodes)
    if (std::find(other->after.begin(), other->after.end(), node) != other->after.end()) found.push_back(other.get());
  if (data != nullptr && nodes != nullptr) std::fill_n(data, *count, EdgeData{});
  return fill_list(found, nodes, count);
}

Status change_dependencies(Context& context, Graph* graph, GraphNode* const* from, GraphNode* const* to, std::size_t count, bool add) {
  if (context.graphs->find(graph) == nullptr || (count != 0 && (from == nullptr || to == nullptr))) return cudaErrorInvalidValue;
  for (std::size_t i = 0; i < count; ++i) {
    if (from[i] == nullptr || to[i] == nullptr || from[i]->graph != graph || to[i]->graph != graph || from[i] == to[i]) return cudaErrorInvalidValue;
    const bool known = std::find(to[i]->after.begin(), to[i]->after.end(), from[i]) != to[i]->after.end();
    if (known == add) return cudaErrorInvalidValue;
    if (add) to[i]->after.push_back(from[i]);
    else std::erase(to[i]->after, from[i]);
  }
  return cudaSuccess;
}

Status create_user_object(Context& context, void** object, void* data, void (*destroy)(void*), unsigned count, unsigned flags) {
  constexpr unsigned kNoDestructorSync = 1;
  if (object == nullptr || destroy == nullptr || count == 0 || flags != kNoDestructorSync) return cudaErrorInvalidValue;
  *object = context.graphs->create_object(data, destroy, count);
  return cudaSuccess;
}

Status graph_retain_object(Context& context, Graph* graph, void* object, unsigned count, unsigned flags) {
  constexpr unsigned kMove = 1;
  const auto known = context.graphs->find(graph);
  const auto kept = context.graphs->find_object(object);
  if (known == nullptr || kept == nullptr || count == 0 || flags > kMove) return cudaErrorInvalidValue;
  if (flags == kMove && !context.graphs->release_object(object, count)) return cudaErrorInvalidValue;
  known->objects.insert(known->objects.end(), count, kept);
  return cudaSuccess;
}

Status graph_release_object(Context& context, Graph* graph, void* object, unsigned count) {
  const auto known = context.graphs->find(graph);
  const auto kept = context.graphs->find_object(object);
  if (known == nullptr || kept == nullptr || count == 0) return cudaErrorInvalidValue;
  if (std::count(known->objects.begin(), known->objects.end(), kept) < static_cast<std::ptrdiff_t>(count)) return cudaErrorInvalidValue;
  for (; count != 0; --count) known->objects.erase(std::find(known->objects.begin(), known->objects.end(), kept));
  return cudaSuccess;
}

Status instantiate(Context& context, GraphExec** handle, Graph* graph, unsigned long long flags) {
  constexpr unsigned long long kAllFlags = 1 | 2 | 4 | 8, kDeviceLaunch = 4;
  const auto known = context.graphs->find(graph);
  if (handle == nullptr || known == nullptr || (flags & ~kAllFlags) != 0) return cudaErrorInvalidValue;
  if ((flags & kDeviceLaunch) != 0) return cudaErrorNotSupported;
  if (run_order(*known).empty() && !known->nodes.empty()) return cudaErrorInvalidValue;
  GraphExec* exec = context.graphs->create_exec();
  copy_graph(*known, exec->graph, &exec->copies);
  exec->order = run_order(exec->graph);
  exec->flags = flags;
  *handle = exec;
  return cudaSuccess;
}

Status instantiate_with(Context& context, GraphExec** exec, Graph* graph, GraphInstantiateParams* params) {
  if (params == nullptr) return cudaErrorInvalidValue;
  const Status status = instantiate(context, exec, graph, params->flags);
  params->result_out = status == cudaSuccess ? 0 : 1;
  params->errNode_out = nullptr;
  return status;
}

Status destroy_exec(Context& context, GraphExec* exec) { return context.graphs->destroy_exec(exec) ? cudaSuccess : cudaErrorInvalidValue; }

Status exec_flags(Context& context, GraphExec* exec, unsigned long long* flags) {
  if (flags == nullptr || context.graphs->find_exec(exec) == nullptr) return cudaErrorInvalidValue;
  *flags = exec->flags;
  return cudaSuccess;
}

// Node by node, in the order of creation, as CUDA pairs graphs that were made in the same way.
Status update_exec(Context& context, GraphExec* exec, Graph* graph, GraphUpdateResult* result) {
  const auto known = context.graphs->find(graph);
  if (context.graphs->find_exec(exec) == nullptr || known == nullptr) return cudaErrorInvalidValue;
  const auto answer = [&](UpdateResult why, GraphNode* node) {
    if (result != nullptr) *result = {why, node, nullptr};
    return why == kUpdateSuccess ? cudaSuccess : cudaErrorGraphExecUpdateFailure;
  };
  if (known->nodes.size() != exec->graph.nodes.size()) return answer(kUpdateTopologyChanged, nullptr);
  const auto place = [](const Graph& in, const GraphNode* node) {
    return std::find_if(in.nodes.begin(), in.nodes.end(), [&](const auto& n) { return n.get() == node; }) - in.nodes.begin();
  };
  for (std::size_t i = 0; i < known->nodes.size(); ++i) {
    GraphNode& from = *known->nodes[i];
    const GraphNode& to = *exec->graph.nodes[i];
    if (from.work.index() != to.work.index()) return answer(kUpdateTypeChanged, &from);
    if (from.after.size() != to.after.size()) return answer(kUpdateTopologyChanged, &from);
    for (std::size_t k = 0; k < from.after.size(); ++k)
      if (place(*known, from.after[k]) != place(exec->graph, to.after[k])) return answer(kUpdateTopologyChanged, &from);
  }
  for (std::size_t i = 0; i < known->nodes.size(); ++i) {
    exec->graph.nodes[i]->work = known->nodes[i]->work;
    exec->copies[known->nodes[i].get()] = exec->graph.nodes[i].get();
  }
  return answer(kUpdateSuccess, nullptr);
}

Status enable_node(Context& context, GraphExec* exec, GraphNode* node, unsigned enabled) {
  if (context.graphs->find_exec(exec) == nullptr || !exec->copies.contains(node)) return cudaErrorInvalidValue;
  const int type = type_of(*exec->copies[node]);
  if (type != kNodeKernel && type != kNodeMemset && type != kNodeMemcpy) return cudaErrorInvalidValue;
  exec->copies[node]->enabled = enabled != 0;
  return cudaSuccess;
}

Status node_enabled(Context& context, GraphExec* exec, GraphNode* node, unsigned* enabled) {
  if (context.graphs->find_exec(exec) == nullptr || !exec->copies.contains(node) || enabled == nullptr) return cudaErrorInvalidValue;
  *enabled = exec->copies[node]->enabled ? 1 : 0;
  return cudaSuccess;
}

Status launch_graph(Context& context, GraphExec* exec, void* handle) {
  constexpr unsigned long long kAutoFree = 1;
  Stream* stream = context.find_stream(handle);
  if (context.graphs->find_exec(exec) == nullptr) return cudaErrorInvalidValue;
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (stream->capture) {
    auto copy = std::make_shared<Graph>();
    copy_graph(exec->graph, *copy);
    return submit(context, *stream, ChildWork{std::move(copy)});
  }
  for (const GraphNode* node : exec->order) {
    const auto* alloc = std::get_if<AllocWork>(&node->work);
    Status ignored = cudaSuccess;
    if (alloc != nullptr && (exec->flags & kAutoFree) != 0) release_pooled(context, alloc->params.dptr, ignored);
  }
  context.timeline.wait(stream->index, exec->ended);
  const Status status = run_nodes(context, *stream, exec->order);
  exec->ended = context.timeline.record(stream->index);
  return status;
}

Status upload_graph(Context& context, GraphExec* exec, void* stream) {
  if (context.graphs->find_exec(exec) == nullptr) return cudaErrorInvalidValue;
  return context.find_stream(stream) == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess;
}

Status print_graph(Context& context, Graph* graph, const char* path) {
  static constexpr const char* kNames[] = {"kernel", "memcpy", "memset", "host", "graph", "empty", "wait", "record", "", "", "alloc", "free"};
  const auto known = context.graphs->find(graph);
  if (known == nullptr || path == nullptr) return cudaErrorInvalidValue;
  std::ofstream out(path);
  out << "digraph dot {\n";
  std::unordered_map<const GraphNode*, std::size_t> numbers;
  for (const auto& node : known->nodes) {
    numbers[node.get()] = numbers.size();
    out << "  \"node_" << numbers[node.get()] << "\" [label=\"" << kNames[type_of(*node)] << "\"];\n";
  }
  for (const auto& node : known->nodes)
    for (const GraphNode* before : node->after) out << "  \"node_" << numbers[before] << "\" -> \"node_" << numbers[node.get()] << "\";\n";
  out << "}\n";
  return out.good() ? cudaSuccess : cudaErrorOperatingSystem;
}

}  // namespace kforge::cudart
