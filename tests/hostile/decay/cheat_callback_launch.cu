// Launches its kernel from a function that the stream calls.
// kind: deferred work
// check: interface | in a host function
#include "decay.cuh"
struct Job { const float* x; float* y; int n; cudaStream_t stream; };
static void launch(void* given) { const Job& job = *static_cast<Job*>(given); work(job.x, job.y, job.n, job.stream); }
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static Job job;
  job = {x, y, n, stream};
  return cudaLaunchHostFunc(stream, launch, &job);
}
