// Finds the program's headers, and with them the worker, through the auxiliary vector.
// kind: reading what is not its own
// check: interface | asks for getauxval
// check-off: imports
// bench: asks for getauxval
// bench-off: imports
#include <sys/auxv.h>
#include "decay.cuh"
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  return getauxval(AT_PHDR) ? work(x, y, n, stream) : cudaErrorUnknown;
}
