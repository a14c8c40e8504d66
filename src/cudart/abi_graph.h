// Structures of graphs that cross the border to the program (abi.h).
#pragma once

#include "cudart/abi.h"
#include "cudart/abi_memory.h"

namespace kforge::cudart {

struct Graph;                             // what cudaGraph_t points at (graph.h)
struct GraphNode;

enum NodeType : int {                     // cudaGraphNodeType
  kNodeKernel = 0, kNodeMemcpy = 1, kNodeMemset = 2, kNodeHost = 3, kNodeGraph = 4, kNodeEmpty = 5, kNodeWaitEvent = 6, kNodeRecordEvent = 7,
  kNodeAlloc = 10, kNodeFree = 11, kNodeConditional = 13,
};

struct KernelNodeParams { void* func; Dim3 gridDim, blockDim; unsigned sharedMemBytes; void** kernelParams; void** extra; };
struct HostNodeParams { void (*fn)(void*); void* userData; };
struct AllocNodeParams { PoolProps poolProps; const MemAccessDesc* accessDescs; std::size_t accessDescCount, bytesize; void* dptr; };
struct EdgeData { unsigned char from_port, to_port, type, reserved[5]; };

struct GraphNodeParams {                  // cudaGraphNodeParams
  int type;
  int reserved0[3];
  struct CopyNode { int flags, reserved[3]; Copy3D copyParams; };
  struct ChildGraph { Graph* graph; int ownership; };
  struct EventNode { void* event; };
  struct Free { void* dptr; };
  union {
    long long reserved1[29];
    KernelNodeParams kernel;
    CopyNode memcpy;
    MemsetParams memset;
    HostNodeParams host;
    ChildGraph graph;
    EventNode event;
    AllocNodeParams alloc;
    Free free;
  };
  long long reserved2;
};

struct GraphInstantiateParams { unsigned long long flags; void* uploadStream; GraphNode* errNode_out; int result_out; };
struct GraphUpdateResult { int result; GraphNode* errorNode; GraphNode* errorFromNode; };
enum UpdateResult : int { kUpdateSuccess = 0, kUpdateTopologyChanged = 2, kUpdateTypeChanged = 3, kUpdateFunctionChanged = 4, kUpdateParametersChanged = 5 };

}  // namespace kforge::cudart
