// Texture and surface objects: linear memory, arrays, layers, volumes, filters, address modes.
#include <vector>

#include "self_check.h"

__global__ void fetch(cudaTextureObject_t linear, cudaTextureObject_t plane, cudaTextureObject_t smooth, cudaTextureObject_t volume, cudaTextureObject_t layers, float* out) {
  const int t = threadIdx.x;
  out[t] = tex1Dfetch<float>(linear, t * 3);
  out[32 + t] = tex2D<float>(plane, t % 8 + 0.5f, t / 8 + 0.5f);
  out[64 + t] = tex2D<float>(smooth, (t + 1.0f) / 32, 0.5f);
  out[96 + t] = tex3D<float>(volume, t % 4 + 0.5f, t / 4 % 4 + 0.5f, t / 16 + 0.5f);
  out[128 + t] = tex2DLayered<float>(layers, t % 4 + 0.5f, t / 4 % 4 + 0.5f, t / 16);
  out[160 + t] = tex2D<float>(plane, t - 8.0f, -3.0f);
}
__global__ void double_surface(cudaSurfaceObject_t surface, int width, int height) {
  const int x = threadIdx.x, y = threadIdx.y;
  if (x >= width || y >= height) return;
  float value;
  surf2Dread(&value, surface, x * static_cast<int>(sizeof(float)), y);
  surf2Dwrite(value * 2, surface, x * static_cast<int>(sizeof(float)), y);
}
__global__ void bytes(cudaTextureObject_t texture, float4* out) { out[threadIdx.x] = tex2D<float4>(texture, threadIdx.x + 0.5f, 0.5f); }

cudaTextureObject_t texture_of(const cudaResourceDesc& resource, cudaTextureFilterMode filter, cudaTextureAddressMode address, bool normalised, cudaTextureReadMode read = cudaReadModeElementType) {
  cudaTextureDesc description = {};
  description.filterMode = filter;
  description.readMode = read;
  for (auto& mode : description.addressMode) mode = address;
  description.normalizedCoords = normalised;
  cudaTextureObject_t texture = 0;
  CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  return texture;
}
cudaResourceDesc of_array(cudaArray_t array) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  return resource;
}

int main() {
  float* out = managed<float>(192);
  float* data = managed<float>(128);
  std::vector<float> host(128);
  for (int i = 0; i < 128; ++i) data[i] = host[i] = i * 1.5f;
  const cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
  cudaResourceDesc linear = {};
  linear.resType = cudaResourceTypeLinear;
  linear.res.linear = {data, floats, 128 * sizeof(float)};
  cudaArray_t plane, volume, layers;
  CHECK(cudaMallocArray(&plane, &floats, 8, 4, cudaArraySurfaceLoadStore));
  CHECK(cudaMemcpy2DToArray(plane, 0, 0, host.data(), 32, 32, 4, cudaMemcpyHostToDevice));
  CHECK(cudaMalloc3DArray(&volume, &floats, make_cudaExtent(4, 4, 2)));
  CHECK(cudaMalloc3DArray(&layers, &floats, make_cudaExtent(4, 4, 2), cudaArrayLayered));
  for (cudaArray_t array : {volume, layers}) {
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host.data(), 16, 4, 4);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(4, 4, 2);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
  }
  const auto point = texture_of(of_array(plane), cudaFilterModePoint, cudaAddressModeClamp, false);
  fetch<<<1, 32>>>(texture_of(linear, cudaFilterModePoint, cudaAddressModeClamp, false), point, texture_of(of_array(plane), cudaFilterModeLinear, cudaAddressModeWrap, true),
                   texture_of(of_array(volume), cudaFilterModePoint, cudaAddressModeClamp, false), texture_of(of_array(layers), cudaFilterModePoint, cudaAddressModeClamp, false), out);
  CHECK(cudaDeviceSynchronize());
  for (int t = 0; t < 32; ++t) {
    EXPECT_EQ(out[t], t * 3 * 1.5f);
    EXPECT_EQ(out[32 + t], t * 1.5f);
    // Row coordinate 0.5 of 4 rows lies between rows 1 and 2.
    const double x = (t + 1.0) / 32 * 8 - 0.5, low = std::floor(x), part = x - low;
    const auto row = [&](double column) { return (std::fmod(column + 8, 8) + 12) * 1.5; };
    EXPECT_NEAR(out[64 + t], row(low) * (1 - part) + row(low + 1) * part, 0.05);
    EXPECT_EQ(out[96 + t], t * 1.5f);
    EXPECT_EQ(out[128 + t], t * 1.5f);
    EXPECT_EQ(out[160 + t], std::fmin(std::fmax(t - 8.0f, 0.0f), 7.0f) * 1.5f);
  }
  cudaSurfaceObject_t surface = 0;
  const cudaResourceDesc resource = of_array(plane);
  CHECK(cudaCreateSurfaceObject(&surface, &resource));
  double_surface<<<1, dim3(8, 4)>>>(surface, 8, 4);
  float back[32];
  CHECK(cudaMemcpy2DFromArray(back, 32, plane, 0, 0, 32, 4, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) EXPECT_EQ(back[i], i * 3.0f);
  cudaArray_t colours;
  const cudaChannelFormatDesc four = cudaCreateChannelDesc<uchar4>();
  CHECK(cudaMallocArray(&colours, &four, 4, 1));
  const unsigned char pixels[16] = {0, 51, 102, 255, 255, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(cudaMemcpy2DToArray(colours, 0, 0, pixels, 16, 16, 1, cudaMemcpyHostToDevice));
  float4* seen = managed<float4>(4);
  bytes<<<1, 4>>>(texture_of(of_array(colours), cudaFilterModePoint, cudaAddressModeClamp, false, cudaReadModeNormalizedFloat), seen);
  CHECK(cudaDeviceSynchronize());
  EXPECT_NEAR(seen[0].y, 0.2, 1e-6);
  EXPECT_EQ(seen[0].w, 1);
  CHECK(cudaDestroySurfaceObject(surface));
  CHECK(cudaDestroyTextureObject(point));
  CHECK(cudaFreeArray(plane));
  return finish();
}
