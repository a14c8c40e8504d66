// Memory in its other forms: arrays, 3-D copies, pools, registered host memory, stream attributes, peers.
#include <cuda_runtime.h>

#include <cstring>
#include <vector>

#include "expect.h"

__global__ void twice(float* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= 2;
}

static void arrays() {
  constexpr int w = 33, h = 7, d = 3;
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  cudaArray_t plane, box;
  EXPECT(cudaMallocArray(&plane, &desc, w, h), cudaSuccess);
  std::vector<float> in(w * h * d), out(w * h * d);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  EXPECT(cudaMemcpy2DToArray(plane, 0, 0, in.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT(cudaMemcpy2DFromArray(out.data(), w * 4, plane, 0, 0, w * 4, h, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT(std::memcmp(in.data(), out.data(), w * h * 4), 0);
  EXPECT(cudaMemcpy2DToArray(plane, 4, 0, in.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  cudaChannelFormatDesc got;
  cudaExtent extent;
  unsigned flags = 9;
  EXPECT(cudaArrayGetInfo(&got, &extent, &flags, plane), cudaSuccess);
  EXPECT(got.x, 32), EXPECT(got.f, cudaChannelFormatKindFloat), EXPECT(extent.width, w), EXPECT(extent.height, h), EXPECT(extent.depth, 0), EXPECT(flags, 0u);
  EXPECT(cudaMalloc3DArray(&box, &desc, make_cudaExtent(w, h, d)), cudaSuccess);
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(in.data(), w * 4, w, h);
  copy.dstArray = box, copy.extent = make_cudaExtent(w, h, d), copy.kind = cudaMemcpyHostToDevice;
  EXPECT(cudaMemcpy3D(&copy), cudaSuccess);
  cudaPitchedPtr pitched;
  EXPECT(cudaMalloc3D(&pitched, make_cudaExtent(w * 4, h, d)), cudaSuccess);
  EXPECT(pitched.pitch % 512, 0u);
  cudaMemcpy3DParms inside{};
  inside.srcArray = box, inside.dstPtr = pitched, inside.extent = make_cudaExtent(w, h, d), inside.kind = cudaMemcpyDeviceToDevice;
  EXPECT(cudaMemcpy3D(&inside), cudaSuccess);
  cudaMemcpy3DParms back{};
  back.srcPtr = pitched, back.dstPtr = make_cudaPitchedPtr(out.data(), w * 4, w * 4, h);
  back.extent = make_cudaExtent(w * 4, h, d), back.kind = cudaMemcpyDeviceToHost;
  EXPECT(cudaMemcpy3D(&back), cudaSuccess);
  EXPECT(std::memcmp(in.data(), out.data(), in.size() * 4), 0);
  cudaMemcpy3DParms part{};   // texel (2, 3, 1) of a box of 1x1x1
  float one = 0;
  part.srcArray = box, part.srcPos = make_cudaPos(2, 3, 1), part.dstPtr = make_cudaPitchedPtr(&one, 4, 1, 1), part.extent = make_cudaExtent(1, 1, 1), part.kind = cudaMemcpyDeviceToHost;
  EXPECT(cudaMemcpy3D(&part), cudaSuccess);
  EXPECT(one, in[(1 * h + 3) * w + 2]);
  EXPECT(cudaMemset3D(pitched, 0, make_cudaExtent(w * 4, h, d)), cudaSuccess);
  EXPECT(cudaMemcpy3D(&back), cudaSuccess);
  EXPECT(out[w * h * d - 1], 0.0f);
  EXPECT(cudaFreeArray(plane), cudaSuccess), EXPECT(cudaFreeArray(box), cudaSuccess), EXPECT(cudaFree(pitched.ptr), cudaSuccess);
  const cudaChannelFormatDesc three{32, 32, 32, 0, cudaChannelFormatKindFloat};
  EXPECT(cudaMallocArray(&plane, &three, w, h), cudaErrorInvalidChannelDescriptor);
  cudaGetLastError();
}

static void mipmaps_and_objects() {
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<uchar4>();
  cudaMipmappedArray_t mipmap;
  EXPECT(cudaMallocMipmappedArray(&mipmap, &desc, make_cudaExtent(16, 8, 0), 9), cudaSuccess);
  cudaArray_t level;
  EXPECT(cudaGetMipmappedArrayLevel(&level, mipmap, 4), cudaSuccess);
  cudaExtent extent;
  EXPECT(cudaArrayGetInfo(nullptr, &extent, nullptr, level), cudaSuccess);
  EXPECT(extent.width, 1u), EXPECT(extent.height, 1u);
  EXPECT(cudaGetMipmappedArrayLevel(&level, mipmap, 5), cudaErrorInvalidValue);
  EXPECT(cudaGetMipmappedArrayLevel(&level, mipmap, 0), cudaSuccess);
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray, resource.res.array.array = level;
  cudaTextureDesc sampling{};
  sampling.filterMode = cudaFilterModeLinear, sampling.readMode = cudaReadModeNormalizedFloat;
  cudaTextureObject_t texture = 0;
  EXPECT(cudaCreateTextureObject(&texture, &resource, &sampling, nullptr), cudaSuccess);
  EXPECT(texture != 0, true);
  cudaTextureDesc known;
  EXPECT(cudaGetTextureObjectTextureDesc(&known, texture), cudaSuccess);
  EXPECT(known.filterMode, cudaFilterModeLinear);
  sampling.readMode = cudaReadModeElementType;   // integers cannot be filtered
  cudaTextureObject_t wrong = 0;
  EXPECT(cudaCreateTextureObject(&wrong, &resource, &sampling, nullptr), cudaErrorInvalidFilterSetting);
  cudaSurfaceObject_t surface = 0;
  EXPECT(cudaCreateSurfaceObject(&surface, &resource), cudaSuccess);
  EXPECT(cudaDestroySurfaceObject(surface), cudaSuccess), EXPECT(cudaDestroyTextureObject(texture), cudaSuccess);
  EXPECT(cudaDestroyTextureObject(texture), cudaErrorInvalidValue);
  EXPECT(cudaFreeMipmappedArray(mipmap), cudaSuccess);
  cudaGetLastError();
}

static void pools() {
  int supported = 0;
  EXPECT(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0), cudaSuccess);
  EXPECT(supported, 1);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMemPool_t pool, own;
  EXPECT(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
  unsigned long long threshold = ~0ull, used = 1, high = 1;
  EXPECT(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold), cudaSuccess);
  float* data = nullptr;
  EXPECT(cudaMallocAsync(&data, 1000 * sizeof(float), stream), cudaSuccess);
  EXPECT(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), cudaSuccess);
  EXPECT(used, 4000u);
  EXPECT(cudaFreeAsync(data, stream), cudaSuccess);
  EXPECT(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), cudaSuccess);
  EXPECT(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &high), cudaSuccess);
  EXPECT(used, 0u), EXPECT(high, 4000u);
  cudaMemPoolProps props{};
  props.allocType = cudaMemAllocationTypePinned, props.location.type = cudaMemLocationTypeDevice;
  EXPECT(cudaMemPoolCreate(&own, &props), cudaSuccess);
  EXPECT(cudaMallocFromPoolAsync(reinterpret_cast<void**>(&data), 400, own, stream), cudaSuccess);
  EXPECT(cudaFree(data), cudaSuccess);
  EXPECT(cudaMemPoolDestroy(own), cudaSuccess), EXPECT(cudaMemPoolDestroy(own), cudaErrorInvalidValue);
  cudaGetLastError();
}

static void registered_memory() {
  std::vector<float> host(256, 1.5f);
  float* device = nullptr;
  EXPECT(cudaHostRegister(host.data(), host.size() * sizeof(float), cudaHostRegisterMapped), cudaSuccess);
  EXPECT(cudaHostRegister(host.data() + 4, 16, 0), cudaErrorHostMemoryAlreadyRegistered);
  EXPECT(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device), host.data(), 0), cudaSuccess);
  twice<<<1, 256>>>(device, 256);
  EXPECT(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT(host[255], 3.0f);
  EXPECT(cudaFreeHost(host.data()), cudaErrorInvalidValue);
  EXPECT(cudaHostUnregister(host.data()), cudaSuccess), EXPECT(cudaHostUnregister(host.data()), cudaErrorHostMemoryNotRegistered);
  EXPECT(cudaHostRegister(host.data() + 4, 16, 0), cudaSuccess), EXPECT(cudaHostUnregister(host.data() + 4), cudaSuccess);
  cudaGetLastError();
}

static void attributes_and_peers() {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaStreamAttrValue value{}, got{};
  value.accessPolicyWindow.num_bytes = 128, value.accessPolicyWindow.hitRatio = 0.5f;
  EXPECT(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value), cudaSuccess);
  EXPECT(cudaStreamGetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &got), cudaSuccess);
  EXPECT(got.accessPolicyWindow.num_bytes, 128u);
  int can = 1;
  EXPECT(cudaDeviceCanAccessPeer(&can, 0, 0), cudaSuccess);
  EXPECT(can, 0);
  EXPECT(cudaDeviceCanAccessPeer(&can, 0, 1), cudaErrorInvalidDevice);
  EXPECT(cudaDeviceEnablePeerAccess(1, 0), cudaErrorInvalidDevice);
  char id[32];
  int device = 7;
  EXPECT(cudaDeviceGetPCIBusId(id, sizeof id, 0), cudaSuccess), EXPECT(cudaDeviceGetByPCIBusId(&device, id), cudaSuccess);
  EXPECT(device, 0);
  cudaGetLastError();
}

static void advice_on_managed_memory() {
  constexpr size_t n = 1 << 20;
  const cudaMemLocation here = {cudaMemLocationTypeDevice, 0}, host = {cudaMemLocationTypeHost, 0}, nowhere = {cudaMemLocationTypeDevice, 7};
  char *managed = nullptr, *plain = nullptr;
  EXPECT(cudaMallocManaged(&managed, n), cudaSuccess), EXPECT(cudaMalloc(&plain, n), cudaSuccess);
  const auto ask = [&](cudaMemRangeAttribute attribute, size_t from, size_t bytes) {
    int value = -99;
    EXPECT(cudaMemRangeGetAttribute(&value, sizeof value, attribute, managed + from, bytes), cudaSuccess);
    return value;
  };
  EXPECT(ask(cudaMemRangeAttributeReadMostly, 0, n), 0), EXPECT(ask(cudaMemRangeAttributePreferredLocation, 0, n), cudaInvalidDeviceId);
  EXPECT(ask(cudaMemRangeAttributeLastPrefetchLocation, 0, n), cudaInvalidDeviceId);
  EXPECT(cudaMemAdvise(managed, n, cudaMemAdviseSetReadMostly, here), cudaSuccess);
  EXPECT(cudaMemAdvise(managed + n / 2, n / 2, cudaMemAdviseUnsetReadMostly, here), cudaSuccess);
  EXPECT(ask(cudaMemRangeAttributeReadMostly, 0, n / 2), 1), EXPECT(ask(cudaMemRangeAttributeReadMostly, n / 2, n / 2), 0);
  EXPECT(ask(cudaMemRangeAttributeReadMostly, 0, n), 0);
  EXPECT(cudaMemAdvise(managed, n, cudaMemAdviseSetPreferredLocation, host), cudaSuccess);
  EXPECT(ask(cudaMemRangeAttributePreferredLocation, 0, n), cudaCpuDeviceId);
  EXPECT(cudaMemPrefetchAsync(managed, n, here, 0, nullptr), cudaSuccess);
  EXPECT(ask(cudaMemRangeAttributeLastPrefetchLocation, 0, n), 0);
  EXPECT(cudaMemPrefetchAsync(managed, n / 4, host, 0, nullptr), cudaSuccess);
  EXPECT(ask(cudaMemRangeAttributeLastPrefetchLocation, 0, n / 4), cudaCpuDeviceId), EXPECT(ask(cudaMemRangeAttributeLastPrefetchLocation, 0, n), cudaInvalidDeviceId);
  EXPECT(ask(cudaMemRangeAttributeLastPrefetchLocationType, n / 2, 64), cudaMemLocationTypeDevice);
  EXPECT(cudaMemAdvise(managed, n, cudaMemAdviseSetAccessedBy, here), cudaSuccess);
  int by[3] = {-99, -99, -99};
  EXPECT(cudaMemRangeGetAttribute(by, sizeof by, cudaMemRangeAttributeAccessedBy, managed, n), cudaSuccess);
  EXPECT(by[0], 0), EXPECT(by[1], cudaInvalidDeviceId), EXPECT(by[2], cudaInvalidDeviceId);
  void* batch[2] = {managed, managed + n / 2};
  size_t bytes[2] = {n / 2, n / 2}, first[2] = {0, 1};
  cudaMemLocation locations[2] = {here, host};
  EXPECT(cudaMemPrefetchBatchAsync(batch, bytes, 2, locations, first, 2, 0, cudaStreamPerThread), cudaSuccess);
  EXPECT(ask(cudaMemRangeAttributeLastPrefetchLocation, 0, n / 2), 0), EXPECT(ask(cudaMemRangeAttributeLastPrefetchLocation, n / 2, n / 2), cudaCpuDeviceId);
  EXPECT(cudaMemAdvise(managed, n, cudaMemAdviseSetPreferredLocation, nowhere), cudaErrorInvalidDevice);
  EXPECT(cudaMemAdvise(plain, n, cudaMemAdviseSetReadMostly, here), cudaErrorInvalidValue);
  EXPECT(cudaMemPrefetchAsync(plain, n, here, 0, nullptr), cudaErrorInvalidValue);
  EXPECT(cudaMemPrefetchAsync(managed, n + 1, here, 0, nullptr), cudaErrorInvalidValue);
  EXPECT(cudaFree(managed), cudaSuccess), EXPECT(cudaFree(plain), cudaSuccess);
  cudaGetLastError();
}

int main() {
  advice_on_managed_memory();
  arrays();
  mipmaps_and_objects();
  pools();
  registered_memory();
  attributes_and_peers();
  if (failures == 0) std::puts("good");
  return failures;
}
