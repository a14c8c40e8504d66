#include "emulator/device.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "emulator/footprint.h"
#include "emulator/module_image.h"
#include "emulator/profile.h"
#include "emulator/schedule.h"
#include "emulator/segment_code.h"

namespace kforge::emulator {
namespace {

constexpr std::size_t kMaxOutput = 64 * 1024;   // of printf, kept in the log

Variant variant_of(const Checks& checks) {
  if (checks.safety) return checks.profile ? Variant::all : Variant::safety;
  return checks.profile ? Variant::profile : Variant::plain;
}

// Cores that this process may use.
std::uint32_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<std::uint32_t>(CPU_COUNT(&set)) : 1;
}

// What the race detector has to reckon with.
RaceMode race_mode(const Kernel& kernel) {
  RaceMode mode;
  bool strong_loads = false, strong_stores = false;   // flags, perhaps
  for (const Op& op : kernel.code) {
    if (op.source->form >= ptx::instruction_table().size()) continue;
    const ptx::Exec exec = ptx::instruction_table()[op.source->form].exec;
    const ptx::Order order = op.source->mods.order;
    if (exec == ptx::Exec::membar || exec == ptx::Exec::fence) mode.fences = true;
    if (order == ptx::Order::acquire || order == ptx::Order::release || order == ptx::Order::acq_rel || order == ptx::Order::sc) mode.fences = true;
    if (exec == ptx::Exec::cp_async_bulk || exec == ptx::Exec::wgmma) mode.async_proxy = mode.sync_objects = mode.fences = true;
    const bool strong = order == ptx::Order::relaxed || order == ptx::Order::volatile_;
    const bool atomic = exec == ptx::Exec::atom || exec == ptx::Exec::red;
    if ((strong || atomic) && op.source->mods.scope == ptx::Scope::cta && op.source->mods.space != ptx::Space::shared) mode.block_scopes = true;
    if (strong && (op.source->mods.space == ptx::Space::global || op.source->mods.space == ptx::Space::generic)) {
      strong_loads |= exec == ptx::Exec::ld;
      strong_stores |= exec == ptx::Exec::st;
    }
    if (exec == ptx::Exec::mbarrier || exec == ptx::Exec::mbarrier_update) mode.sync_objects = mode.fences = true;
    if (exec == ptx::Exec::barrier_cluster) mode.named_barriers = true;
    if (exec == ptx::Exec::mapa) mode.sync_objects = true;
    const auto is_constant = [](const ptx::Operand& operand, std::uint64_t value) {
      return operand.kind == ptx::Operand::Kind::immediate && (operand.bits & 0xffffffffu) == value;
    };
    if (exec == ptx::Exec::bar_sync) mode.named_barriers |= op.source->operands.size() > 1 || !is_constant(op.source->operands[0], 0);
    if (exec == ptx::Exec::bar_arrive) mode.named_barriers = true;
    if (exec == ptx::Exec::bar_red) mode.named_barriers |= op.source->operands.size() > 3 || !is_constant(op.source->operands[1], 0);
    if (exec == ptx::Exec::bar_warp_sync) mode.partial_warp_syncs |= !is_constant(op.source->operands[0], 0xffffffffu);
  }
  mode.relaxed_flags = strong_loads && strong_stores;
  return mode;
}

// Behind the kernel's own shared memory: what cooperative groups synchronise tiles of several warps with (PTX manual,
// "%reserved_smem_offset_begin"; 1 KB on sm_80 and later). 0: the kernel does not ask for it.
constexpr std::uint32_t kReservedSharedBytes = 1024;
std::uint32_t reserved_shared_offset(const Kernel& kernel, std::uint32_t shared_bytes) {
  const auto asks = [](const ptx::Operand& operand) { return operand.kind == ptx::Operand::Kind::special && operand.special == ptx::SpecialRegister::reserved_smem_offset_begin; };
  for (const Op& op : kernel.code)
    if (std::any_of(op.source->operands.begin(), op.source->operands.end(), asks)) return std::max(16u, (shared_bytes + 15) / 16 * 16);
  return 0;
}

}  // namespace

struct Device::Impl {
  hardware::DataSheet sheet;
  Memory memory;
  TextureTable textures;
  std::vector<std::unique_ptr<LoadedModule>> modules;
  Checks checks;
  Limits limits;
  std::uint64_t seed = 0;
  std::uint32_t workers = 0;
  std::uint64_t instructions_used = 0;
  double seconds_used = 0;
  ViolationLog violations;
  RaceDetector races;
  GlobalShadow global_shadow;
  OriginTable origins;
  evidence::LaunchLog log;
  std::function<void(std::string_view)> sink;
  std::uint64_t grid_id = 0;
  std::map<std::uint32_t, Allocation*> parameter_buffers;   // by size, used again by each launch
  Allocation* grid_workspace = nullptr;                     // of cooperative launches: what %envreg1 and 2 point to

  void print(std::string_view text) {
    if (log.output.size() < kMaxOutput) log.output.append(text.substr(0, kMaxOutput - log.output.size()));
    if (sink) sink(text);
  }

  void fill_uniforms(Launch& launch);
  void add_grid_workspace(Launch& launch);
  void run(Launch& launch, const LaunchRequest& request);
  void add_races(const Launch& launch);
};

Device::Device(hardware::DataSheet sheet) : impl_(std::make_unique<Impl>()) {
  impl_->sheet = std::move(sheet);
  if (impl_->sheet.memory_bytes != 0) impl_->memory.set_capacity(impl_->sheet.memory_bytes);
}
Device::~Device() = default;

const hardware::DataSheet& Device::sheet() const { return impl_->sheet; }
Memory& Device::memory() { return impl_->memory; }
TextureTable& Device::textures() { return impl_->textures; }
GlobalShadow& Device::global_shadow() { return impl_->global_shadow; }

Expected<LoadedModule*> Device::load(std::shared_ptr<const ptx::Module> module, bool shortcuts) {
  auto loaded = std::make_unique<LoadedModule>();
  loaded->shortcuts = shortcuts;
  loaded->module = std::move(module);
  if (auto created = create_variables(*loaded, impl_->memory); !created) return Unexpected(created.error());
  for (const ptx::Function& function : loaded->module->functions) {
    if (!function.is_entry) continue;
    auto kernel = decode(*loaded, function);
    if (!kernel) return Unexpected(kernel.error());
    loaded->kernels.push_back(std::move(*kernel));
  }
  return impl_->modules.emplace_back(std::move(loaded)).get();
}

void Device::unload(LoadedModule* module) {
  for (Allocation* variable : module->variables)
    if (variable != nullptr) impl_->memory.free(variable->base);
  impl_->origins.begin_kernel(nullptr);
  std::erase_if(impl_->modules, [&](const std::unique_ptr<LoadedModule>& m) { return m.get() == module; });
}

const Kernel* Device::find_kernel(const LoadedModule* module, std::string_view name) const {
  for (const auto& kernel : module->kernels)
    if (kernel->info.name == name) return kernel.get();
  return nullptr;
}

Allocation* Device::find_variable(LoadedModule* module, std::string_view name) {
  for (std::size_t i = 0; i < module->variables.size(); ++i)
    if (module->variables[i] != nullptr && module->module->variables[i].name == name) return module->variables[i];
  return nullptr;
}

const KernelInfo& Device::info(const Kernel* kernel) { return kernel->info; }

void Device::set_checks(Checks checks) { impl_->checks = checks; }
void Device::set_limits(Limits limits) {
  impl_->limits = limits;
  impl_->instructions_used = 0;
  impl_->seconds_used = 0;
}
void Device::set_seed(std::uint64_t seed) { impl_->seed = seed; }
void Device::set_workers(std::uint32_t workers) { impl_->workers = workers; }
void Device::on_print(std::function<void(std::string_view)> sink) { impl_->sink = std::move(sink); }

void Device::Impl::fill_uniforms(Launch& launch) {
  using S = ptx::SpecialRegister;
  launch.uniforms.assign(bank_bytes(Bank::launch), std::byte{0});
  const auto each = [&](S special, auto value_of) {
    const SpecialPlace to = place_of(special);
    for (std::uint32_t i = 0; i < 32; ++i) {
      if (to.wide) put<std::uint64_t>(launch.uniforms.data() + to.offset, i, value_of(i));
      else put<std::uint32_t>(launch.uniforms.data() + to.offset, i, static_cast<std::uint32_t>(value_of(i)));
    }
  };
  const auto all = [&](S special, std::uint64_t value) { each(special, [value](std::uint32_t) { return value; }); };
  const evidence::Dim3& c = launch.cluster;
  all(S::ntid_x, launch.block_size.x), all(S::ntid_y, launch.block_size.y), all(S::ntid_z, launch.block_size.z);
  all(S::nctaid_x, launch.grid.x), all(S::nctaid_y, launch.grid.y), all(S::nctaid_z, launch.grid.z);
  all(S::nwarpid, (launch.threads_per_block + 31) / 32);
  all(S::nsmid, static_cast<std::uint64_t>(std::max(1, sheet.multiprocessors)));
  all(S::gridid, ++grid_id);
  all(S::dynamic_smem_size, launch.dynamic_shared_bytes);
  all(S::total_smem_size, launch.shared_bytes);
  all(S::is_explicit_cluster, c.count() > 1 ? 1 : 0);
  all(S::nclusterid_x, launch.grid.x / c.x), all(S::nclusterid_y, launch.grid.y / c.y), all(S::nclusterid_z, launch.grid.z / c.z);
  all(S::cluster_nctaid_x, c.x), all(S::cluster_nctaid_y, c.y), all(S::cluster_nctaid_z, c.z);
  all(S::cluster_nctarank, c.count());
  each(S::laneid, [](std::uint32_t i) { return i; });
  each(S::lanemask_eq, [](std::uint32_t i) { return 1u << i; });
  each(S::lanemask_lt, [](std::uint32_t i) { return (1u << i) - 1; });
  each(S::lanemask_le, [](std::uint32_t i) { return (2u << i) - 1; });
  each(S::lanemask_gt, [](std::uint32_t i) { return ~((2u << i) - 1); });
  each(S::lanemask_ge, [](std::uint32_t i) { return ~((1u << i) - 1); });
}

// Cooperative groups find their grid barrier through %envreg1 (high half of the address) and %envreg2 (low half).
void Device::Impl::add_grid_workspace(Launch& launch) {
  constexpr std::uint64_t kWorkspaceBytes = 256;
  if (grid_workspace == nullptr) grid_workspace = memory.allocate(kWorkspaceBytes, MemoryKind::module_variable, "grid barrier");
  if (grid_workspace == nullptr) return;
  std::memset(grid_workspace->data, 0, kWorkspaceBytes);
  for (std::uint32_t i = 0; i < 32; ++i) {
    put<std::uint32_t>(launch.uniforms.data() + place_of(ptx::SpecialRegister::envreg1).offset, i, static_cast<std::uint32_t>(grid_workspace->base >> 32));
    put<std::uint32_t>(launch.uniforms.data() + place_of(ptx::SpecialRegister::envreg2).offset, i, static_cast<std::uint32_t>(grid_workspace->base));
  }
}

void Device::Impl::add_races(const Launch& launch) {
  for (const Race& race : races.take_races()) {
    evidence::Violation* v = violations.add("safety.races", name(race.kind), launch.kernel->info.name, race.second.location);
    if (v == nullptr) continue;
    const auto words = [](const RaceParty& party) {
      if (party.thread == RaceParty::kUnknown) return fmt::format("a {} of another thread", party.write ? "write" : "read");
      return fmt::format("a {} of thread {} in block {}", party.write ? "write" : "read", party.thread, party.block);
    };
    v->advice = race.advice;
    v->where = launch.where(race.second.location);
    v->other = launch.where(race.first.location);
    v->block = {static_cast<std::uint32_t>(race.second.block % launch.grid.x), static_cast<std::uint32_t>(race.second.block / launch.grid.x % launch.grid.y),
                static_cast<std::uint32_t>(race.second.block / launch.grid.x / launch.grid.y)};
    if (race.second.thread != RaceParty::kUnknown) v->thread = thread_index(launch.block_size, race.second.thread);
    v->count = race.count;
    const std::string at = race.shared ? fmt::format("shared memory offset {}", race.address) : fmt::format("global address 0x{:x}", race.address);
    v->message = fmt::format("{} and {} touch {} with nothing that orders them{}", words(race.first), words(race.second), at,
                             race.kind == RaceKind::same_value ? "; both store the same value" : "");
    if (race.kind == RaceKind::scope)
      v->message = fmt::format("{} and {} update or read {} atomically, but one of them is atomic for its own block only (scope .cta: atomicAdd_block, "
                               "cuda::thread_scope_block)", words(race.first), words(race.second), at);
    if (race.kind == RaceKind::missing_acquire)
      v->message = fmt::format("{} comes after {} only by an atomic's result that passed a barrier: the writer published it with a fence, the reader has "
                               "none after the barrier. Today's GPUs keep this order (CUDA's threadFenceReduction sample relies on it), the PTX memory "
                               "model does not promise it: put __threadfence() after the barrier", words(race.second), words(race.first));
    v->measured = fmt::format("{} unordered accesses", race.count);
    v->required = "a barrier, fence with atomic, or warp synchronisation between them";
  }
}

void Device::Impl::run(Launch& launch, const LaunchRequest& request) {
  origins.begin_kernel(launch.kernel);
  launch.origins = &origins;
  const std::uint64_t unchecked = races.stats().unchecked_accesses;
  races.set_max_shadow_bytes(checks.race_shadow_bytes);
  if (launch.safety) races.begin_launch(race_mode(*launch.kernel), launch.threads_per_block);
  launch.memos.assign(launch.kernel->code.size(), {});
  auto& segments = launch.kernel->segments[static_cast<std::size_t>(launch.variant)];
  if (segments == nullptr) segments = launch.kernel->owner->shortcuts ? compile_segments(*launch.kernel, launch.variant) : std::make_unique<SegmentCode>();
  launch.segments = segments.get();
  launch.segment_runs.assign(segments->segments().size(), 0);
  run_grid(launch, {seed, request.cooperative, request.sampled_blocks, workers == 0 ? usable_cores() : workers});
  if (launch.safety) {
    if (launch.footprint != nullptr) {
      races.add_to(*launch.footprint);
      launch.footprint->settle();
      launch.footprint->name_places(*launch.kernel);
    }
    races.end_launch();
    add_races(launch);
    if (const std::uint64_t count = races.stats().unchecked_accesses - unchecked; count != 0)
      log.unproven.push_back({"safety.races", fmt::format("the race detector's {} MiB were used up: {} accesses of kernel {} went unchecked; smaller sizes are checked in full",
                                                          checks.race_shadow_bytes >> 20, count, launch.kernel->info.name)});
  }
}

LaunchResult Device::launch(const LaunchRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  Impl& d = *impl_;
  Launch launch;
  launch.kernel = request.kernel;
  launch.memory = &d.memory;
  launch.textures = &d.textures;
  launch.sheet = &d.sheet;
  launch.grid = request.grid;
  launch.block_size = request.block;
  launch.cluster = request.cluster;
  launch.threads_per_block = static_cast<std::uint32_t>(request.block.count());
  launch.dynamic_shared_bytes = request.dynamic_shared_bytes;
  launch.shared_bytes = std::max(request.kernel->info.static_shared_bytes, request.kernel->extern_shared_offset + request.dynamic_shared_bytes);
  launch.variant = variant_of(d.checks);
  launch.safety = d.checks.safety;
  launch.profile = d.checks.profile;
  launch.forgiving = d.checks.forgiving && !d.checks.safety;
  launch.violations = &d.violations;
  launch.races = &d.races;
  launch.footprint = d.checks.safety ? request.footprint : nullptr;
  launch.race_shadow_bytes = d.checks.race_shadow_bytes;
  launch.global_shadow = &d.global_shadow;
  launch.print = [&d](std::string_view text) { d.print(text); };
  LoadTrace trace;
  AtomicLines atomic_lines;
  if (launch.profile) {
    launch.ops = std::vector<OpProfile>(request.kernel->code.size());
    const bool seen = std::any_of(d.log.kernels.begin(), d.log.kernels.end(), [&](const evidence::KernelProfile& k) { return k.kernel == request.kernel->info.name; });
    if (!seen) launch.trace = &trace;
    launch.atomic_lines = &atomic_lines;
  }
  launch.instruction_limit = d.limits.thread_instructions == 0 ? 0 : std::max<std::uint64_t>(1, d.limits.thread_instructions - std::min(d.instructions_used, d.limits.thread_instructions));
  launch.seconds_limit = d.limits.seconds - d.seconds_used;
  launch.progress = d.limits.progress;
  launch.instructions_before = d.instructions_used;
  Allocation*& parameters = d.parameter_buffers[request.kernel->info.parameter_bytes];
  if (parameters == nullptr) parameters = d.memory.allocate(request.kernel->info.parameter_bytes, MemoryKind::constant, "kernel parameters");
  launch.parameters = parameters;
  LaunchResult result;
  if (launch.parameters == nullptr) return {LaunchStatus::illegal_address, "no memory for the kernel's parameters", 0, 0};
  if (!request.parameters.empty()) std::memcpy(launch.parameters->data, request.parameters.data(), std::min<std::size_t>(request.parameters.size(), request.kernel->info.parameter_bytes));
  d.fill_uniforms(launch);
  if (const std::uint32_t reserved = reserved_shared_offset(*request.kernel, launch.shared_bytes); reserved != 0) {
    for (std::uint32_t i = 0; i < 32; ++i) put<std::uint32_t>(launch.uniforms.data() + place_of(ptx::SpecialRegister::reserved_smem_offset_begin).offset, i, reserved);
    launch.shared_bytes = reserved + kReservedSharedBytes;
  }
  if (request.cooperative) d.add_grid_workspace(launch);
  if (launch.grid.count() != 0 && launch.threads_per_block != 0) d.run(launch, request);
  add_to_profiles(d.log.kernels, launch, request.sampled_blocks != 0 && request.sampled_blocks < launch.grid.count());
  result.status = launch.status;
  result.detail = launch.detail;
  result.thread_instructions = launch.thread_instructions;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  d.instructions_used += result.thread_instructions;
  d.seconds_used += result.seconds;
  d.log.thread_instructions += result.thread_instructions;
  d.log.warpgroup_tiles += launch.warpgroup_tiles;
  if (request.sampled_blocks != 0 && request.sampled_blocks < launch.grid.count()) d.log.sampled_blocks = request.sampled_blocks;
  if (result.status == LaunchStatus::hang) d.log.ending = evidence::Ending::hang;
  else if (result.status == LaunchStatus::limit) d.log.ending = evidence::Ending::limit;
  else if (result.status != LaunchStatus::ok) d.log.ending = evidence::Ending::trap;
  if (result.status != LaunchStatus::ok) d.log.ending_detail = result.detail;
  return result;
}

void Device::check_read(const Allocation& allocation, std::uint64_t offset, std::uint64_t bytes, std::string_view reader) {
  for (const GlobalShadow::Output& output : impl_->global_shadow.undefined_outputs(allocation, offset, bytes)) {
    const Origin& origin = impl_->origins[output.origin];
    if (origin.space == ShadowSpace::in_flight || origin.space == ShadowSpace::accumulator) continue;   // reported where it was read
    evidence::Violation* v = impl_->violations.add("safety.uninitialised", "uninitialised-output", origin.kernel, origin.location);
    if (v == nullptr) continue;
    v->where = origin.where;
    v->message = fmt::format("an unwritten byte of {}, first {} here, is in {} at byte {}", name(origin.space),
                             origin.space == ShadowSpace::register_file ? "stored" : "read", reader, output.offset);
    v->measured = describe(origin);
    v->required = "every value that decides an address, a branch or an output was written";
  }
}

evidence::LaunchLog Device::take_log() {
  evidence::LaunchLog log = std::exchange(impl_->log, {});
  log.violations = impl_->violations.take();
  drop_maps_of_single_lines(log.kernels);
  return log;
}

evidence::LaunchLog Device::peek_log() const {
  evidence::LaunchLog log = impl_->log;
  log.violations = impl_->violations.all();
  return log;
}

std::size_t Device::violation_count() const { return impl_->violations.all().size(); }

}  // namespace kforge::emulator
