#include "cudart/launch_api.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "cudart/work.h"
#include "hardware/occupancy.h"

namespace kforge::cudart {
namespace {

using emulator::KernelInfo;

struct Refusal { Status status = cudaSuccess; std::string why; };

std::uint64_t count(const Dim3& d) { return std::uint64_t{d.x} * d.y * d.z; }
std::string text(const Dim3& d) { return fmt::format("({}, {}, {})", d.x, d.y, d.z); }
evidence::Dim3 convert(const Dim3& d) { return {d.x, d.y, d.z}; }

hardware::Occupancy occupancy_of(const hardware::DataSheet& sheet, const KernelRecord& record, const LaunchShape& shape) {
  const KernelInfo& info = emulator::Device::info(record.kernel);
  return hardware::occupancy(sheet, {.registers_per_thread = record.registers,
                                     .static_shared_bytes = static_cast<int>(info.static_shared_bytes),
                                     .dynamic_shared_bytes = static_cast<int>(shape.dynamic_shared_bytes),
                                     .threads_per_block = static_cast<int>(count(shape.block))});
}

Refusal check_grid(const LaunchShape& shape) {
  constexpr unsigned kMostX = 0x7fffffff, kMostYZ = 65535;
  if (count(shape.grid) == 0) return {cudaErrorInvalidValue, fmt::format("the grid {} has no block", text(shape.grid))};
  if (shape.grid.x <= kMostX && shape.grid.y <= kMostYZ && shape.grid.z <= kMostYZ) return {};
  return {cudaErrorInvalidValue, fmt::format("the grid {} is larger than (2147483647, 65535, 65535)", text(shape.grid))};
}

Refusal check_block(const hardware::DataSheet& sheet, const KernelInfo& info, const LaunchShape& shape) {
  constexpr unsigned kMostZ = 64;
  const std::uint64_t threads = count(shape.block);
  if (threads == 0) return {cudaErrorInvalidValue, fmt::format("the block {} has no thread", text(shape.block))};
  const auto most = static_cast<unsigned>(sheet.max_threads_per_block);
  if (shape.block.x > most || shape.block.y > most || shape.block.z > kMostZ || threads > most)
    return {cudaErrorInvalidValue, fmt::format("the block {} has {} threads; at most {} ({} in z) can be launched", text(shape.block), threads, most, kMostZ)};
  if (threads <= info.max_threads_per_block) return {};
  return {cudaErrorInvalidValue, fmt::format("the block {} has {} threads; the kernel was compiled for at most {} (__launch_bounds__)",
                                             text(shape.block), threads, info.max_threads_per_block)};
}

Refusal check_shared(const Context& context, const hardware::DataSheet& sheet, const KernelRecord& record, const LaunchShape& shape) {
  const std::uint64_t limit = dynamic_shared_limit(context, record);
  if (shape.dynamic_shared_bytes <= limit) return {};
  const std::uint64_t fixed = emulator::Device::info(record.kernel).static_shared_bytes;
  const auto most = static_cast<std::uint64_t>(sheet.shared_bytes_per_block_optin);
  const bool possible = fixed + shape.dynamic_shared_bytes <= most;
  return {cudaErrorInvalidValue,
          fmt::format("the launch asks for {} bytes of dynamic shared memory beside {} static ones; {} are allowed{}", shape.dynamic_shared_bytes,
                      fixed, limit, possible ? " without cudaFuncSetAttribute(cudaFuncAttributeMaxDynamicSharedMemorySize)"
                                             : fmt::format(", and {} has no more than {} per block", sheet.name, most))};
}

Refusal check_registers(const hardware::DataSheet& sheet, const KernelRecord& record, const LaunchShape& shape) {
  const hardware::Occupancy fit = occupancy_of(sheet, record, shape);
  if (fit.blocks_per_sm != 0 || fit.limiter != hardware::Limiter::registers) return {};
  return {cudaErrorLaunchOutOfResources, fmt::format("{} threads of {} registers need more than the {} registers of a block", count(shape.block),
                                                     record.registers, sheet.max_registers_per_block)};
}

Refusal check_cooperative(const hardware::DataSheet& sheet, const KernelRecord& record, const LaunchShape& shape) {
  if (!shape.cooperative) return {};
  const auto resident = static_cast<std::uint64_t>(occupancy_of(sheet, record, shape).blocks_per_sm) * static_cast<std::uint64_t>(sheet.multiprocessors);
  if (count(shape.grid) <= resident) return {};
  return {cudaErrorCooperativeLaunchTooLarge, fmt::format("a cooperative grid of {} blocks; {} fit on {} at once", count(shape.grid), resident, sheet.name)};
}

Refusal check_cluster(const hardware::DataSheet& sheet, const LaunchShape& shape) {
  const std::uint64_t blocks = count(shape.cluster);
  if (blocks <= 1) return {};
  if (blocks > static_cast<std::uint64_t>(sheet.max_cluster_blocks))
    return {cudaErrorInvalidClusterSize, fmt::format("a cluster of {} blocks; {} allows {}", blocks, sheet.name, sheet.max_cluster_blocks)};
  if (shape.grid.x % shape.cluster.x == 0 && shape.grid.y % shape.cluster.y == 0 && shape.grid.z % shape.cluster.z == 0) return {};
  return {cudaErrorInvalidValue, fmt::format("the grid {} is no multiple of the cluster {}", text(shape.grid), text(shape.cluster))};
}

Refusal check(const Context& context, const hardware::DataSheet& sheet, const KernelRecord& record, const LaunchShape& shape) {
  const KernelInfo& info = emulator::Device::info(record.kernel);
  for (Refusal refusal : {check_grid(shape), check_block(sheet, info, shape), check_cluster(sheet, shape)})
    if (refusal.status != cudaSuccess) return refusal;
  for (Refusal refusal : {check_shared(context, sheet, record, shape), check_registers(sheet, record, shape)})
    if (refusal.status != cudaSuccess) return refusal;
  return check_cooperative(sheet, record, shape);
}

std::vector<std::byte> lay_out(const KernelInfo& info, void** arguments) {
  std::vector<std::byte> buffer(info.parameter_bytes);
  for (std::size_t i = 0; i < info.parameter_offsets.size(); ++i)
    std::memcpy(buffer.data() + info.parameter_offsets[i], arguments[i], info.parameter_sizes[i]);
  return buffer;
}

// `extra` of cuLaunchKernel: CU_LAUNCH_PARAM_BUFFER_POINTER (1), the parameters laid out; CU_LAUNCH_PARAM_BUFFER_SIZE (2), its size; 0.
std::vector<std::byte> take_buffer(const KernelInfo& info, void** extra) {
  std::vector<std::byte> buffer(info.parameter_bytes);
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
  for (; extra != nullptr && *extra != nullptr; extra += 2) {
    if (reinterpret_cast<std::uintptr_t>(extra[0]) == 1) from = static_cast<const std::byte*>(extra[1]);
    else if (reinterpret_cast<std::uintptr_t>(extra[0]) == 2) bytes = *static_cast<const std::size_t*>(extra[1]);
    else break;
  }
  if (from != nullptr) std::memcpy(buffer.data(), from, std::min(bytes, buffer.size()));
  return buffer;
}

struct Outcome { emulator::LaunchStatus status; Status error; evidence::Ending ending; };
constexpr Outcome kOutcomes[] = {
    {emulator::LaunchStatus::ok, cudaSuccess, evidence::Ending::finished},
    {emulator::LaunchStatus::illegal_address, cudaErrorIllegalAddress, evidence::Ending::trap},
    {emulator::LaunchStatus::misaligned_address, cudaErrorMisalignedAddress, evidence::Ending::trap},
    {emulator::LaunchStatus::illegal_instruction, cudaErrorIllegalInstruction, evidence::Ending::trap},
    {emulator::LaunchStatus::trap, cudaErrorLaunchFailure, evidence::Ending::trap},
    {emulator::LaunchStatus::assert_failed, cudaErrorAssert, evidence::Ending::trap},
    {emulator::LaunchStatus::stack_overflow, cudaErrorHardwareStackError, evidence::Ending::trap},
    {emulator::LaunchStatus::hang, cudaErrorLaunchTimeout, evidence::Ending::hang},
    {emulator::LaunchStatus::limit, cudaErrorLaunchTimeout, evidence::Ending::limit},
};

void take_outcome(Context& context, const KernelRecord& record, const emulator::LaunchResult& result) {
  const auto* outcome = std::find_if(std::begin(kOutcomes), std::end(kOutcomes), [&](const Outcome& row) { return row.status == result.status; });
  if (outcome == std::end(kOutcomes) || outcome->error == cudaSuccess) return;
  context.fail_later(outcome->error);
  if (context.call.ending != evidence::Ending::finished) return;
  context.call.ending = outcome->ending;
  context.call.ending_detail = fmt::format("{}: {}", record.name, result.detail);
}

// Event times must grow and keep proportion; the model proper is the judge's.
double launch_us(const hardware::DataSheet& sheet, const emulator::LaunchResult& result) {
  constexpr double kStartUs = 2.5, kThreadsPerCycleAndSm = 64;
  const double per_us = std::max(1.0, sheet.multiprocessors * kThreadsPerCycleAndSm * std::max(1.0, sheet.boost_mhz));
  return kStartUs + static_cast<double>(result.thread_instructions) / per_us;
}

struct Configuration { Dim3 grid, block; std::size_t shared; void* stream; };
std::vector<Configuration>& configurations() {
  thread_local std::vector<Configuration> stack;
  return stack;
}

}  // namespace

Status find_kernel(Context& context, const void* kernel, KernelRecord*& record) {
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  if (context.device() == nullptr) return cudaErrorInitializationError;
  record = context.registry.find_kernel(kernel);
  if (record == nullptr) return cudaErrorInvalidResourceHandle;
  const bool first = !record->image->tried;
  const Status status = context.registry.load(*record->image, *context.device());
  if (status != cudaSuccess) {
    context.violate("portability", "no-image", record->name, record->image->error);
    if (first) std::fprintf(stderr, "kforge: %s\n", record->image->error.c_str());
    return status;
  }
  return record->kernel == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
}

const ptx::Function* function_of(const KernelRecord& record) {
  return record.image->ptx == nullptr ? nullptr : record.image->ptx->find_function(record.name);
}

std::uint64_t dynamic_shared_limit(const Context& context, const KernelRecord& record) {
  if (record.dynamic_shared_limit >= 0) return static_cast<std::uint64_t>(record.dynamic_shared_limit);
  const auto allowed = static_cast<std::uint64_t>(const_cast<Context&>(context).device()->sheet().shared_bytes_per_block);
  return allowed - std::min<std::uint64_t>(allowed, emulator::Device::info(record.kernel).static_shared_bytes);
}

Status make_kernel_work(Context& context, const void* kernel, const LaunchShape& wanted, void** arguments, void** extra, KernelWork& work) {
  KernelRecord* record = nullptr;
  if (const Status status = find_kernel(context, kernel, record); status != cudaSuccess) return status;
  work.kernel = record;
  work.shape = wanted;
  const ptx::Function* function = function_of(*record);
  if (function != nullptr && count(work.shape.cluster) == 0 && function->cluster[0] != 0)
    work.shape.cluster = {function->cluster[0], std::max(1u, function->cluster[1]), std::max(1u, function->cluster[2])};
  context.note(record->name);
  if (const Refusal refusal = check(context, context.device()->sheet(), *record, work.shape); refusal.status != cudaSuccess) {
    context.violate("launch.limits", error_name(refusal.status), record->name, refusal.why);
    return refusal.status;
  }
  const KernelInfo& info = emulator::Device::info(record->kernel);
  if (arguments == nullptr && extra == nullptr && !info.parameter_sizes.empty()) return cudaErrorInvalidValue;
  work.parameters = arguments != nullptr ? lay_out(info, arguments) : take_buffer(info, extra);
  return cudaSuccess;
}

Status launch(Context& context, const void* kernel, const LaunchShape& wanted, void** arguments, void* handle, void** extra) {
  KernelWork work;
  if (const Status status = make_kernel_work(context, kernel, wanted, arguments, extra, work); status != cudaSuccess) return status;
  Stream* stream = context.find_stream(handle);
  return stream == nullptr ? cudaErrorInvalidResourceHandle : submit(context, *stream, std::move(work));
}

Status perform(Context& context, Stream& stream, const KernelWork& work) {
  if (context.lost()) return cudaSuccess;   // nothing runs after a fatal error; the host hears of it when it waits
  emulator::Device& device = *context.device();
  const KernelRecord& record = *work.kernel;
  emulator::LaunchRequest request;
  request.kernel = record.kernel;
  request.grid = convert(work.shape.grid), request.block = convert(work.shape.block);
  if (count(work.shape.cluster) != 0) request.cluster = convert(work.shape.cluster);
  request.dynamic_shared_bytes = static_cast<std::uint32_t>(work.shape.dynamic_shared_bytes);
  request.parameters = work.parameters;
  request.cooperative = work.shape.cooperative;
  request.sampled_blocks = context.call.sampled_blocks;
  StreamOperation operation;
  operation.what = fmt::format("kernel {}", record.name);
  operation.kernel = record.name;
  operation.starts_next = emulator::launches_dependents(*record.kernel);
  operation.waits = !work.shape.programmatic || emulator::waits_for_primary(*record.kernel);
  auto primaries = context.stream_races.take_primaries(stream.index);
  if (!work.shape.programmatic) primaries.clear();
  const bool footprint = StreamRaces::wanted(context) || operation.starts_next || !primaries.empty();
  if (footprint) request.footprint = &operation.footprint;
  const emulator::LaunchResult result = device.launch(request);
  context.issue(stream, operation.what, launch_us(device.sheet(), result));
  if (work.shape.has_event) context.stream_races.forget();
  else if (footprint) context.stream_races.add(context, std::move(operation), stream, std::move(primaries));
  take_outcome(context, record, result);
  context.session.add_launch(result);
  context.session.report(context, false);
  return cudaSuccess;
}

void take_attribute(const LaunchAttribute& attribute, LaunchShape& shape) {
  if (attribute.id == kAttributeCooperative) shape.cooperative = attribute.cooperative != 0;
  if (attribute.id == kAttributeCluster) shape.cluster = attribute.cluster;
  if (attribute.id == kAttributeProgrammatic) shape.programmatic = attribute.programmatic != 0;
  if (attribute.id == kAttributeProgrammaticEvent) shape.has_event = true;
}

Status launch_ex(Context& context, const LaunchConfig* config, const void* kernel, void** arguments, void* stream) {
  if (config == nullptr || (config->attrs == nullptr && config->numAttrs != 0)) return cudaErrorInvalidValue;
  LaunchShape shape{.grid = config->gridDim, .block = config->blockDim, .dynamic_shared_bytes = config->dynamicSmemBytes};
  for (unsigned i = 0; i < config->numAttrs; ++i) take_attribute(config->attrs[i], shape);
  return launch(context, kernel, shape, arguments, stream);
}

Status push_configuration(Dim3 grid, Dim3 block, std::size_t shared, void* stream) {
  configurations().push_back({grid, block, shared, stream});
  return cudaSuccess;
}

Status pop_configuration(Dim3* grid, Dim3* block, std::size_t* shared, void** stream) {
  if (configurations().empty()) return cudaErrorMissingConfiguration;
  const Configuration top = configurations().back();
  configurations().pop_back();
  *grid = top.grid, *block = top.block, *shared = top.shared, *stream = top.stream;
  return cudaSuccess;
}

}  // namespace kforge::cudart
