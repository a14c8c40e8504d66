#include "emulator/texture_sample.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "emulator/formats.h"
#include "emulator/texture_axis.h"

namespace kforge::emulator {
namespace {

// ---- levels --------------------------------------------------------------------------------------------------------

struct Levels { std::array<std::uint32_t, 2> index{}; std::array<double, 2> weight{1, 0}; std::uint32_t count = 1; };

Levels levels_of(const Texture& texture, double level) {
  Levels result;
  const auto last = static_cast<double>(texture.levels.size() - 1);
  if (last == 0 || level != level) return result;
  const double biased = std::clamp<double>(level + texture.level_bias, texture.level_min, std::max(texture.level_min, texture.level_max));
  const double clamped = std::clamp(biased, 0.0, last);
  if (texture.level_filter == FilterMode::point) {
    result.index[0] = static_cast<std::uint32_t>(std::floor(clamped + 0.5));
    return result;
  }
  const auto fixed = static_cast<std::uint32_t>(std::floor(clamped * 256 + 0.5));
  result.index = {fixed >> 8, std::min((fixed >> 8) + 1, static_cast<std::uint32_t>(last))};
  result.weight[1] = (fixed & 255) / 256.0;
  result.weight[0] = 1 - result.weight[1];
  result.count = result.weight[1] != 0 ? 2 : 1;
  return result;
}

// ---- texels --------------------------------------------------------------------------------------------------------

bool reads_floats(const Texture& texture) { return texture.levels[0].format.kind == ChannelKind::floating || texture.normalised_values; }

std::uint32_t channel_bits(const TexelFormat& format, const TexelBytes& texel, std::uint32_t channel) {
  std::uint32_t bits = 0;
  const std::uint32_t bytes = format.bits / 8;
  for (std::uint32_t b = 0; b < bytes; ++b) bits |= std::uint32_t{texel[channel * bytes + b]} << 8 * b;
  return bits;
}

std::int32_t extended(const TexelFormat& format, std::uint32_t bits) {
  const std::uint32_t shift = 32 - format.bits;
  if (format.kind == ChannelKind::signed_integer) return static_cast<std::int32_t>(bits << shift) >> shift;
  return static_cast<std::int32_t>(bits);
}

double from_srgb(double x) { return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4); }

// A channel as a real number; a missing one is 0, and the fourth 1.
double channel_value(const Texture& texture, const TexelBytes& texel, std::uint32_t channel) {
  const TexelFormat& format = texture.levels[0].format;
  if (channel >= format.channels) return channel == 3 ? 1 : 0;
  const std::uint32_t bits = channel_bits(format, texel, channel);
  if (format.kind == ChannelKind::floating) return format.bits == 16 ? decode_format(bits, kF16) : static_cast<double>(std::bit_cast<float>(bits));
  const double top = std::exp2(format.bits - (format.kind == ChannelKind::signed_integer ? 1 : 0)) - 1;
  const double signed_value = extended(format, bits);
  const double value = format.kind == ChannelKind::signed_integer ? std::max(signed_value / top, -1.0) : bits / top;
  return texture.is_srgb && format.bits == 8 && channel < 3 ? from_srgb(value) : value;
}

std::uint32_t float_bits(double value) { return std::bit_cast<std::uint32_t>(static_cast<float>(value)); }

// One texel, unfiltered: integers and f32 keep their bits.
std::uint32_t channel_word(const Texture& texture, const Tap& tap, const TexelBytes& texel, std::uint32_t channel) {
  const TexelFormat& format = texture.levels[0].format;
  const bool floats = reads_floats(texture);
  if (tap.address == 0) return floats ? float_bits(texture.border[channel]) : static_cast<std::uint32_t>(static_cast<std::int32_t>(texture.border[channel]));
  if (channel >= format.channels) return channel == 3 ? (floats ? float_bits(1) : 1) : 0;
  if (!floats) return static_cast<std::uint32_t>(extended(format, channel_bits(format, texel, channel)));
  if (format.kind == ChannelKind::floating && format.bits == 32) return channel_bits(format, texel, channel);
  return float_bits(channel_value(texture, texel, channel));
}

std::uint32_t layer_of(std::uint32_t layers, std::uint32_t layer) { return std::min(layer, std::max(layers, 1u) - 1); }   // an index outside is open: the last

// The taps of one level, weights times `weight`.
void add_level(const Texture& texture, const Lookup& lookup, std::uint32_t level, double weight, Taps& taps) {
  const Image& image = texture.levels[level];
  const bool is_cube = lookup.geometry == Geometry::cube || lookup.geometry == Geometry::acube;
  const std::size_t dims = is_cube ? 2 : dimensions(lookup.geometry);
  std::array<double, 3> at = lookup.at;
  std::uint64_t slice = has_layer(lookup.geometry) && !is_cube ? layer_of(image.layers, lookup.layer) : 0;
  if (is_cube) {
    const CubePlace place = cube_place(lookup.at);
    const std::uint32_t cube = lookup.geometry == Geometry::acube ? layer_of(image.layers / 6, lookup.layer) : 0;
    slice = std::uint64_t{cube} * 6 + place.face;
    at = {place.s, place.t, 0};
  }
  const bool two = lookup.gathers || (texture.filter == FilterMode::linear && reads_floats(texture) && !lookup.integers);
  const std::array<std::uint64_t, 3> size{image.width, std::max(image.height, 1u), std::max(image.depth, 1u)};
  const bool normalised = (texture.normalised_coordinates || is_cube) && !lookup.integers;
  std::array<Ends, 3> ends{};
  for (std::size_t k = 0; k < dims; ++k) {
    AddressMode mode = is_cube ? AddressMode::clamp : texture.address[k];
    if (!normalised && mode != AddressMode::border) mode = AddressMode::clamp;
    if (image.is_linear) mode = AddressMode::border;
    ends[k] = ends_of(in_texels(at[k], static_cast<double>(size[k]), normalised, mode), two);
    for (std::uint32_t e = 0; e < ends[k].count; ++e)
      ends[k].index[e] = place(ends[k].index[e] + lookup.offset[k], static_cast<std::int64_t>(size[k]), mode);
  }
  const auto add = [&](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    Tap& tap = taps.tap[taps.count];
    tap.level = level;
    tap.weight = weight * ends[0].weight[x] * ends[1].weight[y] * ends[2].weight[z];
    if (tap.weight == 0 && !lookup.gathers) return;
    ++taps.count;
    const std::int64_t i = ends[0].index[x], j = ends[1].index[y], k = ends[2].index[z];
    if (i < 0 || j < 0 || k < 0) return;
    tap.address = image.data + (slice + static_cast<std::uint64_t>(k)) * image.slice_bytes + static_cast<std::uint64_t>(j) * image.row_bytes +
                  static_cast<std::uint64_t>(i) * image.format.bytes();
  };
  if (lookup.gathers) {
    add(0, 1, 0), add(1, 1, 0), add(1, 0, 0), add(0, 0, 0);
    return;
  }
  for (std::uint32_t z = 0; z < ends[2].count; ++z)
    for (std::uint32_t y = 0; y < ends[1].count; ++y)
      for (std::uint32_t x = 0; x < ends[0].count; ++x) add(x, y, z);
}

}  // namespace

CubePlace cube_place(const std::array<double, 3>& d) {
  const double ax = std::fabs(d[0]), ay = std::fabs(d[1]), az = std::fabs(d[2]);
  double s = 0, t = 0, m = 0;
  CubePlace place;
  if (az >= ax && az >= ay) {
    place.face = std::signbit(d[2]) ? 5 : 4;
    s = place.face == 5 ? -d[0] : d[0], t = -d[1], m = az;
  } else if (ay >= ax) {
    place.face = std::signbit(d[1]) ? 3 : 2;
    s = d[0], t = place.face == 3 ? -d[2] : d[2], m = ay;
  } else {
    place.face = std::signbit(d[0]) ? 1 : 0;
    s = place.face == 1 ? d[2] : -d[2], t = -d[1], m = ax;
  }
  if (!(m > 0)) return {place.face, 0.5, 0.5};
  place.s = (s / m + 1) / 2;
  place.t = (t / m + 1) / 2;
  return place;
}

double level_of_gradients(const Texture& texture, const Lookup& lookup, const std::array<double, 3>& dx, const std::array<double, 3>& dy) {
  const Image& image = texture.levels[0];
  const bool is_cube = lookup.geometry == Geometry::cube || lookup.geometry == Geometry::acube;
  const std::array<std::uint64_t, 3> size{image.width, std::max(image.height, 1u), std::max(image.depth, 1u)};
  const auto length = [&](const std::array<double, 3>& d) {
    double sum = 0;
    if (is_cube) {   // the step on the face
      const CubePlace here = cube_place(lookup.at), there = cube_place({lookup.at[0] + d[0], lookup.at[1] + d[1], lookup.at[2] + d[2]});
      const double width = static_cast<double>(image.width);
      return std::hypot((there.s - here.s) * width, (there.t - here.t) * width);
    }
    for (std::size_t k = 0; k < dimensions(lookup.geometry); ++k) {
      const double step = d[k] * (texture.normalised_coordinates ? static_cast<double>(size[k]) : 1);
      sum += step * step;
    }
    return std::sqrt(sum);
  };
  return std::log2(std::max(length(dx), length(dy)));
}

Taps taps_of(const Texture& texture, const Lookup& lookup) {
  Taps taps;
  if (lookup.gathers) {
    add_level(texture, lookup, 0, 1, taps);
    return taps;
  }
  const Levels levels = levels_of(texture, lookup.level);
  for (std::uint32_t k = 0; k < levels.count; ++k) add_level(texture, lookup, levels.index[k], levels.weight[k], taps);
  return taps;
}

std::array<std::uint32_t, 4> filtered(const Texture& texture, const Taps& taps, const std::array<TexelBytes, 16>& texels) {
  std::array<std::uint32_t, 4> result{};
  for (std::uint32_t c = 0; c < 4; ++c) {
    if (taps.count == 1) {
      result[c] = channel_word(texture, taps.tap[0], texels[0], c);
      continue;
    }
    double sum = 0;
    for (std::uint32_t k = 0; k < taps.count; ++k)
      sum += taps.tap[k].weight * (taps.tap[k].address == 0 ? static_cast<double>(texture.border[c]) : channel_value(texture, texels[k], c));
    result[c] = float_bits(sum);
  }
  return result;
}

std::array<std::uint32_t, 4> gathered(const Texture& texture, const Taps& taps, const std::array<TexelBytes, 16>& texels, std::uint32_t channel) {
  std::array<std::uint32_t, 4> result{};
  for (std::uint32_t k = 0; k < 4; ++k) result[k] = channel_word(texture, taps.tap[k], texels[k], channel);
  return result;
}

}  // namespace kforge::emulator
