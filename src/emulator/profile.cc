#include "emulator/profile.h"

#include <algorithm>
#include <map>

#include "emulator/registers.h"
#include "emulator/store_notes.h"

namespace kforge::emulator {
namespace {

using evidence::Counters;
using evidence::KernelProfile;
using evidence::LineProfile;
using evidence::Metric;
using ptx::Exec;

bool is_pair(ptx::Type t) { return t == ptx::Type::f16x2 || t == ptx::Type::bf16x2; }
bool is_half_type(ptx::Type t) { return t == ptx::Type::f16 || t == ptx::Type::bf16 || is_pair(t); }

// Floating operations of one lane.
std::uint64_t operations(Exec exec) {
  switch (exec) {
    case Exec::fma: return 2;
    case Exec::add: case Exec::sub: case Exec::mul: case Exec::div: case Exec::min: case Exec::max: return 1;
    default: return 0;
  }
}

void count_arithmetic(Counters& c, const ptx::Instruction& in, Exec exec, std::uint64_t lanes) {
  const ptx::InstructionClass klass = ptx::instruction_table()[in.form].klass;
  if (klass == ptx::InstructionClass::special) c[Metric::special_ops] += lanes;
  if (klass == ptx::InstructionClass::integer || klass == ptx::InstructionClass::logic) c[Metric::int_ops] += lanes * (exec == Exec::mad ? 2 : 1);
  if (klass != ptx::InstructionClass::floating && klass != ptx::InstructionClass::half) return;
  const std::uint64_t count = operations(exec) * lanes;
  if (is_half_type(in.type)) c[Metric::flops_f16] += is_pair(in.type) ? 2 * count : count;
  else if (in.type == ptx::Type::f64) c[Metric::flops_f64] += count;
  else c[Metric::flops_f32] += count;
}

struct Issued { std::uint64_t executions = 0, lanes = 0; };

// At most so many instructions does ptxas put under a predicate in place of a branch (seen with 13.0 on sm_90: compare and exchange of
// a value and its index, seven instructions with the inner branch, has no branch in the machine code).
constexpr std::size_t kPredicatedInstructions = 8;

// Works in registers alone, so that ptxas may issue it for all lanes and keep the result of some.
bool is_predicable(const Op& op) {
  switch (ptx::instruction_table()[op.source->form].klass) {
    case ptx::InstructionClass::integer: case ptx::InstructionClass::floating: case ptx::InstructionClass::half:
    case ptx::InstructionClass::conversion: case ptx::InstructionClass::compare: case ptx::InstructionClass::logic:
    case ptx::InstructionClass::move: return true;
    default: return false;
  }
}

// The instruction after the last that the forward branch at `pc` may skip, inner branches included; pc itself when ptxas keeps the branch.
std::size_t end_of_predicated(const std::vector<Op>& code, std::size_t pc) {
  if (family(*code[pc].source) != Exec::bra || code[pc].guard == kNoSlot) return pc;
  std::size_t end = code[pc].target;
  for (std::size_t k = pc + 1; k < end; ++k) {
    if (end > pc + 1 + kPredicatedInstructions || end > code.size()) return pc;
    const bool forward = family(*code[k].source) == Exec::bra && code[k].target > k;
    if (forward) end = std::max<std::size_t>(end, code[k].target);
    else if (!is_predicable(code[k])) return pc;
  }
  return end > pc ? end : pc;
}

// How often each instruction is issued, and for how many lanes, once short branches are predicates: what follows such a branch is
// issued with it. `smsp__thread_inst_executed` counts active lanes, whatever their predicates.
std::vector<Issued> issued(const Launch& launch) {
  std::vector<Issued> all(launch.ops.size());
  for (std::size_t pc = 0; pc < all.size(); ++pc) all[pc] = {launch.ops[pc].executions, launch.ops[pc].active_lanes};
  for (std::size_t pc = 0; pc < all.size(); ++pc) {
    const std::size_t end = end_of_predicated(launch.kernel->code, pc);
    bool entered_elsewhere = false;
    for (std::size_t k = pc + 1; k < end; ++k) entered_elsewhere |= launch.ops[k].active_lanes > launch.ops[pc].active_lanes;
    if (entered_elsewhere) continue;
    for (std::size_t k = pc + 1; k < end; ++k) all[k] = all[pc];
    if (end > pc) pc = end - 1;
  }
  return all;
}

Counters counters_of(const Op& op, const OpProfile& p, const Issued& issue) {
  Counters c;
  const ptx::Instruction& in = *op.source;
  const Exec exec = family(in);
  c[Metric::inst_executed] = issue.executions;
  c[Metric::thread_inst_executed] = issue.lanes;
  c[Metric::global_requests] = p.requests;
  c[Metric::global_sectors] = p.sectors;
  c[Metric::global_sectors_ideal] = p.sectors_ideal;
  c[Metric::global_sectors_aligned_ideal] = p.sectors_aligned_ideal;
  const bool writes = exec == Exec::st || exec == Exec::atom || exec == Exec::red || exec == Exec::wmma_store || exec == Exec::stmatrix ||
                      exec == Exec::sust || exec == Exec::sured;   // others, cp.async among them, read global memory
  c[writes ? Metric::global_store_bytes : Metric::global_load_bytes] = p.distinct_bytes;
  c[Metric::global_store_requests] = writes ? p.requests : 0;
  c[Metric::global_store_sectors] = writes ? p.sectors : 0;
  c[Metric::global_partial_sectors] = p.partial_sectors;
  c[Metric::global_l1_cycles] = p.l1_cycles;
  c[Metric::global_atomic_passes] = p.atomic_passes;
  c[Metric::shared_atomic_repeats] = p.shared_atomic_repeats;
  c[Metric::shared_requests] = p.shared_requests;
  c[Metric::shared_wavefronts] = p.wavefronts;
  c[Metric::shared_wavefronts_ideal] = p.wavefronts_ideal;
  c[Metric::local_requests] = p.local_requests;
  if (exec == Exec::atom || exec == Exec::red) c[Metric::atomic_requests] = p.executions;
  if (exec == Exec::bar_sync || exec == Exec::bar_red || exec == Exec::bar_arrive) c[Metric::barriers] = p.executions;
  if (exec == Exec::bra || exec == Exec::brx) c[Metric::branches] = p.executions;
  c[Metric::divergent_branches] = p.divergent;
  count_arithmetic(c, in, exec, p.lanes);
  return c;
}

void keep_worse(evidence::RequestExample& kept, const std::unique_ptr<evidence::RequestExample>& seen) {
  if (seen == nullptr) return;
  if (!kept.present() || seen->measured - seen->ideal > kept.measured - kept.ideal) kept = *seen;
}

LineProfile& line_of(KernelProfile& profile, const evidence::SourcePosition& position) {
  for (LineProfile& line : profile.lines)
    if (line.position == position) return line;
  LineProfile& line = profile.lines.emplace_back();
  line.position = position;
  line.global_contiguous = true;
  return line;
}

bool is_load(const Op& op) {
  const Exec exec = family(*op.source);
  const ptx::Space space = op.source->mods.space;
  return exec == Exec::ld && (space == ptx::Space::global || space == ptx::Space::generic);
}

bool reads_any(const Op& op, const std::vector<ptx::RegisterId>& loaded) {
  bool found = false;
  visit_registers(*op.source, [&](ptx::RegisterId r, bool result) {
    if (!result && std::find(loaded.begin(), loaded.end(), r) != loaded.end()) found = true;
  });
  return found;
}

// Loads of one warp that are issued before the first use of the first of them, weighted by how often they ran: from each load
// onwards in program order, up to a use of what was loaded, a branch back or a barrier.
double independent_loads(const Launch& launch) {
  const std::vector<Op>& code = launch.kernel->code;
  double weighted = 0, weight = 0;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (launch.ops[i].requests == 0 || !is_load(code[i])) continue;
    std::vector<ptx::RegisterId> loaded;
    std::uint64_t in_flight = 0;
    std::size_t k = i;
    for (; k < code.size(); ++k) {
      const Exec exec = family(*code[k].source);
      if (reads_any(code[k], loaded) || exec == Exec::bar_sync || exec == Exec::bra || exec == Exec::ret) break;
      if (!is_load(code[k])) continue;
      ++in_flight;
      visit_registers(*code[k].source, [&](ptx::RegisterId r, bool result) { if (result) loaded.push_back(r); });
    }
    const double runs = static_cast<double>(launch.ops[i].executions) * static_cast<double>(in_flight);
    weighted += runs * static_cast<double>(in_flight);
    weight += runs;
    i = k - 1;
  }
  return weight > 0 ? std::max(1.0, weighted / weight) : 1;
}

// The register or variable that an access starts from: accesses with one of these and other offsets are known to be apart.
struct AddressBase {
  ptx::RegisterId reg = ptx::kNoRegister;
  std::optional<ptx::VariableId> variable;
  bool operator==(const AddressBase&) const = default;
};
AddressBase base_of(const ptx::Instruction& in) {
  for (const ptx::Operand& operand : in.operands)
    if (operand.kind == ptx::Operand::Kind::address) return {operand.reg, operand.variable};
  return {};
}

// Loads of one warp in flight as ptxas leaves them: in a straight piece of code it issues the loads first, as far as no address depends on a
// load and no store before them may write what they read; uses come after. At the end of the piece a use waits. Weighted as above.
double loads_in_flight(const Launch& launch) {
  const std::vector<Op>& code = launch.kernel->code;
  std::vector<bool> is_target(code.size() + 1);
  for (const Op& op : code)
    if (family(*op.source) == Exec::bra && op.target < is_target.size()) is_target[op.target] = true;
  double weighted = 0, weight = 0;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (launch.ops[i].requests == 0 || !is_load(code[i])) continue;
    std::vector<ptx::RegisterId> loaded;   // and what was computed from it
    std::vector<AddressBase> stored;
    std::uint64_t in_flight = 0;
    bool used = false;
    std::size_t k = i;
    for (; k < code.size(); ++k) {
      const Op& op = code[k];
      const Exec exec = family(*op.source);
      if ((is_target[k] && k > i && used) || exec == Exec::bar_sync || exec == Exec::ret || exec == Exec::call) break;
      if (exec == Exec::bra && (used || op.target <= k || reads_any(op, loaded))) break;
      const bool uses = reads_any(op, loaded);
      if (is_load(op)) {
        const bool apart = op.source->mods.cache == ptx::Cache::nc || std::all_of(stored.begin(), stored.end(), [&](const AddressBase& base) { return base == base_of(*op.source); });
        if (uses || !apart) break;
        ++in_flight;
      } else if (exec == Exec::st && op.source->mods.space != ptx::Space::shared && op.source->mods.space != ptx::Space::local) {
        stored.push_back(base_of(*op.source));
      }
      used |= uses;
      if (uses || is_load(op)) visit_registers(*op.source, [&](ptx::RegisterId r, bool result) { if (result) loaded.push_back(r); });
    }
    const double runs = static_cast<double>(launch.ops[i].executions) * static_cast<double>(in_flight);
    weighted += runs * static_cast<double>(in_flight);
    weight += runs;
    i = std::max(i, k - 1);
  }
  return weight > 0 ? std::max(1.0, weighted / weight) : 1;
}

KernelProfile& profile_of(std::vector<KernelProfile>& profiles, const std::string& name) {
  for (KernelProfile& profile : profiles)
    if (profile.kernel == name) return profile;
  KernelProfile& profile = profiles.emplace_back();
  profile.kernel = name;
  return profile;
}

// Stores to tensors are told apart by the tensor's name; all others are workspace.
void add_stores(LineProfile& line, const std::vector<StoreTarget>& targets) {
  for (const StoreTarget& target : targets) {
    const bool named = target.allocation->kind == MemoryKind::device || target.allocation->kind == MemoryKind::managed;
    const std::string tensor = named ? target.allocation->label : std::string();
    auto range = std::find_if(line.stores.begin(), line.stores.end(), [&](const evidence::StoreRange& r) { return r.tensor == tensor; });
    if (range == line.stores.end()) range = line.stores.insert(range, {tensor, target.first, target.end, 0, {}});
    range->first = std::min(range->first, target.first);
    range->end = std::max(range->end, target.end);
    range->bytes += target.bytes;
    join_written(range->written, target.written);
  }
}

void add_op(LineProfile& line, const Op& op, const OpProfile& p, const Counters& counters) {
  line.counters += counters;
  if (p.requests != 0) {
    line.global_bytes_per_lane = std::max<std::uint32_t>(line.global_bytes_per_lane, std::uint32_t{op.bytes} * std::max<std::uint32_t>(1, op.list_count));
    if (p.scattered != 0) line.global_contiguous = false;
  }
  add_stores(line, p.stores);
  keep_worse(line.worst_global, p.worst_global);
  keep_worse(line.worst_shared, p.worst_shared);
}

}  // namespace

void drop_maps_of_single_lines(std::vector<KernelProfile>& profiles) {
  std::map<std::string, std::vector<evidence::StoreRange*>> by_tensor;
  for (KernelProfile& profile : profiles)
    for (LineProfile& line : profile.lines)
      for (evidence::StoreRange& range : line.stores) by_tensor[range.tensor].push_back(&range);
  for (const auto& [tensor, ranges] : by_tensor)
    if (ranges.size() == 1 || tensor.empty())
      for (evidence::StoreRange* range : ranges) range->written.clear();
}

void add_to_profiles(std::vector<KernelProfile>& profiles, const Launch& launch, bool sampled) {
  KernelProfile& profile = profile_of(profiles, launch.kernel->info.name);
  const evidence::LaunchShape shape{launch.grid, launch.block_size, launch.kernel->info.static_shared_bytes, launch.dynamic_shared_bytes};
  if (std::find(profile.launches.begin(), profile.launches.end(), shape) == profile.launches.end()) profile.launches.push_back(shape);
  ++profile.launch_count;
  profile.sampled |= sampled;
  if (launch.ops.empty()) return;
  const std::vector<Issued> issue = issued(launch);
  std::map<std::uint32_t, std::size_t> line_index;   // by location: lines of one position are found once
  for (std::size_t pc = 0; pc < launch.ops.size(); ++pc) {
    const OpProfile& p = launch.ops[pc];
    if (issue[pc].executions == 0) continue;
    const Op& op = launch.kernel->code[pc];
    const Counters counters = counters_of(op, p, issue[pc]);
    profile.totals += counters;
    auto [entry, is_new] = line_index.try_emplace(op.location, 0);
    if (is_new) entry->second = static_cast<std::size_t>(&line_of(profile, launch.where(op.location)) - profile.lines.data());
    add_op(profile.lines[entry->second], op, p, counters);
  }
  profile.independent_loads = std::max(profile.launch_count == 1 ? 1.0 : profile.independent_loads, independent_loads(launch));
  profile.loads_in_flight = std::max(profile.launch_count == 1 ? 1.0 : profile.loads_in_flight, loads_in_flight(launch));
  if (launch.trace != nullptr) profile.load_reuse = launch.trace->reuse();
  if (launch.atomic_lines != nullptr) profile.hottest_line_passes += launch.atomic_lines->most();
  for (LineProfile& line : profile.lines)
    if (line.counters[Metric::global_requests] == 0) line.global_contiguous = false;
}

}  // namespace kforge::emulator
