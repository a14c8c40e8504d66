// CUDA's error numbers, as this library uses them (errors.def has them all with their texts).
#pragma once

#include <string_view>

namespace kforge::cudart {

enum Status : int {
#define KFORGE_ERROR(name, number, text) name = number,
#include "cudart/errors.def"
#undef KFORGE_ERROR
};

// "cudaErrorInvalidValue" and "invalid argument"; both "unrecognized error code" for other numbers. Zero-terminated.
const char* error_name(int status);
const char* error_text(int status);

// Errors after which a real context is lost: every later call that needs it answers with the same error (CUDA's manual,
// "the CUDA context is corrupt" in cudaError_t).
bool is_sticky(Status status);

}  // namespace kforge::cudart
