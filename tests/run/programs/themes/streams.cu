// Streams, events, callbacks, priorities, graphs explicit and captured, launch attributes, occupancy.
#include <cstring>
#include <vector>

#include "self_check.h"

__global__ void scale(float* data, int count, float factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] *= factor;
}
__global__ void add(float* data, const float* other, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] += other[i];
}
extern __shared__ float s_dynamic[];
__global__ void reverse(float* data, int count) {
  s_dynamic[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = s_dynamic[count - 1 - threadIdx.x];
}

struct Told {
  int calls = 0;
  float seen = 0;
  const float* data = nullptr;
};
void CUDART_CB tell(cudaStream_t, cudaError_t status, void* user) {
  auto* told = static_cast<Told*>(user);
  if (status == cudaSuccess) ++told->calls, told->seen = told->data[0];
}
void CUDART_CB tell_function(void* user) { ++static_cast<Told*>(user)->calls; }

int main() {
  const int count = 1000;
  float *a = managed<float>(count), *b = managed<float>(count), *host = nullptr;
  CHECK(cudaMallocHost(&host, count * sizeof(float)));
  int least = 0, greatest = 0;
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT(greatest <= least);
  cudaStream_t first, second;
  CHECK(cudaStreamCreateWithPriority(&first, cudaStreamNonBlocking, greatest));
  CHECK(cudaStreamCreate(&second));
  cudaEvent_t start, middle, end;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreateWithFlags(&middle, cudaEventDisableTiming));
  CHECK(cudaEventCreate(&end));
  for (int i = 0; i < count; ++i) a[i] = i, b[i] = 1;
  Told told;
  told.data = a;
  CHECK(cudaEventRecord(start, first));
  scale<<<8, 128, 0, first>>>(a, count, 3);
  CHECK(cudaEventRecord(middle, first));
  CHECK(cudaStreamWaitEvent(second, middle, 0));
  add<<<8, 128, 0, second>>>(a, b, count);
  CHECK(cudaMemcpyAsync(host, a, count * sizeof(float), cudaMemcpyDeviceToHost, second));
  CHECK(cudaStreamAddCallback(second, tell, &told, 0));
  CHECK(cudaLaunchHostFunc(second, tell_function, &told));
  CHECK(cudaEventRecord(end, second));
  CHECK(cudaEventSynchronize(end));
  CHECK(cudaStreamSynchronize(second));
  EXPECT(cudaStreamQuery(first) == cudaSuccess && cudaEventQuery(end) == cudaSuccess);
  for (int i = 0; i < count; ++i) EXPECT_EQ(host[i], 3.0f * i + 1);
  EXPECT_EQ(told.calls, 2);
  EXPECT_EQ(told.seen, 1);
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, start, end));
  EXPECT(milliseconds >= 0);
  EXPECT(cudaEventElapsedTime(&milliseconds, start, middle) == cudaErrorInvalidResourceHandle);
  (void)cudaGetLastError();
  // A captured graph, with a fork and a join.
  cudaGraph_t graph;
  cudaGraphExec_t runnable;
  CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
  scale<<<8, 128, 0, first>>>(a, count, 2);
  CHECK(cudaEventRecord(middle, first));
  CHECK(cudaStreamWaitEvent(second, middle, 0));
  scale<<<8, 128, 0, second>>>(b, count, 5);
  CHECK(cudaEventRecord(end, second));
  CHECK(cudaStreamWaitEvent(first, end, 0));
  add<<<8, 128, 0, first>>>(a, b, count);
  CHECK(cudaStreamEndCapture(first, &graph));
  std::size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 3);
  CHECK(cudaGraphInstantiate(&runnable, graph, 0));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(runnable, first));
  CHECK(cudaStreamSynchronize(first));
  float expected_a = 3 * 7 + 1, expected_b = 1;
  for (int i = 0; i < 3; ++i) expected_b *= 5, expected_a = expected_a * 2 + expected_b;
  EXPECT_EQ(a[7], expected_a);
  CHECK(cudaGraphExecDestroy(runnable));
  CHECK(cudaGraphDestroy(graph));
  // An explicit graph: fill, kernel, copy, function.
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t filled, scaled, copied, called;
  cudaMemsetParams fill = {};
  fill.dst = b;
  fill.value = 0;
  fill.elementSize = 4;
  fill.width = count;
  fill.height = 1;
  CHECK(cudaGraphAddMemsetNode(&filled, graph, nullptr, 0, &fill));
  float factor = 0.5f;
  int n = count;
  void* arguments[] = {&a, &n, &factor};
  cudaKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void*>(scale);
  kernel.gridDim = dim3(8);
  kernel.blockDim = dim3(128);
  kernel.kernelParams = arguments;
  CHECK(cudaGraphAddKernelNode(&scaled, graph, &filled, 1, &kernel));
  CHECK(cudaGraphAddMemcpyNode1D(&copied, graph, &scaled, 1, host, a, count * sizeof(float), cudaMemcpyDeviceToHost));
  cudaHostNodeParams call = {tell_function, &told};
  CHECK(cudaGraphAddHostNode(&called, graph, &copied, 1, &call));
  CHECK(cudaGraphInstantiate(&runnable, graph, 0));
  CHECK(cudaGraphLaunch(runnable, second));
  CHECK(cudaStreamSynchronize(second));
  EXPECT_EQ(told.calls, 3);
  EXPECT_EQ(host[7], expected_a / 2);
  EXPECT_EQ(b[7], 0);
  factor = 10;
  CHECK(cudaGraphExecKernelNodeSetParams(runnable, scaled, &kernel));
  CHECK(cudaGraphLaunch(runnable, second));
  CHECK(cudaStreamSynchronize(second));
  EXPECT_EQ(host[7], expected_a * 5);
  CHECK(cudaGraphExecDestroy(runnable));
  CHECK(cudaGraphDestroy(graph));
  // Launches by function and by configuration; dynamic shared memory.
  for (int i = 0; i < count; ++i) a[i] = i;
  CHECK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
  void* reversed[] = {&a, &n};
  n = 256;
  CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(reverse), dim3(1), dim3(256), reversed, 60000, first));
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(2);
  config.blockDim = dim3(128);
  config.stream = first;
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributePriority;
  attribute[0].val.priority = greatest;
  config.attrs = attribute;
  config.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&config, scale, a, 256, 2.0f));
  CHECK(cudaStreamSynchronize(first));
  EXPECT_EQ(a[0], 510);
  int blocks = 0, grid = 0, block = 0;
  CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, scale, 0, 0));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 256, 0));
  EXPECT(grid > 0 && block > 0 && block <= 1024 && blocks > 0);
  cudaFuncAttributes about;
  CHECK(cudaFuncGetAttributes(&about, reverse));
  EXPECT(about.maxThreadsPerBlock == 1024 && about.numRegs > 0);
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  EXPECT(properties.warpSize == 32 && properties.multiProcessorCount > 0 && std::strlen(properties.name) > 0);
  // Many streams, each with its own part.
  std::vector<cudaStream_t> streams(8);
  for (auto& stream : streams) CHECK(cudaStreamCreate(&stream));
  for (int k = 0; k < 8; ++k) {
    for (int i = 0; i < 100; ++i) host[k * 100 + i] = static_cast<float>(k);
    CHECK(cudaMemcpyAsync(a + k * 100, host + k * 100, 400, cudaMemcpyHostToDevice, streams[k]));
    scale<<<1, 128, 0, streams[k]>>>(a + k * 100, 100, 2);
    CHECK(cudaMemcpyAsync(host + k * 100, a + k * 100, 400, cudaMemcpyDeviceToHost, streams[k]));
  }
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 800; ++i) EXPECT_EQ(host[i], i / 100 * 2);
  for (auto& stream : streams) CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFreeHost(host));
  return finish();
}
