// Loads the NVRTC library named by the argument and compiles a kernel to PTX with it.
#include <dlfcn.h>
#include <nvrtc.h>

#include <cstdio>
#include <string>

template <class Function>
Function* symbol(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

int main(int, char** arguments) {
  void* library = dlopen(arguments[1], RTLD_NOW);
  if (library == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  nvrtcProgram program = nullptr;
  const char* source = "extern \"C\" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }";
  symbol<decltype(nvrtcCreateProgram)>(library, "nvrtcCreateProgram")(&program, source, "twice.cu", 0, nullptr, nullptr);
  const char* options[] = {"--gpu-architecture=sm_90"};
  const auto compiled = symbol<decltype(nvrtcCompileProgram)>(library, "nvrtcCompileProgram")(program, 1, options);
  if (compiled != NVRTC_SUCCESS) return std::fprintf(stderr, "nvrtc error %d\n", compiled), 1;
  size_t size = 0;
  symbol<decltype(nvrtcGetPTXSize)>(library, "nvrtcGetPTXSize")(program, &size);
  std::string ptx(size, '\0');
  symbol<decltype(nvrtcGetPTX)>(library, "nvrtcGetPTX")(program, ptx.data());
  return ptx.find(".entry twice") == std::string::npos;
}
