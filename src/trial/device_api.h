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

  // Null with NVIDIA's runtime (cudart/control.h).
  const char* (*configure)(const char*) = nullptr;
  int (*describe)(const void*, const char*, int, std::uint64_t) = nullptr;
  int (*describe_layout)(const void*, const std::int64_t*, const std::int64_t*, std::size_t) = nullptr;   // null where it is not needed
  void (*show_progress)(std::uint64_t*) = nullptr;                         // null where it is not needed
  void (*begin_call)(void*, std::uint64_t, double, std::uint64_t) = nullptr;
  void (*mark_uninitialised)(const void*, std::size_t) = nullptr;
  const char* (*end_call)(int) = nullptr;
  void (*reset)() = nullptr;
  bool emulated() const { return end_call != nullptr; }
};

// Empty, or why the library cannot serve. It is loaded for all that is loaded later (RTLD_GLOBAL) and stays.
std::string load_device_api(const std::string& path, DeviceApi& api);

}  // namespace kforge::trial
