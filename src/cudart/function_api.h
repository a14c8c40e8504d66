// Questions about kernels: attributes, opting in to more shared memory, occupancy.
#pragma once

#include "cudart/abi.h"
#include "cudart/context.h"

namespace kforge::cudart {

Status function_attributes(Context& context, FuncAttributes* attributes, const void* kernel);
Status set_function_attribute(Context& context, const void* kernel, int attribute, int value);
Status check_function(Context& context, const void* kernel);   // for hints that change nothing here
Status function_name(Context& context, const char** name, const void* kernel);
Status parameter_info(Context& context, const void* kernel, std::size_t index, std::size_t* offset, std::size_t* size);
Status max_active_blocks(Context& context, int* blocks, const void* kernel, int block_size, std::size_t dynamic_shared, unsigned flags);
Status available_dynamic_shared(Context& context, std::size_t* bytes, const void* kernel, int blocks, int block_size);
Status max_potential_cluster(Context& context, int* size, const void* kernel, const LaunchConfig* config);
Status max_active_clusters(Context& context, int* clusters, const void* kernel, const LaunchConfig* config);
Status get_kernel(Context& context, void** kernel, const void* host);

}  // namespace kforge::cudart
