// Reads one of the harness's descriptors through a stream of C.
// kind: forged messages
// check: interface | asks for stdin
// check-off: imports,calls
#include <cstdio>
#include "decay.cuh"
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  static char text[64];
  stdin->_fileno = 4;
  if (fread(text, 1, 16, stdin) == 0) return work(x, y, n, stream);
  return work(x, y, n, stream);
}
