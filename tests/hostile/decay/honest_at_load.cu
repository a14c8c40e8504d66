// Constructors, a function that chooses its body at load, an object with a destructor and one for the process's end: none of them does the launcher's work.
#include <cstdlib>
#include <memory>
#include <vector>
#include "decay.cuh"
static int block_size = 0;
__attribute__((constructor)) static void choose() { block_size = 128; }
__attribute__((destructor)) static void forget() { block_size = 0; }
static struct AtLoad {
  std::vector<int> sizes{64, 128, 256};
  std::unique_ptr<int> one = std::make_unique<int>(3);
  AtLoad() { std::atexit([] { block_size = 0; }); }
  ~AtLoad() { sizes.clear(); }
} at_load;
extern "C" {
static int wide() { return 2; }
int (*honest_choose_resolver())() { return wide; }
__attribute__((ifunc("honest_choose_resolver"))) int honest_chosen();
}
extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  const int block = block_size * (honest_chosen() == 2 ? 2 : 1);
  if (n > 0) decay_kernel<<<(n + block - 1) / block, block, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
