// CUB block and device algorithms.
#include <cub/cub.cuh>

__global__ void blocks(int* in, int* out, float* sums) {
  using Load = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<int, 128, 4>;
  using Scan = cub::BlockScan<int, 128>;
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ union { Load::TempStorage load; Sort::TempStorage sort; Scan::TempStorage scan; Reduce::TempStorage reduce; } temp;
  int items[4];
  Load(temp.load).Load(in + blockIdx.x * 512, items);
  __syncthreads();
  Sort(temp.sort).Sort(items);
  __syncthreads();
  Scan(temp.scan).ExclusiveSum(items, items);
  __syncthreads();
  const float sum = Reduce(temp.reduce).Sum(float(items[0]));
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  cub::StoreDirectBlocked(threadIdx.x, out + blockIdx.x * 512, items);
}
cudaError_t device_wide(void* temp, size_t& bytes, int* in, int* out, unsigned* keys, int n, cudaStream_t stream) {
  cub::DeviceReduce::Sum(temp, bytes, in, out, n, stream);
  cub::DeviceScan::ExclusiveSum(temp, bytes, in, out, n, stream);
  return cub::DeviceRadixSort::SortKeys(temp, bytes, keys, keys + n, n, 0, 32, stream);
}
