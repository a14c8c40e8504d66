#include "emulator/start_block.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "emulator/uninitialised.h"

namespace kforge::emulator {
namespace {

evidence::Dim3 block_index(const evidence::Dim3& grid, std::uint64_t linear) {
  return {static_cast<std::uint32_t>(linear % grid.x), static_cast<std::uint32_t>(linear / grid.x % grid.y),
          static_cast<std::uint32_t>(linear / grid.x / grid.y)};
}

// Most values are those of the block before, whose bank this is.
void put_uniform(std::byte* bank, ptx::SpecialRegister special, std::uint32_t value) {
  std::byte* const to = bank + place_of(special).offset;
  if (get<std::uint32_t>(to, 0) == value && get<std::uint32_t>(to, 31) == value) return;
  for (std::uint32_t i = 0; i < 32; ++i) put<std::uint32_t>(to, i, value);
}

// The first frame as a new one, with the memory that it has.
void renew(Frame& entry) {
  entry.local_base = 0;
  entry.stack.clear();
  entry.depth = 0;
  entry.parent = nullptr;
  entry.return_pc = 0;
  entry.site = nullptr;
}

// An ended warp as a new one, but for what start_warp sets. It keeps its memory and its thread indices. Observers saw none of it.
void renew(Warp& w) {
  w.stop_pc = w.watch_pc = kNoPc;
  w.exited_since_barrier = 0;
  w.groups.clear();
  w.pending_copies.clear();
  w.async_groups = {};
  w.tainted = w.forced_sync = w.watching = w.visited = false;
  w.frames.resize(std::min<std::size_t>(w.frames.size(), 1));
  w.spare_frames.clear();
  if (!w.frames.empty()) renew(*w.frames[0]);
  w.watch_hash = w.watch_stores = 0;
  w.watch_count = 0;
  w.watch_next = 1;
  w.bulk_stores.clear();
  w.bulk_groups = {};
  w.wgmma = {};
  w.cluster_arrived = 0;
}

void renew(Block& block) {
  for (Warp& w : block.warps) renew(w);
  for (std::uint32_t rest = std::exchange(block.awaited_barriers, 0); rest != 0; rest &= rest - 1)   // somebody came, and the others ended
    block.barriers[static_cast<std::size_t>(std::countr_zero(rest))].restart();
  block.races = nullptr;
  block.cluster = nullptr;
  block.reached_first = ~std::uint64_t{0}, block.reached_end = 0;
  block.trace = nullptr;
  block.bulk_loads.clear();
  block.warpgroup_reads.clear();
}

void fill_warp_bank(const Launch& launch, Warp& w) {
  using S = ptx::SpecialRegister;
  w.specials.assign(bank_bytes(Bank::warp), std::byte{0});
  std::byte* bank = w.specials.data();
  std::byte* const x = bank + place_of(S::tid_x).offset;
  std::byte* const y = bank + place_of(S::tid_y).offset;
  std::byte* const z = bank + place_of(S::tid_z).offset;
  evidence::Dim3 thread = thread_index(launch.block_size, w.index * 32);
  for (std::uint32_t i = 0; i < 32; ++i) {
    put<std::uint32_t>(x, i, thread.x);
    put<std::uint32_t>(y, i, thread.y);
    put<std::uint32_t>(z, i, thread.z);
    if (++thread.x < launch.block_size.x) continue;
    thread.x = 0;
    if (++thread.y < launch.block_size.y) continue;
    thread.y = 0;
    ++thread.z;
  }
  put_uniform(bank, S::warpid, w.index);
}

void fill_block_bank(const Launch& launch, Block& block) {
  using S = ptx::SpecialRegister;
  if (block.specials.empty()) block.specials.assign(bank_bytes(Bank::block), std::byte{0});
  std::byte* bank = block.specials.data();
  put_uniform(bank, S::ctaid_x, block.index.x);
  put_uniform(bank, S::ctaid_y, block.index.y);
  put_uniform(bank, S::ctaid_z, block.index.z);
  put_uniform(bank, S::smid, static_cast<std::uint32_t>(block.linear % static_cast<std::uint64_t>(std::max(1, launch.sheet->multiprocessors))));
  const evidence::Dim3& c = launch.cluster;
  const std::uint32_t x = block.index.x % c.x, y = block.index.y % c.y, z = block.index.z % c.z;
  put_uniform(bank, S::clusterid_x, block.index.x / c.x);
  put_uniform(bank, S::clusterid_y, block.index.y / c.y);
  put_uniform(bank, S::clusterid_z, block.index.z / c.z);
  put_uniform(bank, S::cluster_ctaid_x, x);
  put_uniform(bank, S::cluster_ctaid_y, y);
  put_uniform(bank, S::cluster_ctaid_z, z);
  put_uniform(bank, S::cluster_ctarank, x + c.x * (y + c.y * z));
}

void start_warp(Launch& launch, Block& block, Warp& w, std::uint32_t index) {
  w.launch = &launch;
  w.block = &block;
  w.index = index;
  const std::uint32_t rest = launch.threads_per_block - index * 32;
  w.initial = w.live = rest >= 32 ? kFullMask : (1u << rest) - 1;
  const FunctionCode& entry = launch.kernel->functions[0];
  if (w.frames.empty()) w.frames.push_back(std::make_unique<Frame>());
  Frame* frame = w.frames[0].get();
  frame->function = &entry;
  // A thread that reads no register before it writes it cannot tell an ended one's from zeroes: half of what a short warp costs.
  if (entry.undefined_at_entry.empty() && frame->registers.size() == entry.frame_bytes && !launch.safety) std::memset(frame->registers.data(), 0, std::min<std::size_t>(kFirstSlot, entry.frame_bytes));
  else frame->registers.assign(entry.frame_bytes, std::byte{0});
  frame->params.assign(std::size_t{32} * entry.param_bytes, std::byte{0});
  frame->lanes = w.live;
  frame->local_top = entry.local_bytes;
  w.local_stride = entry.local_bytes;
  w.local.assign(std::size_t{32} * entry.local_bytes, std::byte{0});
  if (w.specials.empty()) fill_warp_bank(launch, w);
  w.frame = frame;
  w.active = w.live;
  w.pc = entry.entry;
  if (launch.safety) {
    if (launch.kernel->barriers != nullptr) w.barriers = new_barrier_state(*launch.kernel->barriers);
    w.local_shadow.reset(w.local.size());
    start_shadow(w);
  }
  w.bases = {frame->registers.data(), const_cast<std::byte*>(launch.kernel->constants.data()), launch.uniforms.data(), block.specials.data(), w.specials.data()};
}

}  // namespace

std::unique_ptr<Block> start_block(Launch& launch, std::uint64_t linear, std::unique_ptr<Block> used) {
  if (used != nullptr) renew(*used);
  auto block = used != nullptr ? std::move(used) : std::make_unique<Block>();
  block->launch = &launch;
  block->linear = linear;
  block->index = block_index(launch.grid, linear);
  block->shared.assign(launch.shared_bytes, std::byte{0});
  if (launch.safety) {
    block->shared_shadow.reset(launch.shared_bytes);
    // What is reserved behind the kernel's own is zero at the start.
    const auto reserved = get<std::uint32_t>(launch.uniforms.data() + place_of(ptx::SpecialRegister::reserved_smem_offset_begin).offset, 0);
    if (reserved != 0) block->shared_shadow.mark_range(reserved, launch.shared_bytes - reserved, true);
  }
  block->live_threads = launch.threads_per_block;
  fill_block_bank(launch, *block);
  if (launch.safety) block->races = launch.races->begin_block(static_cast<std::uint32_t>(linear), launch.shared_bytes);
  const std::uint32_t warps = (launch.threads_per_block + 31) / 32;
  if (launch.trace != nullptr && linear == launch.traced_block) {
    block->trace = launch.trace;
    block->trace->begin(warps);
  }
  if (block->warps.empty()) block->warps = std::vector<Warp>(warps);
  block->live_warps = warps;
  block->warpgroup_reads.resize((warps + 3) / 4);
  for (std::uint32_t k = 0; k < warps; ++k) start_warp(launch, *block, block->warps[k], k);
  return block;
}

}  // namespace kforge::emulator
