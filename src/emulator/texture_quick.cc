#include "emulator/texture_quick.h"

#include "emulator/alu.h"
#include "emulator/texture_ops.h"

namespace kforge::emulator {
namespace {

bool is_plain_geometry(const TextureMode& mode) {
  return mode.how != TextureMode::How::gather && mode.geometry != Geometry::cube && mode.geometry != Geometry::acube;
}

// Channels whose values channel_value of texture_quick.inc knows.
bool is_plain_format(const Texture& texture, const TexelFormat& format) {
  if (format.kind == ChannelKind::floating) return format.bits == 32;
  return !texture.normalised_values || (format.bits != 32 && format.kind == ChannelKind::unsigned_integer);
}

bool plan_fetch(const Warp& w, const Op& op, const Texture& texture, TexturePlan& plan) {
  const TextureMode mode = mode_of(op);
  if (!is_plain_geometry(mode) || texture.levels.size() != 1 || texture.is_srgb) return false;
  if (std::uint32_t{op.bytes} + op.wide + op.flags != op.list_count) return false;   // offsets follow
  const Image& image = texture.levels[0];
  const TexelFormat& format = image.format;
  if (!is_plain_format(texture, format)) return false;
  constexpr std::uint64_t kMostTexels = 1 << 30;
  if (image.width == 0 || image.width > kMostTexels) return false;
  plan.row_bytes = image.row_bytes;
  plan.slice_bytes = image.slice_bytes;
  plan.texel_bytes = format.bytes();
  plan.channels = format.channels;
  plan.channel_bytes = format.bits / 8;
  plan.dimensions = dimensions(mode.geometry);
  plan.size = {static_cast<std::int32_t>(image.width), static_cast<std::int32_t>(std::max(image.height, 1u)), static_cast<std::int32_t>(std::max(image.depth, 1u))};
  plan.layers = has_layer(mode.geometry) ? std::max(image.layers, 1u) : 0;
  plan.integers = mode.integers;
  plan.normalised = texture.normalised_coordinates && !mode.integers;
  plan.floats = format.kind == ChannelKind::floating || texture.normalised_values;
  plan.two = texture.filter == FilterMode::linear && plan.floats && !mode.integers;
  plan.is_signed = format.kind == ChannelKind::signed_integer;
  plan.top = static_cast<double>((std::uint64_t{1} << format.bits) - 1);
  plan.border = texture.border;
  for (std::size_t k = 0; k < 3; ++k) {
    plan.mode[k] = texture.address[k];
    if (!plan.normalised && plan.mode[k] != AddressMode::border) plan.mode[k] = AddressMode::clamp;
    if (image.is_linear) plan.mode[k] = AddressMode::border;
  }
  const std::uint64_t rows = plan.dimensions >= 2 ? static_cast<std::uint64_t>(plan.size[1]) : 1;
  const std::uint64_t slices = plan.dimensions == 3 ? static_cast<std::uint64_t>(plan.size[2]) : std::max(plan.layers, 1u);
  const std::uint64_t bytes = (slices - 1) * image.slice_bytes + (rows - 1) * image.row_bytes + image.width * format.bytes();
  const Allocation* allocation = w.launch->memory->find(image.data);
  if (allocation == nullptr || allocation->base + allocation->size - image.data < bytes) return false;
  plan.texels = allocation->data + (image.data - allocation->base);
  return true;
}

}  // namespace

bool fetch_quickly(Warp& w, const Op& op, std::uint32_t lanes, const Texture& texture) {
  TexturePlan plan;
  if (!plan_fetch(w, op, texture, plan)) return false;
  return has_avx2() ? avx2::fetch_lanes(w, op, lanes, plan) : baseline::fetch_lanes(w, op, lanes, plan);
}

}  // namespace kforge::emulator
