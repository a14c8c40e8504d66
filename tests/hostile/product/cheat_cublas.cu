// cuBLAS in place of an own kernel, found at run time.
// kind: library calls
// check: interface | dlopen
// bench: asks for dlopen
// bench-off: imports
#include <dlfcn.h>

#include <cuda_runtime.h>

using Create = int (*)(void**);
using SetStream = int (*)(void*, cudaStream_t);
using Product = int (*)(void*, int, int, int, int, int, const float*, const float*, int, const float*, int, const float*, float*, int);

extern "C" cudaError_t product(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  static void* handle = nullptr;
  static SetStream set_stream = nullptr;
  static Product multiply = nullptr;
  if (!handle) {
    void* library = dlopen("libcublas.so.13", RTLD_NOW);
    if (!library) return cudaErrorUnknown;
    const auto create = reinterpret_cast<Create>(dlsym(library, "cublasCreate_v2"));
    set_stream = reinterpret_cast<SetStream>(dlsym(library, "cublasSetStream_v2"));
    multiply = reinterpret_cast<Product>(dlsym(library, "cublasSgemm_v2"));
    if (!create || !set_stream || !multiply || create(&handle) != 0) return cudaErrorUnknown;
  }
  const float one = 1, zero = 0;
  set_stream(handle, stream);
  return multiply(handle, 0, 0, n, m, k, &one, b, n, a, k, &zero, c, n) == 0 ? cudaSuccess : cudaErrorUnknown;
}
