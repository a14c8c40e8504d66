// Questions about the device: every answer comes from the data sheet, or is a constant of all supported GPUs.
#pragma once

#include "cudart/abi.h"
#include "cudart/abi_memory.h"
#include "cudart/context.h"

namespace kforge::cudart {

inline constexpr int kRuntimeVersion = 13000;

Status device_count(Context& context, int* count);
Status get_device(Context& context, int* device);
Status set_device(Context& context, int device);
Status device_properties(Context& context, DeviceProp* properties, int device);
Status device_attribute(Context& context, int* value, int attribute, int device);
Status choose_device(Context& context, int* device, const DeviceProp* wanted);
// Compute data compression: from compute capability 8.0 on. Here a compressed piece of memory is one like any other.
bool compresses_memory(const hardware::DataSheet& sheet);
Status check_device(Context& context, int device);
Status version(int* value);
Status reset_device(Context& context);
Status set_limit(Context& context, int limit, std::size_t value);
Status get_limit(Context& context, std::size_t* value, int limit);
Status can_access_peer(Context& context, int* can, int device, int peer);
Status device_by_bus(Context& context, int* device, const char* id);
Status linear_texture_width(Context& context, std::size_t* width, const ChannelDesc* desc, int device);
Status priority_range(int* least, int* greatest);
Status get_int(int* out, int value);
Status get_unsigned(unsigned* out, unsigned value);
Status pci_bus_id(Context& context, char* text, int bytes, int device);

}  // namespace kforge::cudart
