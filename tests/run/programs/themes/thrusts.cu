// Thrust: sorting, scanning, reducing and transforming, with the iterators that programs put together.
#include <thrust/binary_search.h>
#include <thrust/complex.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/functional.h>
#include <thrust/gather.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/partition.h>
#include <thrust/random.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "self_check.h"

struct Dot {
  __host__ __device__ float operator()(const thrust::tuple<float, float, int>& item) const { return thrust::get<0>(item) * thrust::get<1>(item) + thrust::get<2>(item); }
};
struct Draw {
  __host__ __device__ float operator()(unsigned n) const {
    thrust::default_random_engine engine;
    thrust::uniform_real_distribution<float> uniform(0, 1);
    engine.discard(n);
    return uniform(engine);
  }
};

int main() {
  const int count = 2000;
  thrust::host_vector<int> host(count);
  for (int i = 0; i < count; ++i) host[i] = (i * 7919 + 5) % 613;
  thrust::device_vector<int> data = host, keys(count), values(count);
  std::vector<int> expected(host.begin(), host.end());
  std::sort(expected.begin(), expected.end());
  thrust::sort(data.begin(), data.end());
  host = data;
  EXPECT(std::equal(expected.begin(), expected.end(), host.begin()));
  thrust::sort(data.begin(), data.end(), thrust::greater<int>());
  EXPECT_EQ(static_cast<int>(data[0]), 612);
  for (int i = 0; i < count; ++i) host[i] = (i * 31 + 5) % 17;
  keys = host;
  thrust::sequence(values.begin(), values.end());
  thrust::stable_sort_by_key(keys.begin(), keys.end(), values.begin());
  const thrust::host_vector<int> sorted_keys = keys, sorted_values = values;
  for (int i = 1; i < count; ++i) EXPECT(sorted_keys[i - 1] < sorted_keys[i] || (sorted_keys[i - 1] == sorted_keys[i] && sorted_values[i - 1] < sorted_values[i]));
  thrust::device_vector<int> groups(17), sums(17);
  const auto ends = thrust::reduce_by_key(keys.begin(), keys.end(), thrust::make_constant_iterator(1), groups.begin(), sums.begin());
  EXPECT_EQ(ends.first - groups.begin(), 17);
  EXPECT_EQ(thrust::reduce(sums.begin(), sums.end()), count);
  thrust::device_vector<float> a(count), b(count), c(count);
  thrust::sequence(a.begin(), a.end());
  thrust::fill(b.begin(), b.end(), 2.0f);
  thrust::transform(a.begin(), a.end(), b.begin(), c.begin(), thrust::multiplies<float>());
  EXPECT_EQ(static_cast<float>(c[7]), 14);
  const auto zipped = thrust::make_zip_iterator(thrust::make_tuple(a.begin(), b.begin(), thrust::counting_iterator<int>(1)));
  thrust::transform(zipped, zipped + count, c.begin(), Dot());
  EXPECT_EQ(static_cast<float>(c[10]), 31);
  EXPECT_EQ(thrust::inner_product(a.begin(), a.begin() + 100, b.begin(), 0.0f), 9900);
  EXPECT_EQ(thrust::transform_reduce(a.begin(), a.begin() + 10, [] __device__(float x) -> float { return x * x; }, 0.0f, thrust::plus<float>()), 285);
  thrust::exclusive_scan(values.begin(), values.end(), data.begin());
  const thrust::host_vector<int> scanned = data;
  for (int i = 0, sum = 0; i < count; sum += sorted_values[i++]) EXPECT_EQ(scanned[i], sum);
  thrust::inclusive_scan_by_key(keys.begin(), keys.end(), thrust::make_constant_iterator(1), data.begin());
  EXPECT_EQ(thrust::count(data.begin(), data.end(), 1), 17);
  const auto unique_end = thrust::unique(keys.begin(), keys.end());
  EXPECT_EQ(unique_end - keys.begin(), 17);
  thrust::device_vector<int> needles(3), places(3);
  needles[0] = 0, needles[1] = 8, needles[2] = 99;
  thrust::lower_bound(keys.begin(), unique_end, needles.begin(), needles.end(), places.begin());
  EXPECT(places[0] == 0 && places[1] == 8 && places[2] == 17);
  const auto kept = thrust::remove_if(values.begin(), values.end(), [] __device__(int x) -> bool { return x % 3 != 0; });
  EXPECT_EQ(kept - values.begin(), (count + 2) / 3);
  const auto extremes = thrust::minmax_element(a.begin(), a.end());
  EXPECT(*extremes.first == 0 && *extremes.second == count - 1);
  thrust::device_vector<int> order(4);
  order[0] = 3, order[1] = 1, order[2] = 2, order[3] = 0;
  thrust::gather(order.begin(), order.end(), a.begin(), c.begin());
  EXPECT_EQ(static_cast<float>(c[0]), 3);
  EXPECT_EQ(thrust::reduce(thrust::make_permutation_iterator(a.begin(), order.begin()), thrust::make_permutation_iterator(a.begin(), order.end())), 6);
  const auto squares = thrust::make_transform_iterator(thrust::counting_iterator<int>(1), [] __host__ __device__(int x) { return x * x; });
  EXPECT_EQ(thrust::reduce(squares, squares + 10), 385);
  thrust::transform(thrust::counting_iterator<unsigned>(0), thrust::counting_iterator<unsigned>(count), a.begin(), Draw());
  const thrust::host_vector<float> drawn = a;
  for (int i = 0; i < count; i += 97) EXPECT_EQ(drawn[i], Draw()(i));
  const float mean = thrust::reduce(thrust::device, a.begin(), a.end()) / count;
  EXPECT_NEAR(mean, 0.5, 0.05);
  int* raw = managed<int>(100);
  thrust::sequence(thrust::device, raw, raw + 100, 100, -1);
  thrust::sort(thrust::device, raw, raw + 100);
  EXPECT(raw[0] == 1 && raw[99] == 100);
  const auto middle = thrust::partition(thrust::device, raw, raw + 100, [] __device__(int x) -> bool { return x % 2 == 0; });
  EXPECT_EQ(middle - raw, 50);
  thrust::device_vector<thrust::complex<float>> numbers(10, thrust::complex<float>(1, 2));
  const thrust::complex<float> product = thrust::reduce(numbers.begin(), numbers.begin() + 3, thrust::complex<float>(1, 0), thrust::multiplies<thrust::complex<float>>());
  EXPECT_EQ(product.real(), -11);
  EXPECT_EQ(product.imag(), -2);
  return finish();
}
