#include "emulator/texture_quick.h"

#include <bit>
#include <cstring>

#include "emulator/texture_axis.h"
#include "emulator/texture_ops.h"

namespace kforge::emulator {
namespace {

// What is the same for all lanes of a fetch.
struct Plan {
  const Texture* texture = nullptr;
  const Image* image = nullptr;
  const std::byte* texels = nullptr;
  std::size_t dimensions = 2;
  std::array<std::int64_t, 2> size{1, 1};
  std::array<AddressMode, 2> mode{};
  bool integers = false, normalised = false, two = false, floats = false;
  double top = 1;            // of unsigned integers that are read as [0, 1]
  std::uint32_t bytes = 4;   // of a channel
};

bool plan_fetch(const Warp& w, const Op& op, const Texture& texture, Plan& plan) {
  const TextureMode mode = mode_of(op);
  if (mode.how != TextureMode::How::base || (mode.geometry != Geometry::d1 && mode.geometry != Geometry::d2) || texture.levels.size() != 1) return false;
  if (std::uint32_t{op.bytes} + op.wide + op.flags != op.list_count || texture.is_srgb) return false;   // offsets follow
  const Image& image = texture.levels[0];
  const TexelFormat& format = image.format;
  plan.floats = format.kind == ChannelKind::floating || texture.normalised_values;
  if (format.bits != 32 && (format.kind == ChannelKind::floating || (texture.normalised_values && format.kind == ChannelKind::signed_integer))) return false;
  if (format.bits == 32 && format.kind != ChannelKind::floating && texture.normalised_values) return false;
  plan.texture = &texture;
  plan.image = &image;
  plan.dimensions = dimensions(mode.geometry);
  plan.size = {static_cast<std::int64_t>(image.width), static_cast<std::int64_t>(std::max(image.height, 1u))};
  plan.integers = mode.integers;
  plan.normalised = texture.normalised_coordinates && !mode.integers;
  plan.two = texture.filter == FilterMode::linear && plan.floats && !mode.integers;
  plan.bytes = format.bits / 8;
  plan.top = static_cast<double>((std::uint64_t{1} << format.bits) - 1);
  for (std::size_t k = 0; k < 2; ++k) {
    plan.mode[k] = texture.address[k];
    if (!plan.normalised && plan.mode[k] != AddressMode::border) plan.mode[k] = AddressMode::clamp;
    if (image.is_linear) plan.mode[k] = AddressMode::border;
  }
  const Allocation* allocation = w.launch->memory->find(image.data);
  const std::uint64_t rows = plan.dimensions == 2 ? static_cast<std::uint64_t>(plan.size[1]) : 1;
  const std::uint64_t bytes = (rows - 1) * image.row_bytes + image.width * format.bytes();
  if (allocation == nullptr || image.width == 0 || allocation->base + allocation->size - image.data < bytes) return false;
  plan.texels = allocation->data + (image.data - allocation->base);
  return true;
}

std::uint32_t channel_bits(const Plan& plan, const std::byte* texel, std::uint32_t channel) {
  std::uint32_t bits = 0;
  if (plan.bytes == 4) std::memcpy(&bits, texel + 4 * channel, 4);
  else std::memcpy(&bits, texel + channel * plan.bytes, plan.bytes);
  return bits;
}

std::uint32_t float_bits(double value) { return std::bit_cast<std::uint32_t>(static_cast<float>(value)); }

double channel_value(const Plan& plan, const std::byte* texel, std::uint32_t channel) {
  if (texel == nullptr) return static_cast<double>(plan.texture->border[channel]);
  if (channel >= plan.image->format.channels) return channel == 3 ? 1 : 0;
  const std::uint32_t bits = channel_bits(plan, texel, channel);
  return plan.bytes == 4 ? static_cast<double>(std::bit_cast<float>(bits)) : bits / plan.top;
}

std::uint32_t channel_word(const Plan& plan, const std::byte* texel, std::uint32_t channel) {
  const float border = plan.texture->border[channel];
  if (texel == nullptr) return plan.floats ? float_bits(border) : static_cast<std::uint32_t>(static_cast<std::int32_t>(border));
  if (channel >= plan.image->format.channels) return channel == 3 ? (plan.floats ? float_bits(1) : 1) : 0;
  const std::uint32_t bits = channel_bits(plan, texel, channel);
  if (plan.bytes == 4) return bits;
  if (plan.floats) return float_bits(bits / plan.top);
  const std::uint32_t shift = 32 - 8 * plan.bytes;
  return plan.image->format.kind == ChannelKind::signed_integer ? static_cast<std::uint32_t>(static_cast<std::int32_t>(bits << shift) >> shift) : bits;
}

// Null: outside.
const std::byte* texel_at(const Plan& plan, std::int64_t x, std::int64_t y) {
  if (x < 0 || y < 0) return nullptr;
  return plan.texels + static_cast<std::uint64_t>(y) * plan.image->row_bytes + static_cast<std::uint64_t>(x) * plan.image->format.bytes();
}

}  // namespace

bool fetch_quickly(Warp& w, const Op& op, std::uint32_t lanes, const Texture& texture) {
  Plan plan;
  if (!plan_fetch(w, op, texture, plan)) return false;
  const Ref* at = op.list + op.bytes;
  for_lanes(lanes, [&](std::uint32_t lane) {
    std::array<Ends, 2> ends{};
    for (std::size_t k = 0; k < plan.dimensions; ++k) {
      const auto bits = get<std::uint32_t>(w.at(at[k]), lane);
      const double given = plan.integers ? static_cast<double>(static_cast<std::int32_t>(bits)) : static_cast<double>(std::bit_cast<float>(bits));
      ends[k] = ends_of(in_texels(given, static_cast<double>(plan.size[k]), plan.normalised, plan.mode[k]), plan.two);
      for (std::uint32_t e = 0; e < ends[k].count; ++e) ends[k].index[e] = place(ends[k].index[e], plan.size[k], plan.mode[k]);
    }
    std::array<const std::byte*, 4> texel{};
    std::array<double, 4> weight{};
    std::uint32_t count = 0;
    for (std::uint32_t y = 0; y < ends[1].count; ++y)
      for (std::uint32_t x = 0; x < ends[0].count; ++x) {
        weight[count] = ends[0].weight[x] * ends[1].weight[y];
        if (weight[count] == 0) continue;
        texel[count++] = texel_at(plan, ends[0].index[x], ends[1].index[y]);
      }
    for (std::uint32_t c = 0; c < op.bytes; ++c) {
      if (count == 1) {
        put<std::uint32_t>(w.at(op.list[c]), lane, channel_word(plan, texel[0], c));
        continue;
      }
      double sum = 0;
      for (std::uint32_t k = 0; k < count; ++k) sum += weight[k] * channel_value(plan, texel[k], c);
      put<std::uint32_t>(w.at(op.list[c]), lane, float_bits(sum));
    }
  });
  return true;
}

}  // namespace kforge::emulator
