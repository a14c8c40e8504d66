// Textures and surfaces of the reference engine: one thread, one channel, one dimension at a time.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "emulator/reference_engine_thread.h"

namespace kforge::emulator::reference {

using ptx::Instruction;
using ptx::Operand;
using ptx::Type;

namespace {

// Whether a word was written; those that are alone in their place stand in the row only.
bool has(const Instruction& in, std::string_view word) {
  const std::string dotted = "." + std::string(word);
  if (("." + in.mods.text + ".").find(dotted + ".") != std::string::npos) return true;
  return ptx::instruction_table()[in.form].syntax.find("<" + dotted + ">") != std::string_view::npos;
}

std::uint64_t half_of(std::uint32_t single) {
  const Format& f16 = format_of(Type::f16);
  const Number number = decode(single, format_of(Type::f32));
  if (number.is_nan()) return f16.nan;
  if (number.is_infinite()) return f16.infinity() | (number.negative ? f16.sign_bit() : 0);
  Exact value = exact(number);
  value.negative = number.negative;
  return round(value, f16, ptx::Rounding::rn);
}

// What the geometry's word says.
struct Shape { int dims = 0; bool layered = false, cube = false; };
Shape shape_of(const Instruction& in) {
  if (has(in, "cube")) return {2, false, true};
  if (has(in, "acube")) return {2, true, true};
  if (has(in, "a1d")) return {1, true, false};
  if (has(in, "a2d")) return {2, true, false};
  return {has(in, "1d") ? 1 : has(in, "2d") ? 2 : 3, false, false};
}

struct Reader {
  const Texture& texture;
  ReferenceEngine::Memory& memory;
  int dims = 2;
  std::int64_t slice = 0;
  bool unscaled = false;                       // coordinates are in texels as they stand
  bool cube = false;
  bool failed = false;

  const TexelFormat& format() const { return texture.levels[0].format; }
  bool floats() const { return format().kind == ChannelKind::floating || texture.normalised_values; }
  static std::int64_t extent(const Image& image, int k) {
    return k == 0 ? static_cast<std::int64_t>(image.width) : k == 1 ? std::max<std::int64_t>(1, image.height) : std::max<std::int64_t>(1, image.depth);
  }
  bool scaled() const { return (texture.normalised_coordinates || cube) && !unscaled; }

  // The bits of one channel of a texel, sign-extended; empty outside.
  std::optional<std::int64_t> bits(const Image& image, std::array<std::int64_t, 3> at, int channel) {
    for (int k = 0; k < dims; ++k) {
      const auto axis = static_cast<std::size_t>(k);
      const std::int64_t n = extent(image, k);
      AddressMode mode = cube ? AddressMode::clamp : texture.address[axis];
      if (!scaled() && mode != AddressMode::border) mode = AddressMode::clamp;
      if (image.is_linear) mode = AddressMode::border;
      std::int64_t& i = at[axis];
      if (mode == AddressMode::border && (i < 0 || i >= n)) return std::nullopt;
      if (mode == AddressMode::clamp) i = i < 0 ? 0 : i >= n ? n - 1 : i;
      if (mode == AddressMode::wrap) i = (i % n + n) % n;
      if (mode == AddressMode::mirror) {
        i = (i % (2 * n) + 2 * n) % (2 * n);
        if (i >= n) i = 2 * n - 1 - i;
      }
    }
    const std::uint32_t bytes = format().bits / 8;
    const std::uint64_t address = image.data + static_cast<std::uint64_t>(at[2] + slice) * image.slice_bytes + static_cast<std::uint64_t>(at[1]) * image.row_bytes +
                                  static_cast<std::uint64_t>(at[0]) * format().bytes() + static_cast<std::uint64_t>(channel) * bytes;
    const std::byte* from = memory.find(address, bytes);
    if (from == nullptr) { failed = true; return 0; }
    std::uint64_t raw = 0;
    std::memcpy(&raw, from, bytes);
    if (format().kind == ChannelKind::signed_integer && (raw >> (format().bits - 1)) != 0) raw -= std::uint64_t{1} << format().bits;
    return static_cast<std::int64_t>(raw);
  }

  double real(const Image& image, const std::array<std::int64_t, 3>& at, int channel) {
    if (channel >= static_cast<int>(format().channels) && bits(image, at, 0)) return channel == 3 ? 1 : 0;
    const auto raw = channel < static_cast<int>(format().channels) ? bits(image, at, channel) : std::nullopt;
    if (!raw) return static_cast<double>(texture.border[static_cast<std::size_t>(channel)]);
    if (format().kind == ChannelKind::floating)
      return format().bits == 16 ? to_double(static_cast<std::uint64_t>(*raw), format_of(Type::f16)) : static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(*raw)));
    const bool is_signed = format().kind == ChannelKind::signed_integer;
    const double top = static_cast<double>((std::int64_t{1} << (format().bits - (is_signed ? 1 : 0))) - 1);
    double x = static_cast<double>(*raw) / top;
    if (x < -1) x = -1;
    if (texture.is_srgb && format().bits == 8 && channel < 3) x = x > 0.04045 ? std::pow((x + 0.055) / 1.055, 2.4) : x / 12.92;
    return x;
  }

  // Interpolates along dimension k and those below it.
  double linear(const Image& image, const std::array<double, 3>& u, std::array<std::int64_t, 3> at, int k, int channel) {
    if (k < 0) return real(image, at, channel);
    const auto axis = static_cast<std::size_t>(k);
    const double q = std::floor((u[axis] - 0.5) * 256 + 0.5) / 256, lower = std::floor(q), alpha = q - lower;
    at[axis] = static_cast<std::int64_t>(lower);
    const double low = linear(image, u, at, k - 1, channel);
    if (alpha == 0) return low;
    ++at[axis];
    return (1 - alpha) * low + alpha * linear(image, u, at, k - 1, channel);
  }

  std::array<double, 3> texels(const Image& image, const std::array<double, 3>& at) const {
    std::array<double, 3> u = at;
    for (std::size_t k = 0; k < 3; ++k) {
      if (std::isnan(u[k])) u[k] = 0;
      if (scaled()) {
        const AddressMode mode = cube ? AddressMode::clamp : texture.address[k];
        const double period = mode == AddressMode::wrap ? 1 : mode == AddressMode::mirror ? 2 : 0;
        if (period != 0 && std::isfinite(u[k])) u[k] = u[k] - period * std::floor(u[k] / period);
        u[k] *= static_cast<double>(extent(image, static_cast<int>(k)));
      }
      u[k] = std::min(std::max(u[k], -1e12), 1e12);
    }
    return u;
  }

  std::uint32_t word(const Image& image, const std::array<double, 3>& at, const std::array<std::int64_t, 3>& offset, int channel) {
    const std::array<double, 3> u = texels(image, at);
    std::array<std::int64_t, 3> i{};
    for (int k = 0; k < dims; ++k) i[static_cast<std::size_t>(k)] = static_cast<std::int64_t>(std::floor(u[static_cast<std::size_t>(k)])) + offset[static_cast<std::size_t>(k)];
    return exact(image, i, channel);
  }

  // One texel without a filter.
  std::uint32_t exact(const Image& image, const std::array<std::int64_t, 3>& at, int channel) {
    if (floats() && !(format().kind == ChannelKind::floating && format().bits == 32)) return std::bit_cast<std::uint32_t>(static_cast<float>(real(image, at, channel)));
    const bool missing = channel >= static_cast<int>(format().channels);
    const auto raw = bits(image, at, missing ? 0 : channel);
    const float border = texture.border[static_cast<std::size_t>(channel)];
    if (!raw) return floats() ? std::bit_cast<std::uint32_t>(border) : static_cast<std::uint32_t>(static_cast<std::int32_t>(border));
    if (missing) return channel != 3 ? 0 : floats() ? 0x3f800000u : 1;
    return static_cast<std::uint32_t>(*raw);
  }
};

struct Face { int index = 0; std::array<double, 3> at{}; };
// The table of the Programming Guide's section on cubemaps: face, major axis, s and t.
Face face_of(const std::array<double, 3>& d) {
  const double x = d[0], y = d[1], z = d[2], ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  int face = 0;
  if (az >= ax && az >= ay) face = std::signbit(z) ? 5 : 4;
  else if (ay >= ax) face = std::signbit(y) ? 3 : 2;
  else face = std::signbit(x) ? 1 : 0;
  const double m[] = {ax, ax, ay, ay, az, az}, s[] = {-z, z, x, x, x, -x}, t[] = {-y, -y, z, -z, -y, -y};
  if (!(m[face] > 0)) return {face, {0.5, 0.5, 0}};
  return {face, {(s[face] / m[face] + 1) / 2, (t[face] / m[face] + 1) / 2, 0}};
}

}  // namespace

void Run::texture(Thread& thread, const Instruction& in) {
  const bool gathers = ptx::instruction_table()[in.form].opcode == "tld4";
  const Operand& place = in.operands[1];
  const auto handle = static_cast<std::uint64_t>(thread.frames.back().registers[place.elements[0].reg]);
  const Texture* found = textures_.texture(handle);
  if (found == nullptr) return fail("no texture of this handle");
  const Shape shape = shape_of(in);
  Reader reader{*found, memory_};
  reader.dims = shape.dims;
  reader.unscaled = !gathers && in.type2 == Type::s32;
  reader.cube = shape.cube;
  const auto numbers = [&](const Operand& operand, bool as_integer) {
    std::vector<double> out;
    const std::vector<Operand> single{operand};
    for (const Operand& element : operand.kind == Operand::Kind::vector ? operand.elements : single) {
      const auto word = static_cast<std::uint32_t>(value(thread, element, Type::b32));
      out.push_back(as_integer ? static_cast<double>(static_cast<std::int32_t>(word)) : static_cast<double>(std::bit_cast<float>(word)));
    }
    out.resize(4);
    return out;
  };
  const std::vector<double> written = numbers(place.elements[1], reader.unscaled);
  const double layer = shape.layered ? static_cast<double>(static_cast<std::uint64_t>(value(thread, place.elements[1].elements[0], Type::b32))) : 0;
  const std::size_t first = shape.layered ? 1 : 0;
  std::array<double, 3> at{written[first], written[first + 1], first + 2 < 4 ? written[first + 2] : 0};
  const std::array<double, 3> direction = at;
  std::size_t next = 2;
  double level = 0;
  const Image& base = found->levels[0];
  if (has(in, "level")) level = numbers(in.operands[next++], false)[0];
  if (has(in, "grad")) {
    double longest = 0;
    for (int which = 0; which < 2; ++which) {
      const std::vector<double> d = numbers(in.operands[next++], false);
      double sum = 0;
      const Face here = face_of(direction), there = face_of({direction[0] + d[0], direction[1] + d[1], direction[2] + d[2]});
      for (std::size_t k = 0; k < static_cast<std::size_t>(shape.dims); ++k) {
        const double step = shape.cube ? there.at[k] - here.at[k] : d[k];
        sum += std::pow(step * (reader.scaled() ? static_cast<double>(Reader::extent(base, shape.cube ? 0 : static_cast<int>(k))) : 1), 2);
      }
      longest = std::max(longest, std::sqrt(sum));
    }
    level = std::log2(longest);
  }
  std::array<std::int64_t, 3> offset{};
  if (next < in.operands.size())
    for (std::size_t k = 0; k < 3; ++k) offset[k] = static_cast<std::int64_t>(numbers(in.operands[next], true)[k]);
  const std::int64_t layers = std::max<std::int64_t>(1, shape.cube ? base.layers / 6 : base.layers);
  reader.slice = shape.layered ? static_cast<std::int64_t>(std::min(std::max(layer, 0.0), static_cast<double>(layers - 1))) : 0;
  if (shape.cube) {
    const Face face = face_of(direction);
    reader.slice = 6 * reader.slice + face.index;
    at = face.at;
  }

  for (int c = 0; c < 4; ++c) {
    std::uint32_t word = 0;
    const double last = static_cast<double>(found->levels.size() - 1);
    const bool filters = found->filter == FilterMode::linear && reader.floats() && !reader.unscaled;
    const auto in_level = [&](double l) {
      const Image& image = found->levels[static_cast<std::size_t>(l)];
      const std::array<double, 3> u = reader.texels(image, at);
      std::array<double, 3> moved = u;
      for (std::size_t k = 0; k < 3; ++k) moved[k] += static_cast<double>(offset[k]);
      if (filters) return reader.linear(image, moved, {}, shape.dims - 1, c);
      return static_cast<double>(std::bit_cast<float>(reader.word(image, at, offset, c)));
    };
    double l = level + static_cast<double>(found->level_bias);
    l = std::min(std::max({l, static_cast<double>(found->level_min)}), static_cast<double>(std::max(found->level_min, found->level_max)));
    l = last == 0 || std::isnan(l) ? 0 : std::min(std::max(l, 0.0), last);
    if (gathers) {
      const int component = has(in, "r") ? 0 : has(in, "g") ? 1 : has(in, "b") ? 2 : 3;
      const std::array<double, 3> u = reader.texels(base, at);
      std::array<std::int64_t, 3> texel{};
      const int dx[] = {0, 1, 1, 0}, dy[] = {1, 1, 0, 0};
      for (std::size_t k = 0; k < 2; ++k)
        texel[k] = static_cast<std::int64_t>(std::floor(std::floor((u[k] - 0.5) * 256 + 0.5) / 256)) + offset[k] + (k == 0 ? dx : dy)[c];
      word = reader.exact(base, texel, component);
    } else if (found->level_filter == FilterMode::linear && last != 0) {
      const double q = std::floor(l * 256 + 0.5) / 256, lower = std::floor(q), beta = q - lower;
      if (beta == 0 && !filters) word = reader.word(found->levels[static_cast<std::size_t>(lower)], at, offset, c);
      else word = std::bit_cast<std::uint32_t>(static_cast<float>(beta == 0 ? in_level(lower) : (1 - beta) * in_level(lower) + beta * in_level(lower + 1)));
    } else {
      const double nearest = std::floor(l + 0.5);
      if (filters) word = std::bit_cast<std::uint32_t>(static_cast<float>(in_level(nearest)));
      else word = reader.word(found->levels[static_cast<std::size_t>(nearest)], at, offset, c);
    }
    write(thread, in.operands[0].elements[static_cast<std::size_t>(c)], Type::b32, word);
  }
  if (reader.failed) return fail("a texture outside memory");
  write_predicate(thread, in.operands[0].pair, true);
}

void Run::query(Thread& thread, const Instruction& in) {
  const auto handle = static_cast<std::uint64_t>(thread.frames.back().registers[in.operands[1].reg]);
  const Texture* texture = textures_.texture(handle);
  const Surface* surface = textures_.surface(handle);
  if (texture == nullptr && surface == nullptr) return fail("no texture or surface of this handle");
  std::size_t level = 0;
  if (has(in, "level")) level = std::min<std::size_t>(static_cast<std::uint32_t>(value(thread, in.operands[2], Type::u32)), texture->levels.size() - 1);
  const Image& image = texture != nullptr ? texture->levels[level] : surface->image;
  std::uint64_t result = 0;
  if (has(in, "width")) result = image.width;
  if (has(in, "height")) result = image.height;
  if (has(in, "depth")) result = image.depth;
  if (has(in, "array_size")) result = image.layers / (image.is_cube ? 6 : 1);
  if (has(in, "num_mipmap_levels")) result = texture != nullptr && texture->levels.size() > 1 ? texture->levels.size() : 0;
  if (has(in, "normalized_coords")) result = texture != nullptr && texture->normalised_coordinates;
  if (has(in, "filter_mode")) result = texture != nullptr && texture->filter == FilterMode::linear;
  for (std::size_t k = 0; k < 3; ++k)
    if (texture != nullptr && has(in, "addr_mode_" + std::to_string(k)))
      result = texture->address[k] == AddressMode::wrap ? 0 : texture->address[k] == AddressMode::mirror ? 1 : texture->address[k] == AddressMode::clamp ? 3 : 4;
  if (has(in, "channel_order")) result = image.format.channels == 4 ? 0x10b5 : image.format.channels == 2 ? 0x10b2 : 0x10b0;
  if (has(in, "channel_data_type")) {
    const std::uint64_t step = image.format.bits / 16;
    if (image.format.kind == ChannelKind::floating) result = image.format.bits == 16 ? 0x10dd : 0x10de;
    else if (image.format.kind == ChannelKind::signed_integer) result = step + (texture != nullptr && texture->normalised_values ? 0x10d0 : 0x10d7);
    else result = step + (texture != nullptr && texture->normalised_values ? 0x10d2 : 0x10da);
  }
  write(thread, in.operands[0], Type::b32, result);
}

void Run::surface(Thread& thread, const Instruction& in, ptx::Exec exec) {
  const bool loads = exec == ptx::Exec::suld;
  const Operand& place = in.operands[loads ? 1 : 0];
  const Operand& data = in.operands[loads ? 0 : 1];
  const Surface* found = textures_.surface(static_cast<std::uint64_t>(thread.frames.back().registers[place.elements[0].reg]));
  if (found == nullptr) return fail("no surface of this handle");
  const Image& image = found->image;
  const Shape shape = shape_of(in);
  const bool formatted = has(in, "p");
  const std::vector<Operand> single{data};
  const std::vector<Operand>& values = data.kind == Operand::Kind::vector ? data.elements : single;
  const std::uint64_t size = formatted && exec == ptx::Exec::sust ? image.format.bits / 8 : ptx::size_bytes(in.type);
  const std::size_t count = formatted ? std::min<std::size_t>(image.format.channels, values.size()) : values.size();
  std::vector<std::int64_t> at;
  const std::vector<Operand> one{place.elements[1]};
  for (const Operand& element : place.elements[1].kind == Operand::Kind::vector ? place.elements[1].elements : one)
    at.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(value(thread, element, Type::b32))));
  const std::int64_t slice_index = shape.layered ? at[0] : shape.dims == 3 ? at[2] : 0;
  const std::size_t x_at = shape.layered ? 1 : 0;
  std::int64_t x = at[x_at] * static_cast<std::int64_t>(!formatted ? 1 : exec == ptx::Exec::sured ? size : image.format.bytes()), y = shape.dims > 1 ? at[x_at + 1] : 0, slice = slice_index;
  const std::int64_t last_x = static_cast<std::int64_t>(image.width * image.format.bytes()) - static_cast<std::int64_t>(size * count), last_y = std::max<std::int64_t>(image.height, 1) - 1,
                     last_slice = std::max<std::int64_t>(shape.dims == 3 ? image.depth : image.layers, 1) - 1;
  const bool outside = x < 0 || x > last_x || y < 0 || y > last_y || slice < 0 || slice > last_slice;
  if (outside && has(in, "trap")) return fail("a surface access outside");
  if (outside && has(in, "zero")) {
    if (loads)
      for (const Operand& element : values) write(thread, element, in.type, 0);
    return;
  }
  x = std::min(std::max<std::int64_t>(x, 0), last_x), y = std::min(std::max<std::int64_t>(y, 0), last_y), slice = std::min(std::max<std::int64_t>(slice, 0), last_slice);
  std::byte* bytes = memory_.find(image.data + static_cast<std::uint64_t>(slice) * image.slice_bytes + static_cast<std::uint64_t>(y) * image.row_bytes + static_cast<std::uint64_t>(x), size * count);
  if (bytes == nullptr) return fail("a surface outside memory");
  for (std::size_t k = 0; k < count; ++k, bytes += size) {
    std::uint64_t old = 0;
    std::memcpy(&old, bytes, size);
    if (loads) { write(thread, values[k], in.type, old); continue; }
    auto bits = static_cast<std::uint64_t>(value(thread, values[k], in.type));
    if (exec == ptx::Exec::sured) {
      const bool is_signed = formatted && image.format.kind == ChannelKind::signed_integer;
      const Type type = !formatted ? in.type : size == 8 ? (is_signed ? Type::s64 : Type::u64) : (is_signed ? Type::s32 : Type::u32);
      const Int a = value_of(old, type), b = value_of(bits, type);
      switch (in.mods.atom_op) {
        case ptx::AtomOp::add: bits += old; break;
        case ptx::AtomOp::min: bits = static_cast<std::uint64_t>(std::min(a, b)); break;
        case ptx::AtomOp::max: bits = static_cast<std::uint64_t>(std::max(a, b)); break;
        case ptx::AtomOp::and_: bits &= old; break;
        default: bits |= old; break;
      }
    } else if (formatted) {
      const auto word = static_cast<std::uint32_t>(bits);
      if (image.format.kind == ChannelKind::signed_integer)
        bits = static_cast<std::uint64_t>(std::min<std::int64_t>(std::max<std::int64_t>(static_cast<std::int32_t>(word), -(std::int64_t{1} << (image.format.bits - 1))), (std::int64_t{1} << (image.format.bits - 1)) - 1));
      else if (image.format.kind == ChannelKind::unsigned_integer)
        bits = std::min<std::uint64_t>(word, (std::uint64_t{1} << image.format.bits) - 1);
      else if (image.format.bits == 16)
        bits = half_of(word);
    }
    std::memcpy(bytes, &bits, size);
  }
}

}  // namespace kforge::emulator::reference
