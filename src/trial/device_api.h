// The runtime as the worker sees it: CUDA's functions, and those that steer the emulated device where they exist.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace kforge::trial {

struct DeviceApi {
  int (*malloc)(void**, std::size_t) = nullptr;
  int (*free)(void*) = nullptr;
  int (*copy)(void*, const void*, std::size_t, int) = nullptr;       // cudaMemcpy
  int (*create_stream)(void**, unsigned) = nullptr;                  // cudaStreamCreateWithFlags
  int (*synchronise)() = nullptr;                                    // cudaDeviceSynchronize
  int (*last_error)() = nullptr;
  const char* (*error_name)(int) = nullptr;

  // What timing needs besides.
  int (*create_event)(void**) = nullptr;
  int (*record)(void*, void*) = nullptr;                             // cudaEventRecord
  int (*wait_for_event)(void*) = nullptr;                            // cudaEventSynchronize
  int (*elapsed)(float*, void*, void*) = nullptr;                    // cudaEventElapsedTime, ms
  int (*set)(void*, int, std::size_t, void*) = nullptr;              // cudaMemsetAsync
  int (*copy_async)(void*, const void*, std::size_t, int, void*) = nullptr;
  int (*reset_persisting)() = nullptr;                               // cudaCtxResetPersistingL2Cache; null where it is not known
  struct SharedHandle { char bytes[64] = {}; };                      // cudaIpcMemHandle_t
  int (*share)(SharedHandle*, void*) = nullptr;                      // cudaIpcGetMemHandle; null where it is not known
  int (*adopt)(void**, SharedHandle, unsigned) = nullptr;            // cudaIpcOpenMemHandle
  int (*leave)(void*) = nullptr;                                     // cudaIpcCloseMemHandle
  bool shares() const { return share && adopt && leave; }
  int (*get_limit)(std::size_t*, int) = nullptr;                     // cudaDeviceGetLimit; null where it is not known
  int (*stream_attribute)(void*, int, void*) = nullptr;              // cudaStreamGetAttribute; null where it is not known
  int (*host_function)(void*, void (*)(void*), void*) = nullptr;     // cudaLaunchHostFunc; null where it is not known
  bool times() const { return create_event && record && wait_for_event && elapsed && set && copy_async; }

  // CUDA graphs; null where they are not known.
  int (*begin_capture)(void*, int) = nullptr;
  int (*end_capture)(void*, void**) = nullptr;
  int (*instantiate)(void**, void*, unsigned long long) = nullptr;
  int (*launch_graph)(void*, void*) = nullptr;
  int (*destroy_executable)(void*) = nullptr;
  int (*destroy_graph)(void*) = nullptr;
  bool graphs() const { return begin_capture && end_capture && instantiate && launch_graph && destroy_executable && destroy_graph; }

  // Null with NVIDIA's runtime (cudart/control.h).
  const char* (*configure)(const char*) = nullptr;
  int (*describe)(const void*, const char*, int, std::uint64_t) = nullptr;
  int (*describe_layout)(const void*, const std::int64_t*, const std::int64_t*, std::size_t) = nullptr;   // null where it is not needed
  void (*show_progress)(std::uint64_t*) = nullptr;                         // null where it is not needed
  void (*load)(int) = nullptr;
  void (*begin_call)(void*, std::uint64_t, double, std::uint64_t) = nullptr;
  void (*mark_uninitialised)(const void*, std::size_t) = nullptr;
  const char* (*end_call)(int, std::size_t*) = nullptr;
  void (*reset)() = nullptr;
  bool emulated() const { return end_call != nullptr; }

  // As a GPU's runtime: what steers the emulated device is forgotten, and its events tell the host's time in place of the model's. Tests run the
  // way to a real GPU on the emulated one by it. REQUIRES: one such runtime in a process.
  void pose_as_gpu();
};

// The one that the worker calls. Its page is sealed before the candidate is loaded, and no pointer to it lies in memory: whoever writes over the stack or
// the heap of this process still does not change which function tells the time.
struct alignas(4096) DeviceApiPage {
  DeviceApi api;
  bool seal();                   // read-only from now on; false when the system refuses
};
extern DeviceApiPage device_api_page;
inline constexpr const DeviceApi& device_api = device_api_page.api;

// Empty, or why the library cannot serve. It is loaded for all that is loaded later (RTLD_GLOBAL) and stays.
std::string load_device_api(const std::string& path, DeviceApi& api);

}  // namespace kforge::trial
