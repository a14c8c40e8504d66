#include "trial/device_api.h"

#include <dlfcn.h>

namespace kforge::trial {
namespace {

template <class F>
bool resolve(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::string load_device_api(const std::string& path, DeviceApi& api) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) return std::string("the CUDA runtime cannot be loaded: ") + dlerror();
  const bool complete = resolve(library, "cudaMalloc", api.malloc) && resolve(library, "cudaFree", api.free) && resolve(library, "cudaMemcpy", api.copy) &&
      resolve(library, "cudaStreamCreateWithFlags", api.create_stream) && resolve(library, "cudaDeviceSynchronize", api.synchronise) &&
      resolve(library, "cudaGetLastError", api.last_error) && resolve(library, "cudaGetErrorName", api.error_name);
  if (!complete) return path + " is no CUDA runtime: it lacks functions";
  if (!resolve(library, "kforge_cudart_end_call", api.end_call)) return {};
  (void)resolve(library, "kforge_cudart_describe_layout", api.describe_layout);
  (void)resolve(library, "kforge_cudart_show_progress", api.show_progress);
  const bool steerable = resolve(library, "kforge_cudart_configure", api.configure) && resolve(library, "kforge_cudart_describe", api.describe) &&
      resolve(library, "kforge_cudart_begin_call", api.begin_call) && resolve(library, "kforge_cudart_mark_uninitialised", api.mark_uninitialised) &&
      resolve(library, "kforge_cudart_reset", api.reset);
  return steerable ? std::string() : path + " lacks functions of the emulated runtime; it is of another version";
}

}  // namespace kforge::trial
