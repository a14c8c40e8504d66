#include <cuda_runtime.h>

__device__ int clamped(int value, int count) { return min(max(value, 0), count - 1); }

__global__ void warp_one(const float* image, const int* flow, float* out, int channels, int h, int w) {
  const int y = blockIdx.x * blockDim.x + threadIdx.x, x = blockIdx.y, c = blockIdx.z;
  if (y >= h) return;
  const long long pixel = static_cast<long long>(y) * w + x;
  const int px = x * 256 + flow[pixel * 2], py = y * 256 + flow[pixel * 2 + 1];
  const float fx = (px & 255) / 256.0f, fy = (py & 255) / 256.0f;
  const int x0 = clamped(px >> 8, w), x1 = clamped((px >> 8) + 1, w), y0 = clamped(py >> 8, h), y1 = clamped((py >> 8) + 1, h);
  const float* plane = image + static_cast<long long>(c) * h * w;
  const float top = plane[y0 * w + x0] * (1.0f - fx) + plane[y0 * w + x1] * fx;
  const float bottom = plane[y1 * w + x0] * (1.0f - fx) + plane[y1 * w + x1] * fx;
  out[pixel * channels + c] = top * (1.0f - fy) + bottom * fy;
}

extern "C" cudaError_t warp_image(const float* image, const int* flow, float* out, int channels, int h, int w, cudaStream_t stream) {
  warp_one<<<dim3((h + 127) / 128, w, channels), 128, 0, stream>>>(image, flow, out, channels, h, w);
  return cudaGetLastError();
}
