// A graph built by hand, its node set to the arguments of each call.
#include "decay.cuh"

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static cudaGraphExec_t executable = nullptr;
  static cudaGraphNode_t node = nullptr;
  void* arguments[] = {&x, &y, &n};
  cudaKernelNodeParams params = {};
  params.func = reinterpret_cast<void*>(decay_kernel);
  params.gridDim = dim3((n + 255) / 256);
  params.blockDim = dim3(256);
  params.kernelParams = arguments;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaStreamIsCapturing(stream, &status);
  if (n <= 0 || status != cudaStreamCaptureStatusNone) return work(x, y, n, stream);
  if (!executable) {
    cudaGraph_t graph = nullptr;
    cudaGraphCreate(&graph, 0);
    if (cudaError_t error = cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params)) return error;
    if (cudaError_t error = cudaGraphInstantiate(&executable, graph, 0)) return error;
  } else if (cudaError_t error = cudaGraphExecKernelNodeSetParams(executable, node, &params)) {
    return error;
  }
  return cudaGraphLaunch(executable, stream);
}
