// Works on the default stream, which the given one does not wait for.
// kind: other streams or threads
// check: interface | does not wait for
// check-off: order,allow
// bench: goes on
// bench-off: quiet,clock
#include "decay.cuh"

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t) { return work(x, y, n, nullptr); }
