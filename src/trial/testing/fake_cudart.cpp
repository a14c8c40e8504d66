// A runtime without a device, for tests of the worker: device memory is host memory, and every kernel that is launched with
// parameters (const float* x, float* y, int n, ...) writes y[i] = 2 x[i]. Behaves like the emulated runtime towards the worker.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "cudart/control.h"

namespace {
struct Dim { unsigned x, y, z; };
Dim grid, block;
std::size_t shared_bytes;
void* stream;
std::uint64_t launches, sampled;
std::uint64_t* progress;
std::string log_text;
double busy_until;
int sticky;

double clock_now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}
}  // namespace

extern "C" {
int cudaMalloc(void** p, std::size_t n) { *p = std::malloc(n + 1); return *p ? 0 : 2; }
int cudaFree(void* p) { std::free(p); return 0; }
int cudaMemcpy(void* to, const void* from, std::size_t n, int) { std::memcpy(to, from, n); return 0; }
int cudaStreamCreateWithFlags(void** s, unsigned) { static int one; *s = &one; return 0; }
int cudaDeviceSynchronize() {
  while (clock_now() < busy_until) {}
  return sticky;
}
int cudaGetLastError() { return 0; }
const char* cudaGetErrorName(int) { return "cudaErrorFake"; }
void** __cudaRegisterFatBinary(void*) { static void* handle; return &handle; }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*) {}
unsigned __cudaPushCallConfiguration(Dim g, Dim b, std::size_t s, void* t) { grid = g; block = b; shared_bytes = s; stream = t; return 0; }
int __cudaPopCallConfiguration(Dim* g, Dim* b, std::size_t* s, void** t) { *g = grid; *b = block; *s = shared_bytes; *t = stream; return 0; }
int __cudaGetKernel(void** kernel, const void* entry) { *kernel = const_cast<void*>(entry); return 0; }
int __cudaLaunchKernel(void*, Dim, Dim, void** arguments, std::size_t, void*) {
  const float* x = *static_cast<const float**>(arguments[0]);
  float* y = *static_cast<float**>(arguments[1]);
  const int n = *static_cast<int*>(arguments[2]);
  for (int i = 0; i < n; ++i) y[i] = 2 * x[i];
  ++launches;
  return 0;
}

const char* kforge_cudart_configure(const char*) { return nullptr; }
int kforge_cudart_describe(const void*, const char*, int, std::uint64_t) { return 1; }
void kforge_cudart_show_progress(std::uint64_t* counter) { progress = counter; }
void kforge_fake_advance(std::uint64_t thread_instructions) { __atomic_fetch_add(progress, thread_instructions, __ATOMIC_RELAXED); }
// A kernel that runs on for so long, at most; an error that sticks to the context.
void kforge_fake_hang(double seconds) { busy_until = clock_now() + seconds; }
void kforge_fake_fail(int error) { sticky = error; }
void kforge_cudart_load(int) {}
void kforge_cudart_begin_call(void*, std::uint64_t, double, std::uint64_t blocks) { launches = 0; sampled = blocks; }
void kforge_cudart_mark_uninitialised(const void*, std::size_t) {}
const char* kforge_cudart_end_call(int returned, std::size_t* bytes) {
  log_text = "{\"fake\": true, \"returned\": " + std::to_string(returned) + ", \"launches\": " + std::to_string(launches) + "}";
  *bytes = log_text.size();
  return log_text.data();
}
void kforge_cudart_reset() {}
}
