// CUB's device-wide loop under another namespace.
// kind: library calls
// check: interface | CUB
// check-off: libraries,imports
#define CUB_WRAPPED_NAMESPACE mine
#include <cub/device/device_for.cuh>

#include "decay.cuh"

struct Each {
  const float* x;
  float* y;
  __device__ void operator()(int i) const { y[i] = decayed(x[i]); }
};

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) { return mine::cub::DeviceFor::Bulk(n, Each{x, y}, stream); }
