// Accesses that miss an allocation by a little, which a GPU does not notice, and one that it does.
#include <cstdio>
#include <cstring>

#include <cuda_runtime.h>

constexpr int kWords = 1000;   // 4,000 bytes

__global__ void stencil(const float* in, float* out, int n) {   // reads in[-1] and in[n]
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i - 1] + in[i] + in[i + 1];
}

__global__ void vectors(const float4* in, float4* out) {   // the last warp is half outside
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 v = in[i];
  out[i] = make_float4(v.x + 1, v.y + 1, v.z + 1, v.w + 1);
}

__global__ void counters(int* count, int* seen) {
  seen[threadIdx.x] = atomicAdd(count + threadIdx.x * 500, 1);   // 0 and 500 are inside
  const unsigned long long other = atomicCAS(reinterpret_cast<unsigned long long*>(count + 2 * kWords), 0ull, 5ull);
  if (other != 0) seen[0] = -1;
  atomicAdd(reinterpret_cast<float*>(count - 4), 1.0f);
}

__global__ void far_away(int* data, long long offset) { data[offset] = 1; }

int main(int argc, char** argv) {
  float *in = nullptr, *out = nullptr;
  cudaMalloc(&in, kWords * sizeof(float));
  cudaMalloc(&out, kWords * sizeof(float));
  float host[kWords];
  for (float& value : host) value = 1;
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  cudaMemset(out, 0, sizeof host);
  if (argc > 1 && std::strcmp(argv[1], "far") == 0) {
    far_away<<<1, 1>>>(reinterpret_cast<int*>(in), 1ll << 30);
    std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
  }
  stencil<<<(kWords + 127) / 128, 128>>>(in, out, kWords);
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%g %g %g\n", host[0], host[1], host[kWords - 1]);
  vectors<<<4, 64>>>(reinterpret_cast<const float4*>(in), reinterpret_cast<float4*>(out));
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%g %g\n", host[0], host[kWords - 1]);
  cudaMemset(in, 0, sizeof host);
  cudaMemset(out, 0, sizeof host);
  counters<<<1, 4>>>(reinterpret_cast<int*>(in), reinterpret_cast<int*>(out));
  int counted[kWords], seen[4];
  cudaMemcpy(counted, in, sizeof counted, cudaMemcpyDeviceToHost);
  cudaMemcpy(seen, out, sizeof seen, cudaMemcpyDeviceToHost);
  std::printf("%d %d %d %d %d\n", counted[0], counted[500], counted[999], seen[0], seen[3]);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return 0;
}
