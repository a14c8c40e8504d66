#include "cudart/stream_races.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cudart/context.h"

namespace kforge::cudart {
namespace {

using emulator::Footprint;

std::string place_in_memory(const Context& context, emulator::Address address) {
  const emulator::Allocation* allocation = const_cast<Context&>(context).device()->memory().nearest(address);   // it may be freed by now
  if (allocation == nullptr || allocation->label.empty()) return fmt::format("global address {:#x}", address);
  return fmt::format("byte {} of '{}'", address - allocation->base, allocation->label);
}

// Whether the host may know from a strong write that the operation has come so far.
bool tells_host(Context& context, const Footprint& footprint) {
  const auto& runs = footprint.runs(Footprint::Touch::strong_write);
  return std::any_of(runs.begin(), runs.end(), [&](const Footprint::Run& run) {
    const emulator::Allocation* allocation = context.device()->memory().find(run.first);
    return allocation != nullptr && (allocation->kind == emulator::MemoryKind::pinned || allocation->kind == emulator::MemoryKind::managed);
  });
}

void report(Context& context, const StreamOperation& first, const Footprint& touched, const StreamOperation& second, bool early) {
  const auto meeting = first.footprint.conflict(touched);
  if (!meeting) return;
  evidence::Violation v;
  v.contract = "safety.races";
  v.kind = early ? "race-dependent-launch" : "race-streams";
  v.kernel = second.kernel.empty() ? first.kernel : second.kernel;
  v.where = touched.place(meeting->theirs);
  v.other = first.footprint.place(meeting->mine);
  const std::string does = meeting->they_write ? second.deed : "reads", did = meeting->i_write ? first.deed : "reads";
  v.message = early ? fmt::format("{} {} {} without cudaGridDependencySynchronize() (griddepcontrol.wait) before it, though {}, which it was launched on top of (programmatic "
                                  "dependent launch), {} it and lets it start early", second.what, does, place_in_memory(context, meeting->address), first.what, did)
                    : fmt::format("{} {} {}, which {} in another stream or branch of a graph {}: no event, dependency, synchronisation or default stream orders the two", second.what, does,
                                  place_in_memory(context, meeting->address), first.what, did);
  v.measured = fmt::format("{} after {} of one byte, unordered", meeting->they_write ? "a write" : "a read", meeting->i_write ? "a write" : "a read");
  v.required = early ? "cudaGridDependencySynchronize() before the access" : "cudaStreamWaitEvent or a synchronisation between them";
  context.log.violate(std::move(v));
}

}  // namespace

bool StreamRaces::wanted(const Context& context) {
  if (context.configured && !context.call.running) return false;   // the worker's own copies, between calls
  const std::size_t own = context.call.running && context.call.given != nullptr && context.call.given->index != Timeline::kLegacy ? 2 : 1;   // the default one, the given one
  return context.settings.checks.safety && context.timeline.stream_count() > own;
}

std::vector<StreamRaces::Kept> StreamRaces::take_primaries(StreamIndex stream) {
  auto found = primaries_.extract(stream);
  return found.empty() ? std::vector<Kept>{} : std::move(found.mapped());
}

void StreamRaces::add(Context& context, StreamOperation given, const Stream& stream, std::vector<Kept> primaries) {
  given.stream = stream.index;
  given.tick = context.timeline.clock(stream.index).of(stream.index);
  const auto operation = std::make_shared<const StreamOperation>(std::move(given));
  if (!primaries.empty()) {
    const Footprint touched = operation->footprint.before_wait();
    for (const Kept& first : primaries) report(context, *first, touched, *operation, true);
  }
  if (operation->starts_next) {
    std::vector<Kept>& next = primaries_[stream.index];
    if (!operation->waits) next = std::move(primaries);
    next.push_back(operation);
  }
  if (!wanted(context)) return;
  const Clock& clock = context.timeline.clock(operation->stream);
  std::erase_if(kept_, [&](const Kept& kept) { return context.timeline.host().of(kept->stream) >= kept->tick; });
  for (const Kept& kept : kept_)
    if (clock.of(kept->stream) < kept->tick) report(context, *kept, operation->footprint, *operation, false);
  if (operation->footprint.empty() || tells_host(context, operation->footprint)) return;
  kept_.push_back(operation);
  std::size_t runs = 0;
  for (const Kept& kept : kept_) runs += kept->footprint.run_count();
  for (; !kept_.empty() && (kept_.size() > kMostKept || runs > kMostRuns); kept_.pop_front()) runs -= kept_.front()->footprint.run_count();
}

void StreamRaces::add_work(Context& context, const Stream& stream, std::string what, Footprint footprint, std::string deed) {
  footprint.settle();
  footprint.name_place(context.call_position());
  StreamOperation operation;
  operation.what = std::move(what);
  operation.deed = std::move(deed);
  operation.footprint = std::move(footprint);
  add(context, std::move(operation), stream);
}

}  // namespace kforge::cudart
