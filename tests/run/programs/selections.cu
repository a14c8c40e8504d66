// Selections and scans of CUB through Thrust, in place: their blocks are ordered by flags without fences.
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/remove.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/set_operations.h>
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
  // Tiles without doubles, and sets that end within a tile.
  thrust::device_vector<int> distinct(50000), second(300), third(300), both(300);
  thrust::sequence(distinct.begin(), distinct.end());
  const auto distinct_end = thrust::unique(distinct.begin(), distinct.end());
  thrust::sequence(second.begin(), second.end(), 0, 2), thrust::sequence(third.begin(), third.end(), 0, 3);
  const auto both_end = thrust::set_intersection(second.begin(), second.end(), third.begin(), third.end(), both.begin());
  std::printf("%d %d\n", static_cast<int>(distinct_end - distinct.begin()), static_cast<int>(both_end - both.begin()));
  std::printf("%d %d %d %d\n", static_cast<int>(unique_end - data.begin()), static_cast<int>(even_end - data.begin()), static_cast<int>(data[count - 1]),
              static_cast<int>(copied_end - out.begin()));
}
