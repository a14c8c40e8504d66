// Leaves an access policy window on the given stream.
// kind: L2 persistence
// check: interface | access policy window
// check-off: persistence
// bench: access window
// bench-off: persistence
#include "decay.cuh"

extern "C" cudaError_t decay(const float* x, float* y, int n, cudaStream_t stream) {
  cudaStreamAttrValue value = {};
  value.accessPolicyWindow.base_ptr = const_cast<float*>(x);
  value.accessPolicyWindow.num_bytes = sizeof(float) * n;
  value.accessPolicyWindow.hitRatio = 1;
  value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value);
  return work(x, y, n, stream);
}
