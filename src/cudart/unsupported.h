// What a function answers that the emulated runtime does not have.
#pragma once

namespace kforge::cudart {

// Says the name once on stderr; cudaErrorNotSupported.
int unsupported(const char* name);

}  // namespace kforge::cudart
