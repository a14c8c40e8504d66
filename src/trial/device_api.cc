#include "trial/device_api.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <chrono>

namespace kforge::trial {
namespace {

template <class F>
bool resolve(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

using Clock = std::chrono::steady_clock;

// Events by the host's clock, each a wait for the whole device.
int (*device_synchronise)() = nullptr;

int create_host_event(void** event) {
  *event = new Clock::time_point();
  return 0;
}

int record_host_event(void* event, void*) {
  const int error = device_synchronise();
  *static_cast<Clock::time_point*>(event) = Clock::now();
  return error;
}

int wait_for_host_event(void*) { return device_synchronise(); }

int host_elapsed(float* ms, void* from, void* to) {
  *ms = std::chrono::duration<float, std::milli>(*static_cast<Clock::time_point*>(to) - *static_cast<Clock::time_point*>(from)).count();
  return 0;
}

}  // namespace

DeviceApiPage device_api_page;

bool DeviceApiPage::seal() { return ::mprotect(this, sizeof *this, PROT_READ) == 0; }

void DeviceApi::pose_as_gpu() {
  device_synchronise = synchronise;
  create_event = create_host_event;
  record = record_host_event;
  wait_for_event = wait_for_host_event;
  elapsed = host_elapsed;
  configure = nullptr;
  describe = nullptr;
  describe_layout = nullptr;
  show_progress = nullptr;
  load = nullptr;
  begin_call = nullptr;
  mark_uninitialised = nullptr;
  end_call = nullptr;
  reset = nullptr;
}

std::string load_device_api(const std::string& path, DeviceApi& api) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) return std::string("the CUDA runtime cannot be loaded: ") + dlerror();
  const bool complete = resolve(library, "cudaMalloc", api.malloc) && resolve(library, "cudaFree", api.free) && resolve(library, "cudaMemcpy", api.copy) &&
      resolve(library, "cudaStreamCreateWithFlags", api.create_stream) && resolve(library, "cudaDeviceSynchronize", api.synchronise) &&
      resolve(library, "cudaGetLastError", api.last_error) && resolve(library, "cudaGetErrorName", api.error_name);
  if (!complete) return path + " is no CUDA runtime: it lacks functions";
  (void)(resolve(library, "cudaEventCreate", api.create_event) && resolve(library, "cudaEventRecord", api.record) && resolve(library, "cudaEventSynchronize", api.wait_for_event) &&
      resolve(library, "cudaEventElapsedTime", api.elapsed) && resolve(library, "cudaMemsetAsync", api.set) && resolve(library, "cudaMemcpyAsync", api.copy_async));
  (void)resolve(library, "cudaCtxResetPersistingL2Cache", api.reset_persisting);
  (void)(resolve(library, "cudaIpcGetMemHandle", api.share) && resolve(library, "cudaIpcOpenMemHandle", api.adopt) && resolve(library, "cudaIpcCloseMemHandle", api.leave));
  (void)resolve(library, "cudaDeviceGetLimit", api.get_limit);
  (void)resolve(library, "cudaLaunchHostFunc", api.host_function);
  (void)resolve(library, "cudaStreamGetAttribute", api.stream_attribute);
  (void)(resolve(library, "cudaStreamBeginCapture", api.begin_capture) && resolve(library, "cudaStreamEndCapture", api.end_capture) && resolve(library, "cudaGraphInstantiate", api.instantiate) &&
      resolve(library, "cudaGraphLaunch", api.launch_graph) && resolve(library, "cudaGraphExecDestroy", api.destroy_executable) && resolve(library, "cudaGraphDestroy", api.destroy_graph));
  if (!resolve(library, "kforge_cudart_end_call", api.end_call)) return {};
  (void)resolve(library, "kforge_cudart_describe_layout", api.describe_layout);
  (void)resolve(library, "kforge_cudart_show_progress", api.show_progress);
  const bool steerable = resolve(library, "kforge_cudart_configure", api.configure) && resolve(library, "kforge_cudart_describe", api.describe) &&
      resolve(library, "kforge_cudart_load", api.load) && resolve(library, "kforge_cudart_begin_call", api.begin_call) && resolve(library, "kforge_cudart_mark_uninitialised", api.mark_uninitialised) &&
      resolve(library, "kforge_cudart_reset", api.reset);
  return steerable ? std::string() : path + " lacks functions of the emulated runtime; it is of another version";
}

}  // namespace kforge::trial
