// Texture and surface objects: what their 64-bit handles stand for. The runtime makes them (cudaCreateTextureObject,
// cudaCreateSurfaceObject) and kernels name them in tex, tld4, txq, suld, sust, sured and suq. The texels are the bytes of an
// ordinary allocation of Memory, so that bounds, unwritten bytes and races are seen as for any other memory: a CUDA array is
// an allocation of `image_bytes(image)`, laid out by `lay_out`; linear and pitched memory are described as they are.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "emulator/memory.h"

namespace kforge::emulator {

enum class ChannelKind : std::uint8_t { signed_integer, unsigned_integer, floating };   // cudaChannelFormatKind

// One texel: `channels` values of `bits` (8, 16, 32) each, next to one another.
struct TexelFormat {
  std::uint32_t channels = 1;   // 1, 2, 4
  std::uint32_t bits = 32;
  ChannelKind kind = ChannelKind::floating;
  std::uint32_t bytes() const { return channels * bits / 8; }
};

// Texel (x, y, z) of layer l lies at data + (z + l) * slice_bytes + y * row_bytes + x * format.bytes().
struct Image {
  Address data = 0;
  TexelFormat format;
  std::uint64_t width = 0;                  // texels
  std::uint32_t height = 0, depth = 0;      // 0: has no such dimension
  std::uint32_t layers = 0;                 // 0: not layered. A cube map has 6, a layered one 6 for each cube
  std::uint64_t row_bytes = 0, slice_bytes = 0;
  bool is_cube = false;
  bool is_linear = false;                   // linear memory: fetched by integer coordinate, zeros outside
};
// Fills row_bytes and slice_bytes as a CUDA array has them here: without gaps. REQUIRES: format and sizes are set.
void lay_out(Image& image);
std::uint64_t image_bytes(const Image& image);

// The values are those of cudaTextureAddressMode and cudaTextureFilterMode.
enum class AddressMode : std::uint8_t { wrap, clamp, mirror, border };
enum class FilterMode : std::uint8_t { point, linear };

struct Texture {
  std::vector<Image> levels;                // one, or the levels of a mipmap
  std::array<AddressMode, 3> address{AddressMode::wrap, AddressMode::wrap, AddressMode::wrap};
  FilterMode filter = FilterMode::point;
  FilterMode level_filter = FilterMode::point;
  bool normalised_coordinates = false;      // wrap and mirror need them; otherwise they mean clamp
  bool normalised_values = false;           // cudaReadModeNormalizedFloat: 8- and 16-bit integers read as [0, 1] or [-1, 1]
  bool is_srgb = false;                     // 8-bit x, y, z are converted to linear
  std::array<float, 4> border{};            // border colour
  float level_bias = 0, level_min = 0, level_max = 0;
};

struct Surface { Image image; };

// Handles are never 0 and never used again.
class TextureTable {
 public:
  std::uint64_t add(Texture texture);
  std::uint64_t add(Surface surface);
  bool remove(std::uint64_t handle);        // false: no such object
  // Null: the handle is none of a live texture (surface).
  const Texture* texture(std::uint64_t handle) const;
  const Surface* surface(std::uint64_t handle) const;

 private:
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, Texture> textures_;
  std::map<std::uint64_t, Surface> surfaces_;
};

}  // namespace kforge::emulator
