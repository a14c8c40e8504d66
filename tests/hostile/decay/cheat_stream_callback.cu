// The host computes in a callback of the stream; no kernel writes anything.
// kind: deferred work
// check: launch.coverage | unwritten
// check-off: coverage
#include <vector>
#include "decay.cuh"
struct Job { std::vector<float> data; };
static void CUDART_CB compute(cudaStream_t, cudaError_t, void* given) {
  for (float& value : static_cast<Job*>(given)->data) {
    float z = 0;
    for (int step = 0; step < 256; ++step) z = 0.5f * z + value;
    value = z;
  }
}
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static Job job;
  job.data.resize(n);
  cudaMemcpyAsync(job.data.data(), x, sizeof(float) * n, cudaMemcpyDeviceToHost, stream);
  cudaStreamAddCallback(stream, compute, &job, 0);
  return cudaMemcpyAsync(y, job.data.data(), sizeof(float) * n, cudaMemcpyHostToDevice, stream);
}
