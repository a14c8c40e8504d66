#include "gpu/device.h"

#include <array>

#include <fmt/format.h>

#include "gpu/library.h"
#include "gpu/nvml.h"

namespace kforge::gpu {
namespace {

// cuda.h of CUDA 13.0, CUdevice_attribute.
struct Attribute { int number; int Device::*field; };
constexpr Attribute kAttributes[] = {
    {75, &Device::compute_major}, {76, &Device::compute_minor}, {16, &Device::multiprocessors}, {37, &Device::memory_bus_bits}, {1, &Device::max_threads_per_block},
    {39, &Device::max_threads_per_sm}, {106, &Device::max_blocks_per_sm}, {12, &Device::registers_per_block}, {82, &Device::registers_per_sm},
    {8, &Device::shared_bytes_per_block}, {97, &Device::shared_bytes_per_block_optin}, {81, &Device::shared_bytes_per_sm}, {111, &Device::shared_reserved_per_block}};
constexpr int kClockRate = 13, kMemoryClockRate = 36, kL2Bytes = 38;   // kHz, kHz, bytes
constexpr int kNoDevice = 100;                                        // CUDA_ERROR_NO_DEVICE

struct DriverFunctions {
  int (*init)(unsigned) = nullptr;
  int (*version)(int*) = nullptr;
  int (*count)(int*) = nullptr;
  int (*get)(int*, int) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*uuid)(unsigned char*, int) = nullptr;
  int (*memory)(std::size_t*, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
  int (*error_text)(int, const char**) = nullptr;

  bool resolve(const Library& library) {
    (void)library.resolve("cuGetErrorString", error_text);
    return library.resolve("cuInit", init) && library.resolve("cuDriverGetVersion", version) && library.resolve("cuDeviceGetCount", count) &&
        library.resolve("cuDeviceGet", get) && library.resolve("cuDeviceGetName", name) && library.resolve("cuDeviceGetAttribute", attribute) &&
        library.resolve("cuDeviceTotalMem_v2", memory) && (library.resolve("cuDeviceGetUuid_v2", uuid) || library.resolve("cuDeviceGetUuid", uuid));
  }
  std::string why(int error) const {
    const char* text = nullptr;
    if (error_text) error_text(error, &text);
    return text ? fmt::format("{} (error {})", text, error) : fmt::format("error {}", error);
  }
};

std::string uuid_text(const std::array<unsigned char, 16>& bytes) {
  std::string out = "GPU-";
  for (std::size_t i = 0; i < bytes.size(); ++i) out += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
  return out;
}

Device read_device(const DriverFunctions& f, int handle, unsigned index, const Nvml* nvml) {
  Device out;
  out.index = index;
  std::array<char, 128> name{};
  if (f.name(name.data(), static_cast<int>(name.size()) - 1, handle) == 0) out.name = name.data();
  std::array<unsigned char, 16> uuid{};
  if (f.uuid(uuid.data(), handle) == 0) out.uuid = uuid_text(uuid);
  std::size_t bytes = 0;
  if (f.memory(&bytes, handle) == 0) out.memory_bytes = bytes;
  const auto read = [&](int number) {
    int value = 0;
    return f.attribute(&value, number, handle) == 0 ? value : 0;
  };
  for (const Attribute& row : kAttributes) out.*row.field = read(row.number);
  out.sm_mhz = read(kClockRate) / 1000.0;
  out.memory_mhz = read(kMemoryClockRate) / 1000.0;
  out.l2_bytes = static_cast<std::uint64_t>(read(kL2Bytes));
  if (nvml) {   // the driver's own clocks are gone since CUDA 13
    void* device = nvml->device(out.uuid, index);
    if (const double mhz = nvml->max_sm_mhz(device); mhz > 0) out.sm_mhz = mhz;
    if (const double mhz = nvml->max_memory_mhz(device); mhz > 0) out.memory_mhz = mhz;
  }
  return out;
}

}  // namespace

Expected<Driver> read_driver() {
  const auto library = open_driver();
  if (!library) return Unexpected(library.error());
  DriverFunctions f;
  if (!f.resolve(*library)) return fail(ErrorCode::failed, library->path() + " is no CUDA driver: it lacks functions", {}, "install NVIDIA's driver again");
  const auto nvml = Nvml::open();
  Driver out;
  out.library = library->path();
  if (nvml) out.version = (*nvml)->driver_version();
  (void)f.version(&out.cuda);
  if (const int error = f.init(0); error != 0) {
    if (error == kNoDevice) return fail(ErrorCode::missing, "the driver finds no GPU", {}, "nvidia-smi says more; CUDA_VISIBLE_DEVICES may hide it; without a GPU use --device emulator");
    return fail(ErrorCode::failed, fmt::format("the CUDA driver cannot be used: {}", f.why(error)), {}, nvml ? "nvidia-smi says more" : nvml.error().message);
  }
  int count = 0;
  if (const int error = f.count(&count); error != 0) return fail(ErrorCode::failed, fmt::format("the CUDA driver cannot count its GPUs: {}", f.why(error)));
  for (int i = 0; i < count; ++i) {
    int handle = 0;
    if (f.get(&handle, i) == 0) out.devices.push_back(read_device(f, handle, static_cast<unsigned>(i), nvml ? nvml->get() : nullptr));
  }
  if (out.devices.empty()) return fail(ErrorCode::missing, "the driver finds no GPU", {}, "nvidia-smi says more; without a GPU use --device emulator");
  return out;
}

Expected<Device> find_device(const Driver& driver, unsigned index) {
  if (index < driver.devices.size()) return driver.devices[index];
  return fail(ErrorCode::bad_input, fmt::format("there is no GPU {}: this machine has {}", index, driver.devices.size()), {}, "kforge doctor lists them");
}

std::string too_old(const Driver& driver) {
  if (driver.cuda == 0 || driver.cuda >= kNeededCuda) return {};
  return fmt::format("driver {} serves CUDA {}.{} and candidates are built for {}.{}", driver.version.empty() ? "(of unknown version)" : driver.version, driver.cuda / 1000,
                     driver.cuda % 1000 / 10, kNeededCuda / 1000, kNeededCuda % 1000 / 10);
}

}  // namespace kforge::gpu
