// A file of data/ as it was when the program was built (cmake/KforgeEmbed.cmake).
#pragma once

#include <string_view>

namespace kforge {

struct EmbeddedText {
  std::string_view path;   // from the folder that was embedded: "softmax/kernel.cu"
  std::string_view text;
};

}  // namespace kforge
