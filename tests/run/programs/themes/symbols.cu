// Variables of the device: __constant__ tables, __device__ arrays, __managed__ variables, and how the host reaches them.
#include <cstring>

#include "self_check.h"

struct Config {
  double scale;
  int offset;
  float weights[5];
};

__constant__ int c_table[256];
__constant__ Config c_config = {2.5, 7, {1, 2, 3, 4, 5}};
__constant__ const char* c_unused = nullptr;
__constant__ double c_poly[4] = {1, -0.5, 0.25, -0.125};
__device__ int d_counter = 40;
__device__ float d_grid[8][16];
__device__ float* d_pointer;
__device__ double d_big[1 << 20];
__device__ unsigned char d_text[] = "device text";
__managed__ int m_value = 5;
__managed__ float m_array[64];
static __device__ Config d_config;
namespace inner {
__device__ int d_counter = 3;
template <class T>
__device__ T d_typed = T(9);
}  // namespace inner

__global__ void read_constants(int* out, double* reals) {
  const int t = threadIdx.x;
  out[t] = c_table[(t * 5) % 256] + c_config.offset;
  reals[t] = c_config.scale * c_config.weights[t % 5] + (((c_poly[3] * t + c_poly[2]) * t + c_poly[1]) * t + c_poly[0]);
}
__global__ void write_symbols() {
  const int t = threadIdx.x;
  atomicAdd(&d_counter, t);
  atomicAdd(&inner::d_counter, 1);
  if (t < 128) d_grid[t / 16][t % 16] += t * 0.5f;
  if (t == 0) d_config.scale = inner::d_typed<int> + 0.5, m_value *= 3;
  m_array[t % 64] = t;
  d_big[(1 << 20) - 1 - t] = t;
  if (t < 6) d_text[t] -= 32;
}
__global__ void through_pointer() { d_pointer[threadIdx.x] = threadIdx.x * 2; }
__global__ void count_launches() {
  static __device__ int launches = 0;
  if (threadIdx.x == 0) m_value = ++launches;
}

int main() {
  int table[256];
  for (int i = 0; i < 256; ++i) table[i] = i * i - 100;
  CHECK(cudaMemcpyToSymbol(c_table, table, sizeof table));
  int *out = managed<int>(64);
  double* reals = managed<double>(64);
  read_constants<<<1, 64>>>(out, reals);
  CHECK(cudaDeviceSynchronize());
  for (int t = 0; t < 64; ++t) {
    EXPECT_EQ(out[t], table[t * 5 % 256] + 7);
    EXPECT_EQ(reals[t], 2.5 * (t % 5 + 1) + (((-0.125 * t + 0.25) * t - 0.5) * t + 1));
  }
  // Parts, in both directions, at offsets; asynchronously; to where a symbol's address says.
  Config config;
  CHECK(cudaMemcpyFromSymbol(&config, c_config, sizeof config));
  EXPECT_EQ(config.weights[4], 5);
  const int three[] = {1, 2, 3};
  CHECK(cudaMemcpyToSymbol(c_table, three, sizeof three, 10 * sizeof(int), cudaMemcpyHostToDevice));
  const float weight = 50;
  CHECK(cudaMemcpyToSymbolAsync(c_config, &weight, sizeof weight, offsetof(Config, weights) + 4, cudaMemcpyHostToDevice, nullptr));
  read_constants<<<1, 64>>>(out, reals);
  CHECK(cudaDeviceSynchronize());
  EXPECT_EQ(out[2], 8);
  EXPECT_EQ(reals[1], 2.5 * 50 + (((-0.125 * 1 + 0.25) * 1 - 0.5) * 1 + 1));
  void* address = nullptr;
  std::size_t bytes = 0;
  CHECK(cudaGetSymbolAddress(&address, d_grid));
  CHECK(cudaGetSymbolSize(&bytes, d_grid));
  EXPECT_EQ(bytes, sizeof(float) * 8 * 16);
  CHECK(cudaMemset(address, 0, bytes));
  write_symbols<<<1, 256>>>();
  CHECK(cudaDeviceSynchronize());
  EXPECT_EQ(m_value, 15);
  for (int i = 0; i < 64; ++i) EXPECT(static_cast<int>(m_array[i]) % 64 == i);
  int counter = 0;
  CHECK(cudaMemcpyFromSymbol(&counter, d_counter, sizeof counter));
  EXPECT_EQ(counter, 40 + 255 * 128);
  CHECK(cudaMemcpyFromSymbol(&counter, inner::d_counter, sizeof counter));
  EXPECT_EQ(counter, 259);
  double last[2];
  CHECK(cudaMemcpyFromSymbol(last, d_big, sizeof last, ((1 << 20) - 2) * sizeof(double)));
  EXPECT_EQ(last[0], 1);
  EXPECT_EQ(last[1], 0);
  char text[12];
  CHECK(cudaMemcpyFromSymbol(text, d_text, sizeof text));
  EXPECT(std::strcmp(text, "DEVICE text") == 0);
  CHECK(cudaMemcpyFromSymbol(&config, d_config, sizeof config));
  EXPECT_EQ(config.scale, 9.5);
  float* memory = managed<float>(32);
  CHECK(cudaMemcpyToSymbol(d_pointer, &memory, sizeof memory));
  through_pointer<<<1, 32>>>();
  for (int i = 0; i < 3; ++i) count_launches<<<2, 32>>>();
  CHECK(cudaDeviceSynchronize());
  EXPECT_EQ(memory[31], 62);
  EXPECT(m_value >= 3);
  m_value = 11;
  write_symbols<<<1, 1>>>();
  CHECK(cudaDeviceSynchronize());
  EXPECT_EQ(m_value, 33);
  EXPECT(cudaMemcpyToSymbol(c_table, table, sizeof table, 4) == cudaErrorInvalidValue);
  (void)cudaGetLastError();
  return finish();
}
