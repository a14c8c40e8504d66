// The version of Kernel Forge, as `kforge --version` prints it.
#pragma once

namespace kforge {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace kforge
