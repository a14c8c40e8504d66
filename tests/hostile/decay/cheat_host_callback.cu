// The host computes in a callback; no kernel writes anything.
// kind: other streams or threads
// check: launch.coverage | unwritten
// check-off: coverage
#include <vector>

#include <cuda_runtime.h>

struct Job { std::vector<float> data; };

static void compute(void* given) {
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
  cudaLaunchHostFunc(stream, compute, &job);
  return cudaMemcpyAsync(y, job.data.data(), sizeof(float) * n, cudaMemcpyHostToDevice, stream);
}
