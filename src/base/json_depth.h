// How deep a JSON text nests, before a parser that calls itself reads it.
#pragma once

#include <string_view>

namespace kforge {

// The most brackets of arrays and objects that are open at once; those in strings do not count. The text need not be JSON.
int json_depth(std::string_view text);

}  // namespace kforge
