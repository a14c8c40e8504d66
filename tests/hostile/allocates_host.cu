// Takes memory until there is none (bounded at 64 GiB of address space).
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>

extern "C" cudaError_t softmax(const float* x, float* y, int rows, int cols, float scale, cudaStream_t stream) {
  constexpr std::size_t kPiece = 256u << 20;
  for (int i = 0; i < 256; ++i) {
    char* piece = static_cast<char*>(std::malloc(kPiece));
    std::memset(piece, 1, kPiece);  // expect-contract: run.limit
  }
  return cudaSuccess;
}
