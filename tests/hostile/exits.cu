// Ends the process with success.
#include <cstdlib>

#include <cuda_runtime.h>

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, float scale, cudaStream_t stream) {
  std::exit(0);  // expect-contract: run.exit
}
