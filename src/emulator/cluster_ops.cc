// What blocks of a cluster do to each other. For the race detector the cluster's barrier is an object that arrivals release and waits acquire, and an access to
// another block's shared memory is one of the thread that makes it to that block's window.
#include "emulator/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "emulator/access.h"

namespace kforge::emulator {
namespace {

using ptx::Order;

// The last thread of the phase has come, or those that have not have ended.
void complete_barrier(Block& block) {
  Cluster& cluster = *block.cluster;
  if (cluster.arrived == 0) return;
  const auto live = std::accumulate(cluster.blocks.begin(), cluster.blocks.end(), std::uint32_t{0}, [](std::uint32_t sum, const Block* b) { return sum + b->live_threads; });
  if (cluster.arrived < live) return;
  cluster.arrived = 0;
  ++cluster.phase;
  ++block.launch->stores;
}

constexpr Address kOffsetBits = (Address{1} << kClusterRankShift) - 1;

std::uint64_t barrier_key(const Cluster& cluster, std::uint32_t phase) { return std::uint64_t{1} << 63 | cluster.number << 32 | phase; }
std::uint64_t end_key(const Block& block) { return std::uint64_t{1} << 62 | block.linear; }

Flow run_arrive(Warp& w, const Op& op, std::uint32_t mask) {
  Cluster& cluster = *w.block->cluster;
  if (const std::uint32_t again = mask & w.cluster_arrived; again != 0)
    report(w, op, again, "safety.barriers", "cluster-barrier-twice", [&](evidence::Violation& v) {
      v.message = "a thread arrives at the cluster's barrier again before it has waited for it";
      v.measured = "two arrivals of one thread in a phase";
      v.required = "barrier.cluster.wait between two barrier.cluster.arrive of a thread";
    });
  if (w.launch->safety) {
    const std::uint64_t key = barrier_key(cluster, cluster.phase);
    if (op.source->mods.order == Order::relaxed) w.launch->races->release_fenced(w.block->races, w.index, mask, key, ptx::Scope::cluster);
    else w.launch->races->release(w.block->races, w.index, mask, key, ptx::Scope::cluster);
  }
  cluster.arrived += static_cast<std::uint32_t>(std::popcount(mask & ~w.cluster_arrived));
  w.cluster_arrived |= mask;
  for_lanes(mask, [&](std::uint32_t i) { w.cluster_phase[i] = cluster.phase; });
  complete_barrier(*w.block);
  return Flow::next;
}

Flow run_wait(Warp& w, const Op& op, std::uint32_t mask) {
  Cluster& cluster = *w.block->cluster;
  if (const std::uint32_t early = mask & ~w.cluster_arrived; early != 0) {
    report(w, op, early, "safety.barriers", "cluster-barrier-wait", [&](evidence::Violation& v) {
      v.message = "a thread waits for the cluster's barrier without having arrived at it";
      v.measured = "barrier.cluster.wait with no arrival of the thread before";
      v.required = "barrier.cluster.arrive before barrier.cluster.wait";
    });
    return stop(w, op, early, LaunchStatus::illegal_instruction, "barrier.cluster.wait by a thread that has not arrived");
  }
  std::uint32_t over = 0;
  for_lanes(mask, [&](std::uint32_t i) { over |= static_cast<std::uint32_t>(w.cluster_phase[i] != cluster.phase) << i; });
  if (over != mask) {   // the others go on when something was stored, as the last arrival does
    block_group(w, mask, Wait::none, 0, 0);
    w.groups.back().spun_at = w.launch->stores;
    return Flow::regroup;
  }
  w.cluster_arrived &= ~mask;
  if (w.launch->safety) w.launch->races->acquire(w.block->races, w.index, mask, barrier_key(cluster, w.cluster_phase[static_cast<std::size_t>(std::countr_zero(mask))]), ptx::Scope::cluster);
  return Flow::next;
}

Address mapped_address(const Warp& w, const Op& op, std::uint32_t lane) {
  const Address address = (op.flags & 1) != 0 ? get<std::uint64_t>(w.at(op.r[1]), lane) : get<std::uint32_t>(w.at(op.r[1]), lane);
  return address - static_cast<Address>(op.immediate);
}

Flow not_shared(Warp& w, const Op& op, std::uint32_t lane) {
  return stop(w, op, 1u << lane, LaunchStatus::illegal_instruction, "mapa or getctarank of an address that is none of shared memory");
}

Flow run_mapa(Warp& w, const Op& op, std::uint32_t mask) {
  Flow flow = Flow::next;
  const std::size_t blocks = w.block->cluster->blocks.size();
  for_lanes(mask, [&](std::uint32_t i) {
    const Address address = mapped_address(w, op, i);
    const std::uint32_t rank = get<std::uint32_t>(w.at(op.r[2]), i);
    if (flow != Flow::next) return;
    if (address >= kWindowBytes) flow = not_shared(w, op, i);
    else if (rank >= blocks) flow = stop(w, op, 1u << i, LaunchStatus::illegal_instruction, fmt::format("mapa for block {} of a cluster of {}", rank, blocks));
    const Address result = static_cast<Address>(op.immediate) + ((address & kOffsetBits) | Address{rank + 1} << kClusterRankShift);
    if ((op.flags & 2) != 0) put<std::uint64_t>(w.at(op.r[0]), i, result);
    else put<std::uint32_t>(w.at(op.r[0]), i, static_cast<std::uint32_t>(result));
  });
  return flow;
}

Flow run_rank(Warp& w, const Op& op, std::uint32_t mask) {
  Flow flow = Flow::next;
  for_lanes(mask, [&](std::uint32_t i) {
    const Address address = mapped_address(w, op, i);
    if (flow == Flow::next && address >= kWindowBytes) flow = not_shared(w, op, i);
    const auto named = static_cast<std::uint32_t>(address >> kClusterRankShift);
    const std::uint32_t rank = named == 0 ? rank_in_cluster(*w.block) : named - 1;
    if ((op.flags & 2) != 0) put<std::uint64_t>(w.at(op.r[0]), i, rank);
    else put<std::uint32_t>(w.at(op.r[0]), i, rank);
  });
  return flow;
}

}  // namespace

std::uint64_t block_of_cluster(const evidence::Dim3& grid, const evidence::Dim3& cluster, std::uint64_t number, std::uint32_t rank) {
  const std::uint64_t across = grid.x / cluster.x, down = grid.y / cluster.y;
  const std::uint64_t x = number % across * cluster.x + rank % cluster.x, y = number / across % down * cluster.y + rank / cluster.x % cluster.y;
  const std::uint64_t z = number / across / down * cluster.z + rank / cluster.x / cluster.y;
  return x + grid.x * (y + grid.y * z);
}

std::uint32_t rank_in_cluster(const Block& block) {
  if (block.cluster == nullptr) return 0;
  const auto& blocks = block.cluster->blocks;
  return static_cast<std::uint32_t>(std::find(blocks.begin(), blocks.end(), &block) - blocks.begin());
}

bool is_own_memory(const Block& block, Address address) {
  return address >> kClusterRankShift == 0 || address >> kClusterRankShift == rank_in_cluster(block) + 1;
}

std::optional<ClusterPlace> place_in_cluster(Warp& w, const Op& op, std::uint32_t lane, Address address, std::uint32_t bytes, Flow& flow) {
  const Address rank = address >> kClusterRankShift;
  ClusterPlace place{w.block, address};
  if (rank != 0) {
    static const std::vector<Block*> kNone;
    const std::vector<Block*>& blocks = w.block->cluster != nullptr ? w.block->cluster->blocks : kNone;
    place.offset = address & kOffsetBits;
    if (rank > blocks.size()) {
      Request request{{}, 1u << lane, bytes, ptx::Space::shared, Direction::load};
      request.addresses[lane] = address;
      flow = fault_window(w, op, request, 1u << lane, "shared", w.launch->shared_bytes);
      return std::nullopt;
    }
    place.block = blocks[rank - 1];
    if (place.block->live_warps == 0) {
      report(w, op, 1u << lane, "safety.barriers", "cluster-block-ended", [&](evidence::Violation& v) {
        v.message = fmt::format("touches shared memory of block {} of the cluster, which has ended", rank - 1);
        v.measured = "a block that ended while another reaches into it";
        v.required = "barrier.cluster.arrive and .wait by all threads after the last access, before any of them ends";
      });
      flow = stop(w, op, 1u << lane, LaunchStatus::illegal_address, "shared memory of a block that has ended");
      return std::nullopt;
    }
  }
  Request request{{}, 1u << lane, bytes, ptx::Space::shared, Direction::load};
  request.addresses[lane] = place.offset;
  if (place.offset > w.launch->shared_bytes || w.launch->shared_bytes - place.offset < bytes) flow = fault_window(w, op, request, 1u << lane, "shared", w.launch->shared_bytes);
  else if (place.offset % bytes != 0) flow = fault_misaligned(w, op, request, 1u << lane);
  if (flow != Flow::next) return std::nullopt;
  if (place.block != w.block) note_reached(*place.block, place.offset, bytes);
  return place;
}

void note_reached(Block& block, Address first, std::uint64_t bytes) {
  block.reached_first = std::min<std::uint64_t>(block.reached_first, first);
  block.reached_end = std::max<std::uint64_t>(block.reached_end, first + bytes);
}

bool reaches_others(const Warp& w, const Op& op, const Request& request) {
  if (w.block->cluster == nullptr || request.owner != nullptr) return false;
  return op.source->mods.space != ptx::Space::shared || op.source->mods.text.find("shared::cluster") != std::string::npos;
}

void leave_cluster(Warp& w, std::uint32_t mask) {
  Block& block = *w.block;
  complete_barrier(block);
  if (!w.launch->safety || block.cluster->blocks.size() == 1) return;
  w.launch->races->release(block.races, w.index, mask, end_key(block), ptx::Scope::cta);
  if (block.live_warps != 0) return;
  w.launch->races->acquire(block.races, w.index, mask, end_key(block), ptx::Scope::cta);
  const auto lane = static_cast<std::uint32_t>(std::countr_zero(mask));
  LaneAddresses addresses{};
  RaceAccess access;
  access.block = block.races;
  access.warp = w.index;
  access.mask = 1u << lane;
  access.bytes = 8;
  access.addresses = &addresses;
  access.memory = block.shared.data();
  access.location = w.launch->kernel->code[w.pc].location;
  access.kind = AccessKind::store;
  for (addresses[lane] = block.reached_first / 8 * 8; addresses[lane] < block.reached_end; addresses[lane] += 8) w.launch->races->access(access);
}

Handlers select_cluster(const ptx::Instruction& in) {
  const std::string_view id = ptx::instruction_table()[in.form].id;
  if (id == "barrier_cluster_wait") return same(&run_wait);
  if (id == "barrier_cluster_arrive") return same(&run_arrive);
  return same(id == "mapa" ? &run_mapa : &run_rank);
}

}  // namespace kforge::emulator
