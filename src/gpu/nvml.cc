#include "gpu/nvml.h"

#include <unistd.h>

#include <array>

#include <fmt/format.h>

#include "gpu/library.h"

namespace kforge::gpu {
namespace {

// NVML API reference: nvmlClockType_t, nvmlTemperatureSensors_t, nvmlMemoryErrorType_t, nvmlEccCounterType_t, nvmlReturn_t.
constexpr int kSmClock = 1, kMemoryClock = 2, kGpuSensor = 0, kUncorrected = 1, kVolatile = 0;
constexpr int kLibraryMismatch = 18, kDriverNotLoaded = 9;
constexpr int kGpuIsLost = 15, kResetRequired = 16;
constexpr unsigned long long kXidEvent = 0x8;   // nvmlEventTypeXidCriticalError
constexpr std::size_t kTextBytes = 96, kMostEvents = 64;

struct EventData {   // nvmlEventData_t, version 2
  void* device;
  unsigned long long type, data;   // data: the Xid
  unsigned gpu_instance, compute_instance;
};

struct PciInfo {   // nvmlPciInfo_t, version 3
  char bus_id_legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

struct ProcessInfo {   // nvmlProcessInfo_t, version 3
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};

struct Reason { std::uint64_t bit; const char* words; };
constexpr Reason kReasons[] = {{0x1, "idle"}, {0x2, "clocks set by an application"}, {kPowerCap, "power cap"}, {kHardwareSlowdown, "hardware slowdown"}, {0x10, "sync boost"},
                               {kThermalSlowdown, "thermal slowdown"}, {kHardwareThermalSlowdown, "hardware thermal slowdown"}, {kPowerBrake, "power brake"}, {0x100, "display clocks"}};

}  // namespace

std::vector<std::string> clock_reasons(std::uint64_t bits) {
  std::vector<std::string> out;
  for (const Reason& reason : kReasons)
    if (bits & reason.bit) out.emplace_back(reason.words);
  return out;
}

struct Nvml::Functions {
  int (*init)() = nullptr;
  const char* (*error_text)(int) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*cuda_version)(int*) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, void**) = nullptr;
  int (*by_uuid)(const char*, void**) = nullptr;
  int (*name)(void*, char*, unsigned) = nullptr;
  int (*clock)(void*, int, unsigned*) = nullptr;
  int (*max_clock)(void*, int, unsigned*) = nullptr;
  int (*temperature)(void*, int, unsigned*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;
  int (*power_limit)(void*, unsigned*) = nullptr;
  int (*reasons)(void*, unsigned long long*) = nullptr;
  int (*bus_width)(void*, unsigned*) = nullptr;
  int (*mig)(void*, unsigned*, unsigned*) = nullptr;
  int (*errors)(void*, int, int, unsigned long long*) = nullptr;
  int (*processes)(void*, unsigned*, ProcessInfo*) = nullptr;
  int (*remapped_rows)(void*, unsigned*, unsigned*, unsigned*, unsigned*) = nullptr;
  int (*pci)(void*, PciInfo*) = nullptr;
  int (*event_set)(void**) = nullptr;
  int (*register_events)(void*, unsigned long long, void*) = nullptr;
  int (*wait)(void*, EventData*, unsigned) = nullptr;
  int (*free_set)(void*) = nullptr;
};

struct XidEvents::Set {
  std::shared_ptr<const Nvml::Functions> f;
  void* set = nullptr;
};
XidEvents::XidEvents(std::unique_ptr<Set> set) : set_(std::move(set)) {}
XidEvents::~XidEvents() { set_->f->free_set(set_->set); }

std::vector<unsigned> XidEvents::take(unsigned wait_ms) {
  std::vector<unsigned> out;
  EventData event{};
  while (out.size() < kMostEvents && set_->f->wait(set_->set, &event, out.empty() ? wait_ms : 0) == 0)
    if (event.type == kXidEvent) out.push_back(static_cast<unsigned>(event.data));
  return out;
}

Expected<std::shared_ptr<const Nvml>> Nvml::open() {
  const auto library = open_nvml();
  if (!library) return Unexpected(library.error());
  auto f = std::make_shared<Functions>();
  const bool usable = library->resolve("nvmlInit_v2", f->init) && library->resolve("nvmlErrorString", f->error_text) &&
      library->resolve("nvmlDeviceGetCount_v2", f->count) && library->resolve("nvmlDeviceGetHandleByIndex_v2", f->by_index);
  if (!usable) return fail(ErrorCode::failed, library->path() + " is no NVML: it lacks functions", {}, "install NVIDIA's driver again");
  (void)library->resolve("nvmlSystemGetDriverVersion", f->driver_version);   // what an old driver lacks is a figure that is not told
  (void)library->resolve("nvmlSystemGetCudaDriverVersion_v2", f->cuda_version);
  (void)library->resolve("nvmlDeviceGetHandleByUUID", f->by_uuid);
  (void)library->resolve("nvmlDeviceGetName", f->name);
  (void)library->resolve("nvmlDeviceGetClockInfo", f->clock);
  (void)library->resolve("nvmlDeviceGetMaxClockInfo", f->max_clock);
  (void)library->resolve("nvmlDeviceGetTemperature", f->temperature);
  (void)library->resolve("nvmlDeviceGetPowerUsage", f->power);
  (void)library->resolve("nvmlDeviceGetEnforcedPowerLimit", f->power_limit);
  if (!library->resolve("nvmlDeviceGetCurrentClocksEventReasons", f->reasons)) (void)library->resolve("nvmlDeviceGetCurrentClocksThrottleReasons", f->reasons);
  (void)library->resolve("nvmlDeviceGetMemoryBusWidth", f->bus_width);
  (void)library->resolve("nvmlDeviceGetMigMode", f->mig);
  (void)library->resolve("nvmlDeviceGetTotalEccErrors", f->errors);
  (void)library->resolve("nvmlDeviceGetComputeRunningProcesses_v3", f->processes);
  (void)library->resolve("nvmlDeviceGetRemappedRows", f->remapped_rows);
  (void)library->resolve("nvmlDeviceGetPciInfo_v3", f->pci);
  (void)library->resolve("nvmlEventSetCreate", f->event_set);
  (void)library->resolve("nvmlDeviceRegisterEvents", f->register_events);
  (void)library->resolve("nvmlEventSetWait_v2", f->wait);
  (void)library->resolve("nvmlEventSetFree", f->free_set);
  if (const int error = f->init(); error != 0) {
    const char* hint = error == kLibraryMismatch ? "the driver was updated: restart the machine, or reload the kernel module"
                       : error == kDriverNotLoaded ? "load NVIDIA's kernel module (nvidia-smi says more)" : "nvidia-smi says more";
    return fail(ErrorCode::failed, fmt::format("NVML cannot be used: {}", f->error_text(error)), {}, hint);
  }
  return std::shared_ptr<const Nvml>(new Nvml(std::move(f)));
}

std::string Nvml::driver_version() const {
  std::array<char, kTextBytes> text{};
  return f_->driver_version && f_->driver_version(text.data(), kTextBytes - 1) == 0 ? text.data() : "";
}

int Nvml::cuda_version() const {
  int version = 0;
  return f_->cuda_version && f_->cuda_version(&version) == 0 ? version : 0;
}

unsigned Nvml::count() const {
  unsigned count = 0;
  return f_->count(&count) == 0 ? count : 0;
}

void* Nvml::device(const std::string& uuid, unsigned index) const {
  void* device = nullptr;
  if (f_->by_uuid && !uuid.empty() && f_->by_uuid(uuid.c_str(), &device) == 0) return device;
  return f_->by_index(index, &device) == 0 ? device : nullptr;
}

namespace {

double figure(int (*function)(void*, unsigned*), void* device) {
  unsigned value = 0;
  return function && device && function(device, &value) == 0 ? value : 0;
}

double figure(int (*function)(void*, int, unsigned*), void* device, int kind) {
  unsigned value = 0;
  return function && device && function(device, kind, &value) == 0 ? value : 0;
}

}  // namespace

State Nvml::state(void* device) const {
  State out;
  out.sm_mhz = figure(f_->clock, device, kSmClock);
  out.memory_mhz = figure(f_->clock, device, kMemoryClock);
  out.temperature_c = figure(f_->temperature, device, kGpuSensor);
  out.power_w = figure(f_->power, device) / 1000;
  unsigned long long reasons = 0;
  if (f_->reasons && device && f_->reasons(device, &reasons) == 0) out.clock_reasons = reasons;
  return out;
}

std::string Nvml::name(void* device) const {
  std::array<char, kTextBytes> text{};
  return f_->name && device && f_->name(device, text.data(), kTextBytes - 1) == 0 ? text.data() : "";
}

double Nvml::max_sm_mhz(void* device) const { return figure(f_->max_clock, device, kSmClock); }
double Nvml::max_memory_mhz(void* device) const { return figure(f_->max_clock, device, kMemoryClock); }
double Nvml::power_limit_w(void* device) const { return figure(f_->power_limit, device) / 1000; }
unsigned Nvml::memory_bus_bits(void* device) const { return static_cast<unsigned>(figure(f_->bus_width, device)); }

bool Nvml::mig(void* device) const {
  unsigned current = 0, pending = 0;
  return f_->mig && device && f_->mig(device, &current, &pending) == 0 && current != 0;
}

std::uint64_t Nvml::uncorrected_errors(void* device) const {
  unsigned long long count = 0;
  return f_->errors && device && f_->errors(device, kUncorrected, kVolatile, &count) == 0 ? count : 0;
}

Health Nvml::health(void* device) const {
  Health out;
  if (!device) return out;
  unsigned celsius = 0;
  const int answer = f_->temperature ? f_->temperature(device, kGpuSensor, &celsius) : 0;
  out.lost = answer == kGpuIsLost || answer == kResetRequired;
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (f_->remapped_rows && f_->remapped_rows(device, &corrected, &uncorrected, &pending, &failed) == 0) out.remap_failed = failed != 0;
  out.uncorrected_errors = uncorrected_errors(device);
  return out;
}

std::string Nvml::pci(void* device) const {
  PciInfo info{};
  if (!f_->pci || !device || f_->pci(device, &info) != 0) return {};
  info.bus_id[sizeof info.bus_id - 1] = '\0';
  return info.bus_id;
}

std::unique_ptr<XidEvents> Nvml::watch_xids(void* device) const {
  if (!device || !f_->event_set || !f_->register_events || !f_->wait || !f_->free_set) return nullptr;
  auto set = std::make_unique<XidEvents::Set>();
  set->f = f_;
  if (f_->event_set(&set->set) != 0) return nullptr;
  std::unique_ptr<XidEvents> out(new XidEvents(std::move(set)));
  return f_->register_events(device, kXidEvent, out->set_->set) == 0 ? std::move(out) : nullptr;
}

unsigned Nvml::other_processes(void* device) const {
  std::array<ProcessInfo, 64> all{};
  auto count = static_cast<unsigned>(all.size());
  if (!f_->processes || !device || f_->processes(device, &count, all.data()) != 0) return 0;
  unsigned others = 0;
  for (unsigned i = 0; i < count; ++i) others += all[i].pid != static_cast<unsigned>(::getpid());
  return others;
}

}  // namespace kforge::gpu
