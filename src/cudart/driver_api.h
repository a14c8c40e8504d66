// The driver API over the same context, devices and registry as the runtime: one device, one context that is always current.
#pragma once

#include "cudart/abi_driver.h"
#include "cudart/context.h"
#include "cudart/launch_api.h"
#include "cudart/memory_api.h"

namespace kforge::cudart {

inline void* pointer_of(DevicePointer address) { return reinterpret_cast<void*>(address); }
inline void** out(DevicePointer* address) { return reinterpret_cast<void**>(address); }

Status device_name(Context& context, char* name, int bytes, int device);
Status device_uuid(Context& context, char* uuid, int device);
Status device_memory(Context& context, std::size_t* bytes, int device);
Status device_capability(Context& context, int* major, int* minor, int device);
// Contexts: all handles are the one context's.
Status current_context(void** handle);
Status context_version(unsigned* version);
Status primary_state(unsigned* flags, int* active);

// With the log buffers of `options` filled (CU_JIT_INFO_LOG_BUFFER 3, its size 4; CU_JIT_ERROR_LOG_BUFFER 5, its size 6).
Status load_module(Context& context, Image** module, const void* code, unsigned count, const int* options, void** values);
Status module_function(Context& context, void** function, Image* module, const char* name);
Status function_attribute(Context& context, int* value, int attribute, const void* kernel);
Status function_module(Context& context, Image** module, const void* kernel);
// The launch of most occupancy: block sizes are tried in whole warps, the largest first.
Status best_block(Context& context, int* grid, int* block, const void* kernel, std::size_t (*shared_of)(int), std::size_t shared, int most);
Status launch_driver(Context& context, const DriverLaunchConfig* config, const void* kernel, void** arguments, void** extra, void* stream);

Status copy_2d(Context& context, const DriverCopy2D* given, void* stream, Wait wait);
Status copy_3d(Context& context, const DriverCopy3D* given, void* stream, Wait wait);
Status fill_units(Context& context, DevicePointer to, std::size_t pitch, unsigned value, unsigned unit_bytes, std::size_t width, std::size_t height, void* stream);
Status address_range(Context& context, DevicePointer* base, std::size_t* bytes, DevicePointer address);
// CUpointer_attribute: context 1, memory type 2, device pointer 3, host pointer 4, synchronous 6, buffer 7, managed 8, ordinal 9, range 11, 12, mapped 13.
Status pointer_attribute(Context& context, void* data, int attribute, DevicePointer address);
Status pointer_attributes(Context& context, unsigned count, const int* attributes, void** data, DevicePointer address);

Status create_array(Context& context, Array** array, const DriverArray3DDesc& desc);
Status array_desc(Context& context, DriverArray3DDesc* desc, Array* array);
Status create_driver_texture(Context& context, unsigned long long* handle, const DriverResourceDesc* resource, const DriverTextureDesc* texture, const ResourceViewDesc* view);
Status create_driver_surface(Context& context, unsigned long long* handle, const DriverResourceDesc* resource);

// Virtual memory: a reservation is the memory; mapping checks, and gives access.
Status reserve_addresses(Context& context, DevicePointer* address, std::size_t bytes);
Status create_piece(Context& context, unsigned long long* handle, std::size_t bytes, const DriverPieceProps* props);
// What the piece was asked for with; the compression that it got.
Status piece_properties(DriverPieceProps* props, unsigned long long handle);
Status map_piece(Context& context, DevicePointer address, std::size_t bytes, unsigned long long handle);

// The linker: PTX goes in, one PTX comes out. Several inputs are refused.
Status create_link(Context& context, void** state);
Status add_to_link(Context& context, void* state, int type, const void* data, std::size_t bytes);
Status add_file_to_link(Context& context, void* state, int type, const char* path);
Status complete_link(Context& context, void* state, void** image, std::size_t* bytes);
Status destroy_link(Context& context, void* state);

}  // namespace kforge::cudart
