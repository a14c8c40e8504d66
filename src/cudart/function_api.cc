#include "cudart/function_api.h"

#include <algorithm>

#include "cudart/launch_api.h"
#include "emulator/code.h"
#include "hardware/occupancy.h"

namespace kforge::cudart {
namespace {

constexpr int kMaxDynamicShared = 8, kCarveout = 9, kLastAttribute = 15;   // cudaFuncAttribute*

// Threads that the registers of a block allow, in whole warps.
int most_threads(const hardware::DataSheet& sheet, const KernelRecord& record) {
  constexpr int kWarp = 32;
  int threads = std::min<int>(sheet.max_threads_per_block, static_cast<int>(emulator::Device::info(record.kernel).max_threads_per_block));
  const auto fits = [&](int t) {
    return hardware::occupancy(sheet, {.registers_per_thread = record.registers, .static_shared_bytes = 0, .dynamic_shared_bytes = 0,
                                       .threads_per_block = t}).blocks_per_sm > 0;
  };
  while (threads > kWarp && !fits(threads)) threads -= kWarp;
  return threads;
}

// Machine code says how many registers a kernel has. Where there is PTX only it is an estimate: the 32-bit values that live at once and some for addresses, in
// eights, as few as let the largest block that the kernel allows be launched. No launch is refused because of it.
int registers_of(const hardware::DataSheet& sheet, const KernelRecord& record) {
  constexpr int kFew = 16, kMost = 255, kForAddresses = 6, kStep = 8;
  if (record.registers != 0) return record.registers;
  std::uint32_t slots = 0;
  for (const emulator::FunctionCode& function : record.kernel->functions) slots = std::max(slots, (function.frame_bytes - emulator::kFirstSlot) / emulator::kNarrowSlot);
  const int threads = std::max<int>(1, static_cast<int>(emulator::Device::info(record.kernel).max_threads_per_block));
  const int needed = (static_cast<int>(std::min<std::uint32_t>(slots, kMost)) + kForAddresses + kStep - 1) / kStep * kStep;
  return std::clamp(needed, kFew, std::min(kMost, std::max(kFew, sheet.registers_per_sm / threads / kStep * kStep)));
}

int blocks_per_sm(const hardware::DataSheet& sheet, const KernelRecord& record, int block_size, std::size_t dynamic_shared) {
  constexpr std::size_t kFar = 1u << 30;
  return hardware::occupancy(sheet, {.registers_per_thread = registers_of(sheet, record),
                                     .static_shared_bytes = static_cast<int>(emulator::Device::info(record.kernel).static_shared_bytes),
                                     .dynamic_shared_bytes = static_cast<int>(std::min(dynamic_shared, kFar)),
                                     .threads_per_block = block_size}).blocks_per_sm;
}

}  // namespace

Status function_attributes(Context& context, FuncAttributes* attributes, const void* kernel) {
  if (attributes == nullptr) return cudaErrorInvalidValue;
  KernelRecord* record = nullptr;
  if (const Status status = find_kernel(context, kernel, record); status != cudaSuccess) return status;
  const hardware::DataSheet& sheet = context.device()->sheet();
  const emulator::KernelInfo& info = emulator::Device::info(record->kernel);
  const ptx::Function* function = function_of(*record);
  *attributes = {};
  attributes->sharedSizeBytes = info.static_shared_bytes;
  attributes->localSizeBytes = info.local_bytes;
  attributes->maxThreadsPerBlock = most_threads(sheet, *record);
  attributes->numRegs = registers_of(sheet, *record);
  attributes->ptxVersion = static_cast<int>(record->image->ptx->target);
  attributes->binaryVersion = sheet.sm();
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(dynamic_shared_limit(context, *record));
  attributes->preferredShmemCarveout = -1;
  if (function != nullptr) {
    attributes->clusterDimMustBeSet = function->explicit_cluster && function->cluster[0] == 0;
    attributes->requiredClusterWidth = static_cast<int>(function->cluster[0]);
    attributes->requiredClusterHeight = static_cast<int>(function->cluster[1]);
    attributes->requiredClusterDepth = static_cast<int>(function->cluster[2]);
  }
  return cudaSuccess;
}

Status set_function_attribute(Context& context, const void* kernel, int attribute, int value) {
  KernelRecord* record = nullptr;
  if (const Status status = find_kernel(context, kernel, record); status != cudaSuccess) return status;
  if (attribute < kMaxDynamicShared || attribute > kLastAttribute) return cudaErrorInvalidValue;
  if (attribute == kCarveout) return value < -1 || value > 100 ? cudaErrorInvalidValue : cudaSuccess;
  if (attribute != kMaxDynamicShared) return cudaSuccess;
  const int fixed = static_cast<int>(emulator::Device::info(record->kernel).static_shared_bytes);
  if (value < 0 || value > context.device()->sheet().shared_bytes_per_block_optin - fixed) return cudaErrorInvalidValue;
  record->dynamic_shared_limit = value;
  return cudaSuccess;
}

Status check_function(Context& context, const void* kernel) {
  KernelRecord* record = nullptr;
  return find_kernel(context, kernel, record);
}

Status function_name(Context& context, const char** name, const void* kernel) {
  if (name == nullptr) return cudaErrorInvalidValue;
  KernelRecord* record = nullptr;
  const Status status = find_kernel(context, kernel, record);
  if (status == cudaSuccess) *name = record->name.c_str();
  return status;
}

Status parameter_info(Context& context, const void* kernel, std::size_t index, std::size_t* offset, std::size_t* size) {
  KernelRecord* record = nullptr;
  if (const Status status = find_kernel(context, kernel, record); status != cudaSuccess) return status;
  const emulator::KernelInfo& info = emulator::Device::info(record->kernel);
  if (index >= info.parameter_offsets.size() || offset == nullptr) return cudaErrorInvalidValue;
  *offset = info.parameter_offsets[index];
  if (size != nullptr) *size = info.parameter_sizes[index];
  return cudaSuccess;
}

Status max_active_blocks(Context& context, int* blocks, const void* kernel, int block_size, std::size_t dynamic_shared, unsigned flags) {
  if (blocks == nullptr || block_size <= 0 || flags > 1) return cudaErrorInvalidValue;
  KernelRecord* record = nullptr;
  if (const Status status = find_kernel(context, kernel, record); status != cudaSuccess) return status;
  *blocks = blocks_per_sm(context.device()->sheet(), *record, block_size, dynamic_shared);
  return cudaSuccess;
}

// The largest request with which `blocks` still fit, found by bisection: occupancy falls as shared memory grows.
Status available_dynamic_shared(Context& context, std::size_t* bytes, const void* kernel, int blocks, int block_size) {
  if (bytes == nullptr || blocks <= 0 || block_size <= 0) return cudaErrorInvalidValue;
  KernelRecord* record = nullptr;
  if (const Status status = find_kernel(context, kernel, record); status != cudaSuccess) return status;
  const hardware::DataSheet& sheet = context.device()->sheet();
  const auto fits = [&](std::size_t shared) { return blocks_per_sm(sheet, *record, block_size, shared) >= blocks; };
  if (!fits(0)) return cudaErrorInvalidValue;
  std::size_t low = 0, high = static_cast<std::size_t>(sheet.shared_bytes_per_block_optin) + 1;
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    (fits(middle) ? low : high) = middle;
  }
  *bytes = low;
  return cudaSuccess;
}

Status max_active_clusters(Context& context, int* clusters, const void* kernel, const LaunchConfig* config) {
  if (clusters == nullptr || config == nullptr) return cudaErrorInvalidValue;
  KernelRecord* record = nullptr;
  if (const Status status = find_kernel(context, kernel, record); status != cudaSuccess) return status;
  const hardware::DataSheet& sheet = context.device()->sheet();
  std::uint64_t size = 1;
  for (unsigned i = 0; config->attrs != nullptr && i < config->numAttrs; ++i)
    if (config->attrs[i].id == kAttributeCluster)
      size = std::uint64_t{config->attrs[i].cluster.x} * config->attrs[i].cluster.y * config->attrs[i].cluster.z;
  if (size == 0 || size > static_cast<std::uint64_t>(sheet.max_cluster_blocks)) return cudaErrorInvalidClusterSize;
  const std::uint64_t threads = std::uint64_t{config->blockDim.x} * config->blockDim.y * config->blockDim.z;
  if (threads == 0 || threads > static_cast<std::uint64_t>(sheet.max_threads_per_block)) return cudaErrorInvalidValue;
  const int resident = blocks_per_sm(sheet, *record, static_cast<int>(threads), config->dynamicSmemBytes) * sheet.multiprocessors;
  *clusters = static_cast<int>(static_cast<std::uint64_t>(resident) / size);
  return cudaSuccess;
}

// The largest that every GPU with clusters has, eight blocks.
Status max_potential_cluster(Context& context, int* size, const void* kernel, const LaunchConfig* config) {
  constexpr int kPortable = 8;
  if (size == nullptr || config == nullptr) return cudaErrorInvalidValue;
  KernelRecord* record = nullptr;
  if (const Status status = find_kernel(context, kernel, record); status != cudaSuccess) return status;
  const hardware::DataSheet& sheet = context.device()->sheet();
  const std::uint64_t threads = std::uint64_t{config->blockDim.x} * config->blockDim.y * config->blockDim.z;
  if (threads == 0 || threads > static_cast<std::uint64_t>(sheet.max_threads_per_block)) return cudaErrorInvalidValue;
  if (blocks_per_sm(sheet, *record, static_cast<int>(threads), config->dynamicSmemBytes) == 0) return cudaErrorInvalidValue;
  *size = std::max(1, std::min(sheet.max_cluster_blocks, kPortable));
  return cudaSuccess;
}

Status get_kernel(Context& context, void** kernel, const void* host) {
  if (kernel == nullptr) return cudaErrorInvalidValue;
  KernelRecord* record = context.registry.find_kernel(host);
  if (record == nullptr) return host == nullptr ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidResourceHandle;
  *kernel = record;
  return cudaSuccess;
}

}  // namespace kforge::cudart
