#include "cudart/device_api.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

namespace kforge::cudart {
namespace {

using Sheet = hardware::DataSheet;

int kilohertz(double mhz) { return static_cast<int>(mhz * 1000); }
int clamp_int(std::uint64_t value) { return static_cast<int>(std::min<std::uint64_t>(value, 0x7fffffff)); }

// Sheets give the DRAM rate, not clock and width. Programs multiply the two (twice clock times width / 8), so any pair with
// the right product serves; the width is the usual one of the memory type.
int bus_bits(const Sheet& sheet) { return sheet.memory_type.rfind("HBM", 0) == 0 ? 5120 : 256; }
int memory_kilohertz(const Sheet& sheet) { return static_cast<int>(sheet.dram_bytes_per_s * 8 / 2 / bus_bits(sheet) / 1000); }
bool has_clusters(const Sheet& sheet) { return sheet.max_cluster_blocks > 1; }

// cudaDevAttr* (driver_types.h of CUDA 13.0). Constants are those that an H200 answers; attributes that are not here are
// answered as CUDA answers unknown ones.
struct AttributeRow { int id; int (*value)(const Sheet&); };
template <int value>
int fixed(const Sheet&) { return value; }

constexpr AttributeRow kAttributes[] = {
    {1, [](const Sheet& s) { return s.max_threads_per_block; }},
    {2, [](const Sheet& s) { return s.max_threads_per_block; }},
    {3, [](const Sheet& s) { return s.max_threads_per_block; }},
    {4, fixed<64>}, {5, fixed<0x7fffffff>}, {6, fixed<65535>}, {7, fixed<65535>},
    {8, [](const Sheet& s) { return s.shared_bytes_per_block; }},
    {9, fixed<65536>}, {10, fixed<32>}, {11, fixed<0x7fffffff>},
    {12, [](const Sheet& s) { return s.max_registers_per_block; }},
    {13, [](const Sheet& s) { return kilohertz(s.boost_mhz); }},
    {14, fixed<512>}, {15, fixed<1>},
    {16, [](const Sheet& s) { return s.multiprocessors; }},
    {17, fixed<0>}, {18, [](const Sheet& s) { return s.sm() == 87 ? 1 : 0; }}, {19, fixed<1>}, {20, fixed<0>},
    {21, fixed<131072>}, {22, fixed<131072>}, {23, fixed<65536>}, {24, fixed<16384>}, {25, fixed<16384>}, {26, fixed<16384>},
    {27, fixed<32768>}, {28, fixed<32768>}, {29, fixed<2048>}, {30, fixed<512>}, {31, fixed<1>},
    {32, [](const Sheet& s) { return s.memory_type.rfind("HBM", 0) == 0 ? 1 : 0; }},
    {33, fixed<1>}, {34, fixed<0>}, {35, fixed<0>},
    {36, memory_kilohertz}, {37, bus_bits},
    {38, [](const Sheet& s) { return clamp_int(s.l2_bytes); }},
    {39, [](const Sheet& s) { return s.max_threads_per_sm; }},
    {40, fixed<3>}, {41, fixed<1>}, {42, fixed<32768>}, {43, fixed<2048>}, {45, fixed<32768>}, {46, fixed<32768>},
    {47, fixed<8192>}, {48, fixed<8192>}, {49, fixed<32768>}, {50, fixed<0>}, {51, fixed<32>}, {52, fixed<32768>},
    {53, fixed<32768>}, {54, fixed<2046>}, {55, fixed<32768>}, {56, fixed<131072>}, {57, fixed<65536>}, {58, fixed<16384>},
    {59, fixed<16384>}, {60, fixed<16384>}, {61, fixed<32768>}, {62, fixed<2048>}, {63, fixed<32768>}, {64, fixed<32768>},
    {65, fixed<2048>}, {66, fixed<32768>}, {67, fixed<32768>}, {68, fixed<2046>}, {69, fixed<268435456>}, {70, fixed<131072>},
    {71, fixed<65000>}, {72, fixed<2097120>}, {73, fixed<32768>}, {74, fixed<32768>},
    {75, [](const Sheet& s) { return s.compute_major; }}, {76, [](const Sheet& s) { return s.compute_minor; }},
    {77, fixed<32768>}, {78, fixed<1>}, {79, fixed<1>}, {80, fixed<1>},
    {81, [](const Sheet& s) { return s.shared_bytes_per_sm; }}, {82, [](const Sheet& s) { return s.registers_per_sm; }},
    {83, fixed<1>}, {84, fixed<0>}, {85, fixed<0>}, {86, fixed<0>},
    {87, [](const Sheet& s) { return s.fp64_lanes > 0 ? static_cast<int>(s.fp32_lanes / s.fp64_lanes) : 0; }},
    {88, fixed<0>}, {89, fixed<1>}, {90, fixed<1>}, {91, fixed<1>}, {95, fixed<1>},
    {97, [](const Sheet& s) { return s.shared_bytes_per_block_optin; }},
    {98, fixed<0>}, {99, fixed<1>}, {100, fixed<0>}, {101, fixed<0>},
    {106, [](const Sheet& s) { return s.max_blocks_per_sm; }},
    {108, [](const Sheet& s) { return clamp_int(s.l2_bytes * 5 / 8); }}, {109, fixed<134217728>},
    {111, [](const Sheet& s) { return s.shared_reserved_per_block; }},
    {112, fixed<0>}, {113, fixed<0>}, {114, fixed<0>}, {115, fixed<1>}, {116, fixed<0>}, {117, fixed<0>}, {118, fixed<0>}, {119, fixed<0>},
    {120, [](const Sheet& s) { return has_clusters(s) ? 1 : 0; }},
    {121, fixed<0>}, {125, fixed<0>}, {126, fixed<1>}, {130, fixed<0>}, {131, fixed<-1>}, {133, fixed<0>}, {134, fixed<0>},
    {135, fixed<0>}, {138, fixed<0>}, {139, fixed<0>}, {140, fixed<0>}, {142, fixed<0>}, {143, fixed<0>}, {144, fixed<0>}, {147, fixed<0>},
    {44, fixed<1>}, {92, fixed<0>}, {93, fixed<0>}, {94, fixed<0>}, {96, fixed<0>}, {102, fixed<1>}, {103, fixed<0>}, {104, fixed<0>}, {105, fixed<0>}, {107, [](const Sheet& s) { return compresses_memory(s) ? 1 : 0; }}, {110, fixed<0>},
    {122, fixed<0>}, {123, fixed<0>}, {124, fixed<0>}, {127, [](const Sheet& s) { return has_clusters(s) ? 1 : 0; }}, {128, fixed<0>}, {129, fixed<0>}, {132, fixed<0>}, {136, fixed<0>},
    {137, fixed<0>}, {141, fixed<0>}, {145, fixed<0>}, {146, fixed<0>},   // of the driver alone
};

// cudaLimit*: what an H200 starts with.
struct LimitRow { int id; std::size_t value; };
constexpr LimitRow kLimits[] = {{0, 1024}, {1, 8650752}, {2, 8388608}, {4, 2048}, {5, 64}, {6, 11796480}};
constexpr std::size_t kMostStackBytes = 524288;

void copy_name(char (&to)[256], const std::string& from) {
  const std::size_t bytes = std::min(from.size(), sizeof to - 1);
  std::memcpy(to, from.data(), bytes);
  to[bytes] = 0;
}

void fill_properties(const Sheet& sheet, DeviceProp& p) {
  const auto attribute = [&](int id) {
    const auto* row = std::find_if(std::begin(kAttributes), std::end(kAttributes), [&](const AttributeRow& r) { return r.id == id; });
    return row == std::end(kAttributes) ? 0 : row->value(sheet);
  };
  copy_name(p.name, sheet.product);
  std::memcpy(p.uuid, "kforge-emulated", sizeof p.uuid);
  p.totalGlobalMem = sheet.memory_bytes;
  p.sharedMemPerBlock = static_cast<std::size_t>(sheet.shared_bytes_per_block);
  p.sharedMemPerBlockOptin = static_cast<std::size_t>(sheet.shared_bytes_per_block_optin);
  p.sharedMemPerMultiprocessor = static_cast<std::size_t>(sheet.shared_bytes_per_sm);
  p.reservedSharedMemPerBlock = static_cast<std::size_t>(sheet.shared_reserved_per_block);
  p.memPitch = 0x7fffffff, p.totalConstMem = 65536, p.textureAlignment = 512, p.texturePitchAlignment = 32, p.surfaceAlignment = 512;
  struct Row { int DeviceProp::*field; int attribute; };
  constexpr Row kRows[] = {
      {&DeviceProp::regsPerBlock, 12}, {&DeviceProp::warpSize, 10}, {&DeviceProp::maxThreadsPerBlock, 1}, {&DeviceProp::major, 75},
      {&DeviceProp::minor, 76}, {&DeviceProp::multiProcessorCount, 16}, {&DeviceProp::integrated, 18},
      {&DeviceProp::canMapHostMemory, 19}, {&DeviceProp::concurrentKernels, 31}, {&DeviceProp::ECCEnabled, 32},
      {&DeviceProp::pciBusID, 33}, {&DeviceProp::pciDeviceID, 34}, {&DeviceProp::asyncEngineCount, 40},
      {&DeviceProp::unifiedAddressing, 41}, {&DeviceProp::memoryBusWidth, 37}, {&DeviceProp::l2CacheSize, 38},
      {&DeviceProp::persistingL2CacheMaxSize, 108}, {&DeviceProp::maxThreadsPerMultiProcessor, 39},
      {&DeviceProp::streamPrioritiesSupported, 78}, {&DeviceProp::globalL1CacheSupported, 79}, {&DeviceProp::localL1CacheSupported, 80},
      {&DeviceProp::regsPerMultiprocessor, 82}, {&DeviceProp::managedMemory, 83}, {&DeviceProp::concurrentManagedAccess, 89},
      {&DeviceProp::computePreemptionSupported, 90}, {&DeviceProp::canUseHostPointerForRegisteredMem, 91},
      {&DeviceProp::cooperativeLaunch, 95}, {&DeviceProp::maxBlocksPerMultiProcessor, 106},
      {&DeviceProp::accessPolicyMaxWindowSize, 109}, {&DeviceProp::clusterLaunch, 120}, {&DeviceProp::deviceNumaId, 131},
      {&DeviceProp::memoryPoolsSupported, 115}, {&DeviceProp::hostRegisterSupported, 99},
      {&DeviceProp::maxTexture1D, 21}, {&DeviceProp::maxSurface1D, 55},
  };
  for (const Row& row : kRows) p.*row.field = attribute(row.attribute);
  for (int i = 0; i < 3; ++i) p.maxThreadsDim[i] = attribute(2 + i), p.maxGridSize[i] = attribute(5 + i);
  p.maxTexture2D[0] = attribute(22), p.maxTexture2D[1] = attribute(23);
  for (int i = 0; i < 3; ++i) p.maxTexture3D[i] = attribute(24 + i);
  for (int i = 0; i < 3; ++i) p.maxTexture2DLinear[i] = attribute(70 + i);
}

}  // namespace

Status check_device(Context& context, int device) {
  if (context.device() == nullptr) return cudaErrorInitializationError;
  return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

Status get_int(int* out, int value) {
  if (out == nullptr) return cudaErrorInvalidValue;
  *out = value;
  return cudaSuccess;
}

Status get_unsigned(unsigned* out, unsigned value) {
  if (out == nullptr) return cudaErrorInvalidValue;
  *out = value;
  return cudaSuccess;
}

bool compresses_memory(const Sheet& sheet) { return sheet.compute_major >= 8; }

Status device_count(Context& context, int* count) {
  return context.device() == nullptr ? cudaErrorInitializationError : get_int(count, 1);
}
Status get_device(Context&, int* device) { return get_int(device, 0); }
Status set_device(Context& context, int device) { return check_device(context, device); }
Status version(int* value) { return get_int(value, kRuntimeVersion); }

Status device_properties(Context& context, DeviceProp* properties, int device) {
  if (properties == nullptr) return cudaErrorInvalidValue;
  if (const Status status = check_device(context, device); status != cudaSuccess) return status;
  *properties = {};
  fill_properties(context.device()->sheet(), *properties);
  return cudaSuccess;
}

Status device_attribute(Context& context, int* value, int attribute, int device) {
  if (value == nullptr) return cudaErrorInvalidValue;
  if (const Status status = check_device(context, device); status != cudaSuccess) return status;
  const auto* row = std::find_if(std::begin(kAttributes), std::end(kAttributes), [&](const AttributeRow& r) { return r.id == attribute; });
  if (row == std::end(kAttributes)) return cudaErrorInvalidValue;
  *value = row->value(context.device()->sheet());
  return cudaSuccess;
}

Status choose_device(Context& context, int* device, const DeviceProp* wanted) {
  return wanted == nullptr ? cudaErrorInvalidValue : get_device(context, device);
}

Status reset_device(Context& context) {
  const bool running = context.call.running;
  context.reset();
  context.call.running = running;
  if (running) context.violate("interface", "destroys", {}, fmt::format("{} takes the caller's memory and streams away", context.running_name()));
  return cudaSuccess;
}

constexpr int kPersistingLimit = 6;   // cudaLimitPersistingL2CacheSize

Status set_limit(Context& context, int limit, std::size_t value) {
  const auto* row = std::find_if(std::begin(kLimits), std::end(kLimits), [&](const LimitRow& r) { return r.id == limit; });
  if (row == std::end(kLimits)) return limit == 3 ? cudaErrorUnsupportedLimit : cudaErrorInvalidValue;
  if (limit == 0 && value > kMostStackBytes) return cudaErrorInvalidValue;
  context.limits[limit] = value;
  if (limit == kPersistingLimit && value > 0 && context.call.running)
    context.violate("interface", "persistence", {}, "the launcher sets a part of the L2 cache aside for persisting lines, which outlive the call");
  return cudaSuccess;
}

Status get_limit(Context& context, std::size_t* value, int limit) {
  const auto* row = std::find_if(std::begin(kLimits), std::end(kLimits), [&](const LimitRow& r) { return r.id == limit; });
  if (row == std::end(kLimits)) return limit == 3 ? cudaErrorUnsupportedLimit : cudaErrorInvalidValue;
  if (value == nullptr) return cudaErrorInvalidValue;
  const auto set = context.limits.find(limit);
  *value = set == context.limits.end() ? row->value : set->second;
  return cudaSuccess;
}

Status priority_range(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return cudaSuccess;
}

// There is one device, and none is its own peer.
Status can_access_peer(Context& context, int* can, int device, int peer) {
  for (const int id : {device, peer})
    if (const Status status = check_device(context, id); status != cudaSuccess) return status;
  return get_int(can, 0);
}

Status device_by_bus(Context& context, int* device, const char* id) {
  char own[16];
  if (device == nullptr || id == nullptr) return cudaErrorInvalidValue;
  if (const Status status = pci_bus_id(context, own, sizeof own, 0); status != cudaSuccess) return status;
  const std::string_view full = own, asked = id;
  const bool same = asked == full || asked == full.substr(full.find(':') + 1) || asked == full.substr(0, full.find('.'));
  return same ? get_int(device, 0) : cudaErrorInvalidDevice;
}

Status linear_texture_width(Context& context, std::size_t* width, const ChannelDesc* desc, int device) {
  constexpr std::size_t kMostTexels = std::size_t{1} << 28;
  if (width == nullptr || desc == nullptr) return cudaErrorInvalidValue;
  if (const Status status = check_device(context, device); status != cudaSuccess) return status;
  *width = kMostTexels;
  return cudaSuccess;
}

Status pci_bus_id(Context& context, char* text, int bytes, int device) {
  constexpr char kId[] = "0000:01:00.0";
  if (text == nullptr || bytes < static_cast<int>(sizeof kId)) return cudaErrorInvalidValue;
  if (const Status status = check_device(context, device); status != cudaSuccess) return status;
  std::memcpy(text, kId, sizeof kId);
  return cudaSuccess;
}

}  // namespace kforge::cudart
