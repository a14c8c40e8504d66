// NVRTC makes machine code for a real target (sm_90), which the emulated GPU cannot run; it has the PTX as well. Loaded before NVIDIA's
// library by `kforge run`, this hands out the PTX where a program asks for the machine code.
#include <dlfcn.h>

#include <cstddef>

namespace {

constexpr int kInternalError = 11;   // NVRTC_ERROR_INTERNAL_ERROR

template <class Function>
Function next(const char* name) { return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name)); }

}  // namespace

#define KFORGE_EXPORTED extern "C" __attribute__((visibility("default")))

KFORGE_EXPORTED int nvrtcGetCUBINSize(void* program, std::size_t* bytes) {
  const auto size = next<int (*)(void*, std::size_t*)>("nvrtcGetPTXSize");
  return size == nullptr ? kInternalError : size(program, bytes);
}

KFORGE_EXPORTED int nvrtcGetCUBIN(void* program, char* code) {
  const auto get = next<int (*)(void*, char*)>("nvrtcGetPTX");
  return get == nullptr ? kInternalError : get(program, code);
}
