// What ordinary programs do: allocate, copy, launch, wait, read back.
#include <cuda_runtime.h>

#include <xmmintrin.h>

#include <cfenv>
#include <vector>

#include "expect.h"

__global__ void add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

__global__ void softmax(const float* x, float* y, int cols) {
  extern __shared__ float part[];
  const float* row = x + static_cast<long long>(blockIdx.x) * cols;
  float most = -1e30f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) most = fmaxf(most, row[i]);
  part[threadIdx.x] = most;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + s]);
    __syncthreads();
  }
  most = part[0];
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(row[i] - most);
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < cols; i += blockDim.x) y[static_cast<long long>(blockIdx.x) * cols + i] = expf(row[i] - most) / part[0];
}

__constant__ float weights[4];
__device__ int counter = 7;
__global__ void use_symbols(float* out) {
  out[threadIdx.x] = weights[threadIdx.x] * counter;
  if (threadIdx.x == 0) counter = 9;
}

void vector_add() {
  constexpr int n = 1000;
  std::vector<float> a(n), b(n), c(n);
  for (int i = 0; i < n; ++i) a[i] = i, b[i] = 2 * i;
  float *da, *db, *dc;
  EXPECT(cudaMalloc(&da, n * 4), cudaSuccess);
  EXPECT(cudaMalloc(&db, n * 4), cudaSuccess);
  EXPECT(cudaMalloc(&dc, n * 4), cudaSuccess);
  EXPECT(cudaMemcpy(da, a.data(), n * 4, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT(cudaMemcpy(db, b.data(), n * 4, cudaMemcpyDefault), cudaSuccess);
  add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
  EXPECT(cudaGetLastError(), cudaSuccess);
  EXPECT(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT(cudaMemcpy(c.data(), dc, n * 4, cudaMemcpyDeviceToHost), cudaSuccess);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += c[i] != 3 * i;
  EXPECT(wrong, 0);
  EXPECT(cudaFree(da), cudaSuccess);
  EXPECT(cudaFree(db), cudaSuccess);
  EXPECT(cudaFree(dc), cudaSuccess);
}

void row_softmax() {
  constexpr int rows = 3, cols = 100;
  float* x;
  float* y;
  EXPECT(cudaMallocManaged(&x, rows * cols * 4), cudaSuccess);
  EXPECT(cudaMallocManaged(&y, rows * cols * 4), cudaSuccess);
  for (int i = 0; i < rows * cols; ++i) x[i] = 0.01f * (i % 37);
  softmax<<<rows, 64, 64 * 4>>>(x, y, cols);
  EXPECT(cudaDeviceSynchronize(), cudaSuccess);
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int i = 0; i < cols; ++i) sum += y[r * cols + i];
    EXPECT(std::fabs(sum - 1) < 1e-5, true);
  }
  EXPECT(cudaFree(x), cudaSuccess);
  EXPECT(cudaFree(y), cudaSuccess);
}

void symbols() {
  const float w[4] = {1, 2, 3, 4};
  float* out;
  float back[4];
  int count = 0;
  EXPECT(cudaMalloc(&out, 16), cudaSuccess);
  EXPECT(cudaMemcpyToSymbol(weights, w, sizeof w), cudaSuccess);
  use_symbols<<<1, 4>>>(out);
  EXPECT(cudaMemcpy(back, out, 16, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT(back[3], 28);
  EXPECT(cudaMemcpyFromSymbol(&count, counter, 4), cudaSuccess);
  EXPECT(count, 9);
  void* address = nullptr;
  size_t bytes = 0;
  EXPECT(cudaGetSymbolAddress(&address, counter), cudaSuccess);
  EXPECT(cudaMemset(address, 0, 4), cudaSuccess);
  EXPECT(cudaMemcpyFromSymbol(&count, counter, 4), cudaSuccess);
  EXPECT(count, 0);
  EXPECT(cudaGetSymbolSize(&bytes, weights), cudaSuccess);
  EXPECT(bytes, 16u);
  EXPECT(cudaMemcpyToSymbol(weights, w, 32), cudaErrorInvalidValue);
  EXPECT(cudaMemcpyToSymbol(weights, w, 8, 12), cudaErrorInvalidValue);
  EXPECT(cudaMemcpyToSymbol(weights, w, 8, 0, cudaMemcpyDeviceToHost), cudaErrorInvalidMemcpyDirection);
  cudaGetLastError();
  cudaFree(out);
}

void streams_and_events() {
  cudaStream_t a, b;
  cudaEvent_t start, end, untimed;
  float ms = -1;
  int priority = 0;
  float* data;
  cudaMalloc(&data, 4000);
  EXPECT(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking), cudaSuccess);
  EXPECT(cudaStreamCreateWithPriority(&b, cudaStreamNonBlocking, -100), cudaSuccess);
  EXPECT(cudaStreamGetPriority(b, &priority), cudaSuccess);
  EXPECT(priority, -5);
  EXPECT(cudaEventCreate(&start), cudaSuccess);
  EXPECT(cudaEventCreate(&end), cudaSuccess);
  EXPECT(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming), cudaSuccess);
  EXPECT(cudaEventElapsedTime(&ms, start, end), cudaErrorInvalidResourceHandle);
  EXPECT(cudaEventRecord(start, a), cudaSuccess);
  add<<<4, 256, 0, a>>>(data, data, data, 1000);
  EXPECT(cudaEventRecord(end, a), cudaSuccess);
  EXPECT(cudaStreamWaitEvent(b, end, 0), cudaSuccess);
  EXPECT(cudaStreamSynchronize(b), cudaSuccess);
  EXPECT(cudaEventElapsedTime(&ms, start, end), cudaSuccess);
  EXPECT(ms > 0, true);
  EXPECT(cudaEventRecord(untimed, a), cudaSuccess);
  EXPECT(cudaEventElapsedTime(&ms, start, untimed), cudaErrorInvalidResourceHandle);
  EXPECT(cudaStreamQuery(a), cudaSuccess);
  EXPECT(cudaStreamDestroy(a), cudaSuccess);
  EXPECT(cudaStreamDestroy(b), cudaSuccess);
  EXPECT(cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle);
  EXPECT(cudaEventDestroy(start), cudaSuccess);
  EXPECT(cudaStreamCreateWithFlags(&a, 7), cudaErrorInvalidValue);
  cudaGetLastError();
  cudaFree(data);
}

// A GPU knows nothing of how the host's processor rounds and flushes.
void host_rounding() {
  constexpr unsigned kFlushAll = 0x8040;
  const float a[] = {1.0f, 1e-40f, -1.0f}, b[] = {0x1p-25f, 0.0f, 0x1p-25f};
  float *device = nullptr, c[3] = {};
  EXPECT(cudaMalloc(&device, sizeof a * 3), cudaSuccess);
  EXPECT(cudaMemcpy(device, a, sizeof a, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT(cudaMemcpy(device + 3, b, sizeof b, cudaMemcpyHostToDevice), cudaSuccess);
  const unsigned before = _mm_getcsr();
  std::fesetround(FE_UPWARD);
  _mm_setcsr(_mm_getcsr() | kFlushAll);
  const unsigned set = _mm_getcsr() & ~0x3fu;
  add<<<1, 32>>>(device, device + 3, device + 6, 3);
  EXPECT(cudaDeviceSynchronize(), cudaSuccess);
  const unsigned after = _mm_getcsr() & ~0x3fu;
  std::fesetround(FE_TONEAREST);
  _mm_setcsr(before);
  EXPECT(after, set);
  EXPECT(cudaMemcpy(c, device + 6, sizeof c, cudaMemcpyDeviceToHost), cudaSuccess);
  for (int i = 0; i < 3; ++i) EXPECT(c[i] == a[i], true);
  cudaFree(device);
}

// Host functions of a stream may ask CUDA for nothing (CUDA runtime API, cudaLaunchHostFunc).
void host_functions() {
  struct Asked { cudaError_t of_runtime = cudaSuccess; } asked, told;
  EXPECT(cudaLaunchHostFunc(nullptr, [](void* out) { void* more; static_cast<Asked*>(out)->of_runtime = cudaMalloc(&more, 4); }, &asked), cudaSuccess);
  EXPECT(cudaStreamAddCallback(nullptr, [](cudaStream_t stream, cudaError_t, void* out) { static_cast<Asked*>(out)->of_runtime = cudaStreamSynchronize(stream); }, &told, 0), cudaSuccess);
  EXPECT(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT(asked.of_runtime, cudaErrorNotPermitted);
  EXPECT(told.of_runtime, cudaErrorNotPermitted);
}

int main() {
  vector_add();
  row_softmax();
  symbols();
  streams_and_events();
  host_rounding();
  host_functions();
  std::puts(failures == 0 ? "good" : "bad");
  return failures;
}
