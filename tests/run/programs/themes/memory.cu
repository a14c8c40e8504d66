// Memory in all its forms: pitched, 3-D, pinned, mapped, managed, pools, fills and copies of every shape, what a pointer is.
#include <cstring>
#include <vector>

#include "self_check.h"

__global__ void add_rows(float* data, std::size_t pitch, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) reinterpret_cast<float*>(reinterpret_cast<char*>(data) + y * pitch)[x] += 100 * y + x;
}
__global__ void fill_volume(cudaPitchedPtr volume, cudaExtent extent) {
  for (unsigned z = blockIdx.x; z < extent.depth; z += gridDim.x)
    for (unsigned y = threadIdx.y; y < extent.height; y += blockDim.y) {
      char* row = static_cast<char*>(volume.ptr) + volume.pitch * (z * volume.ysize + y);
      for (unsigned x = threadIdx.x; x < extent.width / sizeof(int); x += blockDim.x) reinterpret_cast<int*>(row)[x] = z * 10000 + y * 100 + x;
    }
}
__global__ void increment(int* data, int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) ++data[i];
}

int main() {
  // Pitched memory.
  const int width = 37, height = 21;
  float* rows = nullptr;
  std::size_t pitch = 0;
  CHECK(cudaMallocPitch(&rows, &pitch, width * sizeof(float), height));
  EXPECT(pitch >= width * sizeof(float) && pitch % 32 == 0);
  CHECK(cudaMemset2D(rows, pitch, 0, width * sizeof(float), height));
  add_rows<<<dim3(3, 3), dim3(16, 8)>>>(rows, pitch, width, height);
  std::vector<float> host(width * height);
  CHECK(cudaMemcpy2D(host.data(), width * sizeof(float), rows, pitch, width * sizeof(float), height, cudaMemcpyDeviceToHost));
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) EXPECT_EQ(host[y * width + x], 100 * y + x);
  CHECK(cudaMemcpy2D(rows, pitch, host.data() + 2, width * sizeof(float), 3 * sizeof(float), 4, cudaMemcpyHostToDevice));
  float corner[4][3];
  CHECK(cudaMemcpy2DAsync(corner, sizeof corner[0], rows, pitch, sizeof corner[0], 4, cudaMemcpyDeviceToHost, nullptr));
  CHECK(cudaDeviceSynchronize());
  EXPECT_EQ(corner[3][2], 304);
  CHECK(cudaFree(rows));
  // Volumes.
  const cudaExtent extent = make_cudaExtent(13 * sizeof(int), 7, 5);
  cudaPitchedPtr volume;
  CHECK(cudaMalloc3D(&volume, extent));
  CHECK(cudaMemset3D(volume, 0xff, extent));
  fill_volume<<<2, dim3(8, 4)>>>(volume, extent);
  std::vector<int> cells(13 * 7 * 5);
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = volume;
  copy.dstPtr = make_cudaPitchedPtr(cells.data(), 13 * sizeof(int), 13, 7);
  copy.extent = extent;
  copy.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&copy));
  for (int i = 0; i < 13 * 7 * 5; ++i) EXPECT_EQ(cells[i], i / 91 * 10000 + i / 13 % 7 * 100 + i % 13);
  copy.srcPos = make_cudaPos(4 * sizeof(int), 2, 1);
  copy.extent = make_cudaExtent(3 * sizeof(int), 2, 2);
  int part[12];
  copy.dstPtr = make_cudaPitchedPtr(part, 3 * sizeof(int), 3, 2);
  CHECK(cudaMemcpy3DAsync(&copy, nullptr));
  CHECK(cudaDeviceSynchronize());
  EXPECT_EQ(part[11], 2 * 10000 + 3 * 100 + 6);
  CHECK(cudaFree(volume.ptr));
  // Pinned and mapped memory.
  int *pinned = nullptr, *mapped = nullptr, *view = nullptr;
  CHECK(cudaMallocHost(&pinned, 1000 * sizeof(int)));
  CHECK(cudaHostAlloc(&mapped, 1000 * sizeof(int), cudaHostAllocMapped | cudaHostAllocWriteCombined));
  CHECK(cudaHostGetDevicePointer(&view, mapped, 0));
  for (int i = 0; i < 1000; ++i) pinned[i] = mapped[i] = i;
  increment<<<4, 64>>>(view, 1000);
  increment<<<4, 64>>>(pinned, 1000);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 1000; ++i) EXPECT(pinned[i] == i + 1 && mapped[i] == i + 1);
  std::vector<int> registered(1000, 3);
  CHECK(cudaHostRegister(registered.data(), 1000 * sizeof(int), cudaHostRegisterMapped));
  CHECK(cudaHostGetDevicePointer(&view, registered.data(), 0));
  increment<<<4, 64>>>(view, 1000);
  CHECK(cudaDeviceSynchronize());
  EXPECT_EQ(registered[999], 4);
  CHECK(cudaHostUnregister(registered.data()));
  // What pointers are.
  int *device = nullptr, *shared = managed<int>(1000);
  CHECK(cudaMalloc(&device, 1000 * sizeof(int)));
  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, device + 10));
  EXPECT(attributes.type == cudaMemoryTypeDevice && attributes.devicePointer == device + 10);
  CHECK(cudaPointerGetAttributes(&attributes, shared));
  EXPECT(attributes.type == cudaMemoryTypeManaged && attributes.hostPointer == shared);
  CHECK(cudaPointerGetAttributes(&attributes, pinned));
  EXPECT(attributes.type == cudaMemoryTypeHost);
  CHECK(cudaPointerGetAttributes(&attributes, registered.data()));
  EXPECT(attributes.type == cudaMemoryTypeUnregistered);
  // Managed memory.
  const cudaMemLocation here = {cudaMemLocationTypeDevice, 0};
  CHECK(cudaMemAdvise(shared, 1000 * sizeof(int), cudaMemAdviseSetReadMostly, here));
  CHECK(cudaMemPrefetchAsync(shared, 1000 * sizeof(int), here, 0, nullptr));
  increment<<<4, 64>>>(shared, 1000);
  CHECK(cudaMemcpy(device, shared, 1000 * sizeof(int), cudaMemcpyDefault));
  increment<<<4, 64>>>(device, 1000);
  CHECK(cudaMemcpy(pinned, device, 1000 * sizeof(int), cudaMemcpyDefault));
  EXPECT_EQ(pinned[500], 2);
  // Fills.
  CHECK(cudaMemset(device, 0x01, 999 * sizeof(int)));
  CHECK(cudaMemsetAsync(device + 500, 0, 4, nullptr));
  CHECK(cudaMemcpy(pinned, device, 1000 * sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT_EQ(pinned[0], 0x01010101);
  EXPECT_EQ(pinned[500], 0);
  EXPECT_EQ(pinned[999], 2);
  CHECK(cudaMemcpy(device + 100, device, 100 * sizeof(int), cudaMemcpyDeviceToDevice));
  CHECK(cudaMemcpyPeer(device, 0, shared, 0, 4));
  // Stream-ordered memory and pools.
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  int* ordered = nullptr;
  CHECK(cudaMallocAsync(&ordered, 1000 * sizeof(int), stream));
  CHECK(cudaMemsetAsync(ordered, 0, 1000 * sizeof(int), stream));
  increment<<<4, 64, 0, stream>>>(ordered, 1000);
  CHECK(cudaMemcpyAsync(pinned, ordered, 1000 * sizeof(int), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaFreeAsync(ordered, stream));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT_EQ(pinned[999], 1);
  cudaMemPool_t pool;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  unsigned long long threshold = ~0ull;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = here;
  CHECK(cudaMemPoolCreate(&pool, &properties));
  CHECK(cudaMallocFromPoolAsync(&ordered, 64, pool, stream));
  CHECK(cudaFreeAsync(ordered, stream));
  CHECK(cudaMemPoolDestroy(pool));
  CHECK(cudaStreamDestroy(stream));
  std::size_t free_bytes = 0, total_bytes = 0;
  CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  EXPECT(free_bytes > 0 && free_bytes < total_bytes);
  // Errors that stay, errors that do not.
  void* none = nullptr;
  EXPECT(cudaMalloc(&none, ~std::size_t{0} / 2) == cudaErrorMemoryAllocation);
  EXPECT(cudaGetLastError() == cudaErrorMemoryAllocation);
  EXPECT(cudaGetLastError() == cudaSuccess);
  EXPECT(cudaMemcpy(device, pinned, 4, static_cast<cudaMemcpyKind>(77)) == cudaErrorInvalidMemcpyDirection);
  EXPECT(cudaPeekAtLastError() == cudaErrorInvalidMemcpyDirection);
  EXPECT(cudaGetLastError() == cudaErrorInvalidMemcpyDirection);
  EXPECT(cudaSetDevice(5) == cudaErrorInvalidDevice);
  EXPECT(std::strcmp(cudaGetErrorString(cudaErrorInvalidDevice), "invalid device ordinal") == 0);
  (void)cudaGetLastError();
  CHECK(cudaFree(nullptr));
  CHECK(cudaFree(device));
  CHECK(cudaFree(shared));
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaFreeHost(mapped));
  return finish();
}
