// The graph functions of the runtime: nodes made from descriptions, questions, executable graphs.
#pragma once

#include <functional>

#include "cudart/graph.h"

namespace kforge::cudart {

// Where a new node goes.
struct NodePlace { GraphNode** node; Graph* graph; GraphNode* const* after; std::size_t count; };

Status create_graph(Context& context, Graph** graph, unsigned flags);
Status destroy_graph(Context& context, Graph* graph);
Status clone_graph(Context& context, Graph** clone, Graph* graph);
Status find_in_clone(Context& context, GraphNode** node, GraphNode* original, Graph* clone);
Status destroy_node(Context& context, GraphNode* node);

// Descriptions as work.
Status to_work(Context& context, const KernelNodeParams* params, Work& work);
Status to_work(Context& context, const Copy3D* params, Work& work);
Status to_work(Context& context, const MemsetParams* params, Work& work);
Status to_work(Context& context, const HostNodeParams* params, Work& work);
Status to_work(Context& context, AllocNodeParams* params, Work& work);
Status child_work(Context& context, Graph* child, Work& work);
Status event_work(Context& context, void* event, bool record, Work& work);
struct SymbolCopy { const void* symbol; std::size_t bytes, offset; int kind; };
Status symbol_work(Context& context, const SymbolCopy& copy, void* other, bool to_symbol, Work& work);
Work copy_1d_work(void* to, const void* from, std::size_t bytes, int kind);
Status to_work(Context& context, GraphNodeParams* params, Work& work);

using MakeWork = std::function<Status(Work&)>;
Status add_node(Context& context, const NodePlace& place, const MakeWork& make);
// Of the graph's node, or of its copy in an executable graph: same type, and a kernel keeps its function there.
Status set_node(Context& context, GraphNode* node, const MakeWork& make);
Status set_exec_node(Context& context, GraphExec* exec, GraphNode* node, const MakeWork& make);

// Cooperative (2) and cluster dimension (4) change the launch; the others are kept and given back.
Status set_kernel_node_attribute(Context& context, GraphNode* node, int attribute, const void* value);
Status kernel_node_attribute(Context& context, GraphNode* node, int attribute, void* value);
Status kernel_params(Context& context, GraphNode* node, KernelNodeParams* params);
Status copy_params(Context& context, GraphNode* node, Copy3D* params);
Status memset_params(Context& context, GraphNode* node, MemsetParams* params);
Status host_params(Context& context, GraphNode* node, HostNodeParams* params);
Status alloc_params(Context& context, GraphNode* node, AllocNodeParams* params);
Status free_params(Context& context, GraphNode* node, void** pointer);
Status node_event(Context& context, GraphNode* node, void** event);
Status child_graph(Context& context, GraphNode* node, Graph** graph);
Status node_type(Context& context, GraphNode* node, int* type);

// Lists: with a null array the count alone is given; else at most *count entries, the rest of the array null.
Status graph_nodes(Context& context, Graph* graph, GraphNode** nodes, std::size_t* count, bool roots_only);
Status graph_edges(Context& context, Graph* graph, GraphNode** from, GraphNode** to, EdgeData* data, std::size_t* count);
Status node_dependencies(Context& context, GraphNode* node, GraphNode** nodes, EdgeData* data, std::size_t* count);
Status node_dependents(Context& context, GraphNode* node, GraphNode** nodes, EdgeData* data, std::size_t* count);
Status change_dependencies(Context& context, Graph* graph, GraphNode* const* from, GraphNode* const* to, std::size_t count, bool add);

// User objects. A reference that is moved (flag 1) to a graph is one of the program's own less.
Status create_user_object(Context& context, void** object, void* data, void (*destroy)(void*), unsigned count, unsigned flags);
Status graph_retain_object(Context& context, Graph* graph, void* object, unsigned count, unsigned flags);
Status graph_release_object(Context& context, Graph* graph, void* object, unsigned count);

Status instantiate(Context& context, GraphExec** exec, Graph* graph, unsigned long long flags);
Status instantiate_with(Context& context, GraphExec** exec, Graph* graph, GraphInstantiateParams* params);
Status destroy_exec(Context& context, GraphExec* exec);
Status exec_flags(Context& context, GraphExec* exec, unsigned long long* flags);
Status update_exec(Context& context, GraphExec* exec, Graph* graph, GraphUpdateResult* result);
Status enable_node(Context& context, GraphExec* exec, GraphNode* node, unsigned enabled);
Status node_enabled(Context& context, GraphExec* exec, GraphNode* node, unsigned* enabled);
Status launch_graph(Context& context, GraphExec* exec, void* stream);
Status upload_graph(Context& context, GraphExec* exec, void* stream);
Status print_graph(Context& context, Graph* graph, const char* path);

}  // namespace kforge::cudart
