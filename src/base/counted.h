// Numbers with their noun, for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kforge {

// "1 error", "2 errors", "0 errors"; "1 launch", "2 launches" where the plural is given.
std::string counted(std::uint64_t count, std::string_view one, std::string_view several = {});

}  // namespace kforge
