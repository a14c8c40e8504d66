// Loads NVRTC from the folder that the argument names and compiles a kernel to PTX with it. NVRTC looks for its builtins by
// name alone, so they are loaded by path first; the ones that another toolkit has put into the linker's cache must not be used.
#include <dlfcn.h>
#include <nvrtc.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

template <class Function>
Function* symbol(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

int main(int, char** arguments) {
  const std::filesystem::path folder = arguments[1];
  dlopen((folder / "libnvrtc-builtins.so.13.0").c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* library = dlopen((folder / "libnvrtc.so").c_str(), RTLD_NOW);
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
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const bool foreign = line.find("libnvrtc") != std::string::npos && line.find(folder.string()) == std::string::npos;
    if (foreign) return std::fprintf(stderr, "not of this toolkit: %s\n", line.c_str()), 1;
  }
  return ptx.find(".entry twice") == std::string::npos;
}
