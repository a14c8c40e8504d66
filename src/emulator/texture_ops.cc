// Textures: per lane the taps of texture_sample.h, which are read tap by tap for the whole warp like any other global memory.
// They do not count as global requests of the profile: a GPU reads them through its own cache, in tiles.
#include "emulator/texture_ops.h"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/surface_ops.h"
#include "emulator/texture_access.h"
#include "emulator/texture_quick.h"

namespace kforge::emulator {
namespace {

using ptx::Exec;

double coordinate(const Warp& w, Ref ref, std::uint32_t lane, bool integer) {
  const auto bits = get<std::uint32_t>(w.at(ref), lane);
  return integer ? static_cast<double>(static_cast<std::int32_t>(bits)) : static_cast<double>(std::bit_cast<float>(bits));
}

Lookup lookup_of(const Warp& w, const Op& op, const TextureMode& mode, const Texture& texture, std::uint32_t lane) {
  Lookup lookup;
  lookup.geometry = mode.geometry;
  lookup.integers = mode.integers;
  lookup.gathers = mode.how == TextureMode::How::gather;
  const Ref* at = op.list + op.bytes;
  const Ref* extra = at + op.wide;
  const Ref* offsets = extra + op.flags;
  const Ref* end = op.list + op.list_count;
  if (has_layer(mode.geometry)) lookup.layer = get<std::uint32_t>(w.at(*at++), lane);
  const std::size_t dims = dimensions(mode.geometry);
  for (std::size_t k = 0; k < dims && at + k < extra; ++k) lookup.at[k] = coordinate(w, at[k], lane, mode.integers);
  for (std::size_t k = 0; k < dims && offsets + k < end; ++k) lookup.offset[k] = get<std::int32_t>(w.at(offsets[k]), lane);
  if (mode.how == TextureMode::How::level) lookup.level = coordinate(w, extra[0], lane, false);
  if (mode.how == TextureMode::How::grad) {
    const std::size_t half = op.flags / 2u;
    std::array<double, 3> dx{}, dy{};
    for (std::size_t k = 0; k < std::min(dims, half); ++k) {
      dx[k] = coordinate(w, extra[k], lane, false);
      dy[k] = coordinate(w, extra[half + k], lane, false);
    }
    lookup.level = level_of_gradients(texture, lookup, dx, dy);
  }
  return lookup;
}

// Reads tap k of each lane into `texels`.
template <Variant kVariant>
Flow read_tap(Warp& w, const Op& op, std::uint32_t lanes, std::uint32_t bytes, const std::array<Taps, 32>& taps, std::uint32_t k,
              std::array<std::array<TexelBytes, 16>, 32>& texels, UndefinedLanes& undefined) {
  LaneAddresses addresses{};
  std::uint32_t inside = 0;
  for_lanes(lanes, [&](std::uint32_t i) {
    if (k >= taps[i].count || taps[i].tap[k].address == 0) return;
    addresses[i] = taps[i].tap[k].address;
    inside |= 1u << i;
  });
  for (std::uint32_t at = 0; at < bytes && inside != 0; at += 8) {
    LaneElements elements;
    const std::uint32_t part = std::min(bytes - at, 8u);
    if (const Flow flow = load_texel<kVariant>(w, op, inside, addresses, at, part, elements); flow != Flow::next) return flow;
    for_lanes(inside, [&](std::uint32_t i) { std::memcpy(texels[i][k].data() + at, &elements.value[i], part); });
    undefined.add(elements.undefined);
  }
  return Flow::next;
}

// The lanes that name one texture.
template <Variant kVariant>
Flow fetch(Warp& w, const Op& op, std::uint32_t lanes, const Texture& texture, UndefinedLanes& undefined) {
  if constexpr (kVariant == Variant::plain)
    if (w.launch->kernel->owner->shortcuts && fetch_quickly(w, op, lanes, texture)) return Flow::next;
  const TextureMode mode = mode_of(op);
  std::array<Taps, 32> taps;
  std::array<std::array<TexelBytes, 16>, 32> texels;
  std::uint32_t most = 0;
  for_lanes(lanes, [&](std::uint32_t i) {
    taps[i] = taps_of(texture, lookup_of(w, op, mode, texture, i));
    most = std::max(most, taps[i].count);
  });
  for (std::uint32_t k = 0; k < most; ++k)
    if (const Flow flow = read_tap<kVariant>(w, op, lanes, texture.levels[0].format.bytes(), taps, k, texels, undefined); flow != Flow::next) return flow;
  for_lanes(lanes, [&](std::uint32_t i) {
    const auto result = mode.how == TextureMode::How::gather ? gathered(texture, taps[i], texels[i], mode.component) : filtered(texture, taps[i], texels[i]);
    for (std::uint32_t c = 0; c < op.bytes; ++c) put<std::uint32_t>(w.at(op.list[c]), i, result[c]);
  });
  return Flow::next;
}

template <Variant kVariant>
Flow run_tex(Warp& w, const Op& op, std::uint32_t mask) {
  UndefinedLanes undefined;
  if constexpr (Observes<kVariant>::safety) check_address(w, op, 1, mask);
  for (std::uint32_t rest = mask; rest != 0;) {
    const std::uint32_t lanes = lanes_of_first_handle(w, op, rest);
    const std::uint64_t handle = handle_of(w, op, lanes);
    const Texture* texture = w.launch->textures->texture(handle);
    if (texture == nullptr || texture->levels.empty()) return fault_handle(w, op, lanes, handle, "texture");
    if (const Flow flow = fetch<kVariant>(w, op, lanes, *texture, undefined); flow != Flow::next) return flow;
    rest &= ~lanes;
  }
  if (op.source->operands[0].pair != ptx::kNoRegister) put_predicate(w.at(op.r[5]), kFullMask, mask);   // all texels are resident
  if constexpr (Observes<kVariant>::safety)
    for (const ptx::Operand& d : op.source->operands[0].elements) assign_undefined(w, d, undefined.as_register(), mask);
  return Flow::next;
}

// ---- queries -------------------------------------------------------------------------------------------------------

// The values are OpenCL's (PTX manual, 9.7.10.5): CL_R and on, CL_SNORM_INT8 and on.
std::uint32_t channel_order(const TexelFormat& format) { return format.channels == 1 ? 0x10b0 : format.channels == 2 ? 0x10b2 : 0x10b5; }
std::uint32_t channel_data_type(const TexelFormat& format, bool normalised) {
  const std::uint32_t step = format.bits == 8 ? 0 : format.bits == 16 ? 1 : 2;
  if (format.kind == ChannelKind::floating) return format.bits == 16 ? 0x10dd : 0x10de;
  const bool is_signed = format.kind == ChannelKind::signed_integer;
  if (normalised) return (is_signed ? 0x10d0 : 0x10d2) + step;
  return (is_signed ? 0x10d7 : 0x10da) + step;
}

// The manual's numbers: wrap 0, mirror 1, clamp to edge 3, clamp to border 4.
std::uint32_t address_number(AddressMode mode) {
  constexpr std::array<std::uint32_t, 4> kNumbers{0, 3, 1, 4};
  return kNumbers[static_cast<std::size_t>(mode)];
}

std::uint32_t answer(const TextureMode& mode, const Texture* texture, const Image& image) {
  using Q = TextureQuery;
  const auto axis = static_cast<std::size_t>(mode.query) - static_cast<std::size_t>(Q::addr_mode_0);
  switch (mode.query) {
    case Q::width: return static_cast<std::uint32_t>(image.width);
    case Q::height: return image.height;
    case Q::depth: return image.depth;
    case Q::channel_data_type: return channel_data_type(image.format, texture != nullptr && texture->normalised_values);
    case Q::channel_order: return channel_order(image.format);
    case Q::normalized_coords: return texture != nullptr && texture->normalised_coordinates ? 1 : 0;
    case Q::filter_mode: return texture != nullptr && texture->filter == FilterMode::linear ? 1 : 0;
    case Q::addr_mode_0: case Q::addr_mode_1: case Q::addr_mode_2: return texture == nullptr ? 0 : address_number(texture->address[axis]);
    case Q::array_size: return image.is_cube ? image.layers / 6 : image.layers;
    case Q::num_mipmap_levels: return texture == nullptr || texture->levels.size() == 1 ? 0 : static_cast<std::uint32_t>(texture->levels.size());
    case Q::num_samples: case Q::memory_layout: return 0;
  }
  return 0;
}

Flow run_query(Warp& w, const Op& op, std::uint32_t mask) {
  const TextureMode mode = mode_of(op);
  for (std::uint32_t rest = mask; rest != 0;) {
    const std::uint32_t lanes = lanes_of_first_handle(w, op, rest);
    const std::uint64_t handle = handle_of(w, op, lanes);
    const Texture* texture = w.launch->textures->texture(handle);
    const Surface* surface = w.launch->textures->surface(handle);
    if (mode.of_surface ? surface == nullptr : texture == nullptr || texture->levels.empty())
      return fault_handle(w, op, lanes, handle, mode.of_surface ? "surface" : "texture");
    for_lanes(lanes, [&](std::uint32_t i) {
      std::size_t level = 0;
      if (mode.how == TextureMode::How::level && texture != nullptr) level = std::min<std::size_t>(get<std::uint32_t>(w.at(op.r[2]), i), texture->levels.size() - 1);
      put<std::uint32_t>(w.at(op.r[0]), i, answer(mode, texture, texture != nullptr ? texture->levels[level] : surface->image));
    });
    rest &= ~lanes;
  }
  return Flow::next;
}

constexpr std::string_view kGeometries[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"};
constexpr std::string_view kOutsides[] = {"trap", "clamp", "zero"};
constexpr std::string_view kComponents[] = {"r", "g", "b", "a"};
constexpr std::string_view kQueries[] = {"width", "height", "depth", "channel_data_type", "channel_order", "normalized_coords", "filter_mode",
                                         "addr_mode_0", "addr_mode_1", "addr_mode_2", "array_size", "num_mipmap_levels", "num_samples", "memory_layout"};

// Sets `value` when the word is of the list.
template <class T, std::size_t N>
void match(std::string_view word, const std::string_view (&list)[N], T& value) {
  for (std::size_t k = 0; k < N; ++k)
    if (list[k] == word) value = static_cast<T>(k);
}

}  // namespace

TextureMode texture_mode(const ptx::Instruction& in) {
  TextureMode mode;
  const ptx::Form& form = ptx::instruction_table()[in.form];
  for (std::string_view text = in.mods.text; !text.empty();) {
    const std::string_view word = text.substr(0, text.find('.'));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    match(word, kGeometries, mode.geometry);
    match(word, kOutsides, mode.outside);
    match(word, kQueries, mode.query);
    if (form.opcode == "tld4") match(word, kComponents, mode.component);
  }
  if (form.opcode == "tld4") mode.how = TextureMode::How::gather;
  if (form.id.find("level") != std::string_view::npos) mode.how = TextureMode::How::level;
  if (form.id.find("grad") != std::string_view::npos) mode.how = TextureMode::How::grad;
  mode.formatted = form.id.ends_with("formatted");
  mode.of_surface = form.opcode == "suq";
  mode.integers = form.opcode == "tex" && in.type2 == ptx::Type::s32;
  return mode;
}

bool is_texture(Exec exec) { return exec == Exec::tex || exec == Exec::tex_query || exec == Exec::suld || exec == Exec::sust || exec == Exec::sured; }

Handlers select_texture(Exec exec) {
  if (exec == Exec::tex_query) return same(&run_query);
  if (exec == Exec::tex) return for_variants([](auto v) -> Handler { return &run_tex<decltype(v)::value>; });
  return select_surface(exec);
}

}  // namespace kforge::emulator
