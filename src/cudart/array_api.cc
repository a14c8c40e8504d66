#include "cudart/array_api.h"

#include <algorithm>
#include <bit>

namespace kforge::cudart {
namespace {

constexpr unsigned kLayered = 1, kSurface = 2, kCubemap = 4, kGather = 8;   // cudaArray*
constexpr std::uint32_t kFaces = 6;

emulator::Image image_of(const emulator::TexelFormat& format, const Extent& extent, unsigned flags) {
  emulator::Image image;
  image.format = format;
  image.width = extent.width;
  image.height = static_cast<std::uint32_t>(extent.height);
  image.is_cube = (flags & kCubemap) != 0;
  const auto third = static_cast<std::uint32_t>(extent.depth);
  if (image.is_cube) image.layers = std::max(third, kFaces);
  else if ((flags & kLayered) != 0) image.layers = std::max(third, 1u);
  else image.depth = third;
  emulator::lay_out(image);
  return image;
}

std::uint64_t planes(const emulator::Image& image) { return std::max<std::uint64_t>({1, image.depth, image.layers}); }

Side side_of(const Array& array, std::size_t x_bytes, std::size_t y, std::size_t z) {
  const emulator::Image& image = array.image;
  return {reinterpret_cast<void*>(image.data + z * image.slice_bytes + y * image.row_bytes + x_bytes), image.row_bytes, image.slice_bytes};
}

// A box of rows inside the array.
bool fits(const Array& array, std::size_t x_bytes, std::size_t y, std::size_t z, std::size_t width_bytes, std::size_t height, std::size_t depth) {
  const emulator::Image& image = array.image;
  const std::size_t rows = std::max<std::size_t>(1, image.height);
  const auto inside = [](std::size_t from, std::size_t count, std::size_t all) { return from <= all && count <= all - from; };
  return inside(x_bytes, width_bytes, image.row_bytes) && inside(y, height, rows) && inside(z, depth, planes(image));
}

Status copy_box(Context& context, CopyWork work, void* stream, Wait wait) { return copy(context, std::move(work), stream, wait); }

}  // namespace

bool read_format(const ChannelDesc& desc, emulator::TexelFormat& format) {
  const int bits[] = {desc.x, desc.y, desc.z, desc.w};
  const auto channels = static_cast<std::uint32_t>(std::find(std::begin(bits), std::end(bits), 0) - std::begin(bits));
  if (channels != 1 && channels != 2 && channels != 4) return false;
  if (std::any_of(bits, bits + channels, [&](int b) { return b != desc.x; }) || (desc.x != 8 && desc.x != 16 && desc.x != 32)) return false;
  if (desc.kind < 0 || desc.kind > 2 || (desc.kind == 2 && desc.x == 8)) return false;
  format = {channels, static_cast<std::uint32_t>(desc.x), static_cast<emulator::ChannelKind>(desc.kind)};
  return true;
}

Array* ArrayStore::add(Array array) {
  auto own = std::make_unique<Array>(std::move(array));
  Array* handle = own.get();
  arrays_.emplace(handle, std::move(own));
  return handle;
}

Array* ArrayStore::find(const void* handle) const {
  const auto found = arrays_.find(handle);
  return found == arrays_.end() ? nullptr : found->second.get();
}

MipmappedArray* ArrayStore::add(MipmappedArray mipmap) {
  auto own = std::make_unique<MipmappedArray>(std::move(mipmap));
  MipmappedArray* handle = own.get();
  mipmaps_.emplace(handle, std::move(own));
  return handle;
}

MipmappedArray* ArrayStore::find_mipmap(const void* handle) const {
  const auto found = mipmaps_.find(handle);
  return found == mipmaps_.end() ? nullptr : found->second.get();
}

Status allocate_array(Context& context, Array** handle, const ChannelDesc* desc, Extent extent, unsigned flags) {
  if (handle == nullptr || desc == nullptr) return cudaErrorInvalidValue;
  if (context.device() == nullptr) return cudaErrorInitializationError;
  constexpr std::size_t kMostWidth = 131072, kMostOthers = 65536;
  if ((flags & ~(kLayered | kSurface | kCubemap | kGather)) != 0 || extent.width == 0 || extent.width > kMostWidth) return cudaErrorInvalidValue;
  if (extent.height > kMostOthers || extent.depth > kMostOthers) return cudaErrorInvalidValue;
  const bool layered = (flags & kLayered) != 0, cube = (flags & kCubemap) != 0;
  if (!layered && extent.height == 0 && extent.depth != 0) return cudaErrorInvalidValue;
  if (cube && (extent.width != extent.height || extent.depth == 0 || extent.depth % kFaces != 0 || (!layered && extent.depth != kFaces))) return cudaErrorInvalidValue;
  Array array;
  array.desc = *desc, array.extent = extent, array.flags = flags;
  emulator::TexelFormat format;
  if (!read_format(*desc, format)) return cudaErrorInvalidChannelDescriptor;
  array.image = image_of(format, extent, flags);
  array.bytes = emulator::image_bytes(array.image);
  void* memory = nullptr;
  if (const Status status = allocate(context, &memory, array.bytes, emulator::MemoryKind::device); status != cudaSuccess) return status;
  array.image.data = reinterpret_cast<emulator::Address>(memory);
  *handle = context.arrays->add(std::move(array));
  return cudaSuccess;
}

Status free_array(Context& context, Array* array) {
  if (array == nullptr) return cudaSuccess;
  if (context.arrays->find(array) == nullptr) return cudaErrorInvalidValue;
  const Status status = release(context, reinterpret_cast<void*>(array->image.data));
  context.arrays->remove(array);
  return status;
}

Status allocate_mipmap(Context& context, MipmappedArray** handle, const ChannelDesc* desc, Extent extent, unsigned levels, unsigned flags) {
  if (handle == nullptr || desc == nullptr || levels == 0) return cudaErrorInvalidValue;
  const auto largest = std::max({extent.width, extent.height, (flags & (kLayered | kCubemap)) != 0 ? 0 : extent.depth});
  const unsigned most = static_cast<unsigned>(std::bit_width(largest));
  MipmappedArray mipmap;
  for (unsigned i = 0; i < std::min(levels, most); ++i) {
    Array* level = nullptr;
    if (const Status status = allocate_array(context, &level, desc, extent, flags); status != cudaSuccess) {
      for (Array* made : mipmap.levels) free_array(context, made);
      return status;
    }
    mipmap.levels.push_back(level);
    const auto half = [](std::size_t n) { return n <= 1 ? n : n / 2; };
    extent.width = half(extent.width), extent.height = half(extent.height);
    if ((flags & (kLayered | kCubemap)) == 0) extent.depth = half(extent.depth);
  }
  *handle = context.arrays->add(std::move(mipmap));
  return cudaSuccess;
}

Status free_mipmap(Context& context, MipmappedArray* mipmap) {
  if (mipmap == nullptr) return cudaSuccess;
  if (context.arrays->find_mipmap(mipmap) == nullptr) return cudaErrorInvalidValue;
  for (Array* level : mipmap->levels) free_array(context, level);
  context.arrays->remove_mipmap(mipmap);
  return cudaSuccess;
}

Status mipmap_level(Context& context, Array** array, const MipmappedArray* mipmap, unsigned level) {
  if (array == nullptr || context.arrays->find_mipmap(mipmap) == nullptr || level >= mipmap->levels.size()) return cudaErrorInvalidValue;
  *array = mipmap->levels[level];
  return cudaSuccess;
}

Status array_info(Context& context, ChannelDesc* desc, Extent* extent, unsigned* flags, Array* array) {
  if (context.arrays->find(array) == nullptr) return cudaErrorInvalidResourceHandle;
  if (desc != nullptr) *desc = array->desc;
  if (extent != nullptr) *extent = array->extent;
  if (flags != nullptr) *flags = array->flags;
  return cudaSuccess;
}

Status array_memory(Context& context, ArrayMemoryRequirements* requirements, Array* array) {
  constexpr std::size_t kAlignment = 512;
  if (requirements == nullptr) return cudaErrorInvalidValue;
  if (context.arrays->find(array) == nullptr) return cudaErrorInvalidResourceHandle;
  *requirements = {(array->bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment, {}};
  return cudaSuccess;
}

Status copy_to_array(Context& context, ArrayPlace to, const void* from, std::size_t pitch, std::size_t width, std::size_t height, int kind, void* stream, Wait wait) {
  if (context.arrays->find(to.array) == nullptr) return cudaErrorInvalidResourceHandle;
  if (height > 1 && width > pitch) return cudaErrorInvalidPitchValue;
  if (!fits(*to.array, to.x, to.y, 0, width, height, 1)) return cudaErrorInvalidValue;
  CopyWork work;
  work.to = side_of(*to.array, to.x, to.y, 0);
  work.from = {const_cast<void*>(from), pitch, pitch * height};
  work.width = width, work.height = height, work.kind = kind;
  return copy_box(context, std::move(work), stream, wait);
}

Status copy_from_array(Context& context, void* to, std::size_t pitch, ArrayPlace from, std::size_t width, std::size_t height, int kind, void* stream, Wait wait) {
  if (context.arrays->find(from.array) == nullptr) return cudaErrorInvalidResourceHandle;
  if (height > 1 && width > pitch) return cudaErrorInvalidPitchValue;
  if (!fits(*from.array, from.x, from.y, 0, width, height, 1)) return cudaErrorInvalidValue;
  CopyWork work;
  work.to = {to, pitch, pitch * height};
  work.from = side_of(*from.array, from.x, from.y, 0);
  work.width = width, work.height = height, work.kind = kind;
  return copy_box(context, std::move(work), stream, wait);
}

Status copy_array(Context& context, ArrayPlace to, ArrayPlace from, std::size_t width, std::size_t height, int kind, void* stream) {
  if (context.arrays->find(to.array) == nullptr || context.arrays->find(from.array) == nullptr) return cudaErrorInvalidResourceHandle;
  if (!fits(*to.array, to.x, to.y, 0, width, height, 1) || !fits(*from.array, from.x, from.y, 0, width, height, 1)) return cudaErrorInvalidValue;
  CopyWork work;
  work.to = side_of(*to.array, to.x, to.y, 0);
  work.from = side_of(*from.array, from.x, from.y, 0);
  work.width = width, work.height = height, work.kind = kind;
  return copy_box(context, std::move(work), stream, Wait::no);
}

Status copy_run_to_array(Context& context, ArrayPlace to, const void* from, std::size_t bytes, int kind, void* stream, Wait wait) {
  if (context.arrays->find(to.array) == nullptr) return cudaErrorInvalidResourceHandle;
  const std::size_t start = to.y * to.array->image.row_bytes + to.x;
  if (start > to.array->bytes || bytes > to.array->bytes - start) return cudaErrorInvalidValue;
  return copy(context, side_of(*to.array, to.x, to.y, 0).pointer, from, bytes, kind, stream, wait);
}

Status copy_run_from_array(Context& context, void* to, ArrayPlace from, std::size_t bytes, int kind, void* stream, Wait wait) {
  if (context.arrays->find(from.array) == nullptr) return cudaErrorInvalidResourceHandle;
  const std::size_t start = from.y * from.array->image.row_bytes + from.x;
  if (start > from.array->bytes || bytes > from.array->bytes - start) return cudaErrorInvalidValue;
  return copy(context, to, side_of(*from.array, from.x, from.y, 0).pointer, bytes, kind, stream, wait);
}

// Positions and widths count texels where an array takes part, bytes where none does.
Status make_copy_work(Context& context, const Copy3D& given, CopyWork& work) {
  if ((given.srcArray != nullptr) == (given.srcPtr.ptr != nullptr) || (given.dstArray != nullptr) == (given.dstPtr.ptr != nullptr)) return cudaErrorInvalidValue;
  std::size_t unit = 1;
  for (const Array* array : {given.srcArray, given.dstArray}) {
    if (array == nullptr) continue;
    if (context.arrays->find(array) == nullptr) return cudaErrorInvalidResourceHandle;
    unit = array->image.format.bytes();
  }
  work.width = given.extent.width * unit, work.height = given.extent.height, work.depth = given.extent.depth;
  work.kind = given.kind;
  work.given = given;
  const auto side = [&](Array* array, const Pos& pos, const PitchedPtr& pointer, Side& out) {
    const std::size_t x = pos.x * unit;
    if (array != nullptr) {
      if (!fits(*array, x, pos.y, pos.z, work.width, work.height, work.depth)) return false;
      out = side_of(*array, x, pos.y, pos.z);
      return true;
    }
    if (work.height > 1 && work.width > pointer.pitch) return false;
    if (work.depth > 1 && pointer.ysize < work.height) return false;
    const std::size_t slice = pointer.pitch * pointer.ysize;
    out = {static_cast<std::byte*>(pointer.ptr) + pos.z * slice + pos.y * pointer.pitch + x, pointer.pitch, slice};
    return true;
  };
  return side(given.srcArray, given.srcPos, given.srcPtr, work.from) && side(given.dstArray, given.dstPos, given.dstPtr, work.to) ? cudaSuccess : cudaErrorInvalidValue;
}

Status copy_3d(Context& context, const Copy3D* given, void* stream, Wait wait) {
  if (given == nullptr) return cudaErrorInvalidValue;
  if (context.device() == nullptr) return cudaErrorInitializationError;
  CopyWork work;
  if (const Status status = make_copy_work(context, *given, work); status != cudaSuccess) return status;
  return copy_box(context, std::move(work), stream, wait);
}

Status copy_3d_peer(Context& context, const Copy3DPeer* given, void* stream, Wait wait) {
  if (given == nullptr) return cudaErrorInvalidValue;
  if (given->srcDevice != 0 || given->dstDevice != 0) return cudaErrorInvalidDevice;
  const Copy3D plain{given->srcArray, given->srcPos, given->srcPtr, given->dstArray, given->dstPos, given->dstPtr, given->extent, kCopyDefault};
  return copy_3d(context, &plain, stream, wait);
}

}  // namespace kforge::cudart
