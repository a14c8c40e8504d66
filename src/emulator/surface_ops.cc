// Surfaces (PTX manual, 9.7.11): coordinates are integers, x in bytes (.b) or texels (.p). Outside: .trap ends the launch, .clamp takes
// the nearest place, .zero reads zeros and stores nothing.
#include "emulator/surface_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "emulator/formats.h"
#include "emulator/registers.h"
#include "emulator/texture_access.h"
#include "emulator/texture_ops.h"

namespace kforge::emulator {
namespace {

using ptx::AtomOp;
using ptx::Exec;

struct Places {
  LaneAddresses addresses{};
  std::uint32_t inside = 0;      // lanes that touch memory
  std::uint32_t outside = 0;     // .trap only
};

// Moves a coordinate inside where .clamp says so; false: it is outside.
bool settle(std::int64_t& at, std::int64_t size, bool clamps) {
  if (at >= 0 && at < size) return true;
  if (clamps) at = std::clamp<std::int64_t>(at, 0, size - 1);
  return clamps;
}

// Where the lanes' accesses of `bytes` lie. `unit`: bytes for one step of x.
Places places_of(const Warp& w, const Op& op, const TextureMode& mode, const Image& image, std::uint32_t lanes, std::uint32_t bytes, std::uint32_t unit) {
  Places places;
  const bool clamps = mode.outside == TextureMode::Outside::clamp;
  const Ref* first = op.list + op.flags;
  for_lanes(lanes, [&](std::uint32_t i) {
    const Ref* at = first;
    std::int64_t slice = 0, y = 0;
    if (has_layer(mode.geometry)) slice = get<std::int32_t>(w.at(*at++), i);
    std::int64_t x = std::int64_t{get<std::int32_t>(w.at(*at++), i)} * unit;
    if (dimensions(mode.geometry) >= 2) y = get<std::int32_t>(w.at(*at++), i);
    if (mode.geometry == Geometry::d3) slice = get<std::int32_t>(w.at(*at++), i);
    const std::int64_t row = static_cast<std::int64_t>(image.width * image.format.bytes());
    bool inside = x >= 0 && x + bytes <= row;
    if (!inside && clamps) x = x < 0 ? 0 : std::max<std::int64_t>(row - bytes, 0), inside = bytes <= row;
    inside = inside && settle(y, std::max(image.height, 1u), clamps);
    inside = inside && settle(slice, mode.geometry == Geometry::d3 ? std::max(image.depth, 1u) : std::max(image.layers, 1u), clamps);
    if (inside) {
      places.inside |= 1u << i;
      places.addresses[i] = image.data + static_cast<std::uint64_t>(slice) * image.slice_bytes + static_cast<std::uint64_t>(y) * image.row_bytes + static_cast<std::uint64_t>(x);
    } else if (mode.outside == TextureMode::Outside::trap) {
      places.outside |= 1u << i;
    }
  });
  return places;
}

Flow fault_outside(Warp& w, const Op& op, std::uint32_t lanes, const Image& image) {
  std::string what = fmt::format("a coordinate outside a surface of {}", image.width);
  for (const std::uint32_t size : {image.height, image.depth, image.layers})
    if (size != 0) what += fmt::format(" x {}", size);
  what += fmt::format(" elements of {} bytes", image.format.bytes());
  report(w, op, lanes, "safety.bounds", "outside-surface", [&](evidence::Violation& v) {
    v.message = what;
    v.measured = "a coordinate outside";
    v.required = "x in bytes, y, z and layer inside the surface";
  });
  return stop(w, op, lanes, LaunchStatus::trap, what);
}

const ptx::Operand& data_operand(const Op& op, std::size_t k) {
  const ptx::Operand& whole = op.source->operands[family(*op.source) == Exec::suld ? 0 : 1];
  return whole.kind == ptx::Operand::Kind::vector ? whole.elements[k] : whole;
}

std::uint64_t data_value(const Warp& w, const Op& op, std::uint32_t k, std::uint32_t lane) {
  return (op.wide >> k & 1) != 0 ? get<std::uint64_t>(w.at(op.list[k]), lane) : get<std::uint32_t>(w.at(op.list[k]), lane);
}

void put_data(const Warp& w, const Op& op, std::uint32_t k, std::uint32_t lane, std::uint64_t value) {
  if ((op.wide >> k & 1) != 0) put<std::uint64_t>(w.at(op.list[k]), lane, value);
  else put<std::uint32_t>(w.at(op.list[k]), lane, static_cast<std::uint32_t>(value));
}

template <Variant kVariant>
Flow store_texel(Warp& w, const Op& op, std::uint32_t lanes, const LaneAddresses& addresses, std::uint32_t skip, std::uint32_t bytes, const LaneElements& elements) {
  Request request;
  request.mask = lanes;
  request.bytes = bytes;
  request.space = ptx::Space::global;
  request.direction = Direction::store;
  for_lanes(lanes, [&](std::uint32_t i) { request.addresses[i] = addresses[i] + skip; });
  return store_elements<kWatched<kVariant>>(w, op, request, elements);
}

template <Variant kVariant>
Flow load(Warp& w, const Op& op, std::uint32_t lanes, const Image& image, const TextureMode& mode) {
  const std::uint32_t count = op.flags, bytes = op.bytes;
  const Places places = places_of(w, op, mode, image, lanes, bytes * count, 1);
  if (places.outside != 0) return fault_outside(w, op, places.outside, image);
  std::array<LaneElements, 4> elements;
  for (std::uint32_t k = 0; k < count && places.inside != 0; ++k)
    if (const Flow flow = load_texel<kVariant>(w, op, places.inside, places.addresses, k * bytes, bytes, elements[k]); flow != Flow::next) return flow;
  for (std::uint32_t k = 0; k < count; ++k) {
    for_lanes(lanes, [&](std::uint32_t i) { put_data(w, op, k, i, (places.inside >> i & 1) != 0 ? elements[k].value[i] : 0); });
    if constexpr (Observes<kVariant>::safety) assign_undefined(w, data_operand(op, k), elements[k].undefined, lanes);
  }
  return Flow::next;
}

// sust.p: a 32-bit value to the surface's own format. Integers are cut to what it holds, floats rounded.
std::uint64_t to_format(const TexelFormat& format, std::uint32_t bits) {
  if (format.kind == ChannelKind::floating) return format.bits == 16 ? encode_format(static_cast<double>(std::bit_cast<float>(bits)), kF16) : bits;
  if (format.bits == 32) return bits;
  if (format.kind == ChannelKind::signed_integer) {
    const std::int32_t top = (1 << (format.bits - 1)) - 1;
    return static_cast<std::uint32_t>(std::clamp(static_cast<std::int32_t>(bits), -top - 1, top)) & ((1u << format.bits) - 1);
  }
  return std::min(bits, (1u << format.bits) - 1);
}

template <Variant kVariant>
Flow store(Warp& w, const Op& op, std::uint32_t lanes, const Image& image, const TextureMode& mode) {
  const TexelFormat& format = image.format;
  const std::uint32_t bytes = mode.formatted ? format.bits / 8 : op.bytes;
  const std::uint32_t count = mode.formatted ? std::min<std::uint32_t>(format.channels, op.flags) : op.flags;
  const Places places = places_of(w, op, mode, image, lanes, bytes * count, mode.formatted ? format.bytes() : 1);
  if (places.outside != 0) return fault_outside(w, op, places.outside, image);
  for (std::uint32_t k = 0; k < count && places.inside != 0; ++k) {
    LaneElements elements;
    for_lanes(places.inside, [&](std::uint32_t i) {
      const std::uint64_t value = data_value(w, op, k, i);
      elements.value[i] = mode.formatted ? to_format(format, static_cast<std::uint32_t>(value)) : value;
    });
    if constexpr (Observes<kVariant>::safety)
      if (const UndefinedBytes* undefined = undefined_operand(w, data_operand(op, k)); undefined != nullptr) elements.undefined = *undefined;
    if (const Flow flow = store_texel<kVariant>(w, op, places.inside, places.addresses, k * bytes, bytes, elements); flow != Flow::next) return flow;
  }
  return Flow::next;
}

template <class T>
std::uint64_t reduced(AtomOp how, std::uint64_t old, std::uint64_t value) {
  const T a = static_cast<T>(old), b = static_cast<T>(value);
  switch (how) {
    case AtomOp::add: return old + value;
    case AtomOp::min: return static_cast<std::uint64_t>(std::min(a, b));
    case AtomOp::max: return static_cast<std::uint64_t>(std::max(a, b));
    case AtomOp::and_: return old & value;
    default: return old | value;
  }
}

// Lanes one after the other; to the observers an atomic.
template <Variant kVariant>
Flow reduce(Warp& w, const Op& op, std::uint32_t lanes, const Image& image, const TextureMode& mode) {
  const ptx::Instruction& in = *op.source;
  const Places places = places_of(w, op, mode, image, lanes, op.bytes, mode.formatted ? op.bytes : 1);
  if (places.outside != 0) return fault_outside(w, op, places.outside, image);
  Request request;
  request.mask = places.inside;
  request.bytes = op.bytes;
  request.addresses = places.addresses;
  request.direction = Direction::atomic;
  if (const std::uint32_t bad = lanes_misaligned(request.addresses, request.mask, request.bytes); bad != 0) return fault_misaligned(w, op, request, bad);
  for (std::uint32_t rest = places.inside; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<std::uint32_t>(std::countr_zero(rest));
    Allocation* allocation = w.launch->memory->find(places.addresses[i]);
    if (allocation == nullptr || places.addresses[i] + op.bytes > allocation->base + allocation->size) return fault_global(w, op, request, 1u << i);
    std::byte* at = allocation->data + (places.addresses[i] - allocation->base);
    if constexpr (Observes<kVariant>::safety) {
      RaceAccess access;
      access.block = w.block->races;
      access.warp = w.index;
      access.mask = access.wrote = 1u << i;
      access.bytes = op.bytes;
      access.addresses = &request.addresses;
      access.allocation = allocation;
      access.memory = allocation->data;
      access.location = op.location;
      access.kind = AccessKind::atomic;
      access.strong = true;
      access.scope = ptx::Scope::gpu;
      w.launch->races->access(access);
    }
    std::uint64_t old = 0;
    std::memcpy(&old, at, op.bytes);
    const bool is_signed = mode.formatted ? image.format.kind == ChannelKind::signed_integer : ptx::is_signed(in.type);
    const std::uint64_t b = data_value(w, op, 0, i);
    const std::uint64_t value = op.bytes == 8 ? (is_signed ? reduced<std::int64_t>(in.mods.atom_op, old, b) : reduced<std::uint64_t>(in.mods.atom_op, old, b))
                                              : (is_signed ? reduced<std::int32_t>(in.mods.atom_op, old, b) : reduced<std::uint32_t>(in.mods.atom_op, old, b));
    std::memcpy(at, &value, op.bytes);
    ++w.launch->stores;
  }
  return Flow::next;
}

template <Variant kVariant, Exec kExec>
Flow run_surface(Warp& w, const Op& op, std::uint32_t mask) {
  if constexpr (Observes<kVariant>::safety) check_address(w, op, 1, mask);
  const TextureMode mode = mode_of(op);
  for (std::uint32_t rest = mask; rest != 0;) {
    const std::uint32_t lanes = lanes_of_first_handle(w, op, rest);
    const std::uint64_t handle = handle_of(w, op, lanes);
    const Surface* surface = w.launch->textures->surface(handle);
    if (surface == nullptr) return fault_handle(w, op, lanes, handle, "surface");
    Flow flow = Flow::next;
    if constexpr (kExec == Exec::suld) flow = load<kVariant>(w, op, lanes, surface->image, mode);
    else if constexpr (kExec == Exec::sust) flow = store<kVariant>(w, op, lanes, surface->image, mode);
    else flow = reduce<kVariant>(w, op, lanes, surface->image, mode);
    if (flow != Flow::next) return flow;
    rest &= ~lanes;
  }
  return Flow::next;
}

}  // namespace

Flow fault_handle(Warp& w, const Op& op, std::uint32_t lanes, std::uint64_t handle, std::string_view kind) {
  const std::string what = fmt::format("0x{:x} is no live {} object", handle, kind);
  report(w, op, lanes, "safety.bounds", "bad-handle", [&](evidence::Violation& v) {
    v.message = what;
    v.measured = fmt::format("handle 0x{:x}", handle);
    v.required = fmt::format("a {} object that was created and not destroyed", kind);
  });
  return stop(w, op, lanes, LaunchStatus::illegal_address, what);
}

Handlers select_surface(Exec exec) {
  switch (exec) {
    case Exec::suld: return for_variants([](auto v) -> Handler { return &run_surface<decltype(v)::value, Exec::suld>; });
    case Exec::sust: return for_variants([](auto v) -> Handler { return &run_surface<decltype(v)::value, Exec::sust>; });
    case Exec::sured: return for_variants([](auto v) -> Handler { return &run_surface<decltype(v)::value, Exec::sured>; });
    default: return Handlers{};
  }
}

}  // namespace kforge::emulator
