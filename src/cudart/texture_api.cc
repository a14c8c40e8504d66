// Texture and surface objects: CUDA's descriptions turned into what the emulated instructions read (emulator/texture.h).
#include "cudart/array_api.h"

#include <algorithm>

namespace kforge::cudart {
namespace {

// Linear or pitched memory as an image. cudaErrorInvalidValue when the memory is not there or not aligned.
Status image_of_memory(Context& context, const ResourceDesc& resource, emulator::Image& image) {
  constexpr emulator::Address kAlignment = 16, kPitchAlignment = 32;
  const bool linear = resource.type == kResourceLinear;
  const void* pointer = linear ? resource.linear.pointer : resource.pitch2d.pointer;
  if (!read_format(linear ? resource.linear.desc : resource.pitch2d.desc, image.format)) return cudaErrorInvalidChannelDescriptor;
  image.data = reinterpret_cast<emulator::Address>(pointer);
  image.is_linear = linear;
  if (image.data % kAlignment != 0) return cudaErrorInvalidValue;
  std::uint64_t bytes = 0;
  if (linear) {
    image.width = resource.linear.bytes / image.format.bytes();
    bytes = image.row_bytes = image.slice_bytes = resource.linear.bytes;
  } else {
    image.width = resource.pitch2d.width;
    image.height = static_cast<std::uint32_t>(resource.pitch2d.height);
    image.row_bytes = resource.pitch2d.pitch;
    if (image.height == 0 || image.row_bytes % kPitchAlignment != 0 || image.row_bytes < image.width * image.format.bytes()) return cudaErrorInvalidValue;
    image.slice_bytes = image.row_bytes * image.height;
    bytes = image.row_bytes * (image.height - 1) + image.width * image.format.bytes();
  }
  const emulator::Allocation* allocation = context.device()->memory().find(image.data);
  const bool inside = allocation != nullptr && bytes <= allocation->size - (image.data - allocation->base);
  return image.width != 0 && inside ? cudaSuccess : cudaErrorInvalidValue;
}

Status images_of(Context& context, const ResourceDesc& resource, std::vector<emulator::Image>& levels) {
  switch (resource.type) {
    case kResourceArray:
      if (context.arrays->find(resource.array) == nullptr) return cudaErrorInvalidValue;
      levels = {resource.array->image};
      return cudaSuccess;
    case kResourceMipmap:
      if (context.arrays->find_mipmap(resource.mipmap) == nullptr) return cudaErrorInvalidValue;
      for (const Array* level : resource.mipmap->levels) levels.push_back(level->image);
      return cudaSuccess;
    case kResourceLinear:
    case kResourcePitch2D: {
      levels.emplace_back();
      return image_of_memory(context, resource, levels.front());
    }
    default: return cudaErrorInvalidValue;
  }
}

// cudaResourceViewFormat 1 to 24: groups of 1, 2 and 4 channels. Zero keeps the array's. False: block-compressed or unknown.
bool view_format(int format, emulator::TexelFormat& out) {
  using K = emulator::ChannelKind;
  struct Row { std::uint32_t bits; K kind; };
  static constexpr Row kGroups[] = {{8, K::unsigned_integer}, {8, K::signed_integer}, {16, K::unsigned_integer}, {16, K::signed_integer},
                                    {32, K::unsigned_integer}, {32, K::signed_integer}, {16, K::floating}, {32, K::floating}};
  if (format == 0) return true;
  const auto group = static_cast<std::size_t>(format - 1) / 3;
  if (format < 0 || group >= std::size(kGroups)) return false;
  const emulator::TexelFormat wanted{1u << ((format - 1) % 3), kGroups[group].bits, kGroups[group].kind};
  if (wanted.bytes() != out.bytes()) return false;
  out = wanted;
  return true;
}

Status apply_view(const ResourceViewDesc& view, std::vector<emulator::Image>& levels) {
  if (view.lastMipmapLevel < view.firstMipmapLevel || view.lastMipmapLevel >= levels.size() || view.lastLayer < view.firstLayer) return cudaErrorInvalidValue;
  levels.erase(levels.begin() + static_cast<std::ptrdiff_t>(view.lastMipmapLevel) + 1, levels.end());
  levels.erase(levels.begin(), levels.begin() + static_cast<std::ptrdiff_t>(view.firstMipmapLevel));
  for (emulator::Image& image : levels) {
    if (!view_format(view.format, image.format)) return cudaErrorInvalidValue;
    if (image.layers == 0) continue;
    if (view.lastLayer >= image.layers) return cudaErrorInvalidValue;
    image.data += view.firstLayer * image.slice_bytes;
    image.layers = view.lastLayer - view.firstLayer + 1;
  }
  return cudaSuccess;
}

// CUDA's rules on what may be combined (cudaCreateTextureObject).
bool is_allowed(const TextureDesc& desc, const emulator::TexelFormat& format) {
  const bool integers = format.kind != emulator::ChannelKind::floating;
  if (desc.filterMode == 1 && integers && desc.readMode == 0) return false;
  if (desc.readMode == 1 && integers && format.bits == 32) return false;
  const bool known = desc.filterMode >= 0 && desc.filterMode <= 1 && desc.readMode >= 0 && desc.readMode <= 1 && desc.mipmapFilterMode >= 0 && desc.mipmapFilterMode <= 1;
  return known && std::all_of(desc.addressMode, desc.addressMode + 3, [](int mode) { return mode >= 0 && mode <= 3; });
}

}  // namespace

Status create_texture(Context& context, unsigned long long* handle, const ResourceDesc* resource, const TextureDesc* desc, const ResourceViewDesc* view) {
  if (handle == nullptr || resource == nullptr || desc == nullptr) return cudaErrorInvalidValue;
  if (context.device() == nullptr) return cudaErrorInitializationError;
  emulator::Texture texture;
  if (const Status status = images_of(context, *resource, texture.levels); status != cudaSuccess) return status;
  if (!is_allowed(*desc, texture.levels.front().format)) return cudaErrorInvalidFilterSetting;
  if (view != nullptr)
    if (const Status status = apply_view(*view, texture.levels); status != cudaSuccess) return status;
  for (std::size_t i = 0; i < 3; ++i) texture.address[i] = static_cast<emulator::AddressMode>(desc->addressMode[i]);
  texture.filter = static_cast<emulator::FilterMode>(desc->filterMode);
  texture.level_filter = static_cast<emulator::FilterMode>(desc->mipmapFilterMode);
  texture.normalised_coordinates = desc->normalizedCoords != 0;
  texture.normalised_values = desc->readMode == 1 && texture.levels.front().format.kind != emulator::ChannelKind::floating;
  texture.is_srgb = desc->sRGB != 0;
  std::copy(std::begin(desc->borderColor), std::end(desc->borderColor), texture.border.begin());
  texture.level_bias = desc->mipmapLevelBias, texture.level_min = desc->minMipmapLevelClamp, texture.level_max = desc->maxMipmapLevelClamp;
  *handle = context.device()->textures().add(std::move(texture));
  context.arrays->objects[*handle] = {*resource, *desc, view == nullptr ? ResourceViewDesc{} : *view, view != nullptr, false};
  return cudaSuccess;
}

Status create_surface(Context& context, unsigned long long* handle, const ResourceDesc* resource) {
  if (handle == nullptr || resource == nullptr || resource->type != kResourceArray) return cudaErrorInvalidValue;
  if (context.device() == nullptr) return cudaErrorInitializationError;
  if (context.arrays->find(resource->array) == nullptr) return cudaErrorInvalidValue;
  *handle = context.device()->textures().add(emulator::Surface{resource->array->image});
  context.arrays->objects[*handle] = {*resource, {}, {}, false, true};
  return cudaSuccess;
}

Status destroy_object(Context& context, unsigned long long handle, bool is_surface) {
  const auto found = context.arrays->objects.find(handle);
  if (found == context.arrays->objects.end() || found->second.is_surface != is_surface) return handle == 0 ? cudaSuccess : cudaErrorInvalidValue;
  context.arrays->objects.erase(found);
  context.device()->textures().remove(handle);
  return cudaSuccess;
}

Status object_resource(Context& context, ResourceDesc* resource, unsigned long long handle) {
  const auto found = context.arrays->objects.find(handle);
  if (resource == nullptr || found == context.arrays->objects.end()) return cudaErrorInvalidValue;
  *resource = found->second.resource;
  return cudaSuccess;
}

Status texture_desc(Context& context, TextureDesc* texture, unsigned long long handle) {
  const auto found = context.arrays->objects.find(handle);
  if (texture == nullptr || found == context.arrays->objects.end() || found->second.is_surface) return cudaErrorInvalidValue;
  *texture = found->second.texture;
  return cudaSuccess;
}

Status texture_view(Context& context, ResourceViewDesc* view, unsigned long long handle) {
  const auto found = context.arrays->objects.find(handle);
  if (view == nullptr || found == context.arrays->objects.end() || !found->second.has_view) return cudaErrorInvalidValue;
  *view = found->second.view;
  return cudaSuccess;
}

}  // namespace kforge::cudart
