// Device code that the program loads itself: PTX texts and fatbins as libraries (cudaLibrary*) and modules (cuModule*).
#pragma once

#include <string>

#include "cudart/context.h"

namespace kforge::cudart {

// `code`: a PTX text, a fatbin or its wrapper, or an ELF file.
Status load_library(Context& context, Image** library, const void* code);
Status load_library_file(Context& context, Image** library, const char* file);
Status unload_library(Context& context, Image* library);
Status library_kernel(Context& context, void** kernel, Image* library, const char* name);
Status library_variable(Context& context, void** pointer, std::size_t* bytes, Image* library, const char* name);
Status library_kernels(Context& context, void** kernels, unsigned most, unsigned* count, Image* library);

}  // namespace kforge::cudart
