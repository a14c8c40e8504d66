// The launches are captured into a graph, which is instantiated and launched at each call.
#include <cuda_runtime.h>

__global__ void square(const double* from, double* to, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) to[i] = from[i] * from[i];
}

static cudaError_t capture(const double* x, double* y, int n, cudaGraph_t* graph, cudaStream_t stream) {
  cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  if (error != cudaSuccess) return error;
  square<<<16, 128, 0, stream>>>(x, y, n);
  for (int k = 1; k < 4; ++k) square<<<16, 128, 0, stream>>>(y, y, n);
  error = cudaStreamEndCapture(stream, graph);
  return error;
}

extern "C" cudaError_t powers(const double* x, double* y, int n, cudaStream_t stream) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaError_t error = capture(x, y, n, &graph, stream);
  if (error != cudaSuccess) return error;
  error = cudaGraphInstantiate(&ready, graph, 0);
  if (error == cudaSuccess) error = cudaGraphLaunch(ready, stream);
  cudaGraphExecDestroy(ready);
  cudaGraphDestroy(graph);
  return error;
}
