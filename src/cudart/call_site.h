// Where in the program's host code a call of the runtime came from: addresses of modules, for `kforge run` to turn into lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kforge::cudart {

struct CallFrame { std::string module; std::uint64_t offset = 0; };   // file of the program or library; address as its debug information counts
// The innermost frames outside this library.
std::vector<CallFrame> call_site();

}  // namespace kforge::cudart
