// The driver API's functions by name: what cuGetProcAddress and cudaGetDriverEntryPoint answer.
#pragma once

#include "cudart/status.h"

namespace kforge::cudart {

// The newest version that is here ("cuMemAlloc" is cuMemAlloc_v2); null when there is none.
void* find_driver_function(const char* name);
// One that says that it is missing; null when cuda.h declares no such function.
void* find_driver_stub(const char* name);
// `result` (may be null): 0 found, 1 not found.
Status driver_entry(const char* name, void** function, int* result);

}  // namespace kforge::cudart
