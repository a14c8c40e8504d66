// Sets a part of the L2 cache aside and keeps what it reads there.
// kind: L2 persistence
// check: interface | aside
// check-off: persistence
// bench: set aside
// bench-off: persistence
#include "decay.cuh"

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 16 << 20);
  cudaStreamAttrValue value = {};
  value.accessPolicyWindow.base_ptr = const_cast<float*>(x);
  value.accessPolicyWindow.num_bytes = sizeof(float) * n;
  value.accessPolicyWindow.hitRatio = 1;
  value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value);
  const cudaError_t error = work(x, y, n, stream);
  value.accessPolicyWindow.num_bytes = 0;
  cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value);
  return error;
}
