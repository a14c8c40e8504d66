// Graphs, explicit and captured.
#include <cuda_runtime.h>

#include <vector>

#include "expect.h"

__global__ void add(int* data, int n, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += value;
}

static void count_call(void* data) { ++*static_cast<int*>(data); }

static int first_of(const int* device) {
  int value = 0;
  EXPECT(cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost), cudaSuccess);
  return value;
}

static void explicit_graph() {
  constexpr int n = 1000;
  int* data = nullptr;
  EXPECT(cudaMalloc(&data, n * sizeof(int)), cudaSuccess);
  cudaGraph_t graph, clone;
  EXPECT(cudaGraphCreate(&graph, 0), cudaSuccess);
  cudaGraphNode_t fill, kernel, back, call;
  cudaMemsetParams zero{data, 0, 0, sizeof(int), n, 1};
  EXPECT(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &zero), cudaSuccess);
  int size = n, value = 5;
  void* arguments[] = {&data, &size, &value};
  cudaKernelNodeParams launch{reinterpret_cast<void*>(add), dim3(8), dim3(128), 0, arguments, nullptr};
  EXPECT(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, &launch), cudaSuccess);
  std::vector<int> host(n);
  EXPECT(cudaGraphAddMemcpyNode1D(&back, graph, &kernel, 1, host.data(), data, n * sizeof(int), cudaMemcpyDeviceToHost), cudaSuccess);
  int calls = 0;
  cudaHostNodeParams count{count_call, &calls};
  EXPECT(cudaGraphAddHostNode(&call, graph, &back, 1, &count), cudaSuccess);
  size_t nodes = 0, roots = 0, edges = 0;
  EXPECT(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT(cudaGraphGetRootNodes(graph, nullptr, &roots), cudaSuccess);
  EXPECT(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges), cudaSuccess);
  EXPECT(nodes, 4u), EXPECT(roots, 1u), EXPECT(edges, 3u);
  cudaGraphNodeType type;
  EXPECT(cudaGraphNodeGetType(kernel, &type), cudaSuccess);
  EXPECT(type, cudaGraphNodeTypeKernel);
  EXPECT(cudaGraphClone(&clone, graph), cudaSuccess);
  cudaGraphNode_t copy;
  EXPECT(cudaGraphNodeFindInClone(&copy, kernel, clone), cudaSuccess);
  EXPECT(copy != kernel, true);

  cudaGraphExec_t exec;
  EXPECT(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  EXPECT(cudaGraphLaunch(exec, nullptr), cudaSuccess);
  EXPECT(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT(host[n - 1], 5), EXPECT(calls, 1);
  value = 7;
  EXPECT(cudaGraphExecKernelNodeSetParams(exec, kernel, &launch), cudaSuccess);
  EXPECT(cudaGraphLaunch(exec, nullptr), cudaSuccess);
  EXPECT(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT(host[0], 7), EXPECT(calls, 2);
  EXPECT(cudaGraphNodeSetEnabled(exec, kernel, 0), cudaSuccess);
  EXPECT(cudaGraphLaunch(exec, nullptr), cudaSuccess);
  EXPECT(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT(host[0], 0);
  cudaGraphExecUpdateResultInfo info;
  EXPECT(cudaGraphExecUpdate(exec, clone, &info), cudaSuccess);
  EXPECT(info.result, cudaGraphExecUpdateSuccess);
  EXPECT(cudaGraphAddDependencies(graph, &call, &fill, nullptr, 1), cudaSuccess);
  cudaGraphExec_t circle;
  EXPECT(cudaGraphInstantiate(&circle, graph, 0), cudaErrorInvalidValue);
  EXPECT(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT(cudaGraphDestroy(clone), cudaSuccess), EXPECT(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT(cudaGraphDestroy(graph), cudaErrorInvalidValue);
  EXPECT(cudaFree(data), cudaSuccess);
}

static void captured_graph() {
  constexpr int n = 100;
  int* data = nullptr;
  EXPECT(cudaMalloc(&data, n * sizeof(int)), cudaSuccess);
  EXPECT(cudaMemset(data, 0, n * sizeof(int)), cudaSuccess);
  cudaStream_t main_stream, side;
  cudaEvent_t fork, join;
  cudaStreamCreate(&main_stream), cudaStreamCreate(&side), cudaEventCreate(&fork), cudaEventCreate(&join);
  EXPECT(cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  cudaStreamCaptureStatus status;
  EXPECT(cudaStreamIsCapturing(main_stream, &status), cudaSuccess);
  EXPECT(status, cudaStreamCaptureStatusActive);
  add<<<1, 128, 0, main_stream>>>(data, n, 1);
  EXPECT(cudaEventRecord(fork, main_stream), cudaSuccess), EXPECT(cudaStreamWaitEvent(side, fork, 0), cudaSuccess);
  add<<<1, 128, 0, side>>>(data, n, 10);
  EXPECT(cudaEventRecord(join, side), cudaSuccess), EXPECT(cudaStreamWaitEvent(main_stream, join, 0), cudaSuccess);
  add<<<1, 128, 0, main_stream>>>(data, n, 100);
  cudaGraph_t graph;
  EXPECT(cudaStreamEndCapture(main_stream, &graph), cudaSuccess);
  EXPECT(first_of(data), 0);   // nothing ran
  size_t nodes = 0;
  EXPECT(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT(nodes, 3u);
  cudaGraphExec_t exec;
  EXPECT(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  for (int i = 0; i < 3; ++i) EXPECT(cudaGraphLaunch(exec, main_stream), cudaSuccess);
  EXPECT(cudaStreamSynchronize(main_stream), cudaSuccess);
  EXPECT(first_of(data), 333);

  EXPECT(cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT(cudaStreamSynchronize(main_stream), cudaErrorStreamCaptureUnsupported);
  EXPECT(cudaStreamEndCapture(main_stream, &graph), cudaErrorStreamCaptureInvalidated);
  cudaGetLastError();
  EXPECT(cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT(cudaEventRecord(fork, main_stream), cudaSuccess), EXPECT(cudaStreamWaitEvent(side, fork, 0), cudaSuccess);
  add<<<1, 128, 0, side>>>(data, n, 1);
  EXPECT(cudaStreamEndCapture(main_stream, &graph), cudaErrorStreamCaptureUnjoined);
  EXPECT(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
  cudaGetLastError();
}

static void memory_nodes() {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  int result = 0;
  EXPECT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  int* data = nullptr;
  EXPECT(cudaMallocAsync(&data, 64 * sizeof(int), stream), cudaSuccess);
  EXPECT(cudaMemsetAsync(data, 0, 64 * sizeof(int), stream), cudaSuccess);
  add<<<1, 64, 0, stream>>>(data, 64, 3);
  EXPECT(cudaMemcpyAsync(&result, data + 63, sizeof result, cudaMemcpyDeviceToHost, stream), cudaSuccess);
  EXPECT(cudaFreeAsync(data, stream), cudaSuccess);
  cudaGraph_t graph;
  EXPECT(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  cudaGraphExec_t exec;
  EXPECT(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  for (int i = 0; i < 2; ++i) {
    result = 0;
    EXPECT(cudaGraphLaunch(exec, stream), cudaSuccess), EXPECT(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT(result, 3);
  }
  unsigned long long used = 1;
  EXPECT(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used), cudaSuccess);
  EXPECT(used, 0u);
}

__device__ int symbol[4];

static void symbol_nodes() {
  int values[4] = {1, 2, 3, 4}, others[4] = {5, 6, 7, 8}, back[4] = {};
  cudaGraph_t graph;
  cudaGraphNode_t to, from;
  cudaGraphExec_t exec;
  EXPECT(cudaGraphCreate(&graph, 0), cudaSuccess);
  EXPECT(cudaGraphAddMemcpyNodeToSymbol(&to, graph, nullptr, 0, symbol, values, sizeof values, 0, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT(cudaGraphAddMemcpyNodeFromSymbol(&from, graph, &to, 1, back, symbol, sizeof back, 0, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT(cudaGraphMemcpyNodeSetParamsToSymbol(to, symbol, others, sizeof others, 0, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT(cudaGraphMemcpyNodeSetParamsFromSymbol(from, back, symbol, sizeof(int), sizeof(int), cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess), EXPECT(cudaGraphLaunch(exec, nullptr), cudaSuccess), EXPECT(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT(back[0], 6), EXPECT(back[1], 0);
  EXPECT(cudaGraphExecDestroy(exec), cudaSuccess), EXPECT(cudaGraphDestroy(graph), cudaSuccess);
}

static void user_objects() {
  int destroyed = 0;
  cudaUserObject_t object;
  cudaGraph_t graph, clone;
  cudaGraphExec_t exec;
  EXPECT(cudaUserObjectCreate(&object, &destroyed, count_call, 1, 0), cudaErrorInvalidValue);   // the flag has to be given
  EXPECT(cudaUserObjectCreate(&object, &destroyed, count_call, 1, cudaUserObjectNoDestructorSync), cudaSuccess);
  EXPECT(cudaUserObjectRetain(object, 2), cudaSuccess), EXPECT(cudaUserObjectRelease(object, 2), cudaSuccess);
  EXPECT(cudaGraphCreate(&graph, 0), cudaSuccess);
  EXPECT(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove), cudaSuccess);
  EXPECT(cudaUserObjectRelease(object, 1), cudaErrorInvalidValue);   // the graph has it now
  EXPECT(cudaGraphClone(&clone, graph), cudaSuccess), EXPECT(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  EXPECT(cudaGraphDestroy(graph), cudaSuccess), EXPECT(destroyed, 0);
  EXPECT(cudaGraphReleaseUserObject(clone, object, 2), cudaErrorInvalidValue);
  EXPECT(cudaGraphReleaseUserObject(clone, object, 1), cudaSuccess), EXPECT(destroyed, 0);
  EXPECT(cudaGraphExecDestroy(exec), cudaSuccess), EXPECT(destroyed, 1);
  EXPECT(cudaUserObjectRetain(object, 1), cudaErrorInvalidValue);
  EXPECT(cudaGraphDestroy(clone), cudaSuccess);
  cudaGetLastError();
}

int main() {
  symbol_nodes();
  user_objects();
  explicit_graph();
  captured_graph();
  memory_nodes();
  if (failures == 0) std::puts("good");
  return failures;
}
