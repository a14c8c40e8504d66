#include "cudart/driver_api.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "base/files.h"
#include "cudart/array_api.h"
#include "cudart/device_api.h"
#include "cudart/function_api.h"
#include "cudart/library_api.h"
#include "cudart/work.h"

namespace kforge::cudart {
namespace {

constexpr int kDriverVersion = 13000;
char context_token;   // its address is the one context's handle

// CUarray_format as channel kind (0 signed, 1 unsigned, 2 floating) and bits.
struct FormatRow { int format, kind, bits; };
constexpr FormatRow kFormats[] = {{1, 1, 8}, {2, 1, 16}, {3, 1, 32}, {8, 0, 8}, {9, 0, 16}, {10, 0, 32}, {0x10, 2, 16}, {0x20, 2, 32}};

bool channel_desc(int format, unsigned channels, ChannelDesc& desc) {
  const auto* row = std::find_if(std::begin(kFormats), std::end(kFormats), [&](const FormatRow& r) { return r.format == format; });
  if (row == std::end(kFormats) || channels == 0 || channels > 4) return false;
  const auto bits = [&](unsigned i) { return i < channels ? row->bits : 0; };
  desc = {bits(0), bits(1), bits(2), bits(3), row->kind};
  return true;
}

// A driver side as one of cudaMemcpy3DParms. Positions of arrays count texels there.
bool read_side(const DriverSide3D& side, Array*& array, Pos& pos, PitchedPtr& pointer) {
  if (side.lod != 0) return false;
  pos = {side.x, side.y, side.z};
  if (side.type == kMemoryArray) {
    array = side.array;
    return array != nullptr;
  }
  pointer = {side.type == kMemoryHost ? side.host : pointer_of(side.device), side.pitch, side.pitch, side.height};
  return pointer.ptr != nullptr;
}

DriverSide3D in_3d(const DriverSide& side, std::size_t width, std::size_t height) {
  return {side.x, side.y, 0, 0, side.type, side.host, side.device, side.array, nullptr, side.pitch == 0 ? width + side.x : side.pitch, height + side.y};
}

struct Link { std::string ptx; int inputs = 0; };
std::map<void*, std::unique_ptr<Link>>& links() {
  static std::map<void*, std::unique_ptr<Link>> all;
  return all;
}
struct Piece { std::size_t bytes; DriverPieceProps props; };
std::map<unsigned long long, Piece>& pieces() {   // of cuMemCreate, by handle
  static std::map<unsigned long long, Piece> all;
  return all;
}

}  // namespace

Status device_name(Context& context, char* name, int bytes, int device) {
  if (name == nullptr || bytes <= 0) return cudaErrorInvalidValue;
  if (const Status status = check_device(context, device); status != cudaSuccess) return status;
  const std::string& product = context.device()->sheet().product;
  const std::size_t length = std::min(product.size(), static_cast<std::size_t>(bytes) - 1);
  std::memcpy(name, product.data(), length);
  name[length] = 0;
  return cudaSuccess;
}

Status device_uuid(Context& context, char* uuid, int device) {
  DeviceProp properties;
  if (uuid == nullptr) return cudaErrorInvalidValue;
  if (const Status status = device_properties(context, &properties, device); status != cudaSuccess) return status;
  std::memcpy(uuid, properties.uuid, sizeof properties.uuid);
  return cudaSuccess;
}

Status device_memory(Context& context, std::size_t* bytes, int device) {
  if (bytes == nullptr) return cudaErrorInvalidValue;
  if (const Status status = check_device(context, device); status != cudaSuccess) return status;
  *bytes = context.device()->sheet().memory_bytes;
  return cudaSuccess;
}

Status device_capability(Context& context, int* major, int* minor, int device) {
  if (major == nullptr || minor == nullptr) return cudaErrorInvalidValue;
  if (const Status status = check_device(context, device); status != cudaSuccess) return status;
  *major = context.device()->sheet().compute_major, *minor = context.device()->sheet().compute_minor;
  return cudaSuccess;
}

Status current_context(void** handle) {
  if (handle == nullptr) return cudaErrorInvalidValue;
  *handle = &context_token;
  return cudaSuccess;
}

Status context_version(unsigned* version) { return get_unsigned(version, kDriverVersion); }

Status primary_state(unsigned* flags, int* active) {
  if (flags != nullptr) *flags = 0;
  return get_int(active, 1);
}

Status load_module(Context& context, Image** module, const void* code, unsigned count, const int* options, void** values) {
  const Status status = load_library(context, module, code);
  const std::string error = status == cudaSuccess ? "" : error_text(status);
  struct Log { int buffer, size; std::string_view text; };
  for (const Log& log : {Log{3, 4, {}}, Log{5, 6, error}}) {
    char* buffer = nullptr;
    std::size_t bytes = 0;
    for (unsigned i = 0; options != nullptr && values != nullptr && i < count; ++i) {
      if (options[i] == log.buffer) buffer = static_cast<char*>(values[i]);
      if (options[i] == log.size) bytes = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(values[i]));
    }
    if (buffer == nullptr || bytes == 0) continue;
    const std::size_t length = std::min(log.text.size(), bytes - 1);
    std::memcpy(buffer, log.text.data(), length);
    buffer[length] = 0;
  }
  return status;
}

Status module_function(Context& context, void** function, Image* module, const char* name) { return library_kernel(context, function, module, name); }

Status function_attribute(Context& context, int* value, int attribute, const void* kernel) {
  FuncAttributes a;
  if (value == nullptr) return cudaErrorInvalidValue;
  if (const Status status = function_attributes(context, &a, kernel); status != cudaSuccess) return status;
  const int values[] = {a.maxThreadsPerBlock, static_cast<int>(a.sharedSizeBytes), static_cast<int>(a.constSizeBytes), static_cast<int>(a.localSizeBytes), a.numRegs, a.ptxVersion,
                        a.binaryVersion, a.cacheModeCA, a.maxDynamicSharedSizeBytes, a.preferredShmemCarveout, a.clusterDimMustBeSet, a.requiredClusterWidth, a.requiredClusterHeight,
                        a.requiredClusterDepth, a.nonPortableClusterSizeAllowed, a.clusterSchedulingPolicyPreference};
  if (attribute < 0 || attribute >= static_cast<int>(std::size(values))) return cudaErrorInvalidValue;
  *value = values[attribute];
  return cudaSuccess;
}

Status function_module(Context& context, Image** module, const void* kernel) {
  KernelRecord* record = nullptr;
  if (module == nullptr) return cudaErrorInvalidValue;
  if (const Status status = find_kernel(context, kernel, record); status != cudaSuccess) return status;
  *module = record->image;
  return cudaSuccess;
}

Status best_block(Context& context, int* grid, int* block, const void* kernel, std::size_t (*shared_of)(int), std::size_t shared, int most) {
  constexpr int kWarp = 32;
  FuncAttributes attributes;
  if (grid == nullptr || block == nullptr) return cudaErrorInvalidValue;
  if (const Status status = function_attributes(context, &attributes, kernel); status != cudaSuccess) return status;
  const int limit = most > 0 ? std::min(most, attributes.maxThreadsPerBlock) : attributes.maxThreadsPerBlock;
  int best = 0;
  *grid = *block = 0;
  for (int size = (limit + kWarp - 1) / kWarp * kWarp; size > 0; size -= kWarp) {
    int blocks = 0;
    const int threads = std::min(size, limit);
    max_active_blocks(context, &blocks, kernel, threads, shared_of != nullptr ? shared_of(threads) : shared, 0);
    if (blocks * threads <= best) continue;
    best = blocks * threads;
    *block = threads, *grid = blocks * context.device()->sheet().multiprocessors;
  }
  return cudaSuccess;
}

Status launch_driver(Context& context, const DriverLaunchConfig* config, const void* kernel, void** arguments, void** extra, void* stream) {
  if (config == nullptr) return cudaErrorInvalidValue;
  LaunchShape shape{{config->grid_x, config->grid_y, config->grid_z}, {config->block_x, config->block_y, config->block_z}, {0, 0, 0}, config->shared};
  for (unsigned i = 0; config->attrs != nullptr && i < config->attr_count; ++i) take_attribute(config->attrs[i], shape);
  return launch(context, kernel, shape, arguments, stream, extra);
}

Status copy_3d(Context& context, const DriverCopy3D* given, void* stream, Wait wait) {
  if (given == nullptr) return cudaErrorInvalidValue;
  Copy3D plain{};
  if (!read_side(given->from, plain.srcArray, plain.srcPos, plain.srcPtr) || !read_side(given->to, plain.dstArray, plain.dstPos, plain.dstPtr)) return cudaErrorInvalidValue;
  // The driver counts bytes, the runtime texels where an array takes part: its pointer's position then moves into the pointer.
  std::size_t unit = 1;
  for (const Array* array : {plain.srcArray, plain.dstArray})
    if (array != nullptr && context.arrays->find(array) != nullptr) unit = array->image.format.bytes();
  if (unit != 1) {
    for (auto [pos, pointer, array] : {std::tuple{&plain.srcPos, &plain.srcPtr, plain.srcArray}, std::tuple{&plain.dstPos, &plain.dstPtr, plain.dstArray}}) {
      if (array != nullptr) pos->x /= unit;
      else pointer->ptr = static_cast<std::byte*>(pointer->ptr) + std::exchange(pos->x, 0);
    }
  }
  plain.extent = {given->width / unit, given->height, given->depth};
  plain.kind = kCopyDefault;
  return copy_3d(context, &plain, stream, wait);
}

Status copy_2d(Context& context, const DriverCopy2D* given, void* stream, Wait wait) {
  if (given == nullptr) return cudaErrorInvalidValue;
  const DriverCopy3D box{in_3d(given->from, given->width, given->height), in_3d(given->to, given->width, given->height), given->width, given->height, 1};
  return copy_3d(context, &box, stream, wait);
}

Status fill_units(Context& context, DevicePointer to, std::size_t pitch, unsigned value, unsigned unit_bytes, std::size_t width, std::size_t height, void* stream) {
  if (to % unit_bytes != 0) return cudaErrorInvalidValue;
  return fill(context, {{pointer_of(to), pitch, pitch * height}, value, unit_bytes, width, height, 1}, stream);
}

Status address_range(Context& context, DevicePointer* base, std::size_t* bytes, DevicePointer address) {
  if (context.device() == nullptr) return cudaErrorInitializationError;
  const emulator::Allocation* allocation = context.device()->memory().find(address);
  if (allocation == nullptr) return cudaErrorInvalidValue;
  if (base != nullptr) *base = allocation->base;
  if (bytes != nullptr) *bytes = allocation->size;
  return cudaSuccess;
}

Status pointer_attribute(Context& context, void* data, int attribute, DevicePointer address) {
  if (data == nullptr) return cudaErrorInvalidValue;
  if (context.device() == nullptr) return cudaErrorInitializationError;
  const emulator::Allocation* allocation = context.device()->memory().find(address);
  if (allocation == nullptr) return cudaErrorInvalidValue;
  const bool pinned = allocation->kind == emulator::MemoryKind::pinned, managed = allocation->kind == emulator::MemoryKind::managed;
  const auto put = [&](const auto& value) {
    std::memcpy(data, &value, sizeof value);
    return cudaSuccess;
  };
  switch (attribute) {
    case 1: return put(static_cast<void*>(&context_token));
    case 2: return put(static_cast<int>(pinned ? kMemoryHost : kMemoryDevice));
    case 3: return put(address);
    case 4: return pinned || managed ? put(address) : cudaErrorInvalidValue;
    case 6: return put(0);
    case 7: return put(static_cast<unsigned long long>(allocation->serial));
    case 8: return put(static_cast<char>(managed));
    case 9: return put(0);
    case 11: return put(static_cast<DevicePointer>(allocation->base));
    case 12: return put(static_cast<std::size_t>(allocation->size));
    case 13: return put(static_cast<char>(1));
    default: return cudaErrorInvalidValue;
  }
}

Status pointer_attributes(Context& context, unsigned count, const int* attributes, void** data, DevicePointer address) {
  if (attributes == nullptr || data == nullptr) return cudaErrorInvalidValue;
  for (unsigned i = 0; i < count; ++i)
    if (pointer_attribute(context, data[i], attributes[i], address) != cudaSuccess) std::memset(data[i], 0, sizeof(int));   // as the manual says of unknown pointers
  return cudaSuccess;
}

Status create_array(Context& context, Array** array, const DriverArray3DDesc& desc) {
  ChannelDesc channels;
  if (!channel_desc(desc.format, desc.channels, channels)) return cudaErrorInvalidValue;
  return allocate_array(context, array, &channels, {desc.width, desc.height, desc.depth}, desc.flags);
}

Status array_desc(Context& context, DriverArray3DDesc* desc, Array* array) {
  if (desc == nullptr || context.arrays->find(array) == nullptr) return cudaErrorInvalidValue;
  const auto* row = std::find_if(std::begin(kFormats), std::end(kFormats), [&](const FormatRow& r) { return r.kind == array->desc.kind && r.bits == array->desc.x; });
  *desc = {array->extent.width, array->extent.height, array->extent.depth, row->format, array->image.format.channels, array->flags};
  return cudaSuccess;
}

Status create_driver_texture(Context& context, unsigned long long* handle, const DriverResourceDesc* resource, const DriverTextureDesc* texture, const ResourceViewDesc* view) {
  constexpr unsigned kReadAsInteger = 1, kNormalised = 2, kSrgb = 16;
  if (resource == nullptr || texture == nullptr) return cudaErrorInvalidValue;
  ResourceDesc plain{};
  plain.type = resource->type;
  ChannelDesc desc{};
  switch (resource->type) {
    case kResourceArray: plain.array = resource->array; break;
    case kResourceMipmap: plain.mipmap = resource->mipmap; break;
    case kResourceLinear:
      if (!channel_desc(resource->linear.format, resource->linear.channels, desc)) return cudaErrorInvalidValue;
      plain.linear = {pointer_of(resource->linear.pointer), desc, resource->linear.bytes};
      break;
    case kResourcePitch2D:
      if (!channel_desc(resource->pitch2d.format, resource->pitch2d.channels, desc)) return cudaErrorInvalidValue;
      plain.pitch2d = {pointer_of(resource->pitch2d.pointer), desc, resource->pitch2d.width, resource->pitch2d.height, resource->pitch2d.pitch};
      break;
    default: return cudaErrorInvalidValue;
  }
  if (resource->type == kResourceArray && context.arrays->find(plain.array) != nullptr) desc = plain.array->desc;
  if (resource->type == kResourceMipmap && context.arrays->find_mipmap(plain.mipmap) != nullptr) desc = plain.mipmap->levels.front()->desc;
  TextureDesc sampling{};
  std::copy(std::begin(texture->address), std::end(texture->address), sampling.addressMode);
  std::copy(std::begin(texture->border), std::end(texture->border), sampling.borderColor);
  sampling.filterMode = texture->filter, sampling.mipmapFilterMode = texture->mipmap_filter;
  const bool small_integer = desc.kind != 2 && desc.x < 32;
  sampling.readMode = small_integer && (texture->flags & kReadAsInteger) == 0;
  sampling.normalizedCoords = (texture->flags & kNormalised) != 0;
  sampling.sRGB = (texture->flags & kSrgb) != 0;
  sampling.maxAnisotropy = texture->anisotropy;
  sampling.mipmapLevelBias = texture->bias, sampling.minMipmapLevelClamp = texture->least, sampling.maxMipmapLevelClamp = texture->most;
  return create_texture(context, handle, &plain, &sampling, view);
}

Status create_driver_surface(Context& context, unsigned long long* handle, const DriverResourceDesc* resource) {
  if (resource == nullptr || resource->type != kResourceArray) return cudaErrorInvalidValue;
  ResourceDesc plain{};
  plain.type = kResourceArray;
  plain.array = resource->array;
  return create_surface(context, handle, &plain);
}

Status reserve_addresses(Context& context, DevicePointer* address, std::size_t bytes) {
  if (address == nullptr || bytes == 0) return cudaErrorInvalidValue;
  return allocate(context, out(address), bytes, emulator::MemoryKind::device);
}

Status create_piece(Context& context, unsigned long long* handle, std::size_t bytes, const DriverPieceProps* props) {
  constexpr int kOnDevice = 1;
  if (handle == nullptr || bytes == 0 || props == nullptr || props->location.type != kOnDevice) return cudaErrorInvalidValue;
  if (const Status status = check_device(context, props->location.id); status != cudaSuccess) return status;
  static unsigned long long next = 1;
  Piece& piece = pieces()[next] = {bytes, *props};
  if (!compresses_memory(context.device()->sheet())) piece.props.compression = 0;   // granted or not, memory is had
  *handle = next++;
  return cudaSuccess;
}

Status map_piece(Context& context, DevicePointer address, std::size_t bytes, unsigned long long handle) {
  const auto piece = pieces().find(handle);
  if (piece == pieces().end() || bytes > piece->second.bytes) return cudaErrorInvalidValue;
  const emulator::Allocation* allocation = context.device()->memory().find(address);
  return allocation != nullptr && bytes <= allocation->size - (address - allocation->base) ? cudaSuccess : cudaErrorInvalidValue;
}

Status piece_properties(DriverPieceProps* props, unsigned long long handle) {
  const auto piece = pieces().find(handle);
  if (props == nullptr || piece == pieces().end()) return cudaErrorInvalidValue;
  *props = piece->second.props;
  return cudaSuccess;
}

Status create_link(Context&, void** state) {
  if (state == nullptr) return cudaErrorInvalidValue;
  auto link = std::make_unique<Link>();
  *state = link.get();
  links().emplace(*state, std::move(link));
  return cudaSuccess;
}

Status add_to_link(Context&, void* state, int type, const void* data, std::size_t bytes) {
  constexpr int kPtx = 1;
  const auto link = links().find(state);
  if (link == links().end() || data == nullptr) return cudaErrorInvalidValue;
  if (type != kPtx || ++link->second->inputs > 1) {
    std::fprintf(stderr, "kforge: the emulated driver links one PTX text, no machine code and no second text\n");
    return cudaErrorNotSupported;
  }
  link->second->ptx.assign(static_cast<const char*>(data), bytes);
  return cudaSuccess;
}

Status add_file_to_link(Context& context, void* state, int type, const char* path) {
  if (path == nullptr) return cudaErrorInvalidValue;
  const auto text = read_file(path);
  return text ? add_to_link(context, state, type, text->data(), text->size()) : cudaErrorFileNotFound;
}

Status complete_link(Context&, void* state, void** image, std::size_t* bytes) {
  const auto link = links().find(state);
  if (link == links().end() || image == nullptr || link->second->inputs == 0) return cudaErrorInvalidValue;
  *image = link->second->ptx.data();
  if (bytes != nullptr) *bytes = link->second->ptx.size();
  return cudaSuccess;
}

Status destroy_link(Context&, void* state) { return links().erase(state) != 0 ? cudaSuccess : cudaErrorInvalidValue; }

}  // namespace kforge::cudart
