// Operators of neural networks, as KernelBench's first level poses them, each against a double reference on the host.
#include <algorithm>
#include <functional>
#include <vector>

#include "self_check.h"

constexpr int kTile = 16;

// 1: square matrix product.
__global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float left[kTile][kTile + 1], right[kTile][kTile + 1];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < k; t += kTile) {
    left[threadIdx.y][threadIdx.x] = row < m && t + threadIdx.x < k ? a[row * k + t + threadIdx.x] : 0;
    right[threadIdx.y][threadIdx.x] = t + threadIdx.y < k && column < n ? b[(t + threadIdx.y) * n + column] : 0;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
// 2: matrix times vector, a warp a row.
__global__ void matvec(const float* a, const float* x, float* y, int rows, int columns) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0;
  for (int j = lane; j < columns; j += 32) sum += a[row * columns + j] * x[j];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (lane == 0) y[row] = sum;
}
// 3: GELU.
__global__ void gelu(const float4* x, float4* y, int count4) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count4) return;
  const auto one = [](float v) { return 0.5f * v * (1 + erff(v * 0.70710678f)); };
  const float4 v = x[i];
  y[i] = {one(v.x), one(v.y), one(v.z), one(v.w)};
}
template <class Op>
__device__ float reduce_block(float value, Op op, float neutral) {
  __shared__ float parts[32];
  for (int offset = 16; offset > 0; offset /= 2) value = op(value, __shfl_xor_sync(0xffffffffu, value, offset));
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : neutral;
  if (threadIdx.x < 32) {
    for (int offset = 16; offset > 0; offset /= 2) value = op(value, __shfl_xor_sync(0xffffffffu, value, offset));
    if (threadIdx.x == 0) parts[0] = value;
  }
  __syncthreads();
  value = parts[0];
  __syncthreads();
  return value;
}
// 4: softmax, a block a row.
__global__ void softmax(const float* x, float* y, int columns) {
  const float* row = x + blockIdx.x * columns;
  float most = -INFINITY, sum = 0;
  for (int j = threadIdx.x; j < columns; j += blockDim.x) most = fmaxf(most, row[j]);
  most = reduce_block(most, [](float a, float b) { return fmaxf(a, b); }, -INFINITY);
  for (int j = threadIdx.x; j < columns; j += blockDim.x) sum += expf(row[j] - most);
  sum = reduce_block(sum, [](float a, float b) { return a + b; }, 0);
  for (int j = threadIdx.x; j < columns; j += blockDim.x) y[blockIdx.x * columns + j] = expf(row[j] - most) / sum;
}
// 5: layer norm.
__global__ void layer_norm(const float* x, const float* scale, const float* shift, float* y, int columns) {
  const float* row = x + blockIdx.x * columns;
  const auto add = [](float a, float b) { return a + b; };
  float sum = 0;
  for (int j = threadIdx.x; j < columns; j += blockDim.x) sum += row[j];
  const float mean = reduce_block(sum, add, 0) / columns;
  float squares = 0;
  for (int j = threadIdx.x; j < columns; j += blockDim.x) squares += (row[j] - mean) * (row[j] - mean);
  const float factor = rsqrtf(reduce_block(squares, add, 0) / columns + 1e-5f);
  for (int j = threadIdx.x; j < columns; j += blockDim.x) y[blockIdx.x * columns + j] = (row[j] - mean) * factor * scale[j] + shift[j];
}
// 6: sum over the middle axis.
__global__ void sum_axis(const float* x, float* y, int outer, int middle, int inner) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= outer * inner) return;
  float sum = 0;
  for (int k = 0; k < middle; ++k) sum += x[(i / inner * middle + k) * inner + i % inner];
  y[i] = sum;
}
// 7: 3x3 convolution with padding and stride.
__global__ void convolve(const float* x, const float* w, float* y, int channels, int height, int width, int outputs, int stride) {
  const int out_height = (height - 1) / stride + 1, out_width = (width - 1) / stride + 1;
  const int i = blockIdx.x * blockDim.x + threadIdx.x, o = blockIdx.y, n = blockIdx.z;
  if (i >= out_height * out_width) return;
  const int top = i / out_width * stride - 1, left = i % out_width * stride - 1;
  float sum = 0;
  for (int c = 0; c < channels; ++c)
    for (int r = 0; r < 3; ++r)
      for (int s = 0; s < 3; ++s) {
        const int h = top + r, v = left + s;
        if (h >= 0 && h < height && v >= 0 && v < width) sum += x[((n * channels + c) * height + h) * width + v] * w[((o * channels + c) * 3 + r) * 3 + s];
      }
  y[(n * outputs + o) * out_height * out_width + i] = sum;
}
// 8: 2x2 maximum.
__global__ void max_pool(const float* x, float* y, int height, int width) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, half_width = width / 2;
  if (i >= height / 2 * half_width) return;
  const float2* upper = reinterpret_cast<const float2*>(x + blockIdx.y * height * width + i / half_width * 2 * width) + i % half_width;
  const float2 a = upper[0], b = upper[width / 2];
  y[blockIdx.y * (height / 2) * half_width + i] = fmaxf(fmaxf(a.x, a.y), fmaxf(b.x, b.y));
}
// 9: cumulative sum along a row, in passes.
__global__ void cumulate(const float* x, float* y, int columns) {
  __shared__ float parts[2][256];
  float carried = 0;
  for (int base = 0; base < columns; base += 256) {
    const int j = base + threadIdx.x;
    int from = 0;
    parts[0][threadIdx.x] = j < columns ? x[blockIdx.x * columns + j] : 0;
    __syncthreads();
    for (int offset = 1; offset < 256; offset *= 2, from ^= 1) {
      const float before = threadIdx.x >= offset ? parts[from][threadIdx.x - offset] : 0;
      parts[from ^ 1][threadIdx.x] = parts[from][threadIdx.x] + before;
      __syncthreads();
    }
    if (j < columns) y[blockIdx.x * columns + j] = parts[from][threadIdx.x] + carried;
    carried += parts[from][255];
    __syncthreads();
  }
}
// 10: mean squared error.
__global__ void squared_error(const float* a, const float* b, float* out, int count) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) sum += (a[i] - b[i]) * (a[i] - b[i]);
  sum = reduce_block(sum, [](float x, float y) { return x + y; }, 0);
  if (threadIdx.x == 0) atomicAdd(out, sum / count);
}

float* random_values(int count, unsigned seed) {
  float* data = managed<float>(count);
  for (int i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = static_cast<float>(seed >> 8) / (1 << 23) - 1;
  }
  return data;
}
void compare(const char* what, const float* seen, int count, const std::function<double(int)>& expected) {
  CHECK(cudaDeviceSynchronize());
  double worst = 0, largest = 1e-3;
  for (int i = 0; i < count; ++i) {
    const double right = expected(i);
    worst = std::max(worst, std::fabs(seen[i] - right));
    largest = std::max(largest, std::fabs(right));
  }
  if (!(worst <= 1e-5 * largest)) ++g_failures, std::printf("FAIL %s: off by %g of %g\n", what, worst, largest);
}

int main() {
  const int m = 70, n = 50, k = 130;
  float *a = random_values(m * k, 1), *b = random_values(k * n, 2), *out = managed<float>(1 << 16);
  matmul<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, b, out, m, n, k);
  compare("matmul", out, m * n, [&](int i) { double s = 0; for (int t = 0; t < k; ++t) s += double(a[i / n * k + t]) * b[t * n + i % n]; return s; });
  matvec<<<(m + 3) / 4, 128>>>(a, b, out, m, k);
  compare("matvec", out, m, [&](int i) { double s = 0; for (int t = 0; t < k; ++t) s += double(a[i * k + t]) * b[t]; return s; });
  gelu<<<9, 256>>>(reinterpret_cast<float4*>(a), reinterpret_cast<float4*>(out), m * k / 4);
  compare("gelu", out, m * k / 4 * 4, [&](int i) { return 0.5 * a[i] * (1 + std::erf(a[i] / std::sqrt(2.0))); });
  softmax<<<m, 128>>>(a, out, k);
  compare("softmax", out, m * k, [&](int i) { double s = 0; for (int t = 0; t < k; ++t) s += std::exp(double(a[i / k * k + t])); return std::exp(double(a[i])) / s; });
  layer_norm<<<m, 64>>>(a, b, b + k, out, k);
  compare("layer norm", out, m * k, [&](int i) {
    double mean = 0, squares = 0;
    for (int t = 0; t < k; ++t) mean += double(a[i / k * k + t]) / k;
    for (int t = 0; t < k; ++t) squares += (a[i / k * k + t] - mean) * (a[i / k * k + t] - mean) / k;
    return (a[i] - mean) / std::sqrt(squares + 1e-5) * b[i % k] + b[k + i % k];
  });
  sum_axis<<<3, 128>>>(a, out, 7, 13, 50);
  compare("sum", out, 350, [&](int i) { double s = 0; for (int t = 0; t < 13; ++t) s += a[(i / 50 * 13 + t) * 50 + i % 50]; return s; });
  const int channels = 3, height = 18, width = 22, outputs = 4;
  float *image = random_values(2 * channels * height * width, 3), *weights = random_values(outputs * channels * 9, 4);
  for (int stride = 1; stride <= 2; ++stride) {
    const int oh = (height - 1) / stride + 1, ow = (width - 1) / stride + 1;
    convolve<<<dim3((oh * ow + 63) / 64, outputs, 2), 64>>>(image, weights, out, channels, height, width, outputs, stride);
    compare("convolution", out, 2 * outputs * oh * ow, [&](int i) {
      const int x = i % ow * stride - 1, y = i / ow % oh * stride - 1, o = i / (ow * oh) % outputs, batch = i / (ow * oh * outputs);
      double s = 0;
      for (int c = 0; c < channels; ++c)
        for (int r = 0; r < 9; ++r) {
          const int h = y + r / 3, v = x + r % 3;
          if (h >= 0 && h < height && v >= 0 && v < width) s += double(image[((batch * channels + c) * height + h) * width + v]) * weights[(o * channels + c) * 9 + r];
        }
      return s;
    });
  }
  max_pool<<<dim3(2, 2 * channels), 64>>>(image, out, height, width);
  compare("pooling", out, 2 * channels * (height / 2) * (width / 2), [&](int i) {
    const float* plane = image + i / 99 * height * width + i % 99 / 11 * 2 * width + i % 11 * 2;
    return double(std::max(std::max(plane[0], plane[1]), std::max(plane[width], plane[width + 1])));
  });
  cumulate<<<4, 256>>>(a, out, 600);
  compare("cumulative sum", out, 2400, [&](int i) { double s = 0; for (int t = i / 600 * 600; t <= i; ++t) s += a[t]; return s; });
  out[0] = 0;
  squared_error<<<5, 128>>>(a, b, out, k * n);
  compare("squared error", out, 1, [&](int) { double s = 0; for (int t = 0; t < k * n; ++t) s += (double(a[t]) - b[t]) * (double(a[t]) - b[t]) / (k * n); return s; });
  return finish();
}
