#include "emulator/footprint.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "emulator/flow_graph.h"
#include "emulator/handlers.h"
#include "emulator/registers.h"

namespace kforge::emulator {
namespace {

using ptx::Exec;
using Runs = std::vector<Footprint::Run>;

// The first two runs, one of each, that share a byte.
std::optional<std::pair<const Footprint::Run*, const Footprint::Run*>> first_common(const Runs& a, const Runs& b) {
  for (auto i = a.begin(), k = b.begin(); i != a.end() && k != b.end();) {
    if (i->first < k->end && k->first < i->end) return std::pair(&*i, &*k);
    if (i->end <= k->end) ++i;
    else ++k;
  }
  return std::nullopt;
}

// Afterwards ordered and disjoint.
void settle(Runs& runs) {
  std::sort(runs.begin(), runs.end(), [](const Footprint::Run& a, const Footprint::Run& b) { return std::tie(a.first, a.end) < std::tie(b.first, b.end); });
  Runs joined;
  for (Footprint::Run run : runs) {
    if (!joined.empty()) run.first = std::max(run.first, joined.back().end);
    if (run.first >= run.end) continue;
    if (!joined.empty() && joined.back().end == run.first && joined.back().location == run.location) joined.back().end = run.end;
    else joined.push_back(run);
  }
  runs = std::move(joined);
}

bool controls_dependence(const Op& op) { return op.source->form < ptx::instruction_table().size() && family(*op.source) == Exec::griddepcontrol; }
bool is_wait(const Op& op) { return controls_dependence(op) && op.source->mods.text.find("wait") != std::string::npos; }

std::vector<bool> locations_before_wait(const Kernel& kernel) {
  std::vector<bool> early(kernel.module->locations.size(), true);
  const auto late = [&](const Op& op) { if (op.bytes != 0 && op.location < early.size()) early[op.location] = false; };   // of those that access memory
  for (const FunctionCode& function : kernel.functions) {
    if (&function != &kernel.functions.front()) {   // called from who knows where
      for (std::uint32_t pc = function.entry; pc < function.end; ++pc) late(kernel.code[pc]);
      continue;
    }
    const FlowGraph graph = flow_graph(kernel, function);
    const std::size_t count = graph.blocks.size();
    std::vector<bool> waits(count), after(count), before(count);   // a wait in it; some path from one to it; some path from it to one
    for (std::size_t b = 0; b < count; ++b)
      for (std::uint32_t pc = graph.blocks[b].first; pc < graph.blocks[b].end; ++pc) waits[b] = waits[b] || is_wait(kernel.code[pc]);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t b = 0; b < count; ++b)
        for (const std::uint32_t next : graph.blocks[b].successors) {
          if (next >= count) continue;
          if ((waits[b] || after[b]) && !after[next]) after[next] = true, changed = true;
          if ((waits[next] || before[next]) && !before[b]) before[b] = true, changed = true;
        }
    }
    for (std::size_t b = 0; b < count; ++b) {
      bool waited = after[b], leads = before[b] || waits[b];
      for (std::uint32_t pc = graph.blocks[b].first; pc < graph.blocks[b].end; ++pc) {
        waited = waited || is_wait(kernel.code[pc]);
        if (waited || !leads) late(kernel.code[pc]);
      }
    }
  }
  return early;
}

}  // namespace

void Footprint::add(Touch touch, Address first, std::uint64_t bytes, std::uint32_t location) {
  Runs& runs = runs_[static_cast<std::size_t>(touch)];
  if (!runs.empty() && runs.back().end == first && runs.back().location == location) {
    runs.back().end += bytes;
    return;
  }
  if (bytes != 0 && runs.size() < kMostRuns) runs.push_back({first, first + bytes, location});
}

void Footprint::settle() {
  for (Runs& runs : runs_) emulator::settle(runs);
}

void Footprint::name_places(const Kernel& kernel) {
  std::map<std::uint32_t, std::uint32_t> index;
  for (Runs& runs : runs_)
    for (Run& run : runs) {
      const auto [known, is_new] = index.try_emplace(run.location, static_cast<std::uint32_t>(places_.size()));
      if (is_new) {
        const auto& locations = kernel.module->locations;
        places_.push_back(run.location < locations.size() ? locations[run.location] : evidence::SourcePosition{});
        early_.push_back(!kernel.waits_for_primary || (run.location < kernel.before_wait.size() && kernel.before_wait[run.location]));
      }
      run.location = known->second;
    }
}

Footprint Footprint::before_wait() const {
  Footprint early;
  early.places_ = places_;
  for (std::size_t k = 0; k < runs_.size(); ++k)
    std::copy_if(runs_[k].begin(), runs_[k].end(), std::back_inserter(early.runs_[k]), [&](const Run& run) { return run.location >= early_.size() || early_[run.location]; });
  return early;
}

bool Footprint::empty() const { return run_count() == 0; }

std::size_t Footprint::run_count() const {
  std::size_t count = 0;
  for (const Runs& runs : runs_) count += runs.size();
  return count;
}

std::optional<Footprint::Meeting> Footprint::conflict(const Footprint& later) const {
  if (first_common(runs(Touch::strong_write), later.runs(Touch::strong_read)) || first_common(runs(Touch::strong_write), later.runs(Touch::strong_write))) return std::nullopt;
  for (const auto& [mine, theirs] : {std::pair(Touch::write, Touch::read), std::pair(Touch::write, Touch::write), std::pair(Touch::read, Touch::write),
                                     std::pair(Touch::write, Touch::strong_read), std::pair(Touch::write, Touch::strong_write), std::pair(Touch::read, Touch::strong_write),
                                     std::pair(Touch::strong_write, Touch::read), std::pair(Touch::strong_write, Touch::write), std::pair(Touch::strong_read, Touch::write)}) {
    const auto common = first_common(runs(mine), later.runs(theirs));
    if (!common) continue;
    const auto is_write = [](Touch touch) { return touch == Touch::write || touch == Touch::strong_write; };
    return Meeting{std::max(common->first->first, common->second->first), common->first->location, common->second->location, is_write(mine), is_write(theirs)};
  }
  return std::nullopt;
}

bool launches_dependents(const Kernel& kernel) { return kernel.launches_dependents; }
bool waits_for_primary(const Kernel& kernel) { return kernel.waits_for_primary; }

void note_dependence(Kernel& kernel) {
  for (const Op& op : kernel.code) {
    if (!controls_dependence(op)) continue;
    (is_wait(op) ? kernel.waits_for_primary : kernel.launches_dependents) = true;
  }
  if (kernel.waits_for_primary) kernel.before_wait = locations_before_wait(kernel);
}

}  // namespace kforge::emulator
