#include "emulator/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/counted.h"

namespace kforge::emulator {
namespace {

std::string_view verb(Direction direction) {
  if (direction == Direction::load) return "reads";
  return direction == Direction::store ? "writes" : "updates";
}

std::string named(const Allocation& allocation) {
  if (allocation.label.empty()) return fmt::format("the {}-byte allocation number {}", allocation.size, allocation.serial);
  return fmt::format("the {}-byte allocation `{}`", allocation.size, allocation.label);
}

std::uint32_t first_lane(std::uint32_t lanes) { return static_cast<std::uint32_t>(std::countr_zero(lanes)); }

// Where an address lies relative to the nearest allocation.
std::string relation(const Allocation* nearest, Address address) {
  if (nearest == nullptr) return "there is no allocation at all";
  const Address end = nearest->base + nearest->size;
  if (address < nearest->base) return fmt::format("{} before the start of {}", counted(nearest->base - address, "byte"), named(*nearest));
  if (address < end) return fmt::format("offset {} of {}, running past its end", address - nearest->base, named(*nearest));
  return fmt::format("offset {} of {}, {} past its last byte", address - nearest->base, named(*nearest), counted(address - end + 1, "byte"));
}

bool contains(const Allocation* allocation, Address address) {
  return allocation != nullptr && address >= allocation->base && address - allocation->base < allocation->size;
}

struct Fault { std::string_view kind; std::string text; };

Fault describe_global(const Allocation* nearest, Address address) {
  if (address < 65536) return {"null-pointer", fmt::format("address 0x{:x}: a null pointer", address)};
  if (contains(nearest, address) && !nearest->live) return {"use-after-free", fmt::format("offset {} of {}, which was freed", address - nearest->base, named(*nearest))};
  if (nearest != nullptr && address - (nearest->base - kDeviceOffset) < nearest->size && nearest->kind == MemoryKind::device)
    return {"host-pointer", fmt::format("address 0x{:x}: a host address", address)};
  // Beyond pinned or managed memory is out of bounds; anything else of the host's was never given to the device.
  constexpr Address kNear = 1 << 20;
  const bool near_visible = nearest != nullptr && nearest->base < kDeviceOffset && address + kNear >= nearest->base && address < nearest->base + nearest->size + kNear;
  if (address < kDeviceOffset / 2 && !near_visible) return {"host-pointer", fmt::format("address 0x{:x}: memory of the host that no CUDA function allocated or registered", address)};
  return {"out-of-bounds", relation(nearest, address)};
}

}  // namespace

std::uint32_t lanes_inside(const LaneAddresses& addresses, std::uint32_t mask, const Window& window, std::uint32_t bytes) {
  if (window.size < bytes) return 0;
  const std::uint64_t limit = window.size - bytes;
  if (mask == kFullMask) {
    std::uint64_t outside = 0;   // the sign bit: above the limit, or below the base
    for (std::uint32_t i = 0; i < 32; ++i) {
      const std::uint64_t offset = addresses[i] - window.base;
      outside |= (limit - offset) | offset;
    }
    if (outside >> 63 == 0) return kFullMask;
  }
  std::uint32_t inside = 0;
  for (std::uint32_t m = mask; m != 0; m &= m - 1) {
    const std::uint32_t i = first_lane(m);
    if (addresses[i] >= window.base && addresses[i] - window.base <= limit) inside |= 1u << i;
  }
  return inside;
}

std::uint32_t lanes_misaligned(const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t bytes) {
  std::uint64_t low = 0;
  if (mask == kFullMask) {
    for (std::uint32_t i = 0; i < 32; ++i) low |= addresses[i];
  } else {
    for (std::uint32_t m = mask; m != 0; m &= m - 1) low |= addresses[first_lane(m)];
  }
  if ((low & (bytes - 1)) == 0) return 0;
  std::uint32_t result = 0;
  for (std::uint32_t m = mask; m != 0; m &= m - 1)
    if ((addresses[first_lane(m)] & (bytes - 1)) != 0) result |= m & (~m + 1);
  return result;
}

bool is_contiguous(const LaneAddresses& addresses, std::uint32_t mask, std::uint32_t bytes) {
  if (mask != kFullMask) return false;
  std::uint64_t different = 0;
  for (std::uint32_t i = 0; i < 32; ++i) different |= addresses[i] - addresses[0] - std::uint64_t{i} * bytes;
  return different == 0;
}

void lane_addresses(const Warp& warp, const Op& op, std::size_t k, std::uint32_t mask, LaneAddresses& addresses) {
  const std::byte* slot = warp.at(op.r[k]);
  const auto offset = static_cast<std::uint64_t>(op.immediate);
  if ((op.flags & 1) != 0) {
    for (std::uint32_t i = 0; i < 32; ++i) addresses[i] = get<std::uint64_t>(slot, i) + offset;
  } else {
    for (std::uint32_t i = 0; i < 32; ++i) addresses[i] = (get<std::uint32_t>(slot, i) + offset) & 0xffffffffu;
  }
  (void)mask;
}

ptx::Space space_of(Address address) {
  if (address - kSharedWindow < kWindowBytes) return ptx::Space::shared;
  if (address - kLocalWindow < kWindowBytes) return ptx::Space::local;
  return ptx::Space::global;
}

std::uint32_t lost_lane(const Warp& warp, const Request& request, std::uint32_t lanes) {
  constexpr Address kPage = Address{2} << 20;
  if (!warp.launch->forgiving) return 0;
  const Address address = request.addresses[first_lane(lanes)], end = address + request.bytes;
  const Allocation* nearest = warp.launch->memory->nearest(address);
  if (nearest == nullptr || !nearest->live || nearest->read_only || end < address) return 0;
  const Address limit = nearest->base + nearest->size;
  const Address missed = address < nearest->base ? nearest->base - address : end > limit ? end - limit : 0;
  return missed != 0 && missed < kPage ? lanes & (~lanes + 1) : 0;
}

Window lost_bytes(const Request& request, std::uint32_t lane) {
  thread_local std::array<std::byte, 64> bytes;
  bytes.fill(std::byte{0});
  return {bytes.data(), request.addresses[first_lane(lane)], bytes.size(), nullptr};
}

Flow fault_global(Warp& warp, const Op& op, const Request& request, std::uint32_t lanes) {
  const Address address = request.addresses[first_lane(lanes)];
  const Allocation* nearest = warp.launch->memory->nearest(address);
  const Fault fault = describe_global(nearest, address);
  report(warp, op, lanes, "safety.bounds", fault.kind, [&](evidence::Violation& v) {
    v.message = fmt::format("{} {} of global memory outside every live allocation: {}", verb(request.direction), counted(request.bytes, "byte"), fault.text);
    v.measured = fmt::format("{} at {}", counted(request.bytes, "byte"), fault.text);
    v.required = "inside a live allocation";
  });
  return stop(warp, op, lanes, LaunchStatus::illegal_address, fmt::format("{}: {}", fault.kind, fault.text));
}

Flow fault_misaligned(Warp& warp, const Op& op, const Request& request, std::uint32_t lanes) {
  const Address address = request.addresses[first_lane(lanes)];
  report(warp, op, lanes, "safety.bounds", "misaligned", [&](evidence::Violation& v) {
    v.message = fmt::format("{} {} bytes at address 0x{:x}, which is no multiple of {}", verb(request.direction), request.bytes, address, request.bytes);
    v.measured = fmt::format("address 0x{:x}, {} off", address, counted(address % request.bytes, "byte"));
    v.required = fmt::format("a multiple of {} bytes", request.bytes);
  });
  return stop(warp, op, lanes, LaunchStatus::misaligned_address, fmt::format("misaligned address 0x{:x}", address));
}

Flow fault_read_only(Warp& warp, const Op& op, const Request& request, const Allocation& allocation) {
  report(warp, op, request.mask, "safety.bounds", "read-only", [&](evidence::Violation& v) {
    v.message = fmt::format("{} {}, which is constant memory", verb(request.direction), named(allocation));
    v.measured = fmt::format("{} bytes written to constant memory", request.bytes);
    v.required = "constant memory is only read";
  });
  return stop(warp, op, request.mask, LaunchStatus::illegal_address, "write to constant memory");
}

Flow fault_window(Warp& warp, const Op& op, const Request& request, std::uint32_t lanes, std::string_view space, std::uint64_t size) {
  const auto offset = static_cast<std::int64_t>(request.addresses[first_lane(lanes)]);
  const std::string measured = fmt::format("{} at offset {} of {} of {} memory", counted(request.bytes, "byte"), offset, counted(size, "byte"), space);
  report(warp, op, lanes, "safety.bounds", fmt::format("{}-out-of-bounds", space), [&](evidence::Violation& v) {
    v.message = fmt::format("{} {}", verb(request.direction), measured);
    v.measured = measured;
    v.required = fmt::format("inside the {} bytes of {} memory", size, space);
  });
  return stop(warp, op, lanes, LaunchStatus::illegal_address, measured);
}

void report_unfenced(Warp& warp, const Op& op, std::uint32_t lanes, const UnfencedWrite& write, std::string_view what) {
  report(warp, op, lanes, "safety.async", "missing-proxy-fence", [&](evidence::Violation& v) {
    v.other = warp.launch->where(write.location);
    v.message = fmt::format("{} reads shared memory offset {}, which thread {} wrote with an ordinary instruction and no fence.proxy.async has handed over", what, write.offset, write.thread);
    v.measured = "a write without a proxy fence before the read";
    v.required = "fence.proxy.async (cuda::ptx::fence_proxy_async) in each thread that wrote, and then a barrier, before the copy or wgmma reads";
  });
}

namespace {

void keep_worst(std::unique_ptr<evidence::RequestExample>& worst, std::uint32_t& most, const Warp& warp, const Request& request,
                std::uint32_t measured, std::uint32_t ideal) {
  if (measured <= ideal || measured - ideal <= most) return;
  most = measured - ideal;
  if (worst == nullptr) worst = std::make_unique<evidence::RequestExample>();
  worst->active_mask = request.mask;
  worst->bytes_per_lane = request.bytes;
  worst->lane_addresses = request.addresses;
  worst->block = warp.block->index;
  worst->warp = warp.index;
  worst->measured = measured;
  worst->ideal = ideal;
}

}  // namespace

void keep_worst_global(Warp& warp, const Op& op, const Request& request, const SectorCount& count) {
  OpProfile& profile = warp.launch->ops[op.index];
  keep_worst(profile.worst_global, profile.worst_global_waste, warp, request, count.sectors, count.ideal);
}

void keep_worst_shared(Warp& warp, const Op& op, const Request& request, const WavefrontCount& count) {
  OpProfile& profile = warp.launch->ops[op.index];
  keep_worst(profile.worst_shared, profile.worst_shared_waste, warp, request, count.wavefronts, count.ideal);
}

void count_global(Warp& warp, const Op& op, const Request& request) {
  OpProfile& profile = warp.launch->ops[op.index];
  ++profile.requests;
  const bool load = request.direction == Direction::load;
  if (load && warp.block->trace != nullptr) [[unlikely]] warp.block->trace->add(warp.index, request.addresses, request.mask, request.bytes);
  if (request.direction == Direction::atomic) {
    profile.atomic_passes += count_atomic_passes(request.addresses, request.mask);
    if (warp.launch->atomic_lines != nullptr) warp.launch->atomic_lines->add(request.addresses, request.mask);
  }
  const bool contiguous = is_contiguous(request.addresses, request.mask, request.bytes);
  if (contiguous && request.addresses[0] % 32 == 0) {
    profile.l1_cycles += load ? (request.bytes + 3) / 4 : (request.bytes + 1) / 2;
    profile.sectors += request.bytes;
    profile.sectors_ideal += request.bytes;
    profile.sectors_aligned_ideal += request.bytes;
    profile.distinct_bytes += std::uint64_t{32} * request.bytes;
    return;
  }
  if (!contiguous && request.mask == kFullMask) profile.scattered = 1;
  const SectorCount count = count_sectors(request.addresses, request.mask, request.bytes);
  profile.sectors += count.sectors;
  profile.sectors_ideal += count.ideal;
  profile.sectors_aligned_ideal += count.aligned_ideal;
  profile.distinct_bytes += count.distinct_bytes;
  profile.l1_cycles += load ? load_cycles(count_wavefronts(request.addresses, request.mask, request.bytes).wavefronts, count) : store_cycles(count);
  if (request.direction == Direction::store) profile.partial_sectors += count.sectors - count.whole;
  keep_worst(profile.worst_global, profile.worst_global_waste, warp, request, count.sectors, count.ideal);
}

void count_shared(Warp& warp, const Op& op, const Request& request) {
  OpProfile& profile = warp.launch->ops[op.index];
  ++profile.shared_requests;
  if (request.bytes == 4 && is_contiguous(request.addresses, request.mask, 4)) {
    ++profile.wavefronts;
    ++profile.wavefronts_ideal;
    return;
  }
  const bool store = request.direction == Direction::store;
  const WavefrontCount count = (store ? count_store_wavefronts : count_wavefronts)(request.addresses, request.mask, request.bytes);
  profile.wavefronts += count.wavefronts;
  profile.wavefronts_ideal += count.ideal;
  if (request.direction == Direction::atomic) {
    const std::uint32_t lanes = most_lanes_of_a_bank(request.addresses, request.mask);
    profile.shared_atomic_repeats += lanes - std::min(lanes, count.wavefronts);
  }
  keep_worst(profile.worst_shared, profile.worst_shared_waste, warp, request, count.wavefronts, count.ideal);
}

void AtomicLines::add(const LaneAddresses& addresses, std::uint32_t mask) {
  while (mask != 0) {
    const std::uint64_t line = addresses[first_lane(mask)] / 128;
    std::uint32_t lanes = 0;
    for (std::uint32_t m = mask; m != 0; m &= m - 1)
      if (addresses[first_lane(m)] / 128 == line) lanes |= m & (~m + 1);
    mask &= ~lanes;
    const auto known = passes_.find(line);
    if (known != passes_.end()) known->second += count_atomic_passes(addresses, lanes);
    else if (passes_.size() < kMostLines) passes_.emplace(line, count_atomic_passes(addresses, lanes));
  }
}

std::uint64_t AtomicLines::most() const {
  std::uint64_t most = 0;
  for (const auto& [line, passes] : passes_) most = std::max(most, passes);
  return most;
}

void count_local(Warp& warp, const Op& op) {
  ++warp.launch->ops[op.index].local_requests;
}

void mark_stored_bytes(Allocation& allocation, const Request& request) { mark_bytes(allocation.written, allocation, request); }

void mark_bytes(std::vector<std::uint64_t>& words, const Allocation& allocation, const Request& request) {
  if (words.empty()) words.assign((allocation.size + 63) / 64, 0);
  if (request.bytes >= 2 && is_contiguous(request.addresses, request.mask, request.bytes) && (request.addresses[0] - allocation.base) % 64 == 0) {
    const std::uint64_t first = (request.addresses[0] - allocation.base) / 64;
    for (std::uint32_t k = 0; k < request.bytes / 2; ++k) or_bits(words[first + k], ~std::uint64_t{0});
    return;
  }
  if (request.bytes > 16) return for_lanes(request.mask, [&](std::uint32_t i) { mark_range(words, request.addresses[i] - allocation.base, request.bytes); });
  for_lanes(request.mask, [&](std::uint32_t i) {   // aligned: never across a word of 64 bytes
    const std::uint64_t offset = request.addresses[i] - allocation.base;
    or_bits(words[offset / 64], ((std::uint64_t{1} << request.bytes) - 1) << offset % 64);
  });
}

void mark_stored_range(Allocation& allocation, std::uint64_t offset, std::uint64_t bytes) {
  if (allocation.written.empty()) allocation.written.assign((allocation.size + 63) / 64, 0);
  mark_range(allocation.written, offset, bytes);
}

void mark_range(std::vector<std::uint64_t>& words, std::uint64_t offset, std::uint64_t bytes) {
  while (bytes != 0) {
    const std::uint64_t part = std::min(bytes, 64 - offset % 64);
    or_bits(words[offset / 64], (part == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << part) - 1) << offset % 64);
    offset += part;
    bytes -= part;
  }
}

}  // namespace kforge::emulator
