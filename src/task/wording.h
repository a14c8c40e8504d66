// Words of error messages: the known word that was likely meant, and foreign text made safe to show.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace kforge::task {

// "did you mean 'rows'?" when a word is near, else "known: rows, cols".
std::string suggestion(std::string_view word, std::span<const std::string_view> known);

// A word as an error message may show it: control characters and long tails replaced.
std::string printable(std::string_view word, std::size_t most = 60);

}  // namespace kforge::task
