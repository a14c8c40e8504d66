// Leaves out what does not fill a block.
// kind: hard-coded shapes or seeds
// check: launch.coverage | unwritten
// check-off: sizes
#include "decay.cuh"

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) { return work(x, y, n / 256 * 256, stream); }
