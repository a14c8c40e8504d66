// The exported functions of the driver API: driver.def's rows, errors, entry points, tensor maps. Programs find them in libcuda.so.1,
// which is this library under another name.
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>

#include "cudart/array_api.h"
#include "cudart/capture.h"
#include "cudart/context.h"
#include "cudart/device_api.h"
#include "cudart/driver_api.h"
#include "cudart/driver_entry.h"
#include "cudart/driver_words.h"
#include "cudart/function_api.h"
#include "cudart/graph_api.h"
#include "cudart/library_api.h"
#include "cudart/memory_api.h"
#include "cudart/pool_api.h"
#include "cudart/stream_api.h"
#include "emulator/tensor_map.h"

#define KFORGE_EXPORTED extern "C" __attribute__((visibility("default")))

using namespace kforge;
using namespace kforge::cudart;

namespace {

// CUresult has cudaError_t's numbers, but for the runtime's own errors below 100.
int result_of(int status) {
  switch (status) {
    case cudaErrorInvalidSymbol: return cudaErrorSymbolNotFound;
    case cudaErrorInvalidDeviceFunction: return cudaErrorInvalidResourceHandle;
    default: return status > cudaErrorInitializationError + 1 && status < cudaErrorNoDevice ? static_cast<int>(cudaErrorInvalidValue) : status;
  }
}

// The runtime's last error is none of the driver's business.
template <class Body>
int run_driver(const Function& function, Body&& body) noexcept {
  const int before = Context::last_error();
  const int status = run(function, std::forward<Body>(body));
  Context::last_error() = before;
  return result_of(status);
}

struct DriverError { int number; const char* name; const char* text; };
constexpr DriverError kDriverErrors[] = {
    {0, "CUDA_SUCCESS", "no error"}, {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"}, {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"}, {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"}, {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"}, {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"}, {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {215, "CUDA_ERROR_UNSUPPORTED_LIMIT", "limit is not supported on this architecture"}, {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"}, {301, "CUDA_ERROR_FILE_NOT_FOUND", "file not found"}, {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"}, {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"}, {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"}, {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {710, "CUDA_ERROR_ASSERT", "device-side assert triggered"}, {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"}, {714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"}, {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"}, {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"}, {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"}, {912, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "cluster misconfiguration"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

int find_error(int number, const char** text, const char* DriverError::* field) {
  if (text == nullptr) return cudaErrorInvalidValue;
  for (const DriverError& error : kDriverErrors) {
    if (error.number != number) continue;
    *text = error.*field;
    return cudaSuccess;
  }
  *text = nullptr;
  return cudaErrorInvalidValue;
}

}  // namespace

#define KFORGE_DRIVER(name, mode, parameters, expression)                                         \
  KFORGE_EXPORTED int name parameters {                                                           \
    static constexpr Function kFunction{#name, Mode::mode, allow_word(#name)};                    \
    return run_driver(kFunction, [&]([[maybe_unused]] Context& c) -> Status { return expression; }); \
  }
#define KFORGE_DRIVER_ON(name, mode, parameters, default_stream, expression)                      \
  KFORGE_EXPORTED int name parameters {                                                           \
    static constexpr Function kFunction{#name, Mode::mode, allow_word(#name)};                    \
    return run_driver(kFunction, [&]([[maybe_unused]] Context& c) -> Status {                     \
      [[maybe_unused]] const auto on = [](void* stream = nullptr) {                               \
        return stream != nullptr ? stream : reinterpret_cast<void*>(std::uintptr_t{default_stream}); \
      };                                                                                          \
      return expression;                                                                          \
    });                                                                                           \
  }
#define KFORGE_DRIVER_STREAM(name, mode, parameters, expression)   \
  KFORGE_DRIVER_ON(name, mode, parameters, 0, expression)          \
  KFORGE_DRIVER_ON(name##_ptsz, mode, parameters, 2, expression)   \
  KFORGE_DRIVER_ON(name##_ptds, mode, parameters, 2, expression)
#include "cudart/driver.def"
#undef KFORGE_DRIVER
#undef KFORGE_DRIVER_ON
#undef KFORGE_DRIVER_STREAM

KFORGE_EXPORTED int cuGetErrorName(int error, const char** text) { return find_error(error, text, &DriverError::name); }
KFORGE_EXPORTED int cuGetErrorString(int error, const char** text) { return find_error(error, text, &DriverError::text); }

KFORGE_EXPORTED int cuGetProcAddress_v2(const char* name, void** function, int, std::uint64_t, int* result) {
  const int found = driver_entry(name, function, result);
  return found != cudaSuccess ? found : *function == nullptr ? static_cast<int>(cudaErrorSymbolNotFound) : static_cast<int>(cudaSuccess);
}
KFORGE_EXPORTED int cuGetProcAddress(const char* name, void** function, int version, std::uint64_t flags) { return cuGetProcAddress_v2(name, function, version, flags, nullptr); }

// ---- tensor maps: described on the host, read by TMA instructions on the device

KFORGE_EXPORTED int cuTensorMapEncodeTiled(void* map, int type, std::uint32_t rank, void* address, const std::uint64_t* dims, const std::uint64_t* strides, const std::uint32_t* box,
                                           const std::uint32_t* element_strides, int interleave, int swizzle, int promotion, int fill) {
  emulator::TensorMap made;
  if (map == nullptr || dims == nullptr || box == nullptr || element_strides == nullptr || (rank > 1 && strides == nullptr)) return cudaErrorInvalidValue;
  if (!emulator::encode_tiled(made, {type, rank, reinterpret_cast<emulator::Address>(address), dims, strides, box, element_strides, interleave, swizzle, promotion, fill})) return cudaErrorInvalidValue;
  std::memcpy(map, &made, sizeof made);
  return cudaSuccess;
}

KFORGE_EXPORTED int cuTensorMapReplaceAddress(void* map, void* address) {
  constexpr std::uintptr_t kAlignment = 16;
  if (map == nullptr || reinterpret_cast<std::uintptr_t>(address) % kAlignment != 0) return cudaErrorInvalidValue;
  emulator::TensorMap known;
  std::memcpy(&known, map, sizeof known);
  if (known.magic != emulator::kTensorMapMagic) return cudaErrorInvalidValue;
  known.address = reinterpret_cast<emulator::Address>(address);
  std::memcpy(map, &known, sizeof known);
  return cudaSuccess;
}

// ---- by name

namespace kforge::cudart {
namespace {

struct Entry { const char* name; void* function; };
const Entry kEntries[] = {
#define KFORGE_DRIVER(name, mode, parameters, expression) {#name, reinterpret_cast<void*>(&::name)},
#define KFORGE_DRIVER_STREAM(name, mode, parameters, expression) {#name, reinterpret_cast<void*>(&::name)},
#include "cudart/driver.def"
#undef KFORGE_DRIVER
#undef KFORGE_DRIVER_STREAM
    {"cuGetErrorName", reinterpret_cast<void*>(&::cuGetErrorName)},
    {"cuGetErrorString", reinterpret_cast<void*>(&::cuGetErrorString)},
    {"cuGetProcAddress_v2", reinterpret_cast<void*>(&::cuGetProcAddress_v2)},
    {"cuTensorMapEncodeTiled", reinterpret_cast<void*>(&::cuTensorMapEncodeTiled)},
    {"cuTensorMapReplaceAddress", reinterpret_cast<void*>(&::cuTensorMapReplaceAddress)},
};

}  // namespace

void* find_driver_function(const char* name) {
  for (const char* suffix : {"_v4", "_v3", "_v2", ""}) {
    const std::string full = std::string(name) + suffix;
    for (const Entry& entry : kEntries)
      if (full == entry.name) return entry.function;
  }
  return find_driver_stub(name);
}

Status driver_entry(const char* name, void** function, int* result) {
  if (name == nullptr || function == nullptr) return cudaErrorInvalidValue;
  *function = find_driver_function(name);
  if (result != nullptr) *result = *function != nullptr ? 0 : 1;
  return cudaSuccess;
}

}  // namespace kforge::cudart
