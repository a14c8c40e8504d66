#include "emulator/team.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>
#include <thread>

#include "emulator/registers.h"
#include "emulator/segment_code.h"
#include "emulator/store_notes.h"

namespace kforge::emulator {
namespace {

using ptx::Exec;

// Roots of instructions by which blocks reach each other, or the world outside, or that depend on time.
constexpr std::string_view kReachOut[] = {"barrier.cluster", "clusterlaunchcontrol", "cp.async.bulk", "cp.reduce", "fence", "griddepcontrol", "mapa",
                                          "mbarrier", "membar", "multimem", "red.async", "st.async", "sured", "sust", "tensormap", "getctarank"};

bool reads_clock(const ptx::Instruction& in) {
  for (const ptx::Operand& operand : in.operands) {
    if (operand.kind != ptx::Operand::Kind::special) continue;
    using S = ptx::SpecialRegister;
    if (operand.special == S::clock || operand.special == S::clock_hi || operand.special == S::clock64 || operand.special == S::globaltimer ||
        operand.special == S::globaltimer_lo || operand.special == S::globaltimer_hi)
      return true;
  }
  return false;
}

using RegisterSet = std::set<std::pair<std::uint32_t, ptx::RegisterId>>;   // by function

RegisterSet read_registers(const Kernel& kernel) {
  RegisterSet found;
  for (const FunctionCode& function : kernel.functions)
    for (std::uint32_t pc = function.entry; pc < function.end; ++pc)
      visit_registers(*kernel.code[pc].source, [&](ptx::RegisterId r, bool result) { if (!result) found.emplace(function.index, r); });
  return found;
}

// An atomic that gives the same in whatever order it comes, and tells nobody what was there before.
bool is_commutative(const ptx::Instruction& in, std::uint32_t function, const RegisterSet& read) {
  using ptx::AtomOp;
  const AtomOp how = in.mods.atom_op;
  const bool is_known = how == AtomOp::add || how == AtomOp::min || how == AtomOp::max || how == AtomOp::and_ || how == AtomOp::or_ || how == AtomOp::xor_;
  const bool relaxed = in.mods.order == ptx::Order::none || in.mods.order == ptx::Order::weak || in.mods.order == ptx::Order::relaxed;
  if (!is_known || !relaxed || ptx::is_float(in.type) || in.type == ptx::Type::b128) return false;
  return family(in) == Exec::red || (in.operands[0].elements.empty() && !read.contains({function, in.operands[0].reg}));
}

bool is_independent(const Op& op, std::uint32_t function, const RegisterSet* read) {
  const ptx::Instruction& in = *op.source;
  if (in.form >= ptx::instruction_table().size()) return true;
  const std::string_view opcode = ptx::instruction_table()[in.form].opcode;
  for (const std::string_view root : kReachOut)
    if (opcode.starts_with(root)) return false;
  const Exec exec = family(in);
  const bool in_block = in.mods.space == ptx::Space::shared || in.mods.space == ptx::Space::local || in.mods.space == ptx::Space::param;
  const bool atomic = exec == Exec::atom || exec == Exec::red || (exec == Exec::cp_async_bulk && in.mods.atom_op != ptx::AtomOp::none);
  const bool strong = in.mods.order != ptx::Order::none && in.mods.order != ptx::Order::weak;
  if (atomic && !in_block && read != nullptr && (exec == Exec::atom || exec == Exec::red) && is_commutative(in, function, *read)) return true;
  if ((atomic || strong) && !in_block) return false;
  if (exec == Exec::call && (op.call == nullptr || op.call->intrinsic != 0 || op.call->indirect)) return false;
  return exec != Exec::barrier_cluster && exec != Exec::nanosleep && !reads_clock(in);
}

// ---- what is put back ----------------------------------------------------------------------------------------------

struct SavedAllocation {
  Allocation* allocation;
  std::vector<std::byte> bytes;
  std::vector<std::uint64_t> written, initialised;
  bool all_initialised;
};

bool is_saved(const Allocation& allocation) { return allocation.live && !allocation.read_only; }

// Room that the next launch takes again: fresh pages cost more than the copying.
constexpr std::size_t kMostSpareBytes = std::size_t{256} << 20;
thread_local std::vector<std::vector<std::byte>> t_spare;

std::vector<std::byte> take_room(std::size_t bytes) {
  const auto fits = std::find_if(t_spare.begin(), t_spare.end(), [&](const auto& room) { return room.capacity() >= bytes && room.capacity() <= 2 * bytes + 4096; });
  if (fits == t_spare.end()) return {};
  std::vector<std::byte> room = std::move(*fits);
  t_spare.erase(fits);
  return room;
}

void give_back(std::vector<SavedAllocation>& saved) {
  std::size_t kept = 0;
  for (const auto& room : t_spare) kept += room.capacity();
  for (SavedAllocation& s : saved) {
    if (kept + s.bytes.capacity() > kMostSpareBytes) continue;
    kept += s.bytes.capacity();
    t_spare.push_back(std::move(s.bytes));
  }
}

std::vector<SavedAllocation> save(const Launch& launch) {
  std::vector<SavedAllocation> saved;
  for (Allocation* a : launch.memory->live()) {
    if (!is_saved(*a)) continue;
    std::vector<std::byte> bytes = take_room(a->size);
    bytes.assign(a->data, a->data + a->size);
    saved.push_back({a, std::move(bytes), a->written, a->initialised, a->all_initialised});
    // Workers set bits side by side, so the words must be there.
    const std::size_t words = (a->size + 63) / 64;
    if (a->written.empty()) a->written.assign(words, 0);
    if (a->initialised.empty() && !a->all_initialised) a->initialised.assign(words, 0);
  }
  return saved;
}

void put_back(std::vector<SavedAllocation>& saved) {
  for (SavedAllocation& s : saved) {
    std::copy(s.bytes.begin(), s.bytes.end(), s.allocation->data);
    s.allocation->written = std::move(s.written);
    s.allocation->initialised = std::move(s.initialised);
    s.allocation->all_initialised = s.all_initialised;
  }
}

// ---- workers -------------------------------------------------------------------------------------------------------

struct Worker {
  Worker(std::uint64_t race_shadow_bytes, std::uint32_t index) : races(race_shadow_bytes, index + 1) {}
  Launch launch;
  ViolationLog violations;
  GlobalShadow global_shadow;
  OriginTable origins;
  RaceDetector races;

  bool clean() const {
    return (launch.status == LaunchStatus::ok || launch.status == LaunchStatus::limit) && violations.empty() && origins.empty() && !races.found_any() &&
           races.stats().unchecked_accesses == 0;
  }
};

void prepare(Worker& worker, const Launch& from, Team& team) {
  Launch& to = worker.launch;
  to.kernel = from.kernel;
  to.memory = from.memory;
  to.textures = from.textures;
  to.sheet = from.sheet;
  to.grid = from.grid;
  to.block_size = from.block_size;
  to.cluster = from.cluster;
  to.threads_per_block = from.threads_per_block;
  to.shared_bytes = from.shared_bytes;
  to.dynamic_shared_bytes = from.dynamic_shared_bytes;
  to.variant = from.variant;
  to.safety = from.safety;
  to.forgiving = from.forgiving;
  to.profile = from.profile;
  to.parameters = from.parameters;
  to.uniforms = from.uniforms;
  if (to.profile) to.ops = std::vector<OpProfile>(from.ops.size());
  to.segments = from.segments;
  to.segment_runs.assign(from.segment_runs.size(), 0);
  to.memos.assign(from.memos.size(), {});
  to.trace = from.trace;
  to.traced_block = from.traced_block;
  to.violations = &worker.violations;
  to.races = &worker.races;
  to.global_shadow = &worker.global_shadow;
  to.origins = &worker.origins;
  to.print = [](std::string_view) {};
  to.instruction_limit = from.instruction_limit;
  to.seconds_limit = from.seconds_limit;
  to.progress = from.progress;
  to.instructions_before = from.instructions_before;
  to.team = &team;
  worker.origins.begin_kernel(from.kernel);
  if (to.safety) worker.races.begin_launch({}, to.threads_per_block);
}

bool replaces(const std::unique_ptr<evidence::RequestExample>& old, std::uint32_t old_waste, const std::unique_ptr<evidence::RequestExample>& other, std::uint32_t waste) {
  if (other == nullptr) return false;
  if (old == nullptr || waste != old_waste) return old == nullptr || waste > old_waste;
  const auto order = [](const evidence::RequestExample& e) { return std::array{e.block.z, e.block.y, e.block.x, e.warp}; };
  return order(*other) < order(*old);
}

void add(OpProfile& to, OpProfile& from) {
  to.executions += from.executions, to.lanes += from.lanes, to.active_lanes += from.active_lanes;
  to.requests += from.requests;
  to.sectors += from.sectors, to.sectors_ideal += from.sectors_ideal, to.sectors_aligned_ideal += from.sectors_aligned_ideal;
  to.distinct_bytes += from.distinct_bytes;
  to.partial_sectors += from.partial_sectors, to.l1_cycles += from.l1_cycles, to.atomic_passes += from.atomic_passes;
  to.shared_atomic_repeats += from.shared_atomic_repeats;
  to.shared_requests += from.shared_requests, to.wavefronts += from.wavefronts, to.wavefronts_ideal += from.wavefronts_ideal;
  to.local_requests += from.local_requests;
  to.divergent += from.divergent;
  to.scattered |= from.scattered;
  if (replaces(to.worst_global, to.worst_global_waste, from.worst_global, from.worst_global_waste)) {
    to.worst_global = std::move(from.worst_global);
    to.worst_global_waste = from.worst_global_waste;
  }
  if (replaces(to.worst_shared, to.worst_shared_waste, from.worst_shared, from.worst_shared_waste)) {
    to.worst_shared = std::move(from.worst_shared);
    to.worst_shared_waste = from.worst_shared_waste;
  }
  for (const StoreTarget& target : from.stores) {
    const auto same = std::find_if(to.stores.begin(), to.stores.end(), [&](const StoreTarget& t) { return t.allocation == target.allocation; });
    if (same == to.stores.end()) {
      to.stores.push_back(target);
      continue;
    }
    same->first = std::min(same->first, target.first);
    same->end = std::max(same->end, target.end);
    same->bytes += target.bytes;
    join_written(same->written, target.written);
  }
}

void add(Launch& to, Launch& from) {
  to.thread_instructions += from.thread_instructions;
  to.warpgroup_tiles += from.warpgroup_tiles;
  to.clock += from.clock;
  to.stores += from.stores;
  for (std::size_t k = 0; k < to.ops.size(); ++k) add(to.ops[k], from.ops[k]);
  for (std::size_t k = 0; k < to.segment_runs.size(); ++k) to.segment_runs[k] += from.segment_runs[k];
  if (from.failed() && !to.failed()) {
    to.status = from.status;
    to.detail = from.detail;
  }
  to.violations->adopt(*from.violations);
}

bool share_bytes(const Launch& launch, const std::vector<std::unique_ptr<Worker>>& workers) {
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (launch.races->conflicts_with(workers[i]->races)) return true;
    for (std::size_t k = 0; k < i; ++k)
      if (workers[k]->races.conflicts_with(workers[i]->races)) return true;
  }
  return false;
}

}  // namespace

bool has_independent_blocks(const Launch& launch) {
  const Kernel& kernel = *launch.kernel;
  for (const FunctionCode& function : kernel.functions)
    if (!function.undefined_at_entry.empty()) return false;
  if (launch.cluster.count() > 1) return false;
  const bool observed = launch.safety || launch.profile;
  const RegisterSet read = observed ? RegisterSet{} : read_registers(kernel);
  return std::all_of(kernel.functions.begin(), kernel.functions.end(), [&](const FunctionCode& function) {
    return std::all_of(kernel.code.begin() + function.entry, kernel.code.begin() + function.end,
                       [&](const Op& op) { return is_independent(op, function.index, observed ? nullptr : &read); });
  });
}

std::uint64_t bytes_to_save(const Launch& launch) {
  std::uint64_t bytes = 0;
  for (const Allocation* a : launch.memory->live())
    if (is_saved(*a)) bytes += a->size;
  return bytes;
}

TeamOutcome run_team(Launch& launch, std::uint32_t count, bool keeps_memory, const std::function<void(Launch&, std::uint32_t, std::uint32_t)>& run_blocks) {
  count = std::min(count, kMostWorkers);
  std::vector<SavedAllocation> saved;
  if (keeps_memory) saved = save(launch);
  Team team;
  team.keeps_memory = keeps_memory;
  team.instructions = launch.thread_instructions;
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::uint32_t k = 0; k < count; ++k) {
    workers.push_back(std::make_unique<Worker>(launch.race_shadow_bytes, k));
    prepare(*workers.back(), launch, team);
  }
  const auto work = [&](std::uint32_t k) {
    run_blocks(workers[k]->launch, k, count);
    if (workers[k]->launch.failed() || (keeps_memory && !workers[k]->clean())) team.stop = true;
  };
  std::vector<std::thread> threads;
  std::uint32_t started = 1;
  try {
    for (; started < count; ++started) threads.emplace_back(work, started);
  } catch (const std::system_error&) {   // no more threads are granted: the shares that are left are done here
  }
  work(0);
  for (std::uint32_t k = started; k < count; ++k) work(k);
  for (std::thread& thread : threads) thread.join();
  const bool clean = !keeps_memory || (std::all_of(workers.begin(), workers.end(), [](const auto& worker) { return worker->clean(); }) && !(launch.safety && share_bytes(launch, workers)));
  for (const auto& worker : workers) {
    if (clean && launch.footprint != nullptr) worker->races.add_to(*launch.footprint);
    if (launch.safety) worker->races.end_launch();
  }
  if (!clean) {
    put_back(saved);
    return TeamOutcome::unclean;
  }
  give_back(saved);
  for (const auto& worker : workers) add(launch, worker->launch);
  return !launch.failed() ? TeamOutcome::clean : launch.status == LaunchStatus::limit ? TeamOutcome::limit : TeamOutcome::failed;
}

}  // namespace kforge::emulator
