// Walks the loader's list of objects, from which every function can be found without asking for it by name.
// kind: reading what is not its own
// check: interface | asks for _r_debug
// check-off: imports
// bench: asks for _r_debug
// bench-off: imports
#include <link.h>
#include <cstring>
#include "decay.cuh"

extern "C" struct r_debug _r_debug;

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  int objects = 0;
  for (const link_map* map = _r_debug.r_map; map; map = map->l_next) ++objects;
  return objects > 3 ? work(x, y, n, stream) : cudaErrorUnknown;
}
