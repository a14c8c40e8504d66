// Launchers that keep and break the interface contract; the log of each call goes to stdout, one line each.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

__global__ void write(float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 1;
}

constexpr int kElements = 1000;
cudaStream_t given;
float *x, *y;

void run_in(cudaStream_t stream, int n = kElements) { write<<<(n + 255) / 256, 256, 0, stream>>>(y, n); }

cudaError_t right() { run_in(given); return cudaGetLastError(); }
cudaError_t default_stream() { run_in(nullptr); return cudaGetLastError(); }
cudaError_t unjoined() {
  cudaStream_t own;
  cudaEvent_t event;
  cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  cudaEventRecord(event, given);
  cudaStreamWaitEvent(own, event, 0);
  run_in(own);
  return cudaStreamDestroy(own);
}
cudaError_t joined() {
  cudaStream_t own;
  cudaEvent_t event;
  cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  cudaEventRecord(event, given);
  cudaStreamWaitEvent(own, event, 0);
  run_in(own);
  cudaEventRecord(event, own);
  cudaStreamWaitEvent(given, event, 0);
  return cudaStreamDestroy(own);
}
cudaError_t half_written() { run_in(given, kElements / 2); return cudaGetLastError(); }
cudaError_t from_host() {
  static float answer[kElements];
  return cudaMemcpyAsync(y, answer, sizeof answer, cudaMemcpyHostToDevice, given);
}
cudaError_t leak() {
  void* workspace;
  cudaMallocAsync(&workspace, 256, given);
  run_in(given);
  return cudaDeviceSynchronize();
}
cudaError_t writes_input() { write<<<1, 32, 0, given>>>(x, 32); return right(); }
cudaError_t too_many_threads() { write<<<1, 2048, 0, given>>>(y, 1); return cudaGetLastError(); }
cudaError_t use_after_free() {
  float* gone;
  cudaMalloc(&gone, 128);
  cudaFree(gone);
  write<<<1, 32, 0, given>>>(gone, 32);
  return right();
}

int main(int, char** arguments) {
  const struct { const char* name; cudaError_t (*run)(); } kLaunchers[] = {
      {"right", right}, {"default_stream", default_stream}, {"unjoined", unjoined}, {"joined", joined}, {"half_written", half_written},
      {"from_host", from_host}, {"leak", leak}, {"writes_input", writes_input}, {"too_many_threads", too_many_threads},
      {"use_after_free", use_after_free}};
  const auto configure = reinterpret_cast<const char* (*)(const char*)>(dlsym(RTLD_DEFAULT, "kforge_cudart_configure"));
  const auto describe = reinterpret_cast<int (*)(const void*, const char*, int, std::uint64_t)>(dlsym(RTLD_DEFAULT, "kforge_cudart_describe"));
  const auto begin = reinterpret_cast<void (*)(void*, std::uint64_t, double, std::uint64_t)>(dlsym(RTLD_DEFAULT, "kforge_cudart_begin_call"));
  const auto end = reinterpret_cast<const char* (*)(int, std::size_t*)>(dlsym(RTLD_DEFAULT, "kforge_cudart_end_call"));
  if (configure == nullptr || describe == nullptr || begin == nullptr || end == nullptr) return 2;
  if (const char* error = configure(R"({"sheet": "h200", "safety": true, "profile": true, "seed": 1})")) return std::puts(error), 3;
  if (cudaMalloc(&x, kElements * 4) != cudaSuccess || cudaMalloc(&y, kElements * 4) != cudaSuccess) return 4;
  cudaMemset(x, 0, kElements * 4);
  cudaStreamCreateWithFlags(&given, cudaStreamNonBlocking);
  describe(x, "x", 0, 4);
  describe(y, "y", 1, 4);
  for (const auto& launcher : kLaunchers) {
    if (std::strcmp(launcher.name, arguments[1]) != 0) continue;
    begin(given, 1000000000, 20, 0);
    const int returned = launcher.run();
    std::size_t bytes = 0;
    const char* log = end(returned, &bytes);
    std::fwrite(log, 1, bytes, stdout);
    return 0;
  }
  return 5;
}
