// The files of data/gpus as they were when the library was built: one binary needs no folder beside it.
#pragma once

#include <span>
#include <string_view>

namespace kforge::hardware {

struct EmbeddedSheet {
  std::string_view name;  // the file's name without ".toml"
  std::string_view text;
};
std::span<const EmbeddedSheet> embedded_sheets();  // in order of file name

}  // namespace kforge::hardware
