// One line of comma-separated values (RFC 4180), as NVIDIA's tools print them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kforge::gpu {

// Quotes may hold commas and doubled quotes; a line that ends within quotes ends its last field.
std::vector<std::string> csv_fields(std::string_view line);

}  // namespace kforge::gpu
