// A launch log as bytes, for the way from the worker to its parent; internal to one build of Kernel Forge.
#pragma once

#include <string>
#include <string_view>

#include "evidence/launch_log.h"

namespace kforge::evidence {

std::string to_bytes(const LaunchLog& log);
// False, and what did not fit, where the bytes are no log (they may come from a hostile process); `log` then stays as it was.
bool from_bytes(std::string_view bytes, LaunchLog& log, std::string& error);

}  // namespace kforge::evidence
