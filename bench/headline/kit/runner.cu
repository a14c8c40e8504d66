// Times candidates against each other and against a plain copy on the GPU at hand.
//   runner LIST OUT.json [ROUNDS]      LIST: lines "TASK LABEL OBJECT.so"; a first line of a task "TASK cublaslt ..." is a baseline like any other
// Of products also us_row: ten calls one after the other, none of them flushed, by the call. An object that exports read_clocks says what its blocks' clocks read.
// Per round and variant: the L2 is flushed by reading 512 MB (clean lines), then one call between two events; variants take turns, of products in another order each
// round and after a second under load, because the power limit sets the clock. of_first is the median of the first variant's time over this one's in the same round. A second figure (us_dirty) has
// the L2 flushed by writing. Medians. Each variant's result is checked on the GPU against a double-precision reference before and after.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#define NEED(call)                                                                                                       \
  do {                                                                                                                   \
    if (cudaError_t e_ = (call); e_ != cudaSuccess) {                                                                    \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e_));                        \
      std::exit(3);                                                                                                      \
    }                                                                                                                    \
  } while (0)

__device__ __host__ inline uint32_t mix(uint64_t x) {
  x ^= x >> 33; x *= 0xff51afd7ed558ccdull; x ^= x >> 33; x *= 0xc4ceb9fe1a85ec53ull; x ^= x >> 33;
  return static_cast<uint32_t>(x);
}
__device__ float normal_of(uint64_t i, uint32_t seed) {
  const float u = (mix(i * 2 + (uint64_t(seed) << 40)) + 1.0f) / 4294967808.0f, v = mix(i * 2 + 1 + (uint64_t(seed) << 40)) / 4294967296.0f;
  return sqrtf(-2 * logf(u)) * cospif(2 * v);
}
template <class T> __global__ void fill_normal(T* p, size_t n, uint32_t seed, float mean, float deviation) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) p[i] = T(mean + deviation * normal_of(i, seed));
}
__global__ void fill_bytes(uint8_t* p, size_t n, uint32_t seed) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) p[i] = mix(i + (uint64_t(seed) << 40)) & 255;
}
__global__ void read_all(const uint4* p, size_t n, unsigned* sink) {
  unsigned sum = 0;
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) { uint4 v = p[i]; sum += v.x ^ v.y ^ v.z ^ v.w; }
  if (sum == 0x12345678u) *sink = sum;
}
__global__ void copy_kernel(const uint4* __restrict__ from, uint4* __restrict__ to, size_t n) {
  const size_t first = blockIdx.x * size_t(blockDim.x) * 4 + threadIdx.x;
  uint4 v[4];
#pragma unroll
  for (int u = 0; u < 4; ++u) if (first + u * blockDim.x < n) v[u] = from[first + u * blockDim.x];
#pragma unroll
  for (int u = 0; u < 4; ++u) if (first + u * blockDim.x < n) __stcs(&to[first + u * blockDim.x], v[u]);
}

// errors[0]: largest error over its bound
__device__ void worst(double* error, double value) {
  if (!(value >= 0)) value = 1e300;
  if (value > *reinterpret_cast<volatile double*>(error)) atomicMax(reinterpret_cast<unsigned long long*>(error), static_cast<unsigned long long>(__double_as_longlong(value)));
}
__device__ double block_sum(double v) {
  __shared__ double s[256];
  s[threadIdx.x] = v; __syncthreads();
  for (int h = 128; h > 0; h /= 2) { if (threadIdx.x < h) s[threadIdx.x] += s[threadIdx.x + h]; __syncthreads(); }
  const double r = s[0]; __syncthreads();
  return r;
}
__device__ double block_max(double v) {
  __shared__ double s[256];
  s[threadIdx.x] = v; __syncthreads();
  for (int h = 128; h > 0; h /= 2) { if (threadIdx.x < h) s[threadIdx.x] = fmax(s[threadIdx.x], s[threadIdx.x + h]); __syncthreads(); }
  const double r = s[0]; __syncthreads();
  return r;
}
__global__ void check_add_relu(const float* a, const float* b, const float* y, size_t n, double* e) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) if (const float r = fmaxf(a[i] + b[i], 0); !(r == y[i])) worst(e, 1e9);
}
// kind 0 sum, 1 max with index, 2 softmax, 3 layer norm, 4 rms norm; 256 threads, a row a block
__global__ void check_rows(int kind, const float* x, const float* g, const float* b, const float* y, const int* index, int columns, double* e) {
  const float* row = x + size_t(blockIdx.x) * columns;
  double sum = 0, squares = 0, most = -1e300;
  for (int c = threadIdx.x; c < columns; c += 256) { sum += row[c]; squares += double(row[c]) * row[c]; most = fmax(most, double(row[c])); }
  sum = block_sum(sum); squares = block_sum(squares); most = block_max(most);
  if (kind == 0 && threadIdx.x == 0) worst(e, fabs(y[blockIdx.x] - sum) / (4 * 6e-8 * (fabs(sum) + 4 * sqrt(double(columns)) * 90)));
  if (kind == 1 && threadIdx.x == 0) {
    int at = -1;
    for (int c = 0; c < columns && at < 0; ++c) if (row[c] == most) at = c;
    if (at != index[blockIdx.x] || y[blockIdx.x] != float(most)) worst(e, 1e9);
  }
  if (kind < 2) return;
  double mean = kind == 3 ? sum / columns : 0, spread = 0;
  for (int c = threadIdx.x; c < columns; c += 256) spread += kind == 2 ? exp(row[c] - most) : (row[c] - mean) * (row[c] - mean);
  spread = block_sum(spread);
  for (int c = threadIdx.x; c < columns; c += 256) {
    const double r = kind == 2 ? exp(row[c] - most) / spread : kind == 3 ? (row[c] - mean) / sqrt(spread / columns + 1e-5) * g[c] + b[c] : row[c] / sqrt(squares / columns + 1e-5) * g[c];
    const double scale = kind == 2 ? 2e-4 : 1;
    worst(e, fabs(y[size_t(blockIdx.x) * columns + c] - r) / (4 * 6e-8 * (fabs(r) + 360 * scale)));
  }
}
__global__ void sum_all(const float* x, size_t n, double* out) {
  double s = 0;
  for (size_t i = blockIdx.x * size_t(256) + threadIdx.x; i < n; i += size_t(gridDim.x) * 256) s += x[i];
  s = block_sum(s);
  if (threadIdx.x == 0) atomicAdd(out, s);
}
__global__ void check_transpose(const float* x, const float* y, int rows, int columns, double* e) {
  const size_t n = size_t(rows) * columns;
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) if (x[i] != y[i % columns * rows + i / columns]) worst(e, 1e9);
}
__global__ void chunk_sums(const float* x, double* sums) {   // of 1024
  double s = 0;
  for (int i = threadIdx.x; i < 1024; i += 256) s += x[blockIdx.x * size_t(1024) + i];
  s = block_sum(s);
  if (threadIdx.x == 0) sums[blockIdx.x] = s;
}
__global__ void check_scan(const float* x, const float* y, const double* starts, size_t n, double* e) {
  const size_t chunk = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (chunk * 1024 >= n) return;
  double s = starts[chunk];
  for (int i = 0; i < 1024; ++i) { s += x[chunk * 1024 + i]; worst(e, fabs(y[chunk * 1024 + i] - s) / (4 * 6e-8 * (fabs(s) + 4 * 8192.0 * 3000))); }
}
__global__ void check_sobel(const uint8_t* x, const uint8_t* y, int h, int w, double* e) {
  const auto at = [&](int r, int c) { return int(x[size_t(min(max(r, 0), h - 1)) * w + min(max(c, 0), w - 1)]); };
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < size_t(h) * w; i += size_t(gridDim.x) * blockDim.x) {
    const int r = i / w, c = i % w;
    const int gx = at(r - 1, c + 1) + 2 * at(r, c + 1) + at(r + 1, c + 1) - at(r - 1, c - 1) - 2 * at(r, c - 1) - at(r + 1, c - 1);
    const int gy = at(r + 1, c - 1) + 2 * at(r + 1, c) + at(r + 1, c + 1) - at(r - 1, c - 1) - 2 * at(r - 1, c) - at(r - 1, c + 1);
    if (min(abs(gx) + abs(gy), 255) != y[i]) worst(e, 1e9);
  }
}
__global__ void check_stencil(const float* x, const float* y, int d, int h, int w, double* e) {
  const size_t n = size_t(d) * h * w;
  for (size_t p = blockIdx.x * size_t(blockDim.x) + threadIdx.x; p < n; p += size_t(gridDim.x) * blockDim.x) {
    const int i = p % w, j = p / w % h, k = p / (size_t(w) * h);
    double r = x[p];
    if (!(k == 0 || j == 0 || i == 0 || k == d - 1 || j == h - 1 || i == w - 1)) {
      const size_t s = size_t(w) * h;
      r = x[p] + 0.125 * (double(x[p - 1]) + x[p + 1] + x[p - w] + x[p + w] + x[p - s] + x[p + s] - 6.0 * x[p]);
    }
    worst(e, fabs(y[p] - r) / (4 * 6e-8 * (fabs(r) + 10)));
  }
}
__global__ void count_bytes(const uint8_t* x, size_t n, unsigned* bins) {
  __shared__ unsigned s[256];
  s[threadIdx.x] = 0; __syncthreads();
  for (size_t i = blockIdx.x * size_t(256) + threadIdx.x; i < n; i += size_t(gridDim.x) * 256) atomicAdd(&s[x[i]], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}
template <class T> __global__ void check_gemm(const T* a, const T* b, const T* c, int m, int k, int n, double unit, double inexact, double* e) {
  const int sample = blockIdx.x * blockDim.x + threadIdx.x;
  const int i = mix(sample) % m, j = (mix(sample / 32 + 77777) % n + sample % 32) % n;
  double s = 0;
  for (int l = 0; l < k; ++l) s += double(float(a[size_t(i) * k + l])) * double(float(b[size_t(l) * n + j]));
  worst(e, fabs(double(float(c[size_t(i) * n + j])) - s) / (4 * (unit * fabs(s) + 4 * 6e-8 * sqrt(double(k)) * sqrt(double(k)) + inexact * sqrt(double(k)))));
}

// A block a sampled row of a sampled head: lengths up to 2048, 64 wide, the scale 1 / 8. Against 0.8% of the row's root mean square.
__global__ void check_attention(const __half* q, const __half* k, const __half* v, const __half* o, int heads, int length, bool causal, double* e) {
  __shared__ double scores[2048];
  const size_t head = mix(blockIdx.x) % heads, row = mix(blockIdx.x + 5555) % length, base = head * length * 64;
  const int seen = causal ? int(row) + 1 : length;
  double most = -1e300, sum = 0;
  for (int j = threadIdx.x; j < seen; j += 256) {
    double s = 0;
    for (int d = 0; d < 64; ++d) s += double(__half2float(q[base + row * 64 + d])) * double(__half2float(k[base + size_t(j) * 64 + d]));
    scores[j] = s * 0.125; most = fmax(most, s * 0.125);
  }
  most = block_max(most);
  for (int j = threadIdx.x; j < seen; j += 256) { scores[j] = exp(scores[j] - most); sum += scores[j]; }
  sum = block_sum(sum);
  double r = 0;
  if (threadIdx.x < 64) for (int j = 0; j < seen; ++j) r += scores[j] / sum * double(__half2float(v[base + size_t(j) * 64 + threadIdx.x]));
  const double rms = sqrt(block_sum(r * r) / 64);
  if (threadIdx.x < 64) worst(e, fabs(double(__half2float(o[base + row * 64 + threadIdx.x])) - r) / (0.008 * rms));
}

struct Task {
  std::string symbol;
  double bytes = 0, operations = 0;
  std::vector<std::pair<void*, size_t>> outputs;                              // poisoned before a check
  std::function<cudaError_t(void* function, cudaStream_t)> call;
  std::function<double()> check;                                               // error over its bound
};

double* error_cell = nullptr;
double error_now() { NEED(cudaDeviceSynchronize()); double v = 0; NEED(cudaMemcpy(&v, error_cell, 8, cudaMemcpyDefault)); return v; }
void clear_error() { NEED(cudaMemset(error_cell, 0, 8)); }
template <class T> T* room(size_t n) { T* p = nullptr; NEED(cudaMalloc(&p, n * sizeof(T))); return p; }
std::vector<void*> owned;
template <class T> T* take(size_t n) { T* p = room<T>(n); owned.push_back(p); return p; }
void release() { for (void* p : owned) NEED(cudaFree(p)); owned.clear(); }

using P = const void*;
Task make_task(const std::string& name) {
  Task t;
  constexpr size_t kN = size_t(1) << 26;
  constexpr int kR = 8192;
  t.symbol = name;
  if (name == "add_relu") {
    float *a = take<float>(kN), *b = take<float>(kN), *y = take<float>(kN);
    fill_normal<<<4096, 256>>>(a, kN, 1, 0, 1); fill_normal<<<4096, 256>>>(b, kN, 2, 0, 1);
    t.bytes = 12.0 * kN; t.outputs = {{y, 4 * kN}};
    t.call = [=](void* f, cudaStream_t s) { return reinterpret_cast<cudaError_t (*)(P, P, void*, int, cudaStream_t)>(f)(a, b, y, int(kN), s); };
    t.check = [=] { clear_error(); check_add_relu<<<4096, 256>>>(a, b, y, kN, error_cell); return error_now(); };
  } else if (name == "row_sum" || name == "row_max" || name == "softmax" || name == "layer_norm" || name == "rms_norm") {
    const int kind = name == "row_sum" ? 0 : name == "row_max" ? 1 : name == "softmax" ? 2 : name == "layer_norm" ? 3 : 4;
    float *x = take<float>(kN), *g = take<float>(kR), *b = take<float>(kR), *y = take<float>(kind < 2 ? kR : kN);
    int* i = take<int>(kR);
    fill_normal<<<4096, 256>>>(x, kN, 3, kind == 3 ? 0.5f : 0.f, kind == 3 ? 2.f : 1.f); fill_normal<<<32, 256>>>(g, kR, 4, 1, 0.2f); fill_normal<<<32, 256>>>(b, kR, 5, 0, 1);
    t.bytes = kind < 2 ? 4.0 * kN + 8 * kR : 8.0 * kN;
    t.outputs = {{y, (kind < 2 ? kR : kN) * 4}, {i, kR * 4}};
    t.call = [=](void* f, cudaStream_t s) {
      if (kind == 1) return reinterpret_cast<cudaError_t (*)(P, void*, void*, int, int, cudaStream_t)>(f)(x, y, i, kR, kR, s);
      if (kind == 3) return reinterpret_cast<cudaError_t (*)(P, P, P, void*, int, int, cudaStream_t)>(f)(x, g, b, y, kR, kR, s);
      if (kind == 4) return reinterpret_cast<cudaError_t (*)(P, P, void*, int, int, cudaStream_t)>(f)(x, g, y, kR, kR, s);
      return reinterpret_cast<cudaError_t (*)(P, void*, int, int, cudaStream_t)>(f)(x, y, kR, kR, s);
    };
    t.check = [=] { clear_error(); check_rows<<<kR, 256>>>(kind, x, g, b, y, i, kR, error_cell); return error_now(); };
  } else if (name == "full_sum") {
    float *x = take<float>(kN), *y = take<float>(1);
    fill_normal<<<4096, 256>>>(x, kN, 6, 0, 1);
    t.bytes = 4.0 * kN; t.outputs = {{y, 4}};
    t.call = [=](void* f, cudaStream_t s) { return reinterpret_cast<cudaError_t (*)(P, void*, int, cudaStream_t)>(f)(x, y, int(kN), s); };
    t.check = [=] {
      clear_error(); sum_all<<<1024, 256>>>(x, kN, error_cell); const double r = error_now(); float v; NEED(cudaMemcpy(&v, y, 4, cudaMemcpyDefault));
      return std::fabs(v - r) / (4 * 6e-8 * (std::fabs(r) + 4 * 8192.0));
    };
  } else if (name == "transpose") {
    float *x = take<float>(kN), *y = take<float>(kN);
    fill_normal<<<4096, 256>>>(x, kN, 7, 0, 1);
    t.bytes = 8.0 * kN; t.outputs = {{y, 4 * kN}};
    t.call = [=](void* f, cudaStream_t s) { return reinterpret_cast<cudaError_t (*)(P, void*, int, int, cudaStream_t)>(f)(x, y, kR, kR, s); };
    t.check = [=] { clear_error(); check_transpose<<<4096, 256>>>(x, y, kR, kR, error_cell); return error_now(); };
  } else if (name == "cumulative_sum") {
    float *x = take<float>(kN), *y = take<float>(kN);
    double* starts = take<double>(kN / 1024);
    fill_normal<<<4096, 256>>>(x, kN, 8, 0, 1);
    chunk_sums<<<kN / 1024, 256>>>(x, starts);
    std::vector<double> h(kN / 1024);
    NEED(cudaMemcpy(h.data(), starts, h.size() * 8, cudaMemcpyDefault));
    double s = 0; for (double& v : h) { const double own = v; v = s; s += own; }
    NEED(cudaMemcpy(starts, h.data(), h.size() * 8, cudaMemcpyDefault));
    t.bytes = 8.0 * kN; t.outputs = {{y, 4 * kN}};
    t.call = [=](void* f, cudaStream_t st) { return reinterpret_cast<cudaError_t (*)(P, void*, int, cudaStream_t)>(f)(x, y, int(kN), st); };
    t.check = [=] { clear_error(); check_scan<<<kN / 1024 / 64, 64>>>(x, y, starts, kN, error_cell); return error_now(); };
  } else if (name == "sobel") {
    uint8_t *x = take<uint8_t>(kN), *y = take<uint8_t>(kN);
    fill_bytes<<<4096, 256>>>(x, kN, 9);
    t.bytes = 2.0 * kN; t.outputs = {{y, kN}};
    t.call = [=](void* f, cudaStream_t s) { return reinterpret_cast<cudaError_t (*)(P, void*, int, int, cudaStream_t)>(f)(x, y, kR, kR, s); };
    t.check = [=] { clear_error(); check_sobel<<<4096, 256>>>(x, y, kR, kR, error_cell); return error_now(); };
  } else if (name == "stencil3d") {
    constexpr size_t n = size_t(512) * 512 * 512;
    float *x = take<float>(n), *y = take<float>(n);
    fill_normal<<<4096, 256>>>(x, n, 10, 0, 1);
    t.bytes = 8.0 * n; t.outputs = {{y, 4 * n}};
    t.call = [=](void* f, cudaStream_t s) { return reinterpret_cast<cudaError_t (*)(P, void*, int, int, int, float, cudaStream_t)>(f)(x, y, 512, 512, 512, 0.125f, s); };
    t.check = [=] { clear_error(); check_stencil<<<4096, 256>>>(x, y, 512, 512, 512, error_cell); return error_now(); };
  } else if (name == "histogram") {
    constexpr size_t n = size_t(1) << 28;
    uint8_t* x = take<uint8_t>(n);
    unsigned *bins = take<unsigned>(256), *right = take<unsigned>(256);
    fill_bytes<<<4096, 256>>>(x, n, 11);
    NEED(cudaMemset(right, 0, 1024));
    count_bytes<<<2048, 256>>>(x, n, right);
    t.bytes = double(n); t.outputs = {{bins, 1024}};
    t.call = [=](void* f, cudaStream_t s) { return reinterpret_cast<cudaError_t (*)(P, void*, int, cudaStream_t)>(f)(x, bins, int(n), s); };
    t.check = [=] {
      std::vector<unsigned> a(256), b(256);
      NEED(cudaMemcpy(a.data(), bins, 1024, cudaMemcpyDefault)); NEED(cudaMemcpy(b.data(), right, 1024, cudaMemcpyDefault));
      return a == b ? 0.0 : 1e9;
    };
  } else if (name.rfind("attention", 0) == 0) {
    constexpr int heads = 128, length = 2048;
    constexpr size_t n = size_t(heads) * length * 64;
    const bool causal = name == "attention_causal";
    __half *q = take<__half>(n), *k = take<__half>(n), *v = take<__half>(n), *o = take<__half>(n);
    fill_normal<<<4096, 256>>>(q, n, 14, 0, 1); fill_normal<<<4096, 256>>>(k, n, 15, 0, 1); fill_normal<<<4096, 256>>>(v, n, 16, 0, 1);
    t.bytes = 8.0 * n; t.operations = 4.0 * n * length / (causal ? 2 : 1);
    t.outputs = {{o, 2 * n}};
    t.call = [=](void* f, cudaStream_t s) { return reinterpret_cast<cudaError_t (*)(P, P, P, void*, int, int, cudaStream_t)>(f)(q, k, v, o, heads, length, s); };
    t.check = [=] { clear_error(); check_attention<<<256, 256>>>(q, k, v, o, heads, length, causal, error_cell); return error_now(); };
  } else if (name.rfind("gemm_f32_", 0) == 0 || name.rfind("gemm_tf32_", 0) == 0) {   // tf32: factors may lose 13 bits, 1e-3 each
    const bool exact = name.rfind("gemm_f32_", 0) == 0;
    int m = 0, n = 0, k = 0;
    const std::string sizes = name.substr(name.rfind('_') + 1);
    if (std::sscanf(sizes.c_str(), "%dx%dx%d", &m, &n, &k) != 3) m = n = k = std::atoi(sizes.c_str());
    t.symbol = "gemm";
    float *a = take<float>(size_t(m) * k), *b = take<float>(size_t(k) * n), *c = take<float>(size_t(m) * n);
    fill_normal<<<4096, 256>>>(a, size_t(m) * k, 12, 0, 1); fill_normal<<<4096, 256>>>(b, size_t(k) * n, 13, 0, 1);
    t.bytes = 4.0 * (double(m) * k + double(k) * n + double(m) * n); t.operations = 2.0 * m * n * k;
    t.outputs = {{c, size_t(m) * n * 4}};
    t.call = [=](void* f, cudaStream_t s) { return reinterpret_cast<cudaError_t (*)(P, P, void*, int, int, int, cudaStream_t)>(f)(a, b, c, m, k, n, s); };
    t.check = [=] { clear_error(); check_gemm<<<128, 256>>>(a, b, c, m, k, n, 1e-7, exact ? 0 : 1e-3, error_cell); return error_now(); };
  } else if (name.rfind("gemm", 0) == 0) {   // gemm_f16_4096, gemm_bf16_8192, gemm_f16_64x4096x4096 (m x n x k)
    const bool half = name.find("bf16") == std::string::npos;
    int m = 0, n = 0, k = 0;
    const std::string sizes = name.substr(name.rfind('_') + 1);
    if (std::sscanf(sizes.c_str(), "%dx%dx%d", &m, &n, &k) != 3) m = n = k = std::atoi(sizes.c_str());
    t.symbol = "gemm";
    uint16_t *a = take<uint16_t>(size_t(m) * k), *b = take<uint16_t>(size_t(k) * n), *c = take<uint16_t>(size_t(m) * n);
    if (half) { fill_normal<<<4096, 256>>>(reinterpret_cast<__half*>(a), size_t(m) * k, 12, 0, 1); fill_normal<<<4096, 256>>>(reinterpret_cast<__half*>(b), size_t(k) * n, 13, 0, 1); }
    else { fill_normal<<<4096, 256>>>(reinterpret_cast<__nv_bfloat16*>(a), size_t(m) * k, 12, 0, 1); fill_normal<<<4096, 256>>>(reinterpret_cast<__nv_bfloat16*>(b), size_t(k) * n, 13, 0, 1); }
    t.bytes = 2.0 * (double(m) * k + double(k) * n + double(m) * n); t.operations = 2.0 * m * n * k;
    t.outputs = {{c, size_t(m) * n * 2}};
    t.call = [=](void* f, cudaStream_t s) { return reinterpret_cast<cudaError_t (*)(P, P, void*, int, int, int, cudaStream_t)>(f)(a, b, c, m, k, n, s); };
    t.check = [=] {
      clear_error();
      if (half) check_gemm<<<128, 256>>>(reinterpret_cast<__half*>(a), reinterpret_cast<__half*>(b), reinterpret_cast<__half*>(c), m, k, n, 4.9e-4, 0, error_cell);
      else check_gemm<<<128, 256>>>(reinterpret_cast<__nv_bfloat16*>(a), reinterpret_cast<__nv_bfloat16*>(b), reinterpret_cast<__nv_bfloat16*>(c), m, k, n, 3.9e-3, 0, error_cell);
      return error_now();
    };
  }
  NEED(cudaGetLastError()); NEED(cudaDeviceSynchronize());
  return t;
}

using ReadClocks = cudaError_t (*)(unsigned long long*);   // of 132 blocks, 8 each: cycles in all, in products, in epilogues, until the first step; begin and end in ns
struct Variant { std::string label; void* function = nullptr; ReadClocks clocks = nullptr; std::string state; double error = -1; std::vector<float> us, dirty, row; double of_first = 0; };
double at(std::vector<float> v, double q) { if (v.empty()) return 0; std::sort(v.begin(), v.end()); return v[std::min(v.size() - 1, size_t(q * v.size()))]; }

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 30;
  std::ifstream list(argv[1]);
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> wanted;
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    std::string task, label, object;
    if (!(words >> task >> label >> object)) continue;
    if (!wanted.count(task)) order.push_back(task);
    wanted[task].push_back({label, object});
  }
  NEED(cudaSetDevice(0));
  NEED(cudaMalloc(&error_cell, 8));
  constexpr size_t kFlush = size_t(512) << 20, kCopy = size_t(2) << 30;
  uint4* flush = room<uint4>(kFlush / 16);
  NEED(cudaMemset(flush, 1, kFlush));
  cudaStream_t stream; NEED(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaEvent_t begin, end; NEED(cudaEventCreate(&begin)); NEED(cudaEventCreate(&end));
  const auto timed = [&](bool dirty, const std::function<cudaError_t()>& call) {
    if (dirty) NEED(cudaMemsetAsync(flush, 1, kFlush, stream)); else read_all<<<1056, 256, 0, stream>>>(flush, kFlush / 16, reinterpret_cast<unsigned*>(error_cell));
    NEED(cudaEventRecord(begin, stream)); NEED(call()); NEED(cudaEventRecord(end, stream));
    float ms = -1e-3f;
    if (cudaError_t e = cudaStreamSynchronize(stream); e != cudaSuccess) { std::fprintf(stderr, "%s\n", cudaGetErrorString(e)); std::exit(4); }
    NEED(cudaEventElapsedTime(&ms, begin, end));
    return ms * 1000;
  };
  // The measured copy bandwidth: 2 GiB to 2 GiB by the runtime.
  char *from = room<char>(kCopy), *to = room<char>(kCopy);
  fill_bytes<<<4096, 256>>>(reinterpret_cast<uint8_t*>(from), kCopy, 99); NEED(cudaDeviceSynchronize());
  std::vector<float> copies;
  for (int i = 0; i < 12; ++i) { const float us = timed(false, [&] { return cudaMemcpyAsync(to, from, kCopy, cudaMemcpyDeviceToDevice, stream); }); if (i > 1) copies.push_back(us); }
  const double copy_rate = 2.0 * kCopy / at(copies, 0.5) * 1e-6;
  std::printf("copy of 2 GiB: %.3f TB/s\n", copy_rate);
  std::FILE* json = std::fopen(argv[2], "w");
  std::fprintf(json, "{\"copy_tb_s\": %.4f, \"rounds\": %d, \"rows\": [\n", copy_rate, rounds);
  bool first_row = true;
  for (const std::string& name : order) {
    Task task = make_task(name);
    std::vector<Variant> variants;
    for (const auto& [label, object] : wanted[name]) {
      Variant v{label};
      void* handle = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle) v.function = dlsym(handle, task.symbol.c_str()), v.clocks = reinterpret_cast<ReadClocks>(dlsym(handle, "read_clocks"));
      if (!v.function) { const char* why = dlerror(); v.state = why ? why : "no symbol"; for (char& c : v.state) if (c == 34) c = 39; }
      variants.push_back(v);
    }
    const auto verify = [&](Variant& v) {
      for (const auto& [p, bytes] : task.outputs) NEED(cudaMemsetAsync(p, 0x5a, bytes, stream));
      cudaError_t error = task.call(v.function, stream);
      if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
      if (error != cudaSuccess) { v.state = cudaGetErrorString(error); std::fprintf(stderr, "%s %s: %s\n", name.c_str(), v.label.c_str(), v.state.c_str()); v.function = nullptr; if (cudaDeviceSynchronize() != cudaSuccess) std::exit(5); (void)cudaGetLastError(); return; }
      v.error = std::max(v.error, task.check());
      if (!(v.error <= 1)) v.state = "WRONG";
    };
    for (Variant& v : variants) if (v.function) verify(v);
    std::vector<float> same;   // a copy that moves as many bytes
    const size_t half = size_t(task.bytes / 2) / 64 * 64;
    std::vector<size_t> turns(variants.size());
    std::iota(turns.begin(), turns.end(), 0);
    std::mt19937 random(1);
    const auto loaded = std::chrono::steady_clock::now() + std::chrono::milliseconds(task.operations > 0 && rounds > 1 ? 1000 : 0);
    do {
      for (Variant& v : variants) if (v.function) timed(false, [&] { return task.call(v.function, stream); });
    } while (std::chrono::steady_clock::now() < loaded);
    for (int r = -2; r < rounds; ++r) {
      if (task.operations > 0) std::shuffle(turns.begin(), turns.end(), random);
      if (task.operations == 0) {
        const float us = timed(false, [&] { const size_t n = half / 16; copy_kernel<<<unsigned((n + 1023) / 1024), 256, 0, stream>>>(reinterpret_cast<uint4*>(from), reinterpret_cast<uint4*>(to), n); return cudaGetLastError(); });
        if (r >= 0) same.push_back(us);
      }
      for (size_t i = 0; i < variants.size(); ++i) {
        Variant& v = variants[turns[r % 2 ? variants.size() - 1 - i : i]];
        if (!v.function) continue;
        const float us = timed(false, [&] { return task.call(v.function, stream); });
        if (r >= 0) v.us.push_back(us);
        if (task.operations > 0 && r >= 0 && r % 8 == 0) v.row.push_back(timed(false, [&] { cudaError_t e = cudaSuccess; for (int call = 0; call < 10 && e == cudaSuccess; ++call) e = task.call(v.function, stream); return e; }) / 10);
        if (task.operations == 0 && r % 3 == 0) v.dirty.push_back(timed(true, [&] { return task.call(v.function, stream); }));
      }
    }
    for (Variant& v : variants) {
      std::vector<unsigned long long> read(132 * 8);
      if (!v.function || !v.clocks || v.clocks(read.data()) != cudaSuccess) continue;
      double sums[6] = {};
      for (size_t block = 0; block < 132; ++block) { for (int i = 0; i < 4; ++i) sums[i] += read[block * 8 + i] / 132.0; sums[4] += (read[block * 8 + 5] - read[block * 8 + 4]) / 132.0; }
      std::printf("  clocks of %s: %.0f cycles a block in %.1f us (%.0f MHz), %.0f in products, %.0f in epilogues, %.0f until first steps\n", v.label.c_str(), sums[0], sums[4] * 1e-3, sums[0] / sums[4] * 1e3, sums[1], sums[2], sums[3]);
    }
    for (Variant& v : variants) if (v.function) verify(v);
    for (Variant& v : variants) {
      std::vector<float> ratios;
      for (size_t r = 0; r < v.us.size() && r < variants[0].us.size(); ++r) ratios.push_back(variants[0].us[r] / v.us[r]);
      v.of_first = at(ratios, 0.5);
    }
    const double same_rate = task.operations == 0 ? task.bytes / at(same, 0.5) * 1e-6 : 0;
    std::printf("\n%s  (%.1f MB%s)  copy kernel of as many bytes: %.1f us, %.3f TB/s\n", name.c_str(), task.bytes * 1e-6, task.operations ? ", product" : "", at(same, 0.5), same_rate);
    std::sort(variants.begin(), variants.end(), [](const Variant& a, const Variant& b) { return (a.us.empty() ? 1e9 : at(a.us, 0.5)) < (b.us.empty() ? 1e9 : at(b.us, 0.5)); });
    for (const Variant& v : variants) {
      const double us = at(v.us, 0.5), rate = us > 0 ? task.bytes / us * 1e-6 : 0, tflops = us > 0 ? task.operations / us * 1e-6 : 0;
      if (task.operations > 0) std::printf("  %-52s %9.2f us  p10 %8.2f  %7.1f TFLOP/s  %.4f of the first  in a row %8.2f us  err %.3f %s\n", v.label.c_str(), us, at(v.us, 0.1), tflops, v.of_first, at(v.row, 0.5), v.error, v.state.c_str());
      else std::printf("  %-52s %9.2f us  %6.3f TB/s  %5.3f of copy  %5.3f of like copy  dirty %8.2f us  err %.3f %s\n", v.label.c_str(), us, rate, rate / copy_rate, same_rate > 0 ? rate / same_rate : 0, at(v.dirty, 0.5), v.error, v.state.c_str());
      std::fprintf(json, "%s{\"task\": \"%s\", \"variant\": \"%s\", \"us\": %.3f, \"us_p10\": %.3f, \"us_p90\": %.3f, \"us_dirty\": %.3f, \"us_row\": %.3f, \"of_first\": %.4f, \"bytes\": %.0f, \"operations\": %.0f, \"of_copy\": %.4f, \"like_copy_us\": %.3f, \"tflops\": %.2f, \"error\": %.5f, \"state\": \"%s\"}",
                   first_row ? "" : ",\n", name.c_str(), v.label.c_str(), us, at(v.us, 0.1), at(v.us, 0.9), at(v.dirty, 0.5), at(v.row, 0.5), v.of_first, task.bytes, task.operations, task.operations > 0 ? 0.0 : rate / copy_rate, at(same, 0.5), tflops, v.error, v.state.c_str());
      first_row = false;
    }
    std::fflush(stdout); std::fflush(json);
    release();
  }
  std::fprintf(json, "\n]}\n");
  std::fclose(json);
  return 0;
}
