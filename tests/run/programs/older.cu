// Linked to libcudart.so.12: what its headers call, by the names that they give it.
#include <cstddef>
#include <cstdio>

struct Properties { char bytes[1032]; };
extern "C" int cudaGetDeviceProperties_v2(Properties*, int);
extern "C" int prefetch_12(const void*, size_t, int, void*) __asm__("cudaMemPrefetchAsync");

__global__ void fill(int* data) { data[threadIdx.x] = threadIdx.x * 2; }

int main() {
  Properties properties;
  int* data = nullptr;
  if (cudaGetDeviceProperties_v2(&properties, 0) != 0) return 1;
  const int major = *reinterpret_cast<const int*>(properties.bytes + 360);
  cudaMallocManaged(&data, 32 * sizeof(int));
  if (prefetch_12(data, 32 * sizeof(int), 0, nullptr) != 0) return 2;
  fill<<<1, 32>>>(data);
  cudaDeviceSynchronize();
  std::printf("%s %d %d\n", properties.bytes, major, data[31]);
  return 0;
}
