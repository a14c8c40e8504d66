// Selections and scans of CUB through Thrust, in place: their blocks are ordered by flags without fences.
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/remove.h>
#include <thrust/scan.h>
#include <thrust/unique.h>

#include <cstdio>
#include <vector>

struct Odd {
  __host__ __device__ bool operator()(int x) const { return x & 1; }
};
// Large enough for several blocks, each of which waits for those before it.
int main() {
  const int count = 20000;
  std::vector<int> host(count);
  for (int i = 0; i < count; ++i) host[i] = i / 3 % 1000;
  thrust::device_vector<int> data = host, out(count);
  const auto unique_end = thrust::unique(data.begin(), data.end());
  data = host;
  const auto even_end = thrust::remove_if(data.begin(), data.end(), Odd());
  data = host;
  thrust::inclusive_scan(data.begin(), data.end(), data.begin());
  const auto copied_end = thrust::copy_if(data.begin(), data.end(), out.begin(), Odd());
  std::printf("%d %d %d %d\n", static_cast<int>(unique_end - data.begin()), static_cast<int>(even_end - data.begin()), static_cast<int>(data[count - 1]),
              static_cast<int>(copied_end - out.begin()));
}
