// CUDA arrays, and texture and surface objects over them. An array's texels lie without gaps in an allocation of their own
// (emulator/texture.h), so that copies to and from arrays are copies of memory.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "cudart/abi_memory.h"
#include "cudart/memory_api.h"
#include "cudart/work.h"
#include "emulator/texture.h"

namespace kforge::cudart {

struct Array {
  emulator::Image image;
  ChannelDesc desc{};
  Extent extent{};                       // as asked for: zeros where there is no such dimension
  unsigned flags = 0;
  std::uint64_t bytes = 0;
};

struct MipmappedArray { std::vector<Array*> levels; };

struct TextureRecord { ResourceDesc resource{}; TextureDesc texture{}; ResourceViewDesc view{}; bool has_view = false; bool is_surface = false; };

class ArrayStore {
 public:
  Array* add(Array array);
  Array* find(const void* handle) const;
  bool remove(const void* handle) { return arrays_.erase(handle) != 0; }
  MipmappedArray* add(MipmappedArray mipmap);
  MipmappedArray* find_mipmap(const void* handle) const;
  bool remove_mipmap(const void* handle) { return mipmaps_.erase(handle) != 0; }
  std::unordered_map<std::uint64_t, TextureRecord> objects;   // textures and surfaces, by handle

 private:
  std::unordered_map<const void*, std::unique_ptr<Array>> arrays_;
  std::unordered_map<const void*, std::unique_ptr<MipmappedArray>> mipmaps_;
};

// False for a format that no texture unit has.
bool read_format(const ChannelDesc& desc, emulator::TexelFormat& format);

Status allocate_array(Context& context, Array** array, const ChannelDesc* desc, Extent extent, unsigned flags);
Status free_array(Context& context, Array* array);
Status allocate_mipmap(Context& context, MipmappedArray** mipmap, const ChannelDesc* desc, Extent extent, unsigned levels, unsigned flags);
Status free_mipmap(Context& context, MipmappedArray* mipmap);
Status mipmap_level(Context& context, Array** array, const MipmappedArray* mipmap, unsigned level);
Status array_info(Context& context, ChannelDesc* desc, Extent* extent, unsigned* flags, Array* array);
Status array_memory(Context& context, ArrayMemoryRequirements* requirements, Array* array);

// `x` and `width` in bytes, as in cudaMemcpy2DToArray.
struct ArrayPlace { Array* array; std::size_t x, y; };
Status copy_to_array(Context& context, ArrayPlace to, const void* from, std::size_t pitch, std::size_t width, std::size_t height, int kind, void* stream, Wait wait);
Status copy_from_array(Context& context, void* to, std::size_t pitch, ArrayPlace from, std::size_t width, std::size_t height, int kind, void* stream, Wait wait);
Status copy_array(Context& context, ArrayPlace to, ArrayPlace from, std::size_t width, std::size_t height, int kind, void* stream);
// A run of `bytes` from (x, y) on, row after row (cudaMemcpyToArray and its like).
Status copy_run_to_array(Context& context, ArrayPlace to, const void* from, std::size_t bytes, int kind, void* stream, Wait wait);
Status copy_run_from_array(Context& context, void* to, ArrayPlace from, std::size_t bytes, int kind, void* stream, Wait wait);
Status copy_3d(Context& context, const Copy3D* given, void* stream, Wait wait);
Status copy_3d_peer(Context& context, const Copy3DPeer* given, void* stream, Wait wait);

Status create_texture(Context& context, unsigned long long* handle, const ResourceDesc* resource, const TextureDesc* texture, const ResourceViewDesc* view);
Status create_surface(Context& context, unsigned long long* handle, const ResourceDesc* resource);
Status destroy_object(Context& context, unsigned long long handle, bool is_surface);
Status object_resource(Context& context, ResourceDesc* resource, unsigned long long handle);
Status texture_desc(Context& context, TextureDesc* texture, unsigned long long handle);
Status texture_view(Context& context, ResourceViewDesc* view, unsigned long long handle);

}  // namespace kforge::cudart
