#include "emulator/race.h"

#include <algorithm>
#include <unordered_map>

#include "emulator/lanes.h"
#include "emulator/race_engine.h"

namespace kforge::emulator {

std::string_view name(RaceKind kind) {
  constexpr std::string_view kNames[] = {"race-write-write", "race-read-write", "race-write-read", "race-same-value",
                                         "race-missing-acquire", "race-scope"};
  return kNames[static_cast<std::size_t>(kind)];
}

namespace {

// `bytes` bytes at byte `delta` of what the lane stores; false where they are not known.
bool stored_bytes(const RaceAccess& access, std::uint32_t lane, std::uint32_t delta, std::uint32_t bytes, std::byte* out) {
  const std::uint32_t element_bytes = access.values.element_bytes;
  if (element_bytes == 0) return false;
  for (std::uint32_t i = 0; i < bytes; ++i) {
    const std::uint32_t element = (delta + i) / element_bytes;
    if (element >= access.values.element.size() || access.values.element[element] == nullptr) return false;
    out[i] = access.values.element[element][std::size_t{lane} * access.values.lane_stride + (delta + i) % element_bytes];
  }
  return true;
}

}  // namespace

bool stores_same_value(const RaceAccess& access, std::uint32_t lane, std::uint64_t address, std::uint32_t bytes,
                       std::uint32_t other) {
  if (access.kind != AccessKind::store) return false;
  std::array<std::byte, 32> mine, theirs;
  bytes = std::min(bytes, access.bytes);
  const std::uint64_t start = (*access.addresses)[lane];
  const auto delta = static_cast<std::uint32_t>(address - start);
  if (!stored_bytes(access, lane, delta, bytes, mine.data())) return false;
  if (other < 32 && (access.mask >> other & 1) != 0 && (*access.addresses)[other] == start) {
    if (!stored_bytes(access, other, delta, bytes, theirs.data())) return false;
  } else {
    if (access.memory == nullptr) return false;
    const std::uint64_t base = access.allocation != nullptr ? access.allocation->base : 0;
    std::memcpy(theirs.data(), access.memory + (address - base), bytes);
  }
  return std::memcmp(mine.data(), theirs.data(), bytes) == 0;
}

struct RaceDetector::Impl {
  RaceLog log;
  RaceStats stats;
  std::uint64_t cap = 0;
  std::uint32_t index = 0;
  bool epochs = false, async_proxy = false;
  std::uint32_t threads = 0;
  std::unordered_map<const BlockRaces*, ProxyWatch> proxies;   // RaceMode::async_proxy: of resident blocks
  std::uint64_t proxy_clock = 1;
  ProxyWatch* proxy(const BlockRaces* block) {
    const auto found = proxies.find(block);
    return found == proxies.end() ? nullptr : &found->second;
  }
  // Of shared memory.
  void tell_proxy(const RaceAccess& access, bool by_async_proxy) {
    if (access.kind == AccessKind::load) return;
    const BlockRaces* const window = access.window != nullptr ? access.window : access.block;
    ProxyWatch* const watch = proxy(window);
    if (watch == nullptr) return;
    const ProxyWatch& writer = window == access.block ? *watch : *proxy(access.block);
    for_lanes(access.mask, [&](std::uint32_t lane) {
      const std::uint64_t at = (*access.addresses)[lane];
      if (by_async_proxy) watch->wrote_by_async_proxy(at, access.bytes);
      else watch->wrote(at, access.bytes, writer, access.warp * 32 + lane, access.location);
    });
  }
};

RaceDetector::RaceDetector(std::uint64_t max_shadow_bytes, std::uint32_t index) : impl_(std::make_unique<Impl>()) {
  impl_->cap = max_shadow_bytes;
  impl_->index = index;
}
RaceDetector::~RaceDetector() = default;

void RaceDetector::set_max_shadow_bytes(std::uint64_t bytes) { impl_->cap = bytes; }

void RaceDetector::begin_launch(const RaceMode& mode, std::uint32_t threads_per_block) {
  end_launch();
  impl_->proxies.clear();
  impl_->async_proxy = mode.async_proxy;
  impl_->threads = threads_per_block;
  impl_->epochs = !mode.needs_vector_clocks();
  engine_ = impl_->epochs ? make_epoch_engine(threads_per_block, impl_->log, impl_->stats, impl_->cap, impl_->index)
                          : make_clock_engine(threads_per_block, mode.relaxed_flags, impl_->log, impl_->stats, impl_->cap, impl_->index);
}

void RaceDetector::end_launch() {
  if (engine_ != nullptr) engine_->end_launch();
  engine_.reset();
}

BlockRaces* RaceDetector::begin_block(std::uint32_t linear_block, std::uint32_t shared_bytes) {
  BlockRaces* block = engine_->begin_block(linear_block, shared_bytes);
  if (impl_->async_proxy) impl_->proxies.emplace(block, ProxyWatch(shared_bytes, impl_->threads, impl_->proxy_clock));
  return block;
}
void RaceDetector::end_block(BlockRaces* block) {
  impl_->proxies.erase(block);
  engine_->end_block(block);
}
void RaceDetector::access(const RaceAccess& access) {
  if (access.mask == 0) return;
  if (impl_->async_proxy && access.allocation == nullptr)
    impl_->tell_proxy(access, false);
  engine_->access(access);
}
void RaceDetector::async_access(const RaceAccess& access) {
  if (access.mask == 0) return;
  if (access.allocation == nullptr)
    impl_->tell_proxy(access, true);
  engine_->access(access);
}
bool RaceDetector::access_shape(const ShapedAccess& access) { return engine_->access_shape(access); }
void RaceDetector::replay_reads(BlockRaces* block) { engine_->replay_reads(block); }
void RaceDetector::block_barrier(BlockRaces* block) { engine_->block_barrier(block); }
void RaceDetector::named_barrier(BlockRaces* block, std::span<const std::uint32_t> arrived, std::span<const std::uint32_t> waited) {
  engine_->named_barrier(block, arrived, waited);
}
void RaceDetector::barrier_arrive(BlockRaces* block, std::uint32_t barrier, std::uint32_t warp, std::uint32_t mask) {
  engine_->barrier_arrive(block, barrier, warp, mask);
}
void RaceDetector::named_barrier_complete(BlockRaces* block, std::uint32_t barrier, std::span<const std::uint32_t> waited) {
  engine_->named_barrier_complete(block, barrier, waited);
}
void RaceDetector::shuffle(BlockRaces* block, std::uint32_t warp, std::uint32_t mask) { engine_->shuffle(block, warp, mask); }
void RaceDetector::warp_sync(BlockRaces* block, std::uint32_t warp, std::uint32_t mask) { engine_->warp_sync(block, warp, mask); }
void RaceDetector::fence(BlockRaces* block, std::uint32_t warp, std::uint32_t mask, ptx::Scope scope) {
  engine_->fence(block, warp, mask, scope);
}
void RaceDetector::release(BlockRaces* block, std::uint32_t warp, std::uint32_t mask, std::uint64_t key, ptx::Scope scope) {
  engine_->release(block, warp, mask, key, scope);
}
void RaceDetector::acquire(BlockRaces* block, std::uint32_t warp, std::uint32_t mask, std::uint64_t key, ptx::Scope scope) {
  engine_->acquire(block, warp, mask, key, scope);
}
void RaceDetector::release_fenced(BlockRaces* block, std::uint32_t warp, std::uint32_t mask, std::uint64_t key, ptx::Scope scope) {
  engine_->release_fenced(block, warp, mask, key, scope);
}
void RaceDetector::proxy_fence(BlockRaces* block, std::uint32_t warp, std::uint32_t mask) {
  if (ProxyWatch* watch = impl_->proxy(block)) for_lanes(mask, [&](std::uint32_t lane) { watch->fence(warp * 32 + lane); });
}
std::optional<UnfencedWrite> RaceDetector::unfenced_write(const BlockRaces* block, std::uint32_t thread, std::uint64_t offset, std::uint64_t bytes) const {
  const ProxyWatch* watch = impl_->proxy(block);
  return watch == nullptr || bytes == 0 ? std::nullopt : watch->find(offset, bytes, thread);
}
bool RaceDetector::found_any() const { return !impl_->log.empty(); }
bool RaceDetector::uses_epochs() const { return impl_->epochs; }
bool RaceDetector::conflicts_with(const RaceDetector& other) const { return engine_->conflicts_with(*other.engine_); }
void RaceDetector::add_to(Footprint& footprint) const {
  if (engine_ != nullptr) engine_->add_to(footprint);
}
std::vector<Race> RaceDetector::take_races() { return impl_->log.take(); }
RaceStats RaceDetector::stats() const {
  RaceStats stats = impl_->stats;
  stats.peak_shadow_bytes = std::max(stats.peak_shadow_bytes, stats.shadow_bytes);
  return stats;
}

}  // namespace kforge::emulator
