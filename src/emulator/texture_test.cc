// Textures and surfaces: rules by hand, and both engines over every geometry, format and mode.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <random>

#include "emulator/texture_sample.h"
#include "emulator/twin.h"

namespace kforge::emulator {
namespace {

Image image_of(std::uint64_t width, std::uint32_t height, std::uint32_t depth, std::uint32_t layers, TexelFormat format) {
  Image image;
  image.format = format;
  image.width = width;
  image.height = height;
  image.depth = depth;
  image.layers = layers;
  lay_out(image);
  return image;
}

float as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// ---- by hand -------------------------------------------------------------------------------------------------------

// A row of four f32 texels 10, 20, 30, 40 looked up at x.
float look_up(double x, FilterMode filter, AddressMode mode, bool normalised) {
  Texture texture;
  texture.levels = {image_of(4, 0, 0, 0, {})};
  texture.levels[0].data = 0x1000;
  texture.address = {mode, mode, mode};
  texture.filter = filter;
  texture.normalised_coordinates = normalised;
  texture.border = {-1, 0, 0, 0};
  Lookup lookup;
  lookup.geometry = Geometry::d1;
  lookup.at[0] = x;
  const Taps taps = taps_of(texture, lookup);
  std::array<TexelBytes, 16> texels{};
  for (std::uint32_t k = 0; k < taps.count; ++k) {
    const float value = 10 + 10 * static_cast<float>((taps.tap[k].address - 0x1000) / 4);
    std::memcpy(texels[k].data(), &value, 4);
  }
  return as_float(filtered(texture, taps, texels)[0]);
}

TEST(TextureSampling, NearestTexelByAddressMode) {
  using A = AddressMode;
  struct Row { double x; float wrap, clamp, mirror, border; };
  // Normalised coordinates: four texels are [0, 1).
  for (const Row& row : {Row{0.1, 10, 10, 10, 10}, Row{0.99, 40, 40, 40, 40}, Row{1.0, 10, 40, 40, -1}, Row{1.3, 20, 40, 30, -1}, Row{-0.1, 40, 10, 10, -1},
                         Row{-0.3, 30, 10, 20, -1}, Row{2.6, 30, 40, 30, -1}, Row{-1e-9, 40, 10, 10, -1}}) {
    EXPECT_EQ(look_up(row.x, FilterMode::point, A::wrap, true), row.wrap) << row.x;
    EXPECT_EQ(look_up(row.x, FilterMode::point, A::clamp, true), row.clamp) << row.x;
    EXPECT_EQ(look_up(row.x, FilterMode::point, A::mirror, true), row.mirror) << row.x;
    EXPECT_EQ(look_up(row.x, FilterMode::point, A::border, true), row.border) << row.x;
  }
  // In texels, wrap and mirror mean clamp.
  for (const A mode : {A::wrap, A::clamp, A::mirror}) {
    EXPECT_EQ(look_up(2.9, FilterMode::point, mode, false), 30);
    EXPECT_EQ(look_up(-7, FilterMode::point, mode, false), 10);
    EXPECT_EQ(look_up(4, FilterMode::point, mode, false), 40);
  }
  EXPECT_EQ(look_up(4, FilterMode::point, A::border, false), -1);
  EXPECT_EQ(look_up(std::nan(""), FilterMode::point, A::clamp, false), 10);
  EXPECT_EQ(look_up(HUGE_VAL, FilterMode::point, A::clamp, false), 40);
}

TEST(TextureSampling, FilterWeightsHaveEightBitsOfFraction) {
  const auto at = [](double x) { return look_up(x, FilterMode::linear, AddressMode::clamp, false); };
  EXPECT_EQ(at(0.5), 10);
  EXPECT_EQ(at(1.0), 15);
  EXPECT_EQ(at(1.25), 17.5f);
  EXPECT_EQ(at(0.5 + 1.0 / 256), 10 + 10.0f / 256);
  EXPECT_EQ(at(0.5 + 1.4 / 256), 10 + 10.0f / 256);   // rounded to the nearest 1/256
  EXPECT_EQ(at(0.5 + 1.6 / 256), 10 + 20.0f / 256);
  EXPECT_EQ(at(0.5 + 0.4 / 256), 10);
  EXPECT_EQ(at(1.5 - 0.4 / 256), 20);                  // up to the next texel
  EXPECT_EQ(at(0.2), 10);
  EXPECT_EQ(at(3.9), 40);
  EXPECT_EQ(look_up(0, FilterMode::linear, AddressMode::wrap, true), 25);        // between the last and the first
  EXPECT_EQ(look_up(0, FilterMode::linear, AddressMode::border, true), 4.5f);    // half of the border's -1
  EXPECT_EQ(look_up(0, FilterMode::linear, AddressMode::mirror, true), 10);
}

TEST(TextureSampling, CubeFacesAreThoseOfTheGuide) {
  struct Row { std::array<double, 3> direction; std::uint32_t face; double s, t; };
  for (const Row& row : {Row{{1, 0.5, 0.25}, 0, 0.375, 0.25}, Row{{-1, 0.5, 0.25}, 1, 0.625, 0.25}, Row{{0.5, 1, 0.25}, 2, 0.75, 0.625}, Row{{0.5, -1, 0.25}, 3, 0.75, 0.375},
                         Row{{0.5, 0.25, 1}, 4, 0.75, 0.375}, Row{{0.5, 0.25, -1}, 5, 0.25, 0.375}, Row{{2, 1, 0.5}, 0, 0.375, 0.25}}) {
    const CubePlace place = cube_place(row.direction);
    EXPECT_EQ(place.face, row.face);
    EXPECT_DOUBLE_EQ(place.s, row.s);
    EXPECT_DOUBLE_EQ(place.t, row.t);
  }
}

// ---- both engines --------------------------------------------------------------------------------------------------

constexpr std::uint32_t kThreads = 64, kWords = 16;   // inputs of a thread: layer, 3 coordinates, level, 3 + 3 gradients, 3 offsets

std::string tex_body(const std::string& instruction) {
  std::string body = "mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [p]; mad.wide.u32 %rd1, %r1, 64, %rd1; ld.param.u64 %rd2, [q]; mad.wide.u32 %rd2, %r1, 16, %rd2;\n"
                     "ld.param.u32 %r2, [n]; cvt.u64.u32 %rd3, %r2;\n";
  for (std::uint32_t k = 0; k < kWords; ++k) body += fmt::format("ld.global.b32 %r{}, [%rd1+{}];\n", 4 + k, 4 * k);
  return body + instruction + "\nst.global.v4.b32 [%rd2], {%r24, %r25, %r26, %r27};\nret;";
}

struct GeometryCase { std::string word, coordinates; Image image; int gradients; std::string offsets; bool gathers; };

std::vector<GeometryCase> geometries(TexelFormat format) {
  const std::string x = "%r5", y = "%r6", z = "%r7", layer = "%r4";
  Image cube = image_of(8, 8, 0, 6, format), cubes = image_of(4, 4, 0, 18, format);
  cube.is_cube = cubes.is_cube = true;
  return {{"1d", "{" + x + "}", image_of(37, 0, 0, 0, format), 1, "{%r15}", false},
          {"2d", "{" + x + ", " + y + "}", image_of(13, 7, 0, 0, format), 2, "{%r15, %r16}", true},
          {"3d", "{" + x + ", " + y + ", " + z + ", " + z + "}", image_of(6, 5, 3, 0, format), 3, "{%r15, %r16, %r17, %r17}", false},
          {"a1d", "{" + layer + ", " + x + "}", image_of(16, 0, 0, 5, format), 1, "{%r15}", false},
          {"a2d", "{" + layer + ", " + x + ", " + y + ", " + y + "}", image_of(8, 6, 0, 4, format), 2, "{%r15, %r16}", true},
          {"cube", "{" + x + ", " + y + ", " + z + ", " + z + "}", cube, 3, "", true},
          {"acube", "{" + layer + ", " + x + ", " + y + ", " + z + "}", cubes, 3, "", true}};
}

std::vector<std::uint32_t> inputs(std::mt19937& random, double spread, bool integers) {
  std::vector<std::uint32_t> words(kThreads * kWords);
  std::uniform_real_distribution<double> place(-spread, 2 * spread);
  for (std::uint32_t t = 0; t < kThreads; ++t)
    for (std::uint32_t k = 0; k < kWords; ++k) {
      std::uint32_t& word = words[t * kWords + k];
      const double value = k == 4 ? place(random) : k >= 5 && k < 11 ? place(random) / 20 : place(random);
      if (k == 0) word = random() % 8;
      else if (k >= 11) word = random() % 16 - 8;
      else if (integers) word = static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
      else word = std::bit_cast<std::uint32_t>(static_cast<float>(random() % 8 == 0 ? std::floor(value * 2) / 2 : value));
    }
  const std::uint32_t edges[] = {0x7fc00000u, 0x7f800000u, 0xff800000u, 0x80000000u, 0x00000001u, 0x3f800000u, 0x7f7fffffu, 0x4b800000u};
  if (!integers)
    for (std::size_t k = 0; k < std::size(edges); ++k) words[k * kWords + 1] = edges[k];
  return words;
}

// NaN matches NaN; a filtered value may be one unit in the last place away, as sums are taken in another order.
void expect_close(const Twin& twin, Twin::Buffer out, bool filtered_values, const std::string& what) {
  const auto fast = twin.values<std::uint32_t>(out), right = twin.right_values<std::uint32_t>(out);
  for (std::size_t i = 0; i < fast.size(); ++i) {
    const float a = as_float(fast[i]), b = as_float(right[i]);
    if (fast[i] == right[i] || (filtered_values && (std::fabs(a - b) <= std::fabs(b) * 0x1p-22f || (a != a && b != b)))) continue;
    ADD_FAILURE() << what << ", thread " << i / 4 << ", channel " << i % 4 << fmt::format(": fast 0x{:08x} ({}), right 0x{:08x} ({})", fast[i], a, right[i], b);
    return;
  }
}

std::vector<TexelFormat> formats() {
  using K = ChannelKind;
  return {{1, 32, K::floating}, {4, 32, K::floating}, {2, 16, K::floating}, {4, 8, K::unsigned_integer}, {1, 8, K::signed_integer},
          {2, 16, K::unsigned_integer}, {4, 16, K::signed_integer}, {2, 32, K::signed_integer}, {1, 32, K::unsigned_integer}};
}

// Texels: small floats where they are floats.
std::vector<std::uint32_t> texels(std::mt19937& random, std::uint64_t bytes, const TexelFormat& format) {
  std::vector<std::uint32_t> words((bytes + 3) / 4);
  for (std::uint32_t& word : words) {
    word = random();
    if (format.kind != ChannelKind::floating) continue;
    const auto small = static_cast<float>(static_cast<std::int32_t>(random() % 2000) - 1000) / 16;
    word = format.bits == 32 ? std::bit_cast<std::uint32_t>(small) : (random() & 0x3fff) | (random() & 0xbfff) << 16;
  }
  return words;
}

TEST(TextureTwin, EveryGeometryFormatAndMode) {
  std::mt19937 random(7);
  int number = 0;
  for (const TexelFormat& format : formats())
    for (const GeometryCase& geometry : geometries(format)) {
      Texture texture;
      texture.levels = {geometry.image};
      const bool floats = format.kind == ChannelKind::floating;
      const auto modes = {AddressMode::wrap, AddressMode::clamp, AddressMode::mirror, AddressMode::border};
      texture.normalised_values = !floats && format.bits < 32 && random() % 2 == 0;
      texture.filter = (floats || texture.normalised_values) && random() % 4 != 0 ? FilterMode::linear : FilterMode::point;
      texture.normalised_coordinates = random() % 2 == 0;
      for (AddressMode& mode : texture.address) mode = modes.begin()[random() % 4];
      texture.border = {0.25f, -2, 3, 0.5f};
      texture.is_srgb = format.bits == 8 && texture.normalised_values && random() % 2 == 0;
      const bool is_cube = geometry.image.is_cube;
      const int how = static_cast<int>(random() % 5);   // plain, by texel numbers, offsets, gather, gather
      const bool integers = how == 1 && !is_cube;
      const bool gathers = how >= 3 && geometry.gathers;
      const std::string type = floats || texture.normalised_values ? "f32" : format.kind == ChannelKind::signed_integer ? "s32" : "u32";
      std::string text = gathers ? fmt::format("tld4.{}.{}.v4.{}.f32", "rgba"[random() % 4], geometry.word, type)
                                 : fmt::format("tex.{}.v4.{}.{}", geometry.word, type, integers ? "s32" : "f32");
      text += fmt::format(" {{%r24, %r25, %r26, %r27}}, [%rd3, {}]{};", geometry.coordinates, how == 2 && !is_cube ? ", " + geometry.offsets : "");
      Twin twin(tex_body(text));
      const auto data = twin.buffer(texels(random, image_bytes(geometry.image), format));
      const auto in = twin.buffer(inputs(random, is_cube ? 1 : integers || !texture.normalised_coordinates ? 10 : 1.2, integers));
      const auto out = twin.buffer(std::vector<std::uint32_t>(kThreads * 4));
      const auto handle = static_cast<std::uint32_t>(twin.texture(data, texture));
      twin.launch(in, out, handle, kThreads);
      expect_close(twin, out, texture.filter == FilterMode::linear,
                   fmt::format("case {}: {} of {} x {} bits, filter {}, normalised {}, modes {} {} {}", number++, text, format.channels, format.bits,
                               static_cast<int>(texture.filter), texture.normalised_coordinates, static_cast<int>(texture.address[0]),
                               static_cast<int>(texture.address[1]), static_cast<int>(texture.address[2])));
    }
}

TEST(TextureTwin, LevelsOfDetail) {
  std::mt19937 random(11);
  for (const GeometryCase& geometry : geometries({2, 32, ChannelKind::floating}))
    for (int round = 0; round < 6; ++round) {
      Texture texture;
      std::uint64_t at = 0;
      Image image = geometry.image;
      for (int level = 0; level < 3; ++level) {
        image.data = at;
        texture.levels.push_back(image);
        at += image_bytes(image);
        image.width = std::max<std::uint64_t>(1, image.width / 2);
        image.height = image.height == 0 ? 0 : std::max(1u, image.height / 2);
        image.depth = image.depth == 0 ? 0 : std::max(1u, image.depth / 2);
        lay_out(image);
      }
      texture.normalised_coordinates = true;
      texture.address = {AddressMode::wrap, AddressMode::clamp, AddressMode::mirror};
      texture.filter = round % 2 == 0 ? FilterMode::linear : FilterMode::point;
      texture.level_filter = round % 3 == 0 ? FilterMode::point : FilterMode::linear;
      texture.level_max = round == 5 ? 1.25f : 10;
      texture.level_bias = round == 4 ? 0.375f : 0;
      const std::string vectors[] = {"{%r9}, {%r12}", "{%r9, %r10}, {%r12, %r13}", "{%r9, %r10, %r11, %r11}, {%r12, %r13, %r14, %r14}"};
      const std::string text = fmt::format("tex.{}.{}.v4.f32.f32 {{%r24, %r25, %r26, %r27}}|%p1, [%rd3, {}], {};", round < 3 ? "level" : "grad", geometry.word,
                                           geometry.coordinates, round < 3 ? "%r8" : vectors[geometry.gradients - 1]);
      Twin twin(tex_body(text + "\n@!%p1 trap;"));
      const auto data = twin.buffer(texels(random, at, {2, 32, ChannelKind::floating}));
      auto words = inputs(random, 1, false);
      for (std::uint32_t t = 0; t < kThreads; ++t) {   // gradients of all sizes, none of them NaN
        for (std::uint32_t k = 5; k < 11; ++k) words[t * kWords + k] = std::bit_cast<std::uint32_t>(std::ldexp(static_cast<float>(random() % 1000) / 1000, -static_cast<int>(t % 8)));
        if (round >= 3)
          for (std::uint32_t k = 1; k < 4; ++k)
            if (!std::isfinite(as_float(words[t * kWords + k])) || std::fabs(as_float(words[t * kWords + k])) > 1e6f) words[t * kWords + k] = 0x3e800000u;
      }
      const auto in = twin.buffer(words);
      const auto out = twin.buffer(std::vector<std::uint32_t>(kThreads * 4));
      twin.launch(in, out, static_cast<std::uint32_t>(twin.texture(data, texture)), kThreads);
      expect_close(twin, out, true, text);
    }
}

TEST(TextureTwin, LinearMemoryIsZeroOutside) {
  Twin twin(tex_body("tex.1d.v4.u32.s32 {%r24, %r25, %r26, %r27}, [%rd3, {%r5}];"));
  Texture texture;
  texture.levels = {image_of(5, 0, 0, 0, {1, 8, ChannelKind::unsigned_integer})};
  texture.levels[0].is_linear = true;
  const auto data = twin.buffer(std::vector<std::uint8_t>{11, 22, 33, 44, 255, 77, 88, 99});
  std::vector<std::uint32_t> words(kThreads * kWords);
  for (std::uint32_t t = 0; t < kThreads; ++t) words[t * kWords + 1] = t - 2;
  const auto in = twin.buffer(words), out = twin.buffer(std::vector<std::uint32_t>(kThreads * 4));
  twin.launch(in, out, static_cast<std::uint32_t>(twin.texture(data, texture)), kThreads);
  twin.expect_same(out, "tex1Dfetch");
  const auto values = twin.values<std::uint32_t>(out);
  const std::uint32_t expected[] = {0, 0, 11, 22, 33, 44, 255, 0};
  for (std::size_t t = 0; t < std::size(expected); ++t) EXPECT_EQ(values[4 * t], expected[t]) << t;
}

TEST(TextureTwin, Queries) {
  std::string body = "ld.param.u64 %rd2, [q]; ld.param.u32 %r2, [n]; cvt.u64.u32 %rd3, %r2; mov.u32 %r5, 1; ld.param.u64 %rd4, [p]; ld.global.u64 %rd4, [%rd4];\n";
  int at = 0;
  for (const char* query : {"width", "height", "depth", "channel_data_type", "channel_order", "normalized_coords", "filter_mode", "addr_mode_0", "addr_mode_1", "addr_mode_2",
                            "array_size", "num_mipmap_levels", "num_samples"})
    body += fmt::format("txq.{}.b32 %r3, [%rd3]; st.global.u32 [%rd2+{}], %r3;\n", query, 4 * at++);
  body += fmt::format("txq.level.width.b32 %r3, [%rd3], %r5; st.global.u32 [%rd2+{}], %r3;\n", 4 * at++);
  for (const char* query : {"width", "height", "depth", "channel_data_type", "channel_order", "array_size"})
    body += fmt::format("suq.{}.b32 %r3, [%rd4]; st.global.u32 [%rd2+{}], %r3;\n", query, 4 * at++);
  Twin twin(body + "ret;");
  Texture texture;
  texture.levels = {image_of(8, 6, 0, 0, {4, 8, ChannelKind::unsigned_integer}), image_of(4, 3, 0, 0, {4, 8, ChannelKind::unsigned_integer})};
  texture.normalised_values = texture.normalised_coordinates = true;
  texture.address = {AddressMode::mirror, AddressMode::clamp, AddressMode::border};
  texture.filter = FilterMode::linear;
  const auto data = twin.buffer(std::vector<std::uint32_t>(64));
  const auto handle = static_cast<std::uint32_t>(twin.texture(data, texture));
  const auto p = twin.buffer(std::vector<std::uint64_t>{twin.surface(data, image_of(3, 0, 0, 7, {2, 16, ChannelKind::floating}))});
  const auto out = twin.buffer(std::vector<std::uint32_t>(static_cast<std::size_t>(at)));
  twin.launch(p, out, handle, 1);
  twin.expect_same(out, "queries");
  EXPECT_EQ(twin.values<std::uint32_t>(out), (std::vector<std::uint32_t>{8, 6, 0, 0x10d2, 0x10b5, 1, 1, 1, 3, 4, 0, 2, 0, 4, 3, 0, 0, 0x10dd, 0x10b2, 7}));
}

// ---- surfaces ------------------------------------------------------------------------------------------------------

TEST(SurfaceTwin, LoadsAndStoresOfEveryGeometryTypeAndMode) {
  std::mt19937 random(3);
  struct Type { const char* name; std::uint32_t bytes, vector; };
  const TexelFormat format{4, 32, ChannelKind::floating};   // 16 bytes, whatever the instruction moves
  for (const Type& type : {Type{"b8", 1, 1}, Type{"b16", 2, 2}, Type{"b32", 4, 1}, Type{"b32", 4, 4}, Type{"b64", 8, 2}, Type{"b8", 1, 4}})
    for (const char* outside : {"trap", "clamp", "zero"})
      for (const GeometryCase& geometry : geometries(format)) {
        if (geometry.image.is_cube) continue;
        const std::string vector = type.vector == 1 ? "" : fmt::format("v{}.", type.vector);
        std::string registers;
        for (std::uint32_t k = 0; k < type.vector; ++k) registers += fmt::format("{}%{}{}", k == 0 ? "" : ", ", type.bytes == 8 ? "rd" : type.bytes == 4 ? "r" : "h", 8 + k);
        const std::string load = fmt::format("suld.b.{}.{}{}.{} {{{}}}, [%rd3, {}];", geometry.word, vector, type.name, outside, registers, geometry.coordinates);
        const std::string store = fmt::format("sust.b.{}.{}{}.{} [%rd4, {}], {{{}}};", geometry.word, vector, type.name, outside, geometry.coordinates, registers);
        std::string body = "mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [p]; mad.wide.u32 %rd1, %r1, 16, %rd1; ld.param.u32 %r2, [n]; cvt.u64.u32 %rd3, %r2; add.u64 %rd4, %rd3, 1;\n";
        for (int k = 0; k < 4; ++k) body += fmt::format("ld.global.b32 %r{}, [%rd1+{}];\n", 4 + k, 4 * k);
        Twin twin(body + load + "\n" + store + "\nret;");
        const std::uint64_t bytes = image_bytes(geometry.image);
        const auto from = twin.buffer(texels(random, bytes, {1, 32, ChannelKind::unsigned_integer}));
        const auto to = twin.buffer(std::vector<std::uint32_t>(bytes / 4));
        const auto handle = static_cast<std::uint32_t>(twin.surface(from, geometry.image));
        twin.surface(to, geometry.image);
        // Every thread has a place of its own inside; .clamp and .zero have threads outside too, of which .clamp's meet inside: one of them only.
        const bool traps = std::string(outside) == "trap", clamps = std::string(outside) == "clamp";
        std::vector<std::int32_t> words(kThreads * 4);
        const std::uint32_t size = type.bytes * type.vector, row = static_cast<std::uint32_t>(geometry.image.width) * 16 / size;
        for (std::uint32_t t = 0; t < kThreads; ++t) {
          const std::uint32_t high = std::max(geometry.image.height, 1u), slices = std::max({geometry.image.depth, geometry.image.layers, 1u});
          words[4 * t + 1] = static_cast<std::int32_t>(t % row * size);
          words[4 * t + 2] = static_cast<std::int32_t>(t / row % high);
          words[4 * t] = words[4 * t + 3] = static_cast<std::int32_t>(t / row / high % slices);
        }
        const std::uint32_t threads = std::min<std::uint32_t>(kThreads, static_cast<std::uint32_t>(bytes / size));
        if (!traps) words[4 * (threads - 1) + 1] = clamps ? 1 << 20 : -16;   // x far outside
        if (!traps && !clamps) words[1] = static_cast<std::int32_t>(row * size), words[4 + 2] = 1000, words[8 + 3] = words[8] = -1;
        if (clamps)
          for (std::uint32_t t = 0; t + 1 < threads; ++t)
            if (words[4 * t + 1] == static_cast<std::int32_t>((row - 1) * size)) words[4 * t + 1] = 0, words[4 * t + 2] = 0, words[4 * t] = words[4 * t + 3] = 0;
        const auto in = twin.buffer(words);
        const auto none = twin.buffer(std::vector<std::uint32_t>(1));
        if (clamps) {
          for (std::uint32_t t : {0u, threads - 1}) {
            Twin single(body + load + "\n" + store + "\nret;");
            const auto a = single.buffer(twin.values<std::uint32_t>(from));
            const auto b = single.buffer(std::vector<std::uint32_t>(bytes / 4));
            const auto h = static_cast<std::uint32_t>(single.surface(a, geometry.image));
            single.surface(b, geometry.image);
            const auto one = single.buffer(std::vector<std::int32_t>(words.begin() + 4 * t, words.begin() + 4 * t + 4));
            const auto q = single.buffer(std::vector<std::uint32_t>(1));
            single.launch(one, q, h, 1);
            single.expect_same(b, load + " thread " + std::to_string(t));
          }
          continue;
        }
        twin.launch(in, none, handle, threads);
        twin.expect_same(to, load + " " + store);
      }
}

TEST(SurfaceTwin, FormattedStoresAndReductions) {
  std::mt19937 random(5);
  for (const TexelFormat& format : formats()) {
    const std::string registers = format.channels == 1 ? "{%r5}" : format.channels == 2 ? "{%r5, %r6}" : "{%r5, %r6, %r7, %r8}";
    const std::string vector = format.channels == 1 ? "" : fmt::format("v{}.", format.channels);
    Twin twin("mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [p]; mad.wide.u32 %rd1, %r1, 64, %rd1; ld.param.u32 %r2, [n]; cvt.u64.u32 %rd3, %r2; shr.u32 %r3, %r1, 3; and.b32 %r4, %r1, 7;\n"
              "ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%rd1];\n" + fmt::format("sust.p.2d.{}b32.trap [%rd3, {{%r4, %r3}}], {};\nret;", vector, registers));
    const Image image = image_of(8, 8, 0, 0, format);
    const auto to = twin.buffer(std::vector<std::uint32_t>(image_bytes(image) / 4));
    const auto handle = static_cast<std::uint32_t>(twin.surface(to, image));
    auto words = inputs(random, 1000, false);
    for (std::uint32_t t = 0; t < kThreads; t += 3) words[t * kWords] = random();
    const auto in = twin.buffer(words);
    twin.launch(in, twin.buffer(std::vector<std::uint32_t>(1)), handle, kThreads);
    twin.expect_same(to, "sust.p to " + std::to_string(format.bits) + " bits");
  }
  for (const char* op : {"add.2d.u32", "add.2d.u64", "add.2d.s32", "min.2d.u32", "min.2d.s32", "max.2d.u32", "max.2d.s32", "min.2d.s64", "max.2d.u64", "and.2d.b32", "or.2d.b32"}) {
    const bool wide = std::string(op).ends_with("64");
    Twin twin("mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [p]; mad.wide.u32 %rd1, %r1, 64, %rd1; ld.param.u32 %r2, [n]; cvt.u64.u32 %rd3, %r2; and.b32 %r3, %r1, 1; shl.b32 %r4, %r3, 3;\n"
              "ld.global.b32 %r5, [%rd1]; ld.global.b64 %rd5, [%rd1+8];\n" + fmt::format("sured.b.{}.trap [%rd3, {{%r4, %r3}}], {};\nret;", op, wide ? "%rd5" : "%r5"));
    const Image image = image_of(4, 2, 0, 0, {1, 32, ChannelKind::signed_integer});
    const auto to = twin.buffer(texels(random, 32, image.format));
    const auto handle = static_cast<std::uint32_t>(twin.surface(to, image));
    std::vector<std::uint32_t> words(kThreads * kWords);
    for (std::uint32_t& word : words) word = random();
    twin.launch(twin.buffer(words), twin.buffer(std::vector<std::uint32_t>(1)), handle, kThreads);
    twin.expect_same(to, op);
  }
}

// ---- faults --------------------------------------------------------------------------------------------------------

struct Ended { LaunchResult result; std::vector<evidence::Violation> violations; };

Ended run(TestDevice& device, Address p, Address q, std::uint32_t n, std::uint32_t threads) {
  const LaunchResult result = device.launch(p, q, n, {1, 1, 1}, {threads, 1, 1});
  return {result, device.device.take_log().violations};
}

TEST(TextureFaults, AHandleOfNothingEndsTheLaunch) {
  for (const char* text : {"tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd3, {%r1}];", "suld.b.1d.b32.zero {%r4}, [%rd3, {%r1}];", "txq.width.b32 %r4, [%rd3];"}) {
    TestDevice device;
    device.load_body(std::string("mov.u32 %r1, 0; mov.u64 %rd3, 77;\n") + text + "\nret;");
    const Ended ended = run(device, 0, 0, 0, 1);
    EXPECT_EQ(ended.result.status, LaunchStatus::illegal_address);
    ASSERT_FALSE(ended.violations.empty());
    EXPECT_NE(ended.violations[0].message.find("0x4d is no live"), std::string::npos) << ended.violations[0].message;
  }
}

TEST(TextureFaults, OutsideASurfaceTraps) {
  TestDevice device;
  device.load_body("mov.u32 %r1, %tid.x; shl.b32 %r1, %r1, 2; ld.param.u32 %r2, [n]; cvt.u64.u32 %rd3, %r2; sust.b.1d.b32.trap [%rd3, {%r1}], {%r1}; ret;");
  Allocation* memory = device.buffer(std::vector<std::uint32_t>(64));
  Image image = image_of(32, 0, 0, 0, {});
  image.data = memory->base;
  const auto handle = static_cast<std::uint32_t>(device.device.textures().add(Surface{image}));
  EXPECT_EQ(run(device, 0, 0, handle, 32).result.status, LaunchStatus::ok);
  const Ended ended = run(device, 0, 0, handle, 33);
  EXPECT_EQ(ended.result.status, LaunchStatus::trap);
  ASSERT_FALSE(ended.violations.empty());
  EXPECT_EQ(ended.violations[0].thread.x, 32u);
  EXPECT_NE(ended.violations[0].message.find("outside a surface of 32 elements of 4 bytes"), std::string::npos);
  EXPECT_TRUE(device.device.textures().remove(handle));
  EXPECT_EQ(run(device, 0, 0, handle, 1).result.status, LaunchStatus::illegal_address);
}

TEST(TextureFaults, StoresOfTwoThreadsToOnePlaceRace) {
  TestDevice device;
  device.load_body("mov.u32 %r1, %tid.x; mov.u32 %r3, 0; ld.param.u32 %r2, [n]; cvt.u64.u32 %rd3, %r2; sust.b.1d.b32.trap [%rd3, {%r3}], {%r1}; ret;");
  Image image = image_of(32, 0, 0, 0, {});
  image.data = device.buffer(std::vector<std::uint32_t>(64))->base;
  const Ended ended = run(device, 0, 0, static_cast<std::uint32_t>(device.device.textures().add(Surface{image})), 64);
  ASSERT_FALSE(ended.violations.empty());
  EXPECT_EQ(ended.violations[0].contract, "safety.races");
}

TEST(TextureFaults, UnwrittenTexelsAreUndefined) {
  TestDevice device;
  device.load_body("mov.u32 %r1, %tid.x; ld.param.u32 %r2, [n]; cvt.u64.u32 %rd3, %r2; tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd3, {%r1}]; setp.gt.f32 %p1, %f1, 0f00000000;\n@%p1 bra L; L: ret;");
  Allocation* memory = device.buffer(std::vector<std::uint32_t>(64));
  Texture texture;
  texture.levels = {image_of(32, 0, 0, 0, {})};
  texture.levels[0].data = memory->base;
  const auto handle = static_cast<std::uint32_t>(device.device.textures().add(texture));
  EXPECT_TRUE(run(device, 0, 0, handle, 32).violations.empty());
  memory->all_initialised = false;
  const Ended ended = run(device, 0, 0, handle, 32);
  ASSERT_FALSE(ended.violations.empty());
  EXPECT_EQ(ended.violations[0].contract, "safety.uninitialised");
}

}  // namespace
}  // namespace kforge::emulator
