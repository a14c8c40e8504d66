// Why ncu did not do its work, as one of its own lines ("==ERROR== ...") says it.
#pragma once

#include <string>
#include <string_view>

namespace kforge::gpu {

// In words for people; "" where the line says nothing of the kind.
std::string ncu_trouble(std::string_view line);

}  // namespace kforge::gpu
