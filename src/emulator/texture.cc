#include "emulator/texture.h"

#include <algorithm>

namespace kforge::emulator {

void lay_out(Image& image) {
  image.row_bytes = image.width * image.format.bytes();
  image.slice_bytes = image.row_bytes * std::max(image.height, 1u);
}

std::uint64_t image_bytes(const Image& image) { return image.slice_bytes * std::max({image.depth, image.layers, 1u}); }

std::uint64_t TextureTable::add(Texture texture) {
  textures_.emplace(next_, std::move(texture));
  return next_++;
}

std::uint64_t TextureTable::add(Surface surface) {
  surfaces_.emplace(next_, surface);
  return next_++;
}

bool TextureTable::remove(std::uint64_t handle) { return textures_.erase(handle) + surfaces_.erase(handle) != 0; }

const Texture* TextureTable::texture(std::uint64_t handle) const {
  const auto found = textures_.find(handle);
  return found == textures_.end() ? nullptr : &found->second;
}

const Surface* TextureTable::surface(std::uint64_t handle) const {
  const auto found = surfaces_.find(handle);
  return found == surfaces_.end() ? nullptr : &found->second;
}

}  // namespace kforge::emulator
